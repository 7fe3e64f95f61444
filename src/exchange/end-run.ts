/** The end of a run on behalf of its key, whichever process it runs in. */
import { setTimeout as sleep } from 'node:timers/promises';
import { GatewayError } from '../core/conditions.ts';
import type { RunState } from '../ledger/port.ts';
import { type Gateway, storeFailed } from './gateway.ts';
import { isOver } from './run-reader.ts';

const POLL_MS = 100;
/** By then its gateway has ended it; or that gateway is dead, and another one has found out. */
const WAIT_MS = 60_000;

/** Cancels it where it has not ended yet, and waits until it has; null where there is none. */
export async function endRun(gateway: Gateway, keyId: string, id: string): Promise<RunState | null> {
  const { ledger, runs } = gateway;
  let run = await ledger.cancelRun(keyId, id).catch(storeFailed);
  if (run === null || isOver(run)) return run;
  runs.find({ keyId, id })?.stop('cancelled');
  const untilMs = performance.now() + WAIT_MS;
  while (performance.now() < untilMs) {
    await sleep(POLL_MS);
    run = await ledger.findRun(keyId, { id }).catch(storeFailed);
    if (run === null || isOver(run)) return run;
  }
  throw new GatewayError('service_unavailable', {
    message: 'The response is being cancelled, but its gateway does not answer. Retry shortly.',
  });
}
