/** A request as `node:http` has parsed it, and the way to its content. */
import type { ServerResponse as OutgoingMessage } from 'node:http';
import { CountedMessage } from '../../lib/counted-message.ts';
import { stopParsing } from '../../lib/stop-parsing.ts';
import { Http1Error } from '../errors.ts';
import type { BodySink, IncomingRequest } from '../server.ts';
import { isTrailerName } from '../trailer.ts';
import type { HeaderList } from './header-list.ts';
import { contentBytesOf, RequestHead } from './request-head.ts';

/**
 * To receive a piece and drop it takes as long as so many bytes more of a large one: 2.7 us beside 1.2 ns a byte, with pieces of
 * 80 bytes, 1 KB and 64 KB.
 */
const PIECE_COST_BYTES = 2_048;

/** Node's own object, which knows the request that it is part of: its listeners need no closures. */
export class Http1Message extends CountedMessage {
  request: Http1Request | null = null;
  #asksForUpgrade = false;

  /**
   * Node notes here that a request asks for another protocol, and then asks it whether the connection leaves HTTP. Only for a
   * WebSocket does it: a client that would rather speak HTTP/2 (`h2c`) is served as if it had not said so.
   */
  set upgrade(asked: boolean | null) {
    // Node's constructor says null, before there are fields of this class.
    if (asked !== null) this.#asksForUpgrade = asked;
  }

  get upgrade(): boolean {
    return this.#asksForUpgrade && (this.method === 'CONNECT' || asksForWebSocket(this));
  }

  protected override refuseTinyChunks(): void {
    stopParsing(this.socket);
    this.request?.refuseTinyChunks();
  }
}

function asksForWebSocket({ method, httpVersionMinor, headers }: Http1Message): boolean {
  const { upgrade = '', 'content-length': length = '0', 'transfer-encoding': coding } = headers;
  const empty = length === '0' && coding === undefined;
  return method === 'GET' && httpVersionMinor === 1 && upgrade.toLowerCase() === 'websocket' && empty;
}

/** The connection, as its request sees it. */
export interface RequestOwner {
  /** The trailer of a request is malformed. */
  contentRefused(error: Http1Error): void;
  /** A content that nobody wants has cost as much as so many bytes of it. */
  contentDropped(bytes: number): void;
  /** The pieces of a content are too many and too small. It is not parsed any further. */
  contentInTinyChunks(): void;
}

export class Http1Request implements IncomingRequest {
  readonly head: RequestHead;
  readonly message: Http1Message;
  readonly #outgoing: OutgoingMessage;
  readonly #owner: RequestOwner;
  #sink: BodySink | null = null;
  /** Whether somebody may still ask for the content. */
  #wanted = true;
  #flowing = false;
  #continued = false;
  #droppedBytes = 0;

  constructor(head: RequestHead, message: Http1Message, outgoing: OutgoingMessage, owner: RequestOwner) {
    this.head = head;
    this.message = message;
    this.#outgoing = outgoing;
    this.#owner = owner;
    message.request = this;
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

  get contentBytes(): number | null {
    return contentBytesOf(this.head.framing);
  }

  get remoteAddress(): string {
    return this.message.socket.remoteAddress ?? '';
  }

  /** Whether all of it has been parsed. Node says so of a request without content a moment later. */
  get received(): boolean {
    return this.head.framing === null || this.message.complete;
  }

  /** The client waits with its content for a `100 Continue` that it has not been sent. */
  get awaitsContinue(): boolean {
    return this.head.framing !== null && this.head.expectsContinue && !this.#continued;
  }

  readBody(sink: BodySink): void {
    if (!this.#wanted) {
      sink.onAborted();
      return;
    }
    if (this.head.framing === null) {
      sink.onEnd();
      return;
    }
    this.#sink = sink;
    if (this.awaitsContinue) {
      this.#continued = true;
      this.#outgoing.writeContinue();
    }
    // All of a small request has mostly arrived by now. Read at once, it is spared the ticks and events of a stream.
    if (this.message.complete && !this.#flowing) this.#take();
    else this.#flow();
  }

  /** Nothing of the content reaches anybody from now on. */
  abort(): void {
    this.#wanted = false;
    const sink = this.#sink;
    this.#sink = null;
    sink?.onAborted();
  }

  /** Reads the rest of the content, which nobody wants, so that the next request can be read. */
  discard(): void {
    if (!this.received) this.#flow();
  }

  pieceReceived(piece: Buffer): void {
    if (this.#sink !== null) this.#sink.onData(piece);
    else {
      this.#droppedBytes += piece.length;
      this.#owner.contentDropped(this.#droppedBytes + this.message.pieces * PIECE_COST_BYTES);
    }
  }

  refuseTinyChunks(): void {
    this.#owner.contentInTinyChunks();
  }

  bodyReceived(): void {
    if (!this.message.rawTrailers.every((text, at) => at % 2 === 1 || isTrailerName(text))) {
      this.#owner.contentRefused(new Http1Error('malformed', 'field that a trailer must not have'));
      return;
    }
    const sink = this.#sink;
    this.#sink = null;
    sink?.onEnd();
  }

  #take(): void {
    for (let piece: Buffer | null = this.message.read(); piece !== null; piece = this.message.read()) {
      this.pieceReceived(piece);
    }
    this.bodyReceived();
  }

  #flow(): void {
    if (this.#flowing) return;
    this.#flowing = true;
    this.message.on('data', onData);
    this.message.on('end', onEnd);
  }
}

/** Throws an Http1Error. */
export function headOf(message: Http1Message, headerCountMax: number): RequestHead {
  const { method = '', url = '', rawHeaders, httpVersionMajor, httpVersionMinor } = message;
  if (httpVersionMajor !== 1 || httpVersionMinor > 1) throw new Http1Error('malformed', 'unsupported HTTP version');
  return new RequestHead(method, url, httpVersionMinor === 0, rawHeaders, headerCountMax);
}

function onData(this: Http1Message, piece: Buffer): void {
  this.request?.pieceReceived(piece);
}

function onEnd(this: Http1Message): void {
  this.request?.bodyReceived();
}
