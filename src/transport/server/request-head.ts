/** The head of an HTTP/1.1 request: what leaves open where the request ends, or what it asks for, is refused. */
import { METHODS } from '../../lib/node-http.ts';
import { Http1Error } from '../errors.ts';
import { HeaderList, isNamed } from './header-list.ts';

/** A tunnel is not something that this server can be asked for. */
const METHOD_NAMES: ReadonlySet<string> = new Set(METHODS.filter((name) => name !== 'CONNECT'));
/** A path, the asterisk, or an absolute address; nothing that a reader could take for the end of the target. */
const TARGET = /^(?:\/[!"$-~]*|\*|https?:\/\/[\w.:[\]-]+(?:[/?][!"$-~]*)?)$/;
const DIGITS = /^[0-9]+$/;
const CLOSE = /(?:^|,)[ \t]*close[ \t]*(?:,|$)/i;
const KEEP_ALIVE = /(?:^|,)[ \t]*keep-alive[ \t]*(?:,|$)/i;

type Framing = { readonly kind: 'length'; readonly bytes: number } | { readonly kind: 'chunked' };

export class RequestHead {
  readonly method: string;
  readonly target: string;
  /** Without Content-Length, which `framing` tells. */
  readonly headers: HeaderList;
  readonly http10: boolean;
  /** Whether the client would use the connection again. */
  readonly keepAlive: boolean;
  /** The client sends its content, if there is any, only after `100 Continue`. */
  readonly expectsContinue: boolean;
  /** Null without content. */
  readonly framing: Framing | null;

  /** `raw` is flat: name, value, name, value, with at most `countMax` of them. Throws an Http1Error. */
  constructor(method: string, target: string, http10: boolean, raw: readonly string[], countMax: number) {
    this.method = method;
    this.target = target;
    this.http10 = http10;
    checkRequestLine(method, target);
    checkCount(raw.length / 2, countMax);
    let hosts = 0;
    let length: string | null = null;
    let lengthAt = -1;
    let coding: string | null = null;
    let options: string | null = null;
    let expectation: string | null = null;
    for (let i = 0; i + 1 < raw.length; i += 2) {
      const name = raw[i] ?? '';
      const value = raw[i + 1] ?? '';
      if (name.length === 4) {
        if (isNamed(name, 'host')) hosts += 1;
      } else if (name.length === 6) {
        if (isNamed(name, 'expect')) expectation = value;
      } else if (name.length === 10) {
        if (isNamed(name, 'connection')) options = options === null ? value : `${options},${value}`;
      } else if (name.length === 14) {
        if (isNamed(name, 'content-length')) {
          length = once(length, value);
          lengthAt = i;
        }
      } else if (name.length === 17) {
        if (isNamed(name, 'transfer-encoding')) coding = once(coding, value);
      }
    }
    if (hosts > 1) throw malformed('repeated Host header');
    if (hosts === 0 && !http10) throw new Http1Error('no_host', 'missing Host header');
    this.headers = new HeaderList(lengthAt === -1 ? raw : raw.toSpliced(lengthAt, 2));
    this.framing = framingOf(length, coding, http10);
    this.keepAlive = keepsAlive(options, http10);
    this.expectsContinue = expectation !== null && !http10 && /^100-continue$/i.test(expectation);
  }
}

/** Throws an Http1Error. */
export function checkRequestLine(method: string, target: string): void {
  if (!METHOD_NAMES.has(method) || !TARGET.test(target)) throw malformed('invalid request line');
}

/** Throws an Http1Error. */
export function checkCount(count: number, countMax: number): void {
  if (count > countMax) throw new Http1Error('too_many_fields', `more than ${countMax} header fields`);
}

/** The announced bytes of the content; null where only its end tells. */
export function contentBytesOf(framing: Framing | null): number | null {
  if (framing === null) return 0;
  return framing.kind === 'length' ? framing.bytes : null;
}

function framingOf(length: string | null, coding: string | null, http10: boolean): Framing | null {
  if (isChunked(coding, length, http10)) return { kind: 'chunked' };
  if (length === null) return null;
  const bytes = Number(length);
  if (!DIGITS.test(length) || !Number.isSafeInteger(bytes)) throw malformed('invalid Content-Length');
  return bytes === 0 ? null : { kind: 'length', bytes };
}

/** For a field that may occur once; `before` is the value found earlier. */
function once(before: string | null, value: string): string {
  if (before !== null) throw malformed('repeated framing header');
  return value;
}

/** Whether the content is chunked. Throws for a coding that leaves open where the message ends. */
function isChunked(coding: string | null, length: string | null, http10: boolean): boolean {
  if (coding === null) return false;
  if (length !== null || http10 || coding.toLowerCase() !== 'chunked') throw malformed('ambiguous framing');
  return true;
}

function keepsAlive(options: string | null, http10: boolean): boolean {
  if (options === null) return !http10;
  if (CLOSE.test(options)) return false;
  return !http10 || KEEP_ALIVE.test(options);
}

function malformed(message: string): Http1Error {
  return new Http1Error('malformed', message);
}
