/** What an exchange's attempts are made of: the route through the targets, and for each leg of it one attempt. */
import type { StreamSettings } from '../core/policy.ts';
import type { TokenCounts } from '../core/usage.ts';
import { addressOf, secretsOf } from '../provider/adapters.ts';
import type { ProviderFailure } from '../provider/failure.ts';
import type { UpstreamCall } from '../provider/upstream.ts';
import { type Leg, Route } from '../routing/route.ts';
import type { Trial } from '../routing/target-health.ts';
import { FORMATS } from '../wire/formats.ts';
import type { Lane, Meter } from '../wire/lane.ts';
import { Attempt, type AttemptEnd, type AttemptOrder } from './attempt.ts';
import type { ElasticHold } from './elastic-hold.ts';
import type { Exchange } from './exchange.ts';
import { forwardedHeaders } from './forwarded.ts';
import type { Gateway } from './gateway.ts';
import { usageOf } from './meter.ts';
import type { ReplyRecorder } from './reply-recorder.ts';
import type { Client } from './response-sink.ts';

/** How long a refused or used-up credential rests where the provider does not say. */
const KEY_REST_MS = 30_000;

export function routeOf(gateway: Gateway, exchange: Exchange): Route {
  const { plan, catalog, policy, facts } = exchange;
  return new Route({
    candidates: plan.targets,
    catalog,
    routing: policy.routing,
    streamed: facts.stream,
    standing: gateway.standing,
    clock: gateway.clock,
  });
}

/** The attempt that the exchange makes now; where that was stopped meanwhile, it has ended already. */
export function newAttempt(gateway: Gateway, exchange: Exchange, leg: Leg): Attempt {
  const attempt = new Attempt(new LegOrder(gateway, exchange, leg));
  exchange.begin(attempt, leg.provider.name);
  return attempt;
}

/** What one leg asks of its attempt, and what it learns from it. */
class LegOrder implements AttemptOrder {
  readonly call: UpstreamCall;
  readonly lane: Lane;
  readonly stream: boolean;
  readonly client: Client;
  readonly recorder: ReplyRecorder | null;
  readonly keepAlive: Buffer;
  readonly streams: StreamSettings;
  readonly elastic: ElasticHold | null;
  readonly #gateway: Gateway;
  readonly #exchange: Exchange;
  readonly #leg: Leg;
  readonly #trial: Trial;

  constructor(gateway: Gateway, exchange: Exchange, leg: Leg) {
    const { arrival, facts } = exchange;
    const { target, provider } = leg;
    const lane = exchange.plan.lanes.to(target, provider);
    for (const warning of lane.warnings ?? []) {
      gateway.log.warn({ requestId: arrival.requestId, model: exchange.plan.model.id, format: target.format }, warning);
    }
    const forwarded = forwardedHeaders(arrival.headers);
    const address = addressOf(provider, target.format, target.upstreamModel, leg.apiKey, forwarded);
    const body = lane.requestBody({ upstreamModel: target.upstreamModel, outputLimit: exchange.outputLimit });
    this.call = { ...address, body, timeouts: provider.timeouts };
    this.lane = lane;
    this.stream = facts.stream;
    this.client = exchange.client;
    this.recorder = exchange.recorder;
    this.keepAlive = FORMATS[arrival.endpoint.format].keepAlive;
    this.streams = exchange.policy.streams;
    this.elastic = exchange.elastic;
    this.#gateway = gateway;
    this.#exchange = exchange;
    this.#leg = leg;
    // Nothing may fail between the beginning of the trial and the attempt that ends it.
    this.#trial = gateway.standing.health.begin(target, facts.stream);
  }

  secrets(): readonly string[] {
    return secretsOf(this.#leg.provider);
  }

  onProof(firstByteMs: number): void {
    this.#trial.succeeded(firstByteMs);
  }

  onEnd(end: AttemptEnd): void {
    if (end.kind === 'failed') learn(this.#gateway, this.#leg, end);
    if (this.#leg.provider.circuitBreaker && countsAgainst(end)) this.#trial.failed();
    else this.#trial.dropped();
  }

  onFault(err: unknown): void {
    this.#gateway.log.error(
      { err, requestId: this.#exchange.arrival.requestId, provider: this.#leg.provider.name },
      'a call to a provider could not be made, or its answer not be read',
    );
  }

  tokensSeen(meter: Meter): TokenCounts {
    return usageOf(this.#exchange.plan, meter).tokens;
  }
}

/** An attempt that ran into the time limit before the provider accepted it is the provider's; what the client ended is nobody's. */
function countsAgainst(end: AttemptEnd): boolean {
  if (end.kind === 'failed') return end.unhealthy;
  return end.kind === 'stopped' && end.reason === 'deadline' && !end.accepted;
}

function learn(gateway: Gateway, { target, provider, apiKey }: Leg, failure: ProviderFailure): void {
  const { health, keys } = gateway.standing;
  const askedMs = failure.retryAfterS === null ? null : failure.retryAfterS * 1_000;
  if (failure.cools === 'key') keys.coolDown(provider, apiKey, askedMs ?? KEY_REST_MS);
  else if (failure.cools === 'target' && askedMs !== null) health.coolDown(target, askedMs);
  const { condition, operatorFault } = failure;
  const message = failure.detail === null ? failure.message : `${failure.message} (${failure.detail})`;
  const fields = { provider: provider.name, model: target.upstreamModel, condition, retryAfterS: failure.retryAfterS };
  if (operatorFault) gateway.log.error(fields, `look at the configuration of this provider: ${message}`);
  else gateway.log.warn(fields, `an attempt failed: ${message}`);
}
