/**
 * One connection of a client. Its requests are taken one at a time: the head of the next one is read when the answer to
 * the one before has been written. Meanwhile the socket is still read from, within a bound, because only a socket that
 * is read from tells that the client has gone.
 */
import type { Socket } from 'node:net';
import { BodyReader } from '../body.ts';
import { Http1Error } from '../errors.ts';
import { HeadReader } from '../head.ts';
import { dateLine, fieldLine, statusLine } from '../head-lines.ts';
import { Ahead } from '../receive-buffer.ts';
import { KnownHead } from './head-cache.ts';
import { type BodySink, type BodySource, IncomingRequest, RequestKind } from './request.ts';
import { Answer, type AnswerSide } from './response.ts';

const HEAD_BYTES_MAX = 32 * 1_024;
/** Larger heads are not kept for comparison, and none any more after so many that did not come again. */
const KNOWN_BYTES_MAX = 4 * 1_024;
const KNOWN_IN_VAIN_MAX = 3;
/** More than this is not read ahead of a request that is being answered. */
const AHEAD_BYTES_MAX = 64 * 1_024;
const AHEAD_CHUNKS_MAX = 64;
/** Content that nobody wants is read to its end, so that the connection can be kept; not more than this. */
const UNWANTED_BYTES_MAX = 128 * 1_024 * 1_024;
/**
 * A peer that is still sending when its connection is closed loses the answer to a reset. So what it sends is read and
 * dropped for a while, within these bounds.
 */
const LINGER_MS = 2_000;
const LINGER_BYTES_MAX = 8 * 1_024 * 1_024;
const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n';

/** What a refused request is answered with, beside its status 400. */
export interface Refusal {
  /** Lines, each made by `fieldLine`. */
  readonly fields: string;
  readonly content: Buffer;
}

export interface RequestHandler {
  onRequest(request: IncomingRequest, answer: Answer): void;
  refusal(error: Http1Error): Refusal;
}

/** The server, as its connections see it. Time is counted in rounds: how often it has looked through them. */
export interface ConnectionOwner {
  readonly handler: RequestHandler;
  readonly keepAliveLines: string;
  readonly round: number;
  readonly headRoundsMax: number;
  readonly requestRoundsMax: number;
  readonly idleRoundsMax: number;
  /** Every answer is then the last one of its connection. */
  readonly closing: boolean;
  closed(connection: Connection): void;
}

/**
 * `head`: between two requests, or within a head. `request`: there is one, and its content or its answer is not over.
 * `flush`: both are over, but much of the answer has not gone out yet. `closing`: what still comes is dropped.
 */
type Phase = 'head' | 'request' | 'flush' | 'closing';

export class Connection implements AnswerSide, BodySource {
  readonly socket: Socket;
  readonly #owner: ConnectionOwner;
  readonly #heads = new HeadReader(HEAD_BYTES_MAX, { skipsEmptyLine: true });
  readonly #ahead = new Ahead();
  #known: KnownHead | null = null;
  #knownInVain = 0;
  #phase: Phase = 'head';
  /** The round in which the request began to arrive, or the connection to be idle. */
  #since: number;
  /** Whether a request has been answered. */
  #used = false;
  #request: IncomingRequest | null = null;
  #answer: Answer | null = null;
  #answered = false;
  #keeps = true;
  /** Null when the content is over. */
  #body: BodyReader | null = null;
  #sink: BodySink | null = null;
  #continued = false;
  #unwantedBytes = 0;
  #advancing = false;
  #paused = false;
  #lingerBytes = 0;
  #linger: NodeJS.Timeout | null = null;
  readonly #take = (piece: Buffer): void => {
    if (this.#sink) this.#sink.onData(piece);
    else this.#unwantedBytes += piece.length;
  };

  constructor(socket: Socket, owner: ConnectionOwner) {
    this.socket = socket;
    this.#owner = owner;
    this.#since = owner.round;
    socket.on('data', (chunk: Buffer) => this.#onData(chunk));
    socket.on('end', () => this.#onEnd());
    socket.on('drain', () => this.#onDrain());
    socket.on('close', () => this.#onClose());
    // A close follows, which is what counts.
    socket.on('error', () => {});
  }

  get keepAliveLines(): string {
    return this.#owner.keepAliveLines;
  }

  keepsAlive(framed: boolean): boolean {
    this.#keeps = framed && !this.#owner.closing && this.#request?.kind.keepAlive === true && this.#canFinishContent();
    return this.#keeps;
  }

  answered(): void {
    this.#answered = true;
    this.#sink?.onBroken();
    this.#sink = null;
    if (this.#keeps) this.#advance();
    else this.#close();
  }

  readBody(request: IncomingRequest, sink: BodySink): void {
    if (request !== this.#request || this.#phase !== 'request' || this.#answered) {
      sink.onBroken();
      return;
    }
    if (this.#body === null) {
      sink.onEnd();
      return;
    }
    this.#sink = sink;
    if (request.expectsContinue && this.#ahead.bytes === 0) {
      this.#continued = true;
      this.socket.write(CONTINUE, 'latin1');
    }
    // Within `onRequest`, what has arrived is given at once; what comes behind it waits for the end of `onRequest`.
    if (this.#advancing) this.#readContent();
    else this.#advance();
  }

  /** Once per round of the owner. */
  check(): void {
    const { round, headRoundsMax, requestRoundsMax, idleRoundsMax } = this.#owner;
    const rounds = round - this.#since;
    if (this.#idle) {
      if (rounds > idleRoundsMax) this.#close();
    } else if (this.#phase === 'head') {
      if (rounds > headRoundsMax) this.#refuse(new Http1Error('too_slow', 'the head was sent too slowly'));
    } else if (this.#phase === 'request' && this.#body !== null) {
      if (rounds > requestRoundsMax) this.#refuse(new Http1Error('too_slow', 'the content was sent too slowly'));
    } else if (this.#phase !== 'request' && rounds > requestRoundsMax) {
      // The rest of an answer is taken within the time that a request may take.
      this.socket.destroy();
    }
  }

  closeIfIdle(): void {
    if (this.#idle) this.#close();
  }

  /** A new connection is not: its client has opened it for a request. */
  get #idle(): boolean {
    return this.#phase === 'head' && this.#used && !this.#heads.begun;
  }

  #onData(chunk: Buffer): void {
    if (this.#phase === 'closing') {
      this.#lingerBytes += chunk.length;
      if (this.#lingerBytes > LINGER_BYTES_MAX) this.socket.destroy();
      return;
    }
    this.#ahead.push(chunk);
    this.#advance();
  }

  /** A client that closes its side alone has gone as well. */
  #onEnd(): void {
    if (this.#phase === 'closing') return;
    const withinHead = this.#phase === 'head' && this.#heads.begun;
    if (withinHead || this.#sink !== null) this.#refuse(new Http1Error('malformed', 'the request broke off'));
    else this.#close();
  }

  #onDrain(): void {
    this.#answer?.drained();
    if (this.#phase === 'flush' && this.#next()) this.#advance();
  }

  #onClose(): void {
    if (this.#linger) clearTimeout(this.#linger);
    this.#phase = 'closing';
    this.#lose();
    this.#owner.closed(this);
  }

  #advance(): void {
    if (this.#advancing) return;
    this.#advancing = true;
    try {
      while (this.#step());
    } finally {
      this.#advancing = false;
    }
    const { bytes, chunks } = this.#ahead;
    if ((bytes > AHEAD_BYTES_MAX || chunks > AHEAD_CHUNKS_MAX) && !this.#paused) {
      this.#paused = true;
      this.socket.pause();
    } else if (bytes === 0 && this.#paused) this.#resume();
  }

  /** False when something must happen first. */
  #step(): boolean {
    if (this.#phase === 'head') return this.#readHead();
    if (this.#phase !== 'request') return false;
    if (this.#body !== null) return (this.#sink !== null || this.#answered) && this.#readContent();
    return this.#answered && this.#next();
  }

  #readHead(): boolean {
    const chunk = this.#ahead.current;
    if (chunk === null) return false;
    if (!this.#heads.begun) this.#since = this.#owner.round;
    let request: IncomingRequest | null;
    try {
      request = this.#knownRequest(chunk) ?? this.#newRequest(chunk);
    } catch (error) {
      this.#refuse(error);
      return false;
    }
    if (request === null) return true;
    this.#request = request;
    this.#body = request.framing && new BodyReader(request.framing);
    this.#answer = new Answer(request, this);
    this.#phase = 'request';
    this.#owner.handler.onRequest(request, this.#answer);
    return true;
  }

  #knownRequest(chunk: Buffer): IncomingRequest | null {
    const known = this.#known;
    if (known === null || !this.#heads.empty || !known.comesAgain(chunk, this.#ahead.at)) return null;
    this.#ahead.at = known.end;
    known.kind.fields.remember();
    return new IncomingRequest(known.kind, known.framing, this);
  }

  /** Null where more of its head must come. Throws an Http1Error. */
  #newRequest(chunk: Buffer): IncomingRequest | null {
    const from = this.#ahead.at;
    const inOnePiece = this.#heads.empty;
    const head = this.#heads.push(chunk, from);
    this.#ahead.at = head === null ? chunk.length : this.#heads.rest;
    if (head === null) return null;
    const kind = new RequestKind(head);
    // Most connections that bring a second request bring more of them.
    if (this.#used && inOnePiece) this.#know(chunk.subarray(from, this.#heads.rest), kind);
    return new IncomingRequest(kind, kind.framing, this);
  }

  #know(head: Buffer, kind: RequestKind): void {
    if (this.#known?.used === false) this.#knownInVain += 1;
    const worth = head.length <= KNOWN_BYTES_MAX && this.#knownInVain < KNOWN_IN_VAIN_MAX;
    this.#known = worth ? new KnownHead(head, kind) : null;
  }

  /** False when more must arrive first, or nothing will. */
  #readContent(): boolean {
    const body = this.#body;
    while (body !== null && !body.done) {
      const chunk = this.#ahead.current;
      if (chunk === null) return false;
      try {
        this.#ahead.at = body.push(chunk, this.#ahead.at, this.#take);
      } catch (error) {
        this.#refuse(error);
        return false;
      }
      if (this.#unwantedBytes > UNWANTED_BYTES_MAX) this.#close();
      if (this.#phase !== 'request') return false;
    }
    this.#body = null;
    const sink = this.#sink;
    this.#sink = null;
    sink?.onEnd();
    return true;
  }

  /** The request and its answer are over. */
  #next(): boolean {
    if (this.socket.writableNeedDrain) {
      this.#phase = 'flush';
      this.#since = this.#owner.round;
      return false;
    }
    this.#phase = 'head';
    this.#request = null;
    this.#answer = null;
    this.#answered = false;
    this.#continued = false;
    this.#unwantedBytes = 0;
    this.#used = true;
    this.#since = this.#owner.round;
    // Requests that are there already are still answered.
    if (!this.#owner.closing || this.#ahead.bytes > 0) return true;
    this.#close();
    return false;
  }

  /** A client that was never told to send its content may leave it out: what it sends next cannot be known. */
  #canFinishContent(): boolean {
    const request = this.#request;
    if (this.#body === null || request === null) return true;
    if (request.expectsContinue && !this.#continued) return false;
    return (request.contentBytes ?? 0) <= UNWANTED_BYTES_MAX;
  }

  #refuse(error: unknown): void {
    if (!(error instanceof Http1Error)) throw error;
    if (this.#answered) this.#close();
    else if (this.#answer?.begun === true) this.socket.destroy();
    else {
      const { fields, content } = this.#owner.handler.refusal(error);
      const framing = fieldLine('content-length', content.length);
      const head = `${statusLine(400)}${fields}${framing}${dateLine()}Connection: close\r\n\r\n`;
      this.#close(Buffer.concat([Buffer.from(head, 'latin1'), content]));
    }
  }

  /** Sends what was written, and closes as soon as the client has closed its side too. */
  #close(last: Buffer = NOTHING): void {
    const complete = last === NOTHING && (this.#answer === null || this.#answered);
    // Where only the close ends an answer, an orderly one would make it look complete.
    const unframed = !complete && this.#answer?.begun === true && this.#request?.kind.http10 === true;
    this.#phase = 'closing';
    this.#since = this.#owner.round;
    this.#lose();
    if (unframed) {
      this.socket.resetAndDestroy();
      return;
    }
    if (this.#paused) this.#resume();
    this.socket.end(last, complete ? () => this.#startLinger() : undefined);
    // Only a complete answer is waited for.
    if (!complete) this.#startLinger();
  }

  #startLinger(): void {
    if (this.socket.destroyed) return;
    this.#linger ??= setTimeout(() => this.socket.destroy(), LINGER_MS).unref();
  }

  #lose(): void {
    this.#ahead.clear();
    this.#answer?.lost();
    this.#sink?.onBroken();
    this.#sink = null;
  }

  #resume(): void {
    this.#paused = false;
    this.socket.resume();
  }
}

const NOTHING = Buffer.alloc(0);
