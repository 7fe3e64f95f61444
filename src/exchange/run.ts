/**
 * The whole way of a generation request, from its headers to its last byte:
 *
 *   authenticate → read & validate → make a plan → price → ADMIT → attempt(s) → meter → SETTLE → last byte
 *
 * Everything that can fail without the provider fails before ADMIT. From ADMIT on, the admission owns the hold and
 * ends exactly once: here, in `settleComplete` or `settleIncomplete`.
 */
import { GatewayError } from '../core/conditions.ts';
import { failureOf } from '../core/failure.ts';
import type { KeyRecord } from '../core/key.ts';
import type { StopReason } from '../core/request-record.ts';
import type { ExactCount } from '../counting/exact-count.ts';
import { FORMATS } from '../wire/formats.ts';
import type { StreamPosition } from '../wire/lane.ts';
import { streamOf } from '../wire/responses/compaction.ts';
import { admit } from './admit.ts';
import type { AttemptEnd, AttemptFailure } from './attempt-end.ts';
import { newAttempt, targetSequence } from './attempt-setup.ts';
import { authenticate, knownCaller } from './authenticate.ts';
import type { RunFailure } from './background-run.ts';
import { answerRepeated, beginRun, stoppedRun } from './begin-run.ts';
import { refusedContext } from './context-exceeded.ts';
import { Exchange } from './exchange.ts';
import { expander } from './expand-request.ts';
import { configInForce, type Gateway } from './gateway.ts';
import { makePlan } from './make-plan.ts';
import type { Plan } from './plan.ts';
import { compactsItself, noteRead, readRequest } from './read.ts';
import type { GenerationRequest } from './request.ts';
import type { ResponseSink } from './response-sink.ts';

type Complete = AttemptEnd & { readonly kind: 'complete' };

const LINGER_MAX_MS = 30_000;

export async function run(gateway: Gateway, request: GenerationRequest, response: ResponseSink): Promise<void> {
  const config = await configInForce(gateway);
  const caller = knownCaller(gateway, request) ?? (await authenticate(gateway, request));
  const expand = expander(gateway, caller.key.id, config.policy, request.memory);
  const { catalog } = config;
  const compacts = compactsItself.bind(null, catalog);
  const read = await readRequest(request, config.policy.limits, expand, catalog.withDefaults, compacts);
  noteRead(request.record, config.catalog, read);
  const plan = (key: KeyRecord, exact: ExactCount | null): Plan | GatewayError =>
    makePlan(config, key, request.endpoint, read, exact);
  const admitted = await admit(gateway, { request, caller, policy: config.policy, plan });
  if (admitted.kind === 'replay') {
    response.replay(admitted.reply);
    return;
  }
  if (admitted.kind === 'repeated') return answerRepeated(gateway, caller.key.id, admitted, response);
  const background = beginRun(gateway, request, admitted, response);
  const exchange = new Exchange(gateway, config, request, admitted, background?.run ?? response);
  const node = gateway.inFlight.add(exchange, exchange.leftMs());
  let end: AttemptEnd | null = null;
  try {
    end = await runAttempts(gateway, exchange);
    if (end.kind === 'complete') await settleComplete(exchange, end);
    else await settleIncomplete(exchange, end);
  } finally {
    // Until the end of its hold is durable, a drain waits for it.
    exchange.whenOver(() => {
      gateway.inFlight.remove(node);
      if (exchange.run) gateway.runs.end(exchange.run);
    });
    exchange.release();
    if (!exchange.ended) await giveUp(exchange, end);
    exchange.noteEnd();
    await background?.answered;
  }
}

/** One target after the other, until one has answered, or the client has seen something of a failed one. */
async function runAttempts(gateway: Gateway, exchange: Exchange): Promise<AttemptEnd> {
  const targets = targetSequence(gateway, exchange);
  let end: AttemptEnd | null = null;
  for (let next = targets.next(); next; next = targets.next()) {
    if (next.waitMs > 0) await exchange.wait(next.waitMs);
    const attempt = newAttempt(gateway, exchange, next);
    attempt.start(gateway.upstream);
    end = await attempt.ended;
    if (end.kind !== 'failed' || end.retry === 'never' || exchange.response.headersSent) break;
    targets.failed(next, end);
  }
  exchange.record.skipped = targets.skipped;
  return end ?? noTarget(targets.dueInMs());
}

/** SETTLE, then the last byte. */
async function settleComplete(exchange: Exchange, end: Complete): Promise<void> {
  const { response } = exchange;
  const counted = end.meter.reportedFinal ? null : await exchange.countUnreported(end.meter);
  const isLate = exchange.plan.request.compaction?.answer === 'stream';
  const { bytes, kept } = exchange.finish(end.terminal(counted), counted);
  const terminal = isLate ? streamOf(bytes) : bytes;
  exchange.recorder?.add(terminal);
  // The end of a run is stored together with its charge.
  await exchange.run?.complete(terminal);
  const contentType = isLate ? 'text/event-stream' : end.contentType;
  try {
    exchange.checkCharged(await exchange.settle(end.meter, 'complete', contentType, kept));
  } catch (error) {
    return fail(exchange, error, end.position);
  }
  if (!exchange.info.stream && !isLate) response.send(200, contentType, terminal);
  else {
    if (!response.headersSent) response.writeHead(contentType);
    response.end(terminal);
  }
}

/** A call did not complete: SETTLE or void, then the last byte. */
async function settleIncomplete(exchange: Exchange, end: Exclude<AttemptEnd, Complete>): Promise<void> {
  const { run } = exchange;
  const owed = end.kind === 'stopped' ? end.accepted : end.meter !== null;
  const failure = end.kind === 'stopped' ? stoppedBy(exchange, end.reason) : failedBy(exchange, end);
  if (end.kind === 'stopped') exchange.record.stopped = end.reason;
  await run?.fail(failure, end.position);
  // Charged from the moment the provider accepted, whoever stopped it.
  const outcome = end.kind === 'stopped' ? 'cancelled' : 'broken';
  await ignoreStoreFailure(owed ? exchange.settle(end.meter, outcome, null) : exchange.void());
  if (failure !== 'cancelled') return fail(exchange, failure, end.position);
}

/** Nobody is told where it was the client who ended it. */
function stoppedBy({ run, policy }: Exchange, reason: StopReason): RunFailure {
  if (reason === 'client_gone' || reason === 'cancelled') return 'cancelled';
  return run === null && reason !== 'run_size' ? STOPPED[reason] : stoppedRun(reason, policy.runs);
}

function failedBy(exchange: Exchange, end: AttemptFailure): GatewayError {
  const message =
    end.condition === 'context_length_exceeded'
      ? refusedContext(exchange.request.endpoint, exchange.plan, end.message)
      : end.message;
  return new GatewayError(end.condition, {
    message,
    kept: end.kept,
    retryAfterS: end.retryAfterS ?? undefined,
    billed: end.meter !== null,
  });
}

/**
 * Only a fault of this program ends an exchange without an end of its hold. What a provider has completed is charged all the
 * same, or a request that meets the fault each time would have every answer made for nothing; the customer pays for nothing else.
 */
export async function giveUp(
  exchange: Pick<Exchange, 'run' | 'settle' | 'void' | 'ended'>,
  end: AttemptEnd | null,
): Promise<void> {
  await exchange.run?.fail(new GatewayError('internal_error'), null);
  try {
    if (end?.kind === 'complete') await ignoreStoreFailure(exchange.settle(end.meter, 'broken', null));
  } finally {
    if (!exchange.ended) await exchange.void();
  }
}

/** The commit is waited for, but the answer about a call that did not complete does not depend on it. */
async function ignoreStoreFailure(commit: Promise<unknown>): Promise<void> {
  try {
    await commit;
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
  }
}

/** A real status while none has been sent, in-band after that. */
function fail(exchange: Exchange, error: unknown, position: StreamPosition | null): void {
  const { response, request, run } = exchange;
  if (!response.headersSent && run === null) throw error;
  // In-band there is no status that the operation's list could lack: the time limit goes by its own name.
  const failure = failureOf(run !== null || error === STOPPED.deadline ? null : request.endpoint, error);
  exchange.record.failed(failure);
  if (run !== null) return;
  const frames = FORMATS[request.endpoint.format].failureFrames({
    ...failure,
    requestId: request.requestId,
    publicModel: exchange.plan.model.id,
    position: position ?? undefined,
  });
  // A client that does not read would keep its connection for ever.
  response.end(frames, Math.min(LINGER_MAX_MS, exchange.plan.totalMs));
}

const STOPPED = {
  deadline: new GatewayError('upstream_timeout', {
    message: 'The request reached its time limit. What was produced is charged.',
  }),
  drain: new GatewayError('service_unavailable', {
    message: 'The gateway is shutting down. What was produced is charged.',
  }),
  operator: new GatewayError('service_unavailable', {
    message: 'An operator of the gateway has stopped this request. What was produced is charged.',
  }),
} as const;

const NO_TARGET =
  'No provider of this model can be used right now: each has failed too often and is not called for a while.';

function noTarget(dueInMs: number | null): AttemptFailure {
  return {
    kind: 'failed',
    condition: 'provider_unavailable',
    message: NO_TARGET,
    kept: NO_TARGET,
    retry: 'never',
    retryAfterS: dueInMs === null ? null : Math.ceil(dueInMs / 1_000),
    operatorFault: false,
    detail: null,
    unhealthy: false,
    cools: null,
    meter: null,
    position: null,
  };
}
