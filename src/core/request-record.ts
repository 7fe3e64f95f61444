/**
 * What became of one request, for whoever observes the gateway: the request log, metrics, traces, the live view. One
 * object per request, made when it arrives, filled in along its way, and handed to the observers once, at its end.
 *
 * It holds no prompt and no answer, apart from `body`, which is for the time of the request only, and `capture`, which the
 * operator turns on for a key; nor do its messages, which have no words of a provider. Moments are readings of `performance.now()`; null: it did not come to that.
 */
import { Capture } from './capture.ts';
import type { Condition } from './conditions.ts';
import type { Endpoint, Format } from './endpoints.ts';
import type { KeyRecord, Mode } from './key.ts';
import type { Target } from './model.ts';
import type { Pricing } from './money.ts';
import { keptMessage, withoutKeys } from './request-text.ts';
import type { Usage } from './usage.ts';

/** Called for every request of the gateway, on its path: it must return at once, and it must not throw. */
export interface RequestObserver {
  /** The key of the request is known; everything else of the record is still to come. */
  started(record: RequestRecord): void;
  /**
   * The request has ended, in whatever way; called once. Without a `keyId` it was never authenticated, and `started` was
   * not called. The record changes no more, except that it loses its `body`, which a stream has lost already.
   */
  finished(record: RequestRecord): void;
}

export const NO_OBSERVER: RequestObserver = { started() {}, finished() {} };

/** What an `Idempotency-Key` came to. `none`: the request had none, or did not get so far. */
export type IdempotencyOutcome = 'none' | 'fresh' | 'replay' | 'conflict' | 'in_flight';

/** Who ended an exchange before its answer was complete, where that was not the provider. */
export type StopReason = 'client_gone' | 'deadline' | 'drain' | 'operator' | 'cancelled' | 'run_size';

/**
 * Why a target was not asked in its turn. `cooling`: it rests after a failure, so it comes after the others. `no_credential`:
 * every credential of its provider was refused or limited already. `retry_budget`: too many of the recent requests were retries.
 */
export type SkipReason = 'circuit_open' | 'cooling' | 'no_credential' | 'no_time_left' | 'retry_budget';

export interface SkippedTarget {
  readonly target: Target;
  readonly reason: SkipReason;
}

export interface RateNote {
  readonly limit: number;
  readonly remaining: number;
  readonly resetMs: number;
}

/** A request that holds something now, as the operator sees it. */
export interface RunningRequest {
  readonly id: string;
  readonly key_id: string;
  readonly key_label: string | null;
  readonly mode: Mode;
  readonly model: string;
  readonly provider: string;
  readonly streamed: boolean;
  readonly attempts: number;
  readonly age_ms: number;
  /** In the key's unit. */
  readonly held: string;
  readonly output_bytes: number;
}

/** One call to a provider. */
export class AttemptRecord {
  readonly provider: string;
  readonly upstreamModel: string;
  readonly format: Format;
  readonly lane: 'passthrough' | 'translate';
  /** The number of the credential among those of its provider, from 1; 0 where the provider needs none. */
  readonly credential: number;
  /** How long was waited before it, because the same target had failed. */
  readonly waitedMs: number;
  startedAt: number | null = null;
  /** The head of the provider's answer. */
  firstByteAt: number | null = null;
  endedAt: number | null = null;
  outcome: 'running' | 'complete' | 'failed' | 'stopped' = 'running';
  /** The status of the provider; null while it has not answered. */
  status: number | null = null;
  /** The provider's own id of the call. */
  providerRequestId: string | null = null;
  condition: Condition | null = null;
  message: string | null = null;
  /** What the provider asked to be left alone for. */
  retryAfterS: number | null = null;

  constructor(target: Target, lane: 'passthrough' | 'translate', credential: number, waitedMs: number) {
    this.provider = target.provider;
    this.upstreamModel = target.upstreamModel;
    this.format = target.format;
    this.lane = lane;
    this.credential = credential;
    this.waitedMs = waitedMs;
  }

  failed({ condition, kept, detail, retryAfterS }: AttemptFault): void {
    this.condition = condition;
    this.retryAfterS = retryAfterS;
    this.message = detail === null ? kept : `${kept} (${detail})`;
  }

  /** `secrets`: what the provider was sent as credentials; it can answer with any id, also with one of these. */
  end(outcome: 'complete' | 'failed' | 'stopped', secrets: readonly string[]): void {
    this.endedAt = performance.now();
    this.outcome = outcome;
    if (this.providerRequestId === null) return;
    let id = this.providerRequestId;
    for (const secret of secrets) id = id.replaceAll(secret, '[redacted]');
    this.providerRequestId = withoutKeys(id);
  }
}

/** What a call failed with. `detail`: how a connection did. */
interface AttemptFault {
  readonly condition: Condition;
  /** What may be kept of its message. */
  readonly kept: string;
  readonly detail: string | null;
  readonly retryAfterS: number | null;
}

/** What a request failed with. `kept`: what may be kept of the message; null where that is the gateway's own sentence. */
interface RequestFault {
  readonly condition: Condition;
  readonly message: string;
  readonly param: string | null;
  readonly kept: string | null;
}

const NONE_SKIPPED: readonly SkippedTarget[] = [];
const NO_WARNINGS: readonly string[] = [];
const CLIENT_TEXT_CHARACTERS_MAX = 200;

export class RequestRecord {
  readonly requestId: string;
  readonly endpoint: Endpoint['name'] | null;
  readonly format: Format | null;
  /** Milliseconds since the Unix epoch, by the gateway's clock. */
  readonly receivedAtMs: number;
  readonly receivedAt = performance.now();

  /** Texts of the client, cut; they can hold anything. */
  clientRequestId: string | null = null;
  userAgent: string | null = null;
  traceparent: string | null = null;
  clientAddress: string | null = null;
  /** It came over a WebSocket, or has opened one. */
  webSocket = false;

  /** Null where the request was not authenticated. */
  keyId: string | null = null;
  keyLabel: string | null = null;
  /** Of the key, when the request came. */
  accountId: string | null = null;
  mode: Mode | null = null;

  /** The model as the client named it, cut: anything. */
  askedModel: string | null = null;
  /** The same, where it is in the catalog. */
  model: string | null = null;
  streamed = false;
  /** Its answer is a response that is made in the background. */
  background = false;
  idempotency: IdempotencyOutcome = 'none';
  rate: RateNote | null = null;

  readonly attempts: AttemptRecord[] = [];
  skipped = NONE_SKIPPED;
  /** What was left out of the request by its translation. */
  warnings = NO_WARNINGS;

  /** In the key's unit, as last extended; null where nothing was held. */
  held: bigint | null = null;
  /** What its hold ended as; null without one. `void`: nothing was owed. */
  settlement: 'charge' | 'void' | null = null;
  /** In the key's unit; null where nothing was charged. */
  charged: bigint | null = null;
  /** What was charged, and what the hold did not cover of it. */
  owed: bigint | null = null;
  usage: Usage | null = null;
  costNanos: bigint | null = null;
  providerCostNanos: bigint | null = null;
  /** What its tokens were charged by; null where nothing was charged. */
  pricing: Pricing | null = null;
  /** What the operator should look at in the charge. */
  flag: string | null = null;

  /** Null where the client was gone before a status could be sent. */
  status: number | null = null;
  /** Null for a success. With the status 200: what a stream broke with, in-band. */
  condition: Condition | null = null;
  message: string | null = null;
  stopped: StopReason | null = null;
  /** The client closed the connection before the response was complete. */
  clientClosed = false;

  admittedAt: number | null = null;
  /** The first bytes of the response were handed to the connection; of a stream this may be a sign of life. */
  firstByteAt: number | null = null;
  /** The first generated text of a stream; without any, the end of its answer. */
  firstContentAt: number | null = null;
  lastByteAt: number | null = null;
  /** The end of the hold was durable; null where it is not yet, as while the store is out of reach. */
  settledAt: number | null = null;
  endedAt: number | null = null;

  bytesIn = 0;
  bytesOut = 0;
  /** How many pieces of a stream were sent before the one that ends it, and how many before its first content. */
  chunks = 0;
  openingChunks = 0;
  /** As it was received; null before that, and after the end or the first content of a stream. */
  body: Buffer | null = null;
  capture: Capture | null = null;

  constructor(requestId: string, endpoint: Endpoint | null, receivedAtMs: number) {
    this.requestId = requestId;
    this.endpoint = endpoint?.name ?? null;
    this.format = endpoint?.format ?? null;
    this.receivedAtMs = receivedAtMs;
  }

  /** Once, when the key is known, whether or not it may be used. */
  authenticated({ id, label, accountId, mode, captureDays }: KeyRecord, observer: RequestObserver): void {
    this.keyId = id;
    this.keyLabel = label;
    this.accountId = accountId;
    this.mode = mode;
    this.capture = captureDays === null ? null : new Capture(captureDays);
    observer.started(this);
  }

  /** It was judged by an old copy of its key; nothing has been answered yet. */
  keyChanged({ captureDays }: KeyRecord): void {
    this.capture = captureDays === null ? null : new Capture(captureDays);
    if (this.body !== null) this.capture?.received(this.body);
  }

  /** `inCatalog`: whether there is a model of that name. */
  read(askedModel: string, inCatalog: boolean, streamed: boolean): void {
    this.askedModel = clientText(askedModel);
    this.model = inCatalog ? askedModel : null;
    this.streamed = streamed;
  }

  received(body: Buffer): void {
    this.body = body;
    this.bytesIn = body.length;
    this.capture?.received(body);
  }

  /** The failure that the client gets to see; the first one counts. */
  failed({ condition, message, param, kept }: RequestFault): void {
    if (this.condition !== null) return;
    this.condition = condition;
    this.message = kept ?? keptMessage(message, param);
  }

  /** The first content of a stream is about to be handed to the connection. */
  firstContent(): void {
    this.firstContentAt = performance.now();
    this.openingChunks = this.chunks;
  }

  /** A piece of a stream was handed to the connection. */
  wrote(bytes: Uint8Array): void {
    this.bytesOut += bytes.length;
    this.capture?.wrote(bytes);
    this.chunks += 1;
    this.firstByteAt ??= performance.now();
  }

  /** The last bytes were handed to the connection; of a response that is not a stream, all of them. */
  sent(bytes: Uint8Array): void {
    this.bytesOut += bytes.length;
    this.capture?.wrote(bytes);
    this.lastByteAt = performance.now();
    this.firstByteAt ??= this.lastByteAt;
  }

  /** To be called once, after everything else. */
  finish(observer: RequestObserver): void {
    this.endedAt = performance.now();
    observer.finished(this);
    this.body = null;
  }
}

interface RefusedRequest {
  readonly keyId: string | null;
  readonly endpoint: string | null;
  readonly condition: string | null;
}

/**
 * Whether nobody knows whose request it was because the store could not be asked about its key. For no other reason does an
 * endpoint refuse with this condition before it knows the key.
 */
export function isKeyUnasked({ keyId, endpoint, condition }: RefusedRequest): boolean {
  return keyId === null && endpoint !== null && condition === 'service_unavailable';
}

/** A text of the client as it may be kept: cut, and without an API key that was put into the wrong place. */
export function clientText(text: string | null): string | null {
  if (text === null) return null;
  return withoutKeys(text.length <= CLIENT_TEXT_CHARACTERS_MAX ? text : text.slice(0, CLIENT_TEXT_CHARACTERS_MAX));
}
