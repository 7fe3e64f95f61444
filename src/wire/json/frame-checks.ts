/** What is asked of a frame's JSON before it is scanned for its members. */
import { MemberScanner } from './scan.ts';

/** Where frames are cut off within shorter strings, other members are to be expected behind these. */
const LONG_STRING_BYTES_MIN = 1_024;

/** Whether a member has a name that is written with escapes, at any depth. */
export function hasEscapedName(text: string, start: number, end: number): boolean {
  // The slice bounds the search. No name that a format knows can be written with another escape.
  if (!text.slice(start, end).includes('\\u')) return false;
  const scanner = new MemberScanner();
  scanner.begin(text, start, end);
  while (scanner.next()) if (scanner.key().includes('\\')) return true;
  return false;
}

/** Whether the beginning of a JSON text, which `end` cuts off, ends within a long string. */
export function endsInLongString(text: string, start: number, end: number): boolean {
  const scanner = new MemberScanner();
  scanner.begin(text, start, end);
  let within = false;
  while (scanner.next()) {
    within = scanner.isString && scanner.stringEnd === -1 && end - scanner.valueStart > LONG_STRING_BYTES_MIN;
  }
  return within;
}
