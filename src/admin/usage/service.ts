/** Reports of what was charged. */
import type { Clock } from '../../core/clock.ts';
import { inOrder, type UsageOutcome, type UsageQuery } from '../../core/usage-report.ts';
import type { LedgerAdmin } from '../../ledger/port.ts';
import { type FailureReport, NO_FAILURES } from '../../observe/failures/store.ts';
import { AdminError } from '../error.ts';
import type { View } from '../http/view.ts';
import type { KeyService } from '../keys/service.ts';
import type { Requests } from '../requests/requests.ts';
import { countOf, failuresOf, Ranking, withFailures } from './failures.ts';
import { type AskedUsage, readUsageQuery } from './query.ts';
import type { UsageParameters, UsageView } from './schema.ts';
import { type AccountNames, accountsIn, type Reported, usageView } from './view.ts';

interface UsageServiceOptions {
  readonly ledger: Pick<LedgerAdmin, 'usageReport' | 'listAccounts'>;
  readonly clock: Clock;
  readonly keys: KeyService;
  readonly requests: Pick<Requests, 'failures'>;
  /** Whether the caller sees providers, and what they cost. */
  readonly seesProviders: boolean;
}

export class UsageService {
  readonly #options: UsageServiceOptions;

  constructor(options: UsageServiceOptions) {
    this.#options = options;
  }

  async report(asked: View<typeof UsageParameters>): Promise<UsageView> {
    const { clock, keys, seesProviders } = this.#options;
    const { accountId, level, ranked, ...query } = readUsageQuery(asked, clock.nowMs());
    if (query.filter.key !== undefined) await keys.show(query.filter.key);
    if (!seesProviders && (query.by.includes('provider') || query.filter.provider !== undefined)) {
      throw new AdminError('forbidden', 'only an operator may see which provider served a request');
    }
    const wanted: UsageQuery = {
      ...query,
      ...(accountId !== null && { keys: await keys.idsOf(accountId, true) }),
      ...(level !== null && { accountOf: await this.#accountsAt(level) }),
    };
    const made = await this.#made(wanted, ranked);
    if (made !== null && made.rows.length <= query.rowsMax) {
      return usageView(query, made, await this.#namesOf(accountsIn(query.by, made.rows)), seesProviders);
    }
    throw new AdminError(
      'invalid_input',
      `by gives more than ${query.rowsMax} rows: ask for fewer dimensions, a shorter time, or one key, label or model`,
      { field: 'by' },
    );
  }

  /** Null where it has too many rows. The ledger ranks by what it has; by failures, or over levels, it is done here. */
  async #made(query: UsageQuery, ranked: AskedUsage['ranked']): Promise<Reported | null> {
    const { by, accountOf } = query;
    const counted = await this.#failures(query);
    const failures = failuresOf(query, counted ?? NO_FAILURES);
    const byFailures = ranked?.order !== 'failed' ? null : mostFailed(by, failures, ranked.count);
    const order = ranked === null || ranked.order === 'failed' ? null : ranked.order;
    const top = ranked !== null && order !== null && { count: ranked.count, order };
    const inLedger = { ...query, ...(top && accountOf === undefined && { top }) };
    const charged = await this.#charged(inLedger, byFailures?.keys);
    if (charged.kind !== 'usage') return null;
    const { rows, total } = withFailures(inLedger, charged, failures);
    const ranking =
      top && accountOf !== undefined
        ? new Ranking(
            by,
            rows.map(({ group, sums }) => [group, inOrder(top.order, sums)]),
            top.count,
          )
        : byFailures;
    return {
      rows: ranking?.of(rows) ?? rows,
      total,
      complete: !charged.catchingUp && counted !== null,
      withoutKey: failures.withoutKey,
    };
  }

  /** For each account further down than this level, the one of this level that it is below. */
  async #accountsAt(level: number): Promise<ReadonlyMap<string, string>> {
    const accounts = await this.#options.ledger.listAccounts();
    const parents = new Map(accounts.map(({ account: { id, parentId } }) => [id, parentId]));
    // What is above the accounts that the caller sees is not there.
    const pathTo = (id: string | null | undefined): readonly string[] =>
      id == null || !parents.has(id) ? [] : [...pathTo(parents.get(id)), id];
    return new Map([...parents.keys()].map((id) => [id, pathTo(id)[level - 1] ?? id]));
  }

  /** `keys`: whose rows are wanted; the total is of all. */
  async #charged(query: UsageQuery, keys: ReadonlySet<string> | undefined): Promise<UsageOutcome> {
    const { ledger } = this.#options;
    if (keys === undefined) return ledger.usageReport(query);
    const [rows, all] = [await ledger.usageReport({ ...query, keys }), await ledger.usageReport({ ...query, by: [] })];
    return rows.kind === 'usage' && all.kind === 'usage' ? { ...rows, total: all.total } : rows;
  }

  /** Null where they cannot be read: what was charged is reported all the same. */
  async #failures({ top: _top, accountOf: _accountOf, ...query }: UsageQuery): Promise<FailureReport | null> {
    try {
      return (await this.#options.requests.failures({ ...query, rowsMax: query.rowsMax + 1 })) ?? NO_FAILURES;
    } catch (error) {
      if (error instanceof AdminError && error.code === 'unavailable') return null;
      throw error;
    }
  }

  async #namesOf(accountIds: readonly string[]): Promise<AccountNames> {
    const found = accountIds.length === 0 ? [] : await this.#options.ledger.listAccounts({ ids: accountIds });
    return new Map(found.map(({ account }) => [account.id, account.name]));
  }
}

function mostFailed(by: UsageQuery['by'], { rows }: FailureReport, count: number): Ranking {
  return new Ranking(
    by,
    rows.map(({ group, failed }) => [group, countOf(failed)]),
    count,
  );
}
