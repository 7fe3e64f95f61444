/** What both sides ask of the fields that frame a message, so that neither can be laxer than the other. */
import { Http1Error } from './errors.ts';

const CLOSE = /(?:^|,)[ \t]*close[ \t]*(?:,|$)/i;

/** For a field that may come once; `before` is what came until now. */
export function once(before: string | null, value: string): string {
  if (before !== null) throw new Http1Error('malformed', 'the framing is given more than once');
  return value;
}

/** Whether the content comes in chunks. A coding that leaves open where the message ends is thrown out. */
export function isChunked(coding: string | null, length: string | null, http10: boolean): boolean {
  if (coding === null) return false;
  if (length !== null || http10 || coding.toLowerCase() !== 'chunked') {
    throw new Http1Error('malformed', 'the framing is ambiguous');
  }
  return true;
}

/** Whether a Connection field says that this message is the last one. */
export function announcesClose(options: string): boolean {
  return options !== 'keep-alive' && CLOSE.test(options);
}
