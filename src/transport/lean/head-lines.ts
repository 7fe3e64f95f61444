/** The lines of an answer's head, as text. */
import { STATUS_CODES } from 'node:http';

const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
const statusLines = new Map<number, string>();
let dateSecond = Number.NaN;
let date = '';

export function statusLine(status: number): string {
  let line = statusLines.get(status);
  if (line === undefined) {
    line = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'Unknown'}\r\n`;
    statusLines.set(status, line);
  }
  return line;
}

/** One header field. A value may be foreign text: one that could end its line is thrown out, with a TypeError. */
export function fieldLine(name: string, value: string | number): string {
  if (typeof value === 'string' && !VALUE.test(value)) {
    throw new TypeError(`the value of the header ${name} has a character that a header cannot have`);
  }
  return `${name}: ${value}\r\n`;
}

/** Made once a second. */
export function dateLine(): string {
  const nowMs = Date.now();
  const second = Math.floor(nowMs / 1_000);
  if (second !== dateSecond) {
    dateSecond = second;
    date = `Date: ${new Date(nowMs).toUTCString()}\r\n`;
  }
  return date;
}
