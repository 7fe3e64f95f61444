/**
 * The whole way of a generation request, from a read body to its last byte:
 *
 *   read & validate → resolve model → price → ADMIT → attempt(s) → meter → SETTLE → last byte
 *
 * Everything that can fail without the provider fails before ADMIT. From ADMIT on, the admission owns the hold and
 * ends exactly once: here, in `complete` or `conclude`.
 */
import { GatewayError } from '../core/conditions.ts';
import { failureOf } from '../core/failure.ts';
import { FORMATS } from '../wire/formats.ts';
import type { StreamPlace } from '../wire/lane.ts';
import { admit } from './admit.ts';
import type { AttemptEnd, AttemptFailure } from './attempt.ts';
import { newAttempt, routeOf } from './attempt-setup.ts';
import { Exchange } from './exchange.ts';
import type { Gateway } from './gateway.ts';
import { Reading } from './read.ts';
import type { Arrival } from './request.ts';
import type { Client } from './response-sink.ts';

type Complete = AttemptEnd & { readonly kind: 'complete' };

const LINGER_MAX_MS = 30_000;

export async function run(gateway: Gateway, arrival: Arrival, client: Client): Promise<void> {
  const catalog = gateway.catalog();
  const policy = gateway.policy();
  const request = new Reading(arrival, catalog, policy, client.notes);
  const decided = admit(gateway, request);
  const admitted = decided instanceof Promise ? await decided : decided;
  if (admitted.kind === 'replay') {
    client.replay(admitted.reply);
    return;
  }
  const exchange = new Exchange(gateway, { catalog, policy }, arrival, request.valid(), admitted, client);
  const place = gateway.live.add(exchange, exchange.leftMs());
  try {
    const route = routeOf(gateway, exchange);
    let end: AttemptEnd = NO_TARGET;
    // The next attempt is made only when the one before has failed, and its client has seen nothing of it.
    for (let leg = route.next(); leg; leg = route.next()) {
      if (leg.waitMs > 0) await exchange.wait(leg.waitMs);
      const attempt = newAttempt(gateway, exchange, leg);
      attempt.start(gateway.upstream);
      end = await attempt.ended;
      if (end.kind !== 'failed' || end.retry === 'never' || client.begun) break;
      route.failed(leg, end);
    }
    if (end.kind === 'complete') await complete(exchange, end);
    else await conclude(exchange, end);
  } finally {
    // Until the end of its hold is durable, a drain waits for it.
    exchange.whenOver(() => gateway.live.remove(place));
    exchange.release();
    // Only a fault of this program ends an exchange without an end of its hold; the customer does not pay for it.
    if (!exchange.ended) await exchange.void();
  }
}

/** Of a call that did not complete: SETTLE or void, then the last byte. */
async function conclude(exchange: Exchange, end: Exclude<AttemptEnd, Complete>): Promise<void> {
  switch (end.kind) {
    case 'stopped': {
      // Charged from the moment the provider accepted, without a usage record, whoever stopped it.
      await atLength(end.accepted ? exchange.settle(end.meter, 'cancelled', null) : exchange.void());
      if (end.reason === 'client_gone') return;
      return fail(exchange, STOPPED[end.reason], end.place);
    }
    case 'failed': {
      await atLength(end.meter ? exchange.settle(end.meter, 'broken', null) : exchange.void());
      return fail(
        exchange,
        new GatewayError(end.condition, { message: end.message, retryAfterS: end.retryAfterS ?? undefined }),
        end.place,
      );
    }
  }
}

/** The commit is waited for, but what the client is told of a call that did not complete does not hang on it. */
async function atLength(commit: Promise<unknown>): Promise<void> {
  try {
    await commit;
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
  }
}

/** SETTLE, then the last byte. */
async function complete(exchange: Exchange, end: Complete): Promise<void> {
  const { client } = exchange;
  const terminal = end.terminal();
  exchange.recorder?.add(terminal);
  try {
    exchange.checkCharged(await exchange.settle(end.meter, 'complete', end.contentType));
  } catch (error) {
    return fail(exchange, error, end.place);
  }
  if (!exchange.facts.stream) client.whole(200, end.contentType, terminal);
  else {
    if (!client.begun) client.begin(end.contentType);
    client.end(terminal);
  }
}

/** A real status while none has been sent, in-band after that. */
function fail(exchange: Exchange, error: unknown, place: StreamPlace | null): void {
  const { client, arrival } = exchange;
  if (!client.begun) throw error;
  // In-band there is no status that the operation's list could lack: the time limit goes by its own name.
  const failure = failureOf(error === STOPPED.deadline ? null : arrival.endpoint, error);
  const frames = FORMATS[arrival.endpoint.format].failureFrames({
    ...failure,
    requestId: arrival.requestId,
    publicModel: exchange.plan.model.id,
    place: place ?? undefined,
  });
  // A client that does not read would keep its connection for ever.
  client.end(frames, Math.min(LINGER_MAX_MS, exchange.plan.totalMs));
}

const STOPPED = {
  deadline: new GatewayError('upstream_timeout', {
    message: 'The request reached its time limit. What was produced is billed.',
  }),
  drain: new GatewayError('service_unavailable', {
    message: 'The gateway is shutting down. What was produced is billed.',
  }),
} as const;

const NO_TARGET: AttemptFailure = {
  kind: 'failed',
  condition: 'provider_unavailable',
  message: 'No provider of this model can be used right now: each has failed too often and is left alone for a while.',
  retry: 'never',
  retryAfterS: null,
  operatorFault: false,
  detail: null,
  unhealthy: false,
  cools: null,
  meter: null,
  place: null,
};
