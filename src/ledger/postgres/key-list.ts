/** Keys for the operator, in the order in which they were made. */

import { text } from '../../storage/columns.ts';
import type { KeyListQuery, KeySummary } from '../port.ts';
import { keySummary } from '../rules/key-rules.ts';
import { totalsFrom } from '../rules/row-mapping.ts';
import { type AddValue, hasPart, limitOf, whereOf, within } from './conditions.ts';
import { timeOf, WITH_PENDING, type Work, withoutPending } from './keys.ts';

export async function listKeys({ query, nowMs }: Work, wanted: KeyListQuery = {}): Promise<readonly KeySummary[]> {
  const values: unknown[] = [nowMs];
  const value: AddValue = (given) => `$${values.push(given)}`;
  const where = whereOf(conditionsOf(wanted, value));
  const limit = limitOf(wanted.limit, value);
  const rows = await query(
    `${WITH_PENDING} ${where} ORDER BY a.created_at_ms DESC, a.created_number DESC ${limit}`,
    values,
  );
  const prefixes = new Map<string, string[]>();
  const secrets = await query(
    'SELECT key_id, prefix FROM gateway.secrets WHERE key_id = ANY($1) ORDER BY key_id, number DESC',
    [rows.map((row) => text(row, 'key_id'))],
  );
  for (const row of secrets) {
    const ofKey = prefixes.get(text(row, 'key_id'));
    if (ofKey === undefined) prefixes.set(text(row, 'key_id'), [text(row, 'prefix')]);
    else ofKey.push(text(row, 'prefix'));
  }
  return rows.map((row) =>
    keySummary(withoutPending(totalsFrom(row), row), timeOf(row, nowMs), prefixes.get(text(row, 'key_id')) ?? []),
  );
}

/** `$1` is the time. */
function conditionsOf(wanted: KeyListQuery, value: AddValue): readonly string[] {
  const { after, status, mode, accountId, below = false, label, search } = wanted;
  const conditions: string[] = [];
  if (after !== undefined) {
    conditions.push(`(a.created_at_ms, a.created_number) <
      (SELECT created_at_ms, created_number FROM gateway.accounts WHERE key_id = ${value(after)})`);
  }
  if (status !== undefined) {
    conditions.push(`CASE WHEN a.status = 'active' AND a.expires_at_ms <= greatest($1, a.seen_ms) THEN 'expired'
      ELSE a.status END = ${value(status)}`);
  }
  if (mode !== undefined) conditions.push(`a.mode = ${value(mode)}`);
  if (accountId !== undefined) conditions.push(ofAccount(accountId, below, value));
  if (label !== undefined) conditions.push(`a.label = ${value(label)}`);
  if (search !== undefined) {
    const part = value(search);
    conditions.push(`(${hasPart(part, 'a.label', 'a.key_id')}
      OR EXISTS (SELECT 1 FROM gateway.secrets s WHERE s.key_id = a.key_id AND ${hasPart(part, 's.prefix')}))`);
  }
  return conditions;
}

function ofAccount(accountId: string | null, below: boolean, value: AddValue): string {
  if (accountId === null) return 'a.account_id IS NULL';
  return below ? `a.account_id IN ${within(value(accountId))}` : `a.account_id = ${value(accountId)}`;
}

export async function keyIds({ query }: Work, accountId: string | null, below: boolean): Promise<readonly string[]> {
  const values: unknown[] = [];
  const wanted = ofAccount(accountId, below, (given) => `$${values.push(given)}`);
  const rows = await query(`SELECT a.key_id FROM gateway.accounts a WHERE ${wanted}`, values);
  return rows.map((row) => text(row, 'key_id'));
}
