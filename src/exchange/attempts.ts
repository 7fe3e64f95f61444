/** What an exchange's attempts are made of: the route through the targets, and for each leg of it one attempt. */
import { addressOf, secretsOf } from '../provider/adapters.ts';
import type { ProviderFailure } from '../provider/failure.ts';
import { FORMATS } from '../wire/formats.ts';
import { Attempt, type AttemptEnd } from './attempt.ts';
import type { Exchange } from './exchange.ts';
import { forwardedHeaders } from './forwarded.ts';
import type { Gateway } from './gateway.ts';
import { usageOf } from './meter.ts';
import { type Leg, Route } from './route.ts';

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
  const { arrival, facts } = exchange;
  const { target, provider } = leg;
  const lane = exchange.plan.lanes.to(target, provider);
  for (const warning of lane.warnings ?? []) {
    gateway.log.warn({ requestId: arrival.requestId, model: exchange.plan.model.id, format: target.format }, warning);
  }
  const address = addressOf(
    provider,
    target.format,
    target.upstreamModel,
    leg.apiKey,
    forwardedHeaders(arrival.headers),
  );
  const body = lane.requestBody({ upstreamModel: target.upstreamModel, outputLimit: exchange.outputLimit });
  // Nothing may fail between the beginning of the trial and the attempt that ends it.
  const trial = gateway.standing.health.begin(target, facts.stream);
  const attempt = new Attempt({
    call: { ...address, body, timeouts: provider.timeouts },
    lane,
    stream: facts.stream,
    client: exchange.client,
    recorder: exchange.recorder,
    keepAlive: FORMATS[arrival.endpoint.format].keepAlive,
    streams: exchange.policy.streams,
    secrets: secretsOf(provider),
    onProof: (firstByteMs) => trial.succeeded(firstByteMs),
    onEnd: (end) => {
      if (end.kind === 'failed') learn(gateway, leg, end);
      if (provider.circuitBreaker && countsAgainst(end)) trial.failed();
      else trial.dropped();
    },
    onFault: (err) =>
      gateway.log.error(
        { err, requestId: arrival.requestId, provider: provider.name },
        'a call to a provider could not be made, or its answer not be read',
      ),
    elastic: exchange.elastic,
    tokensSeen: (meter) => usageOf(exchange.plan, meter).tokens,
  });
  exchange.begin(attempt, provider.name);
  return attempt;
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
  const { condition, message, operatorFault } = failure;
  const fields = { provider: provider.name, model: target.upstreamModel, condition, retryAfterS: failure.retryAfterS };
  if (operatorFault) gateway.log.error(fields, `look at the configuration of this provider: ${message}`);
  else gateway.log.warn(fields, `an attempt failed: ${message}`);
}
