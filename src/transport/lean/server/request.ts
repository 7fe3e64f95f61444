/** A request as its head describes it, judged once: what leaves open where it ends, or what it asks for, is refused. */
import { METHODS } from 'node:http';
import type { Framing } from '../body.ts';
import { Http1Error } from '../errors.ts';
import { announcesClose, isChunked, once } from '../framing.ts';
import { type Head, isNamed } from '../head.ts';
import { FieldList } from '../header-list.ts';

export const FIELDS_MAX = 200;
/** A tunnel is nothing that this server could be asked for. */
const METHOD_NAMES: ReadonlySet<string> = new Set(METHODS.filter((name) => name !== 'CONNECT'));
/** A path, the asterisk, or an absolute address; nothing that a reader could take for the end of the target. */
const TARGET = /^(?:\/[!"$-~]*|\*|https?:\/\/[\w.:[\]-]+(?:[/?][!"$-~]*)?)$/;
const DIGITS = /^[0-9]+$/;
const KEEP_ALIVE = /(?:^|,)[ \t]*keep-alive[ \t]*(?:,|$)/i;
const [VERSION_1_1, VERSION_1_0] = [' HTTP/1.1', ' HTTP/1.0'];

/** Takes the content of a request: its pieces, and then one end of the two. */
export interface BodySink {
  onData(piece: Buffer): void;
  onEnd(): void;
  /** The client has gone, or has sent what is no body, or too slowly. */
  onBroken(): void;
}

/** The connection, as its request sees it. */
export interface BodySource {
  readBody(request: IncomingRequest, sink: BodySink): void;
}

/** What requests of a connection have in common that differ in the length of their content at most. */
export class RequestKind {
  readonly method: string;
  readonly target: string;
  /** Without Content-Length, which is the request's own. */
  readonly fields: FieldList;
  readonly http10: boolean;
  /** Whether the client would use the connection again. */
  readonly keepAlive: boolean;
  /** The client sends its content, if there is any, only when it is told to go on. */
  readonly expectsContinue: boolean;
  /** Of the head that it was made of. */
  readonly framing: Framing | null;

  /** Throws an Http1Error. */
  constructor(head: Head) {
    const { startLine, fields } = head;
    this.http10 = startLine.endsWith(VERSION_1_0);
    const space = startLine.indexOf(' ');
    this.method = startLine.slice(0, space);
    this.target = startLine.slice(space + 1, -VERSION_1_1.length);
    if (!this.http10 && !startLine.endsWith(VERSION_1_1)) throw malformed('the version is not HTTP/1.1');
    if (!METHOD_NAMES.has(this.method) || !TARGET.test(this.target)) throw malformed('the request line is none');
    if (fields.length > 2 * FIELDS_MAX) throw new Http1Error('too_many_fields', `more than ${FIELDS_MAX} fields`);

    let hosts = 0;
    let length: string | null = null;
    let lengthAt = -1;
    let coding: string | null = null;
    let options: string | null = null;
    let expectation: string | null = null;
    for (let i = 0; i + 1 < fields.length; i += 2) {
      const name = fields[i] ?? '';
      const value = fields[i + 1] ?? '';
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
    if (hosts > 1) throw malformed('the host is named more than once');
    if (hosts === 0 && !this.http10) throw new Http1Error('no_host', 'the request names no host');
    this.fields = new FieldList(lengthAt === -1 ? fields : fields.toSpliced(lengthAt, 2));
    this.framing = framingOf(length, coding, this.http10);
    this.keepAlive = keepsAlive(options, this.http10);
    this.expectsContinue = expectation !== null && !this.http10 && /^100-continue$/i.test(expectation);
  }
}

/** One per request. */
export class IncomingRequest {
  readonly kind: RequestKind;
  /** Null without content. */
  readonly framing: Framing | null;
  readonly #source: BodySource;

  constructor(kind: RequestKind, framing: Framing | null, source: BodySource) {
    this.kind = kind;
    this.framing = framing;
    this.#source = source;
  }

  /** The client sends its content only when it is told to go on. */
  get expectsContinue(): boolean {
    return this.framing !== null && this.kind.expectsContinue;
  }

  /** How many bytes the content is announced to have; null where only its end tells. */
  get contentBytes(): number | null {
    if (this.framing === null) return 0;
    return this.framing.kind === 'length' ? this.framing.bytes : null;
  }

  /** At most once. What has arrived already is given to the sink before this returns. */
  readBody(sink: BodySink): void {
    this.#source.readBody(this, sink);
  }
}

function framingOf(length: string | null, coding: string | null, http10: boolean): Framing | null {
  if (isChunked(coding, length, http10)) return { kind: 'chunked' };
  if (length === null) return null;
  const bytes = Number(length);
  if (!DIGITS.test(length) || !Number.isSafeInteger(bytes)) throw malformed('the content length is no number');
  return bytes === 0 ? null : { kind: 'length', bytes };
}

function keepsAlive(options: string | null, http10: boolean): boolean {
  if (options === null) return !http10;
  if (announcesClose(options)) return false;
  return !http10 || KEEP_ALIVE.test(options);
}

function malformed(message: string): Http1Error {
  return new Http1Error('malformed', message);
}
