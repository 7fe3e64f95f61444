/** Reports of usage, as the contract of the ledger asks for them. */
import assert from 'node:assert/strict';
import { DAY_MS } from '../../src/core/time.ts';
import type { UsageOutcome, UsageQuery, UsageSum } from '../../src/core/usage-report.ts';
import type { ChargedCall } from '../../src/ledger/port.ts';
import type { Bench } from './fixtures.ts';

export const STARTS_AT = '2026-03-10T12:00:00Z';
export const STARTS_AT_MS = Date.parse(STARTS_AT);
export const CALL: ChargedCall = {
  model: 'sandbox/beta',
  provider: 'sandbox-b',
  format: 'messages',
  costNanos: 11n,
  providerCostNanos: 4n,
};

export function query(change: Partial<UsageQuery> = {}): UsageQuery {
  return {
    sinceMs: STARTS_AT_MS - 40 * DAY_MS,
    untilMs: STARTS_AT_MS + 40 * DAY_MS,
    by: [],
    filter: {},
    rowsMax: 1_000,
    ...change,
  };
}

export async function report(
  bench: Bench,
  change: Partial<UsageQuery> = {},
): Promise<UsageOutcome & { kind: 'usage' }> {
  const outcome = await bench.ledger.usageReport(query(change));
  assert.ok(outcome.kind === 'usage' && !outcome.catchingUp, outcome.kind);
  return outcome;
}

/** Group → some of its sums. */
export async function sums(bench: Bench, names: readonly UsageSum[], change: Partial<UsageQuery>): Promise<unknown> {
  const { rows } = await report(bench, change);
  return rows.map((row) => [row.group, names.map((name) => row.sums[name])]);
}

export async function rollUpAll(bench: Bench): Promise<number> {
  let charges = 0;
  for (;;) {
    const step = await bench.ledger.rollUp();
    charges += step.charges;
    if (!step.more) return charges;
  }
}
