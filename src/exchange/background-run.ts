/**
 * A run: an exchange whose client side is not a connection but the store. What its attempts write becomes numbered events,
 * which the journal appends in batches; the last of them are stored together with the charge. It never waits for a reader.
 */
import type { GatewayError } from '../core/conditions.ts';
import { failureOf } from '../core/failure.ts';
import type { StopReason } from '../core/request-record.ts';
import type { NewRun, RunEnd, RunEvents } from '../ledger/port.ts';
import { isObject, type JsonObject, parseJson } from '../lib/json.ts';
import type { StreamPosition } from '../wire/lane.ts';
import {
  endedResponse,
  endingFrame,
  lastResponse,
  type NumberedFrames,
  RunFrames,
  type RunIdentity,
} from '../wire/responses/run-events.ts';
import type { ResponseSink } from './response-sink.ts';

/** With so much that is not stored yet, the provider waits. */
const PENDING_BYTES_MAX = 1_024 * 1_024;

/** A frame is kept in memory until it is whole. */
const FRAME_BYTES_MAX = 16 * 1_024 * 1_024;

/** Why a run ends before its answer is complete: what went wrong, or that it was cancelled. */
export type RunFailure = GatewayError | 'cancelled';

interface RunOptions {
  readonly keyId: string;
  readonly requestId: string;
  readonly run: NewRun;
  /** The most that its events may have, in bytes. */
  readonly eventBytesMax: number;
  /** There is something to append. */
  onEvents(): void;
}

export class BackgroundRun implements ResponseSink {
  /** Once there is something of an answer: until then another provider may be asked. */
  headersSent = false;
  readonly closed = false;
  readonly keyId: string;
  readonly id: string;
  /** As its client sees it first. */
  readonly response: string;
  readonly #options: RunOptions;
  readonly #first: JsonObject;
  readonly #identity: RunIdentity;
  readonly #frames: RunFrames;
  #pending: NumberedFrames[] = [];
  #pendingBytes = 0;
  #bytes = 0;
  /** Sent to the store; it goes again as it was where that failed. */
  #sent: RunEvents | null = null;
  #underWay = false;
  #whenAppended: (() => void) | null = null;
  #stop: (reason: StopReason) => void = () => {};
  #onDrain: (() => void) | null = null;
  /** From its end on nothing is appended any more: what is left goes with the end. */
  #ended = false;
  #terminal: NumberedFrames | null = null;
  #end: RunEnd | null = null;

  constructor(options: RunOptions) {
    this.#options = options;
    this.keyId = options.keyId;
    this.id = options.run.id;
    this.response = options.run.response;
    const first = parseJson(this.response);
    this.#first = isObject(first) ? first : {};
    this.#identity = { id: this.id, created_at: Number(this.#first.created_at), background: true };
    this.#frames = new RunFrames(this.#identity);
  }

  /** The run belongs to the gateway: that a client has gone does not end it. */
  onClose(): void {}

  /** How its exchange is stopped. */
  onStop(stop: (reason: StopReason) => void): void {
    this.#stop = stop;
  }

  /** Ends it, wherever it is. */
  stop(reason: StopReason): void {
    this.#stop(reason);
  }

  /** Its client was answered when it began. */
  writeHead(): void {}

  write(bytes: Buffer): boolean {
    if (this.#ended || this.#isFull) return true;
    const frames = this.#frames.push(bytes);
    // A sign of life is for clients that wait.
    this.headersSent ||= frames !== null || this.#frames.partialBytes > 0;
    this.#add(frames);
    if (this.#isFull) this.#stop('run_size');
    return this.#pendingBytes < PENDING_BYTES_MAX;
  }

  get #isFull(): boolean {
    const { partialBytes } = this.#frames;
    return this.#bytes + partialBytes > this.#options.eventBytesMax || partialBytes > FRAME_BYTES_MAX;
  }

  #add(frames: NumberedFrames | null): void {
    if (frames === null) return;
    this.#pending.push(frames);
    this.#pendingBytes += frames.frames.length;
    this.#bytes += frames.frames.length;
    this.#options.onEvents();
  }

  onDrain(listener: () => void): void {
    this.#onDrain = listener;
  }

  get hasPending(): boolean {
    return this.#pending.length > 0;
  }

  /** What is to be appended now; null where there is nothing. `appended` or `notAppended` must follow. */
  take(): RunEvents | null {
    if (this.#ended) return null;
    this.#sent ??= this.#takePending();
    this.#underWay = this.#sent !== null;
    return this.#sent;
  }

  #takePending(): RunEvents | null {
    const [first] = this.#pending;
    const last = this.#pending.at(-1);
    if (first === undefined || last === undefined) return null;
    const frames = Buffer.concat(this.#pending.map((one) => one.frames));
    this.#pending = [];
    return { first: first.first, last: last.last, frames };
  }

  appended(): void {
    this.#pendingBytes -= this.#sent?.frames.length ?? 0;
    this.#sent = null;
    this.notAppended();
    if (this.#pendingBytes >= PENDING_BYTES_MAX) return;
    const listener = this.#onDrain;
    this.#onDrain = null;
    listener?.();
  }

  notAppended(): void {
    this.#underWay = false;
    this.#whenAppended?.();
  }

  /** The last bytes of a complete answer under the id of the run, as they are to be stored. */
  named(terminal: Buffer): Buffer {
    this.#terminal = this.#frames.push(terminal);
    return this.#terminal?.frames ?? terminal;
  }

  /** The answer is complete; `terminal`: what `named` gave, or that with other members. */
  async complete(terminal: Buffer): Promise<void> {
    const status = lastResponse(terminal)?.status;
    const { first, last } = this.#terminal ?? { first: this.#frames.nextNumber, last: this.#frames.nextNumber };
    await this.#finish(status === 'incomplete' ? 'incomplete' : 'completed', { first, last, frames: terminal });
  }

  /** The answer is not complete. `position`: how far it had come. */
  async fail(failure: RunFailure, position: StreamPosition | null): Promise<void> {
    const { requestId } = this.#options;
    const seen = position?.response() ?? {};
    const known = seen.id === undefined || seen.id === '' ? this.#first : { ...seen, ...this.#identity };
    const status = failure === 'cancelled' ? 'cancelled' : 'failed';
    const error = failure === 'cancelled' ? null : errorOf(failure, requestId);
    const number = this.#frames.nextNumber;
    const frames = endingFrame(number, endedResponse(known, { status, error }));
    await this.#finish(status, { first: number, last: number, frames });
  }

  /** Once nothing is on its way to the store any more, for which its outcome is waited for whatever it is. */
  async #finish(status: RunEnd['status'], terminal: RunEvents): Promise<void> {
    this.#ended = true;
    if (this.#underWay) {
      await new Promise<void>((resolve) => {
        this.#whenAppended = resolve;
      });
    }
    const rest = this.#takePending();
    const events = [this.#sent, rest, terminal].filter((one) => one !== null);
    this.#end = { id: this.id, status, events };
  }

  /** What is stored with the end of its hold. */
  get ending(): RunEnd | null {
    return this.#end;
  }

  end(): void {}

  destroy(): void {}

  send(): never {
    throw new Error('a run is always streamed');
  }

  replay(): never {
    throw new Error('a run is never replayed');
  }
}

/** Limits and shutdowns are the server's; what the provider or the request is at fault for goes by its own name. */
function errorOf(error: GatewayError, requestId: string): JsonObject {
  const { code, message, type } = failureOf(null, error);
  const own = error.condition === 'upstream_timeout' || error.condition === 'service_unavailable';
  const known = own || error.condition === 'internal_error' ? 'server_error' : code;
  return { code: known, message, type, param: null, request_id: requestId };
}
