/** Accounts for the operator, in the order in which they were made: what is asked for is found here, and nothing else leaves the store. */
import { flag, integer, type Row, text } from '../../storage/columns.ts';
import type { AccountListQuery, AccountSummary } from '../port.ts';
import { nodeFrom } from '../rules/row-mapping.ts';
import { accountSummary } from '../rules/tree.ts';
import { Conditions, type Dialect, type Reading, within } from './dialect.ts';
import { withoutPending } from './key-list.ts';
import { query, queryOne, type Work } from './work.ts';

/** Of a root, with what of its promotional credit is due and has not expired yet; `$1` is the time. */
function shownAccounts({ timeOf, pendingOf }: Dialect, rows: string): string {
  return `SELECT t.*, ${timeOf('r')} AS time_ms, r.name AS root_name, ${pendingOf('t', 't.id', false)} AS pending,
      EXISTS (SELECT 1 FROM @tree_accounts c WHERE c.parent_id = t.id) AS is_parent
    FROM (SELECT * FROM @numbered_accounts t ${rows}) t JOIN @tree_accounts r ON r.id = t.root_id
    ORDER BY t.created_number`;
}

export function* shownAccount({ dialect, nowMs }: Reading, accountId: string): Work<AccountSummary | null> {
  const row = yield* queryOne(shownAccounts(dialect, 'WHERE t.id = $2'), nowMs, accountId);
  return row === undefined ? null : summaryFrom(row);
}

export function* listAccounts({ dialect, nowMs }: Reading, wanted: AccountListQuery = {}): Work<AccountSummary[]> {
  const conditions = conditionsOf(dialect, wanted, nowMs);
  const found = `${conditions.where} ORDER BY t.created_number ${conditions.limit(wanted.limit)}`;
  const rows = yield* query(shownAccounts(dialect, found), ...conditions.values);
  return rows.map(summaryFrom);
}

function conditionsOf(dialect: Dialect, wanted: AccountListQuery, nowMs: number): Conditions {
  const { after, status, parentId, belowId, within: topId, ids, externalIds, search } = wanted;
  const conditions = new Conditions(dialect, nowMs);
  conditions.add(
    after,
    (place) => `t.created_number > (SELECT s.created_number FROM @numbered_accounts s WHERE s.id = ${place})`,
  );
  conditions.add(status, (place) => `t.status = ${place}`);
  if (parentId === null) conditions.always('t.parent_id IS NULL');
  else conditions.add(parentId, (place) => `t.parent_id = ${place}`);
  conditions.add(belowId, (place) => `t.id <> ${place} AND t.id IN ${within(place)}`);
  conditions.add(topId, (place) => `t.id IN ${within(place)}`);
  conditions.add(ids && JSON.stringify(ids), (place) => dialect.isOneOf('t.id', place));
  conditions.add(externalIds && JSON.stringify(externalIds), (place) => dialect.isOneOf('t.external_id', place));
  conditions.search(search, 't.name', 't.id', 't.external_id');
  return conditions;
}

function summaryFrom(row: Row): AccountSummary {
  return accountSummary(withoutPending(nodeFrom(row), row), integer(row, 'time_ms'), {
    rootName: text(row, 'root_name'),
    isParent: flag(row, 'is_parent'),
  });
}
