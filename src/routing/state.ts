/** Everything that a process has learned about its providers while it runs. */
import type { Clock } from '../core/clock.ts';
import { KeyPools } from './credential-pool.ts';
import { RetryBudget } from './retry-budget.ts';
import { Health } from './target-health.ts';

export interface Standing {
  readonly health: Health;
  readonly keys: KeyPools;
  readonly retries: RetryBudget;
  /** From 0 up to, but not including, 1. */
  random(): number;
}

export function newStanding(clock: Clock, random: () => number = Math.random): Standing {
  return { health: new Health(clock), keys: new KeyPools(clock), retries: new RetryBudget(clock), random };
}
