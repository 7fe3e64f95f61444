/** What undici's parser lets pass although two readers could disagree about where the response ends. */
import { isTrailerName } from '../trailer.ts';

/** By their names in lower case. */
export type RawHeaders = Readonly<Record<string, string | string[] | undefined>>;

const LENGTH = /^[0-9]{1,16} *$/;

export function isAmbiguous(headers: RawHeaders): boolean {
  const coding = headers['transfer-encoding'];
  const length = headers['content-length'];
  if (coding === undefined) return length !== undefined && !isLength(length);
  return length !== undefined || typeof coding !== 'string' || coding.toLowerCase().trim() !== 'chunked';
}

/** Whether all of its fields may be in a trailer. */
export function isTrailer(trailers: RawHeaders): boolean {
  return Object.keys(trailers).every(isTrailerName);
}

function isLength(value: string | string[]): boolean {
  return typeof value === 'string' && LENGTH.test(value) && Number.isSafeInteger(Number(value));
}
