/** The statement of the key that is looked at: of its own money, and of what its account paid for it. */
import type { KeyRecord } from '../core/key.ts';
import { isoDay } from '../core/time.ts';
import type { UsageRow } from '../core/usage-report.ts';
import type { LedgerAdmin, Statement } from '../ledger/port.ts';
import type { KeyholderStatement } from './view.ts';

/** A statement, and how it reads outside of the page. */
export interface WrittenStatement {
  readonly sinceMs: number;
  readonly untilMs: number;
  readonly statement: Statement;
  csv(): string;
  /** A page to print, with the Content-Security-Policy that it is served with. */
  html(): { readonly text: string; readonly policy: string };
}

const ROWS_MAX = 5_000;

/** Who booked it at the operator's side, and which account the key belongs to, are not for its holder. */
export function ownStatement(made: Statement): Statement {
  const entries = made.entries.map((entry) => ({
    ...entry,
    actor: null,
    otherId: entry.kind === 'transfer_out' || entry.kind === 'transfer_in' ? null : entry.otherId,
  }));
  return { ...made, entries };
}

export async function statementView(
  { sinceMs, untilMs, statement }: WrittenStatement,
  ledger: Pick<LedgerAdmin, 'usageReport'>,
  key: KeyRecord,
): Promise<KeyholderStatement> {
  const { opening, closing, entries, usage, nowMs } = statement;
  return {
    from: isoDay(sinceMs),
    to: isoDay(untilMs),
    closed: untilMs <= nowMs,
    opening: String(opening ?? 0n),
    closing: String(closing ?? 0n),
    entries: entries.map((entry) => ({
      id: entry.id,
      at: new Date(entry.atMs).toISOString(),
      kind: entry.kind,
      amount: String(entry.amount),
      reason: entry.note,
      request_id: entry.chargeId,
    })),
    usage: usage.map(({ model, charges, amount }) => ({ model, charges, amount: String(amount) })),
    by_account: key.accountId === null ? null : await paidByAccount(ledger, key, statement, sinceMs, untilMs),
  };
}

/** Everything that the key was charged in that time, less what it paid itself. */
async function paidByAccount(
  ledger: Pick<LedgerAdmin, 'usageReport'>,
  key: KeyRecord,
  { usage }: Statement,
  sinceMs: number,
  untilMs: number,
): Promise<KeyholderStatement['usage']> {
  const report = await ledger.usageReport({
    sinceMs,
    untilMs,
    by: ['model'],
    filter: { key: key.id },
    rowsMax: ROWS_MAX,
  });
  if (report.kind !== 'usage') return [];
  const own = new Map(usage.map((row) => [row.model, row]));
  return report.rows.flatMap(({ group, sums }: UsageRow) => {
    const model = typeof group[0] === 'string' && group[0] !== '' ? group[0] : null;
    const charges = Number(sums.charges) - (own.get(model)?.charges ?? 0);
    const amount = sums.charged_nanos - (own.get(model)?.amount ?? 0n);
    return charges <= 0 ? [] : [{ model, charges, amount: String(amount) }];
  });
}
