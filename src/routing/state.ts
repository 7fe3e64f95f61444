/** Everything that a process has learned about its providers while it runs. */
import type { Clock } from '../core/clock.ts';
import { CredentialPools } from './credential-pool.ts';
import { OutputSpeeds } from './output-speeds.ts';
import { RetryBudget } from './retry-budget.ts';
import { Health } from './target-health.ts';

export interface RoutingState {
  readonly health: Health;
  readonly credentials: CredentialPools;
  readonly retries: RetryBudget;
  readonly speeds: OutputSpeeds;
  /** A random number from 0 up to, but not including, 1. */
  random(): number;
}

export function newRoutingState(clock: Clock, random: () => number = Math.random): RoutingState {
  // Pauses last a time, however the clock of the machine is set meanwhile.
  const steady = clock.steady ?? clock;
  return {
    health: new Health(steady),
    credentials: new CredentialPools(steady, clock),
    retries: new RetryBudget(steady),
    speeds: new OutputSpeeds(),
    random,
  };
}
