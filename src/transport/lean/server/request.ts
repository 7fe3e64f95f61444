/** One request of a connection: its head, and the way to its content. */

import { Http1Error } from '../../errors.ts';
import type { Framing } from '../../framing.ts';
import type { HeaderList } from '../../header-list.ts';
import { contentBytesOf, RequestHead } from '../../request-head.ts';
import type { BodySink, IncomingRequest } from '../../server.ts';
import type { Head } from '../head.ts';

const [VERSION_1_1, VERSION_1_0] = [' HTTP/1.1', ' HTTP/1.0'];

/** The connection, as its request sees it. */
export interface BodySource {
  readonly remoteAddress: string;
  readBody(request: LeanRequest, sink: BodySink): void;
}

export class LeanRequest implements IncomingRequest {
  /** Shared with later requests of the connection whose heads are the same but for the length. */
  readonly head: RequestHead;
  /** Null without content. */
  readonly framing: Framing | null;
  readonly #source: BodySource;

  constructor(head: RequestHead, framing: Framing | null, source: BodySource) {
    this.head = head;
    this.framing = framing;
    this.#source = source;
  }

  get method(): string {
    return this.head.method;
  }

  get target(): string {
    return this.head.target;
  }

  get headers(): HeaderList {
    return this.head.headers;
  }

  /** The client sends its content only after `100 Continue`. */
  get expectsContinue(): boolean {
    return this.framing !== null && this.head.expectsContinue;
  }

  get contentBytes(): number | null {
    return contentBytesOf(this.framing);
  }

  get remoteAddress(): string {
    return this.#source.remoteAddress;
  }

  /** What has arrived already is given to the sink before this returns. */
  readBody(sink: BodySink): void {
    this.#source.readBody(this, sink);
  }
}

/** Throws an Http1Error. */
export function readRequestHead({ startLine, fields }: Head, headerCountMax: number): RequestHead {
  const http10 = startLine.endsWith(VERSION_1_0);
  if (!http10 && !startLine.endsWith(VERSION_1_1)) throw new Http1Error('malformed', 'unsupported HTTP version');
  const space = startLine.indexOf(' ');
  const target = startLine.slice(space + 1, -VERSION_1_1.length);
  return new RequestHead(startLine.slice(0, space), target, http10, fields, headerCountMax);
}
