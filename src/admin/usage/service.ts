/** Reports of what was charged. */
import type { Clock } from '../../core/clock.ts';
import type { LedgerAdmin } from '../../ledger/port.ts';
import { AdminError } from '../error.ts';
import type { View } from '../http/view.ts';
import type { KeyService } from '../keys/service.ts';
import { readUsageQuery } from './query.ts';
import type { UsageParameters, UsageView } from './schema.ts';
import { type AccountNames, accountsIn, usageView } from './view.ts';

interface UsageServiceOptions {
  readonly ledger: Pick<LedgerAdmin, 'usageReport' | 'listAccounts'>;
  readonly clock: Clock;
  readonly keys: KeyService;
  /** Whether the caller sees providers, and what they cost. */
  readonly seesProviders: boolean;
}

export class UsageService {
  readonly #options: UsageServiceOptions;

  constructor(options: UsageServiceOptions) {
    this.#options = options;
  }

  async report(asked: View<typeof UsageParameters>): Promise<UsageView> {
    const { ledger, clock, keys, seesProviders } = this.#options;
    const { accountId, ...query } = readUsageQuery(asked, clock.nowMs());
    if (query.filter.key !== undefined) await keys.show(query.filter.key);
    if (!seesProviders && (query.by.includes('provider') || query.filter.provider !== undefined)) {
      throw new AdminError('forbidden', 'only an operator may see which provider served a request');
    }
    const inAccount = accountId === null ? {} : { keys: await keys.idsOf(accountId, true) };
    const report = await ledger.usageReport({ ...query, ...inAccount });
    if (report.kind === 'usage') {
      return usageView(query, report, await this.#namesOf(accountsIn(query.by, report.rows)), seesProviders);
    }
    throw new AdminError(
      'invalid_input',
      `by gives more than ${query.rowsMax} rows: ask for fewer dimensions, a shorter time, or one key, label or model`,
      { field: 'by' },
    );
  }

  async #namesOf(accountIds: readonly string[]): Promise<AccountNames> {
    const found = accountIds.length === 0 ? [] : await this.#options.ledger.listAccounts({ ids: accountIds });
    return new Map(found.map(({ account }) => [account.id, account.name]));
  }
}
