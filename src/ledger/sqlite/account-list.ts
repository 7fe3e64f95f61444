/** Accounts for the operator, in the order in which they were made: what is asked for is found here, and nothing else leaves the store. */

import { integer, text } from '../../storage/columns.ts';
import type { AccountListQuery, AccountSummary } from '../port.ts';
import { nodeFrom } from '../rules/row-mapping.ts';
import { accountSummary } from '../rules/tree.ts';
import { type Condition, hasPart, NO_LIMIT, valuesOf, WITHIN, whereOf } from './conditions.ts';
import type { ColdStatements } from './statements.ts';

/** The sums in memory must have been written. */
export function listAccounts(
  sql: ColdStatements,
  nowMs: number,
  query: AccountListQuery = {},
): readonly AccountSummary[] {
  const wanted = conditionsOf(query);
  return sql(`SELECT t.*, (SELECT r.name FROM tree_accounts r WHERE r.id = t.root_id) AS root_name,
      EXISTS (SELECT 1 FROM tree_accounts c WHERE c.parent_id = t.id) AS is_parent
    FROM tree_accounts t ${whereOf(wanted)} ORDER BY t.rowid LIMIT ?`)
    .all(...valuesOf(wanted), query.limit ?? NO_LIMIT)
    .map((row) => {
      const place = { rootName: text(row, 'root_name'), isParent: integer(row, 'is_parent') === 1 };
      return accountSummary(nodeFrom(row), nowMs, place);
    });
}

function conditionsOf(query: AccountListQuery): Condition[] {
  const { after, status, parentId, belowId, within, ids, externalIds, search } = query;
  const wanted: Condition[] = [];
  if (after !== undefined) wanted.push(['t.rowid > (SELECT rowid FROM tree_accounts WHERE id = ?)', after]);
  if (status !== undefined) wanted.push(['t.status = ?', status]);
  if (parentId === null) wanted.push(['t.parent_id IS NULL']);
  else if (parentId !== undefined) wanted.push(['t.parent_id = ?', parentId]);
  if (belowId !== undefined) wanted.push([`t.id <> ? AND t.id IN ${WITHIN}`, belowId, belowId]);
  if (within !== undefined) wanted.push([`t.id IN ${WITHIN}`, within]);
  if (ids !== undefined) wanted.push(isOneOf('t.id', ids));
  if (externalIds !== undefined) wanted.push(isOneOf('t.external_id', externalIds));
  if (search !== undefined) wanted.push(hasPart(search, 't.name', 't.id', 't.external_id'));
  return wanted;
}

function isOneOf(column: string, values: readonly string[]): Condition {
  return [`${column} IN (SELECT value FROM json_each(?))`, JSON.stringify(values)];
}
