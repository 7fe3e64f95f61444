/** Accounts for the operator, with their sums: one, or those that are asked for in the order in which they were made. */

import { integer, type Row, text } from '../../storage/columns.ts';
import type { AccountListQuery, AccountSummary } from '../port.ts';
import { nodeFrom } from '../rules/row-mapping.ts';
import { accountSummary } from '../rules/tree.ts';
import { type AddValue, hasPart, limitOf, whereOf, within } from './conditions.ts';
import { type Work, withoutPending } from './keys.ts';

/** Of a root, with what of its promotional credit is due and has not expired yet; `$1` is the time. */
function withTime(rows: string): string {
  return `SELECT t.*, r.seen_ms AS tree_seen_ms, r.name AS root_name, CASE WHEN t.promo_ms <= greatest($1, t.seen_ms)
      THEN gateway.pending_expiry(t.id, false, greatest($1, t.seen_ms)) END AS pending,
      EXISTS (SELECT FROM gateway.tree_accounts c WHERE c.parent_id = t.id) AS is_parent
    FROM (SELECT * FROM gateway.tree_accounts t ${rows}) t JOIN gateway.tree_accounts r ON r.id = t.root_id
    ORDER BY t.created_number`;
}

export async function getAccount({ query, nowMs }: Work, accountId: string): Promise<AccountSummary | null> {
  const [row] = await query(withTime('WHERE t.id = $2'), [nowMs, accountId]);
  return row === undefined ? null : summaryFrom(row, nowMs);
}

export async function listAccounts(
  { query, nowMs }: Work,
  wanted: AccountListQuery = {},
): Promise<readonly AccountSummary[]> {
  const values: unknown[] = [nowMs];
  const value: AddValue = (given) => `$${values.push(given)}`;
  const where = whereOf(conditionsOf(wanted, value));
  const limit = limitOf(wanted.limit, value);
  const rows = await query(withTime(`${where} ORDER BY t.created_number ${limit}`), values);
  return rows.map((row) => summaryFrom(row, nowMs));
}

function conditionsOf(wanted: AccountListQuery, value: AddValue): readonly string[] {
  const { after, status, parentId, belowId, within: topId, ids, externalIds, search } = wanted;
  const conditions: string[] = [];
  if (after !== undefined) {
    conditions.push(`t.created_number > (SELECT created_number FROM gateway.tree_accounts WHERE id = ${value(after)})`);
  }
  if (status !== undefined) conditions.push(`t.status = ${value(status)}`);
  if (parentId === null) conditions.push('t.parent_id IS NULL');
  else if (parentId !== undefined) conditions.push(`t.parent_id = ${value(parentId)}`);
  if (belowId !== undefined) {
    const top = value(belowId);
    conditions.push(`t.id <> ${top} AND t.id IN ${within(top)}`);
  }
  if (topId !== undefined) conditions.push(`t.id IN ${within(value(topId))}`);
  if (ids !== undefined) conditions.push(`t.id = ANY (${value(ids)})`);
  if (externalIds !== undefined) conditions.push(`t.external_id = ANY (${value(externalIds)})`);
  if (search !== undefined) conditions.push(hasPart(value(search), 't.name', 't.id', 't.external_id'));
  return conditions;
}

function summaryFrom(row: Row, nowMs: number): AccountSummary {
  const node = withoutPending(nodeFrom(row), row);
  return accountSummary(node, Math.max(nowMs, integer(row, 'tree_seen_ms')), {
    rootName: text(row, 'root_name'),
    isParent: row.is_parent === true,
  });
}
