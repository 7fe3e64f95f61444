/** The fields that frame a message, judged the same way on both sides so that neither can be laxer than the other. */
import { Http1Error } from './errors.ts';

export type Framing =
  | { readonly kind: 'length'; readonly bytes: number }
  | { readonly kind: 'chunked' }
  | { readonly kind: 'until_close' };

/**
 * What a trailer must not have: fields that say where a message ends, what becomes of its connection, or whom it is
 * for. Some readers would act on them after the fact.
 */
const HEAD_ONLY = /^(?:content-length|transfer-encoding|connection|upgrade|host)$/i;
const CLOSE = /(?:^|,)[ \t]*close[ \t]*(?:,|$)/i;

/** For a field that may occur once; `before` is the value found earlier. */
export function once(before: string | null, value: string): string {
  if (before !== null) throw new Http1Error('malformed', 'repeated framing header');
  return value;
}

/** Whether the content is chunked. Throws for a coding that leaves open where the message ends. */
export function isChunked(coding: string | null, length: string | null, http10: boolean): boolean {
  if (coding === null) return false;
  if (length !== null || http10 || coding.toLowerCase() !== 'chunked') {
    throw new Http1Error('malformed', 'ambiguous framing');
  }
  return true;
}

/** `name` is that of a trailer field. */
export function checkTrailerName(name: string): void {
  if (HEAD_ONLY.test(name)) throw new Http1Error('malformed', 'field that a trailer must not have');
}

/** Whether a Connection field says that this message is the last one. */
export function announcesClose(options: string): boolean {
  return options !== 'keep-alive' && CLOSE.test(options);
}
