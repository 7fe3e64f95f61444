/** The lines of a response's head, as text. */
import { STATUS_CODES } from 'node:http';
import type { RawHeaders, Refusal } from './server.ts';

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

/** A value may be foreign text: one that could end its line throws a TypeError. */
export function headerLines(headers: RawHeaders): string {
  let lines = '';
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const value = headers[i + 1] ?? '';
    if (typeof value === 'string' && !VALUE.test(value)) {
      throw new TypeError(`Invalid character in the value of the header ${headers[i]}`);
    }
    lines += `${headers[i]}: ${value}\r\n`;
  }
  return lines;
}

/** Rendered once a second. */
export function dateLine(): string {
  const nowMs = Date.now();
  const second = Math.floor(nowMs / 1_000);
  if (second !== dateSecond) {
    dateSecond = second;
    date = `Date: ${new Date(nowMs).toUTCString()}\r\n`;
  }
  return date;
}

/** All bytes of the response to a refused request, after which the connection closes. */
export function refusalBytes({ status, headers, content }: Refusal): Buffer {
  const lines = headerLines([...headers, 'content-length', content.length]);
  const head = `${statusLine(status)}${lines}${dateLine()}Connection: close\r\n\r\n`;
  return Buffer.concat([Buffer.from(head, 'latin1'), content]);
}
