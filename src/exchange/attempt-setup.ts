/** From an exchange to its attempts: the sequence of targets, and one attempt for each that is asked. */
import type { StreamSettings } from '../core/policy.ts';
import { AttemptRecord } from '../core/request-record.ts';
import { readTraceparent } from '../core/traceparent.ts';
import type { TokenCounts } from '../core/usage.ts';
import { addressOf, type ForwardedHeaders, traced } from '../provider/adapters.ts';
import type { ProviderFailure } from '../provider/failure.ts';
import { secretsOf } from '../provider/secrets.ts';
import type { UpstreamCall } from '../provider/upstream.ts';
import type { CallRecord } from '../routing/target-health.ts';
import { type NextAttempt, TargetSequence } from '../routing/target-sequence.ts';
import { FORMATS } from '../wire/formats.ts';
import { releaseBody } from '../wire/json/parse-request.ts';
import type { Lane, Seen } from '../wire/lane.ts';
import { Attempt } from './attempt.ts';
import type { AttemptEnd } from './attempt-end.ts';
import type { AttemptOptions } from './attempt-options.ts';
import { conversationOf } from './conversation.ts';
import type { ElasticHold } from './elastic-hold.ts';
import type { Exchange } from './exchange.ts';
import { noteFailedAttempt } from './failed-attempt.ts';
import type { Gateway } from './gateway.ts';
import type { ReplyRecorder } from './reply-recorder.ts';
import type { RequestHeaders } from './request.ts';
import { remembers } from './request-state.ts';
import type { ResponseSink } from './response-sink.ts';

/** How long a refused or used-up credential rests where the provider does not say. */
const KEY_REST_MS = 30_000;

/** The client's headers that may reach a provider. An empty one says nothing. */
export function forwardedHeaders(headers: RequestHeaders): ForwardedHeaders {
  return {
    version: headers.get('compat-version') || headers.get('anthropic-version') || null,
    betas: headers.get('anthropic-beta') || null,
  };
}

export function targetSequence(gateway: Gateway, exchange: Exchange): TargetSequence {
  const { plan, catalog, policy, info } = exchange;
  return new TargetSequence({
    targets: plan.targets,
    catalog,
    routing: policy.routing,
    streamed: info.stream,
    keyId: exchange.keyId,
    conversation: policy.routing.cacheAffinity ? () => conversationOf(exchange.request, plan.request) : null,
    state: gateway.routing,
    clock: gateway.clock.steady ?? gateway.clock,
  });
}

/** The attempt that the exchange makes now; where that was stopped meanwhile, it has ended already. */
export function newAttempt(gateway: Gateway, exchange: Exchange, next: NextAttempt): Attempt {
  const setup = new AttemptSetup(gateway, exchange, next);
  const attempt = new Attempt(setup);
  exchange.begin(attempt, setup.record);
  return attempt;
}

/** Everything that one attempt needs; the routing state learns from its outcome. */
class AttemptSetup implements AttemptOptions {
  call: UpstreamCall | null;
  lane: Lane | null;
  readonly stream: boolean;
  readonly response: ResponseSink;
  readonly recorder: ReplyRecorder | null;
  readonly keepAlive: Buffer;
  readonly streams: StreamSettings;
  readonly elastic: ElasticHold | null;
  readonly record: AttemptRecord;
  readonly #gateway: Gateway;
  readonly #exchange: Exchange;
  readonly #next: NextAttempt;
  readonly #callRecord: CallRecord;

  constructor(gateway: Gateway, exchange: Exchange, next: NextAttempt) {
    const { request, info } = exchange;
    const { target, provider } = next;
    const lane = exchange.plan.lanes.to(target, provider);
    const { warnings } = lane;
    // A target that is asked again has the same list.
    if (warnings !== undefined && warnings !== exchange.record.warnings) {
      exchange.record.warnings = warnings;
      const { requestId } = request;
      const fields = { requestId, keyId: exchange.keyId, model: exchange.plan.model.id, format: target.format };
      if (warnings.length > 0) gateway.log.warn({ ...fields, warnings }, 'left out by the translation');
    }
    const forwarded = forwardedHeaders(request.headers);
    const known = addressOf(provider, target.format, target.upstreamModel, next.apiKey, forwarded);
    const traceparent = provider.forwardsTraceparent ? exchange.record.traceparent : null;
    const address = traceparent === null || readTraceparent(traceparent) === null ? known : traced(known, traceparent);
    const body = lane.requestBody({ upstreamModel: target.upstreamModel, outputLimit: exchange.outputLimit });
    this.call = { ...address, body, timeouts: provider.timeouts };
    this.lane = lane;
    this.stream = info.stream;
    this.response = exchange.response;
    this.recorder = exchange.recorder;
    this.keepAlive = FORMATS[request.endpoint.format].keepAlive;
    this.streams = exchange.policy.streams;
    this.elastic = exchange.elastic;
    this.record = new AttemptRecord(target, lane.kind, credentialNumber(next), next.waitMs);
    this.#gateway = gateway;
    this.#exchange = exchange;
    this.#next = next;
    // Nothing may fail between the start of the call record and the attempt that ends it.
    this.#callRecord = gateway.routing.health.begin(target, exchange.keyId, info.stream);
  }

  secrets(): readonly string[] {
    return secretsOf(this.#next.provider);
  }

  onProof(firstByteMs: number): void {
    this.#callRecord.succeeded(firstByteMs);
    if (!this.stream) this.#exchange.answered();
  }

  onFirstContent(): void {
    this.#exchange.record.firstContent();
    this.#exchange.answered();
  }

  onContentSent(): void {
    // Until the client has seen something of the answer, another target may be asked.
    if (this.response.headersSent) this.#releaseRequest();
  }

  /**
   * Nothing of it is sent again, and a stream may go on for minutes: 1,000 of them with a context of 200 KB each take 245 MB, and took 456.
   * What is still asked of the request, its plan knows.
   */
  #releaseRequest(): void {
    const { plan, record } = this.#exchange;
    this.call = null;
    this.lane = null;
    plan.lanes.release();
    plan.input.release();
    const { state } = plan.request;
    if (state && !remembers(state)) state.newInput = [];
    releaseBody(plan.request);
    record.body = null;
  }

  onEnd(end: AttemptEnd): void {
    this.record.end(end.kind, this.secrets());
    if (end.kind === 'failed') {
      learn(this.#gateway, this.#next, end);
      noteFailedAttempt(this.#gateway.log, this.#exchange.record, this.record, end);
    }
    if (this.#next.provider.circuitBreaker && countsAgainst(end)) this.#callRecord.failed();
    else this.#callRecord.cancelled();
  }

  onFault(err: unknown): void {
    this.#gateway.log.error(
      {
        err,
        requestId: this.#exchange.request.requestId,
        keyId: this.#exchange.keyId,
        provider: this.#next.provider.name,
      },
      'a call to a provider could not be made, or its answer not be read',
    );
  }

  cutShort(seen: Seen): Promise<TokenCounts> {
    return this.#exchange.cutShort(seen);
  }
}

/** The number of the credential, from 1; 0 where the provider needs none. */
export function credentialNumber({ provider, apiKey }: Pick<NextAttempt, 'provider' | 'apiKey'>): number {
  return apiKey === null ? 0 : provider.apiKeys.indexOf(apiKey) + 1;
}

/** An attempt that ran into the time limit before the provider accepted it is the provider's; what the client ended is nobody's. */
function countsAgainst(end: AttemptEnd): boolean {
  if (end.kind === 'failed') return end.unhealthy;
  return end.kind === 'stopped' && end.reason === 'deadline' && !end.accepted;
}

function learn({ routing }: Gateway, { target, provider, apiKey }: NextAttempt, failure: ProviderFailure): void {
  const { health, credentials } = routing;
  const askedMs = failure.retryAfterS === null ? null : failure.retryAfterS * 1_000;
  if (failure.cools === 'key') credentials.coolDown(provider, apiKey, askedMs ?? KEY_REST_MS);
  else if (failure.cools === 'target' && askedMs !== null) health.coolDown(target, askedMs);
  if (failure.cools === 'key' && failure.operatorFault) credentials.noteRefused(provider);
}
