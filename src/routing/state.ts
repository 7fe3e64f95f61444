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
  /** From 0 up to, but not including, 1. */
  random(): number;
}

export function newRoutingState(clock: Clock, random: () => number = Math.random): RoutingState {
  return {
    health: new Health(clock),
    credentials: new CredentialPools(clock),
    retries: new RetryBudget(clock),
    speeds: new OutputSpeeds(),
    random,
  };
}
