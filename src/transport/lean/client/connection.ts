/**
 * A connection to a server: one call at a time, its response read strictly, and kept for the next call where the server
 * allows it. Bytes that belong to no response close it.
 */
import type { Socket } from 'node:net';
import type { DeadlineTimer, HasDeadline } from '../../../lib/deadline-timer.ts';
import { errorCodeOrName } from '../../../lib/error-code.ts';
import type { Node } from '../../../lib/linked-list.ts';
import type { FailureKind } from '../../client.ts';
import { Http1Error } from '../../errors.ts';
import { BodyReader } from '../body.ts';
import { HeadReader } from '../head.ts';
import type { CallConnection, ClientCall } from './call.ts';
import type { Origin } from './origin.ts';
import { readResponseHead } from './response-head.ts';

const HEAD_BYTES_MAX = 64 * 1_024;
/** Up to here a body is copied behind its head, and both go out in one write. */
const COPIED_BODY_BYTES_MAX = 16 * 1_024;
/** A server may announce its response a few times; one that does nothing else is given up. */
const INFORMATIONAL_MAX = 16;
const CLOSED_EARLY = 'closed early';
const UNEXPECTED = 'bytes before a request';
export const CLOSED_HERE = 'closed here';
/** All connections read into it, one after the other; what was read is copied out before anyone sees it. */
const RECEIVED = Buffer.allocUnsafeSlow(64 * 1_024);

/** `onIdle` is called at most once per call, `onClosed` at most once per connection. */
export interface ConnectionOwner {
  onIdle(connection: ClientConnection): void;
  onClosed(connection: ClientConnection): void;
}

export class ClientConnection implements CallConnection, HasDeadline {
  deadlineMs = Number.POSITIVE_INFINITY;
  readonly #owner: ConnectionOwner;
  readonly #deadlines: DeadlineTimer<ClientConnection>;
  readonly #node: Node<ClientConnection>;
  readonly #socket: Socket;
  readonly #head = new HeadReader(HEAD_BYTES_MAX);
  readonly #onContent = (content: Buffer): void => this.#call?.data(content);
  #state: 'connecting' | 'idle' | 'waiting' | 'receiving' | 'closed' = 'connecting';
  #call: ClientCall | null;
  #body: BodyReader | null = null;
  #keepMs = 0;
  #informational = 0;
  #paused = false;
  #reading = false;
  /** What arrived while the response was paused. */
  #held: Buffer[] = [];
  /** Why nothing more will arrive behind what is held; empty where the server has ended its side properly. */
  #ended: string | null = null;

  /** Opened for a call, which begins as soon as it is connected. */
  constructor(
    origin: Origin,
    connectMs: number,
    deadlines: DeadlineTimer<ClientConnection>,
    owner: ConnectionOwner,
    call: ClientCall,
  ) {
    this.#owner = owner;
    this.#deadlines = deadlines;
    this.#call = call;
    call.attach(this);
    this.#socket = origin.dial({ buffer: RECEIVED, callback: (bytes) => this.#receive(bytes) });
    this.#node = deadlines.add(this);
    deadlines.set(this, connectMs);
    this.#socket.on(origin.secure ? 'secureConnect' : 'connect', () => this.#connected());
    this.#socket.on('end', () => this.#end(''));
    this.#socket.on('error', (error) => this.#end(errorCodeOrName(error), isTimeout(error)));
    this.#socket.on('close', () => this.#end(CLOSED_EARLY));
  }

  get idle(): boolean {
    return this.#state === 'idle';
  }

  /** Resolves when the socket is closed. */
  get closed(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#socket.closed) resolve();
      else this.#socket.once('close', () => resolve());
    });
  }

  /** Only on an idle connection. */
  begin(call: ClientCall): void {
    this.#call = call;
    call.attach(this);
    this.#socket.ref();
    this.#write(call);
  }

  pause(): void {
    if (this.#paused || this.#state !== 'receiving') return;
    this.#paused = true;
    this.deadlineMs = Number.POSITIVE_INFINITY;
    this.#socket.pause();
  }

  resume(): void {
    if (!this.#paused) return;
    this.#paused = false;
    // A read that is under way goes on by itself.
    if (!this.#reading) this.#readHeld();
    if (this.#paused || this.#state === 'closed') return;
    if (this.#call) this.#deadlines.set(this, this.#call.timeouts.idleMs);
    // Also where what was held was all of it: an idle connection must see what arrives.
    this.#socket.resume();
  }

  expire(): void {
    if (this.#state === 'connecting') this.#fail('connect_timeout', 'ETIMEDOUT');
    else if (this.#state === 'waiting') this.#fail('first_byte_timeout', 'ETIMEDOUT');
    else this.#fail('idle_timeout', 'ETIMEDOUT');
  }

  /** The call that it carries, if any, fails. */
  close(): void {
    this.#fail(this.#state === 'connecting' ? 'unreachable' : 'broken', CLOSED_HERE);
  }

  /** Without a word to the call that it carries. */
  destroy(): void {
    if (this.#state === 'closed') return;
    this.#state = 'closed';
    this.#call = null;
    this.#held = [];
    this.#deadlines.remove(this.#node);
    this.#socket.destroy();
    this.#owner.onClosed(this);
  }

  #fail(kind: FailureKind, code: string): void {
    const call = this.#call;
    this.destroy();
    call?.fail(kind, code);
  }

  #connected(): void {
    if (this.#state === 'connecting' && this.#call) this.#write(this.#call);
  }

  #write({ head, body, bodyBytes, timeouts }: ClientCall): void {
    this.#state = 'waiting';
    this.#informational = 0;
    this.#deadlines.set(this, timeouts.firstByteMs);
    if (bodyBytes <= COPIED_BODY_BYTES_MAX) {
      const bytes = Buffer.allocUnsafe(head.length + bodyBytes);
      let at = bytes.write(head, 0, 'latin1');
      for (const piece of body) at += piece.copy(bytes, at);
      this.#socket.write(bytes);
    } else {
      this.#socket.cork();
      this.#socket.write(head, 'latin1');
      for (const piece of body) this.#socket.write(piece);
      this.#socket.uncork();
    }
  }

  /** False would stop the socket; that is done by `pause` alone. */
  #receive(bytes: number): boolean {
    if (this.#state === 'waiting' || this.#state === 'receiving') {
      const chunk = Buffer.allocUnsafe(bytes);
      RECEIVED.copy(chunk, 0, 0, bytes);
      if (this.#paused) this.#held.push(chunk);
      else this.#read(chunk);
    } else {
      this.#fail('broken', UNEXPECTED);
    }
    return true;
  }

  #read(chunk: Buffer): void {
    const call = this.#call;
    if (!call) return;
    this.#reading = true;
    try {
      let at = 0;
      while (this.#state === 'waiting' && at < chunk.length) at = this.#readHead(call, chunk, at);
      if (this.#state === 'receiving') this.#readBody(chunk, at);
      // Unless that was the end of the response, or it is paused.
      if (this.#state === 'receiving' && !this.#paused) this.#deadlines.set(this, call.timeouts.idleMs);
    } catch (error) {
      this.#fault(error);
    } finally {
      this.#reading = false;
    }
  }

  #readHead(call: ClientCall, chunk: Buffer, at: number): number {
    const head = this.#head.push(chunk, at);
    if (head === null) return chunk.length;
    const { status, framing, keepMs } = readResponseHead(head);
    if (status === 101) throw new Http1Error('malformed', 'unexpected 101 Switching Protocols');
    if (status < 200) {
      // It does not renew the time-out for the first byte.
      this.#informational += 1;
      if (this.#informational > INFORMATIONAL_MAX) throw new Http1Error('too_large', 'too many 1xx responses');
    } else {
      this.#state = 'receiving';
      this.#body = new BodyReader(framing);
      this.#keepMs = keepMs;
      call.respond(status, head);
    }
    return this.#head.rest;
  }

  #readBody(chunk: Buffer, from: number): void {
    const at = this.#body && !this.#paused ? this.#body.push(chunk, from, this.#onContent) : from;
    if (this.#state !== 'receiving') return;
    if (!this.#paused) {
      if (this.#body?.done) this.#complete(at === chunk.length);
    } else if (at < chunk.length) {
      // Before what has arrived behind it.
      this.#held.unshift(chunk.subarray(at));
    }
  }

  #readHeld(): void {
    while (!this.#paused && this.#state === 'receiving') {
      const chunk = this.#held.shift();
      if (chunk) this.#read(chunk);
      else break;
    }
    if (this.#paused || this.#state !== 'receiving') return;
    if (this.#body?.done) this.#complete(true);
    else if (this.#ended !== null) this.#over(this.#ended);
  }

  #complete(nothingBehind: boolean): void {
    const call = this.#call;
    this.#call = null;
    this.#body = null;
    const clean = nothingBehind && this.#held.length === 0 && this.#ended === null && this.#socket.writableLength === 0;
    if (clean && this.#keepMs > 0) {
      this.#state = 'idle';
      this.#socket.unref();
      this.#deadlines.set(this, this.#keepMs);
      this.#owner.onIdle(this);
    } else {
      this.destroy();
    }
    call?.end();
  }

  #end(code: string, timedOut = false): void {
    if (this.#state === 'closed') return;
    if (this.#state === 'connecting') {
      this.#fail(timedOut ? 'connect_timeout' : 'unreachable', code === '' ? CLOSED_EARLY : code);
    } else if (this.#paused) {
      this.#ended ??= code;
    } else {
      this.#over(code);
    }
  }

  #over(code: string): void {
    if (code === '' && this.#body?.end()) this.#complete(true);
    else this.#fail('broken', code === '' ? CLOSED_EARLY : code);
  }

  /** Bytes that are not a response, or a listener that threw. */
  #fault(error: unknown): void {
    if (this.#call === null) throw error;
    this.#fail('broken', errorCodeOrName(error));
  }
}

/** Each of several addresses was tried, and at least one did not answer. */
function isTimeout(error: Error): boolean {
  if (!(error instanceof AggregateError)) return false;
  return errorCodeOrName(error) === 'ETIMEDOUT' || error.errors.some((one) => errorCodeOrName(one) === 'ETIMEDOUT');
}
