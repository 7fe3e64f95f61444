/** A response in the background, at its beginning: the run, and what the client is answered with at once. */
import { GatewayError } from '../core/conditions.ts';
import type { RunSettings } from '../core/policy.ts';
import type { StopReason } from '../core/request-record.ts';
import type { Admitted } from './admit.ts';
import { BackgroundRun } from './background-run.ts';
import { type Gateway, storeFailed } from './gateway.ts';
import type { GenerationRequest } from './request.ts';
import type { ResponseSink } from './response-sink.ts';
import { runResponse, streamRun } from './run-reader.ts';

interface BegunRun {
  readonly run: BackgroundRun;
  /** Resolves when the client has its answer, or has gone. */
  readonly answered: Promise<void>;
}

/** Null where the client waits for the response. */
export function beginRun(
  gateway: Gateway,
  { requestId, record }: GenerationRequest,
  { run: begun, plan, caller }: Admitted & { kind: 'admitted' },
  response: ResponseSink,
): BegunRun | null {
  if (begun === null) return null;
  record.background = true;
  const { runs } = gateway;
  const run = new BackgroundRun({
    keyId: caller.key.id,
    requestId,
    run: begun,
    eventBytesMax: gateway.policy().runs.eventBytes,
    onEvents: () => runs.hasEvents(),
  });
  runs.begin(run);
  if (plan.request.run?.streamed === true) return { run, answered: streamRun(gateway, run, -1, response) };
  response.send(200, 'application/json', Buffer.from(run.response));
  return { run, answered: Promise.resolve() };
}

/** The run has this claim since an earlier request. */
export async function answerRepeated(
  gateway: Gateway,
  keyId: string,
  { claim, run: { streamed }, refusal }: Admitted & { kind: 'repeated' },
  response: ResponseSink,
): Promise<void> {
  const run = await gateway.ledger.findRun(keyId, { claim }).catch(storeFailed);
  if (run === null) throw refusal;
  if (streamed) return streamRun(gateway, { keyId, id: run.id }, -1, response);
  response.send(200, 'application/json', Buffer.from(JSON.stringify(await runResponse(gateway, keyId, run))));
}

/** What the response of a run says that was ended from this side. */
export function stoppedRun(
  reason: Exclude<StopReason, 'client_gone' | 'cancelled'>,
  { totalMs, eventBytes }: RunSettings,
): GatewayError {
  const why = {
    deadline: `The response reached the time limit of background responses (runs.total, ${totalMs / 1_000} s).`,
    run_size: `The response reached the size limit of background responses (runs.event_bytes, ${eventBytes} bytes).`,
    drain: 'The gateway that made this response is shutting down.',
    operator: 'An operator of the gateway has stopped this response.',
  }[reason];
  const condition = reason === 'deadline' ? 'upstream_timeout' : 'service_unavailable';
  return new GatewayError(condition, { message: `${why} What was produced is charged.` });
}
