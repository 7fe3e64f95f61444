/**
 * Notices what the audit cannot: sums that add up and are too small. A charge that its hold did not cover, and a key that was
 * charged less on a day than its providers ask. Only the operator is told: what providers ask is nobody else's business.
 */
import { creditsFromNanos } from '../core/money.ts';
import { dayStartMs } from '../core/period.ts';
import { DAY_MS, HOUR_MS, isoDay } from '../core/time.ts';
import type { LedgerAdmin } from '../ledger/port.ts';
import { type Alert, alertId } from './alert.ts';

/** What the charges of a key on a day fell short of what was owed, as one gateway has seen it since it started. */
export interface Shortfall {
  readonly key: string;
  /** As in `2030-01-31`, in UTC. */
  readonly day: string;
  readonly charges: number;
  readonly nanos: bigint;
  /** Of a key with a token budget. */
  readonly tokens: bigint;
}

const KEYS_MAX = 100_000;
/** Sums of days change slowly. */
const LOOK_MS = 600_000;
/** Charges of the end of a day may be seen after it. */
const LATE_MS = HOUR_MS;

export function shortfallAlerts(shortfalls: readonly Shortfall[], nowMs: number): readonly Alert[] {
  return shortfalls.map(({ key, day, charges, nanos, tokens }) => ({
    id: alertId('charge.shortfall', key, day),
    type: 'charge.shortfall',
    atMs: nowMs,
    accountIds: [],
    data: {
      key,
      day,
      charges,
      ...(nanos > 0n && { credits: creditsFromNanos(nanos) }),
      ...(tokens > 0n && { tokens: Number(tokens) }),
    },
  }));
}

export class MarginWatch {
  readonly #ledger: Pick<LedgerAdmin, 'usageReport'>;
  #lookedAtMs = Number.NEGATIVE_INFINITY;
  #keysBelowCost: number | null = null;

  constructor(ledger: Pick<LedgerAdmin, 'usageReport'>) {
    this.#ledger = ledger;
  }

  /** Of today, as of the last look; null where there was none. */
  get keysBelowCost(): number | null {
    return this.#keysBelowCost;
  }

  /** Another one has watched meanwhile. */
  forget(): void {
    this.#lookedAtMs = Number.NEGATIVE_INFINITY;
    this.#keysBelowCost = null;
  }

  async look(nowMs: number): Promise<readonly Alert[]> {
    if (nowMs < this.#lookedAtMs + LOOK_MS) return [];
    const todayMs = dayStartMs(nowMs);
    const report = await this.#ledger.usageReport({
      sinceMs: dayStartMs(nowMs - LATE_MS),
      untilMs: todayMs + DAY_MS,
      by: ['day', 'key'],
      filter: {},
      rowsMax: KEYS_MAX,
    });
    if (report.kind !== 'usage')
      throw new Error(`more than ${KEYS_MAX} keys were used in a day: costs are not watched`);
    this.#lookedAtMs = nowMs;
    const below = report.rows.filter(({ sums }) => sums.cost_nanos < sums.provider_cost_nanos);
    this.#keysBelowCost = below.filter(({ group: [day] }) => day === todayMs).length;
    return below.map(({ group: [atMs, key], sums }) => {
      const day = isoDay(Number(atMs));
      return {
        id: alertId('spend.below_cost', String(key), day),
        type: 'spend.below_cost',
        atMs: nowMs,
        accountIds: [],
        data: {
          key,
          day,
          cost: creditsFromNanos(sums.cost_nanos),
          provider_cost: creditsFromNanos(sums.provider_cost_nanos),
        },
      };
    });
  }
}
