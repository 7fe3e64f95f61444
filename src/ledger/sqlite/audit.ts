/** Recomputes every total from the entries and the live holds, and compares. */

import { integer, type Row, text } from '../../storage/columns.ts';
import { ORPHAN_GRACE_MS } from '../operations.ts';
import type { AuditReport } from '../port.ts';
import {
  type AuditedKey,
  auditedKey,
  compareNode,
  compareTotals,
  FINDINGS_MAX,
  faultLine,
} from '../rules/audit-findings.ts';
import { bookedSum, entryCount, moneyFaults } from '../rules/money-faults.ts';
import type { ColdStatements } from './statements.ts';

/** What must be equal, per key: a total as it is kept, and the same total from its rows. */
const SUMS = `
  SELECT a.key_id, a.mode, k.account_id, a.purchased, a.used, a.reserved, a.live_holds, a.period_used, a.day_spend,
    coalesce(e.purchased, 0) + ${bookedSum('', 'a.key_id')} AS entries_purchased, coalesce(e.charged, 0) AS entries_charged,
    coalesce(e.in_period, 0) AS entries_in_period, coalesce(e.in_day, 0) AS entries_in_day,
    coalesce(h.reserved, 0) AS holds_reserved, coalesce(h.live_holds, 0) AS holds_live
  FROM accounts a JOIN keys k ON k.id = a.key_id
  LEFT JOIN (
    SELECT e.key_id,
      sum(CASE WHEN kind = 'purchase' THEN amount ELSE 0 END) AS purchased,
      sum(CASE WHEN kind = 'charge' THEN amount ELSE 0 END) AS charged,
      sum(CASE WHEN kind = 'charge' AND at_ms >= b.period_start_ms THEN amount ELSE 0 END) AS in_period,
      sum(CASE WHEN kind = 'charge' AND at_ms >= b.day_start_ms THEN amount ELSE 0 END) AS in_day
    FROM entries e JOIN accounts b ON b.key_id = e.key_id GROUP BY e.key_id
  ) e ON e.key_id = a.key_id
  LEFT JOIN (
    SELECT key_id, sum(amount) AS reserved, count(*) AS live_holds FROM holds GROUP BY key_id
  ) h ON h.key_id = a.key_id`;

/** The same per account of a tree, from the paths that entries and holds carry. */
const NODE_SUMS = `
  SELECT t.id, t.parent_id, t.purchased, t.used, t.reserved, t.reserved_tokens, t.live_holds, t.credit_used, t.tokens_used,
    ${bookedSum('', 't.id')} AS entries_purchased,
    coalesce(e.used, 0) AS entries_used, coalesce(e.credit, 0) AS entries_credit, coalesce(e.tokens, 0) AS entries_tokens,
    coalesce(h.reserved, 0) AS holds_reserved, coalesce(h.tokens, 0) AS holds_tokens,
    coalesce(h.live_holds, 0) AS holds_live
  FROM tree_accounts t
  LEFT JOIN (
    SELECT b.id, sum(CASE k.mode WHEN 'credit' THEN e.amount ELSE 0 END) AS used,
      sum(CASE WHEN k.mode = 'credit' AND e.at_ms >= b.credit_start_ms THEN e.amount ELSE 0 END) AS credit,
      sum(CASE WHEN e.at_ms >= b.tokens_start_ms THEN e.tokens ELSE 0 END) AS tokens
    FROM entries e JOIN keys k ON k.id = e.key_id JOIN json_each(e.path) p JOIN tree_accounts b ON b.id = p.value
    WHERE e.root_id IS NOT NULL GROUP BY b.id
  ) e ON e.id = t.id
  LEFT JOIN (
    SELECT p.value AS id, sum(CASE k.mode WHEN 'credit' THEN h.amount ELSE 0 END) AS reserved, sum(h.tokens) AS tokens,
      count(*) AS live_holds
    FROM holds h JOIN keys k ON k.id = h.key_id JOIN json_each(h.path) p WHERE h.root_id IS NOT NULL GROUP BY p.value
  ) h ON h.id = t.id`;

/** Rows that must not exist: each query gives `key_id` and `id`. */
const FAULTS: readonly (readonly [string, string])[] = [
  ['key without an account', 'SELECT id AS key_id, id FROM keys WHERE id NOT IN (SELECT key_id FROM accounts)'],
  ['hold without a key', 'SELECT key_id, id FROM holds WHERE key_id NOT IN (SELECT key_id FROM accounts)'],
  ['entry without a key', 'SELECT key_id, id FROM entries WHERE key_id NOT IN (SELECT key_id FROM accounts)'],
  [
    'hold is live and settled',
    `SELECT h.key_id, h.id FROM holds h JOIN entries e ON e.key_id = h.key_id AND e.kind = 'charge' AND e.id = h.id`,
  ],
  [
    'hold is live and voided',
    'SELECT h.key_id, h.id FROM holds h JOIN voided v ON v.key_id = h.key_id AND v.hold_id = h.id',
  ],
  [
    'hold is voided and settled',
    `SELECT v.key_id, v.hold_id AS id FROM voided v
      JOIN entries e ON e.key_id = v.key_id AND e.kind = 'charge' AND e.id = v.hold_id`,
  ],
  [
    'claim runs without its hold',
    `SELECT c.key_id, c.name AS id FROM claims c LEFT JOIN holds h ON h.key_id = c.key_id AND h.id = c.hold_id
      WHERE c.state = 'running' AND (h.id IS NULL OR h.claim_name IS NOT c.name)`,
  ],
  [
    'hold without its claim',
    `SELECT h.key_id, h.id FROM holds h
      LEFT JOIN claims c ON c.key_id = h.key_id AND c.name = h.claim_name AND c.hold_id = h.id AND c.state = 'running'
      WHERE h.claim_name IS NOT NULL AND c.name IS NULL`,
  ],
  [
    'claim ended without a charge',
    `SELECT c.key_id, c.name AS id FROM claims c
      LEFT JOIN entries e ON e.key_id = c.key_id AND e.kind = 'charge' AND e.id = c.hold_id
      WHERE c.state <> 'running' AND e.id IS NULL`,
  ],
  [
    'hold or charge of an account without its path',
    `SELECT h.key_id, h.id FROM holds h JOIN keys k ON k.id = h.key_id
      WHERE (h.path IS NULL) <> (k.account_id IS NULL) OR (h.path IS NULL) <> (h.root_id IS NULL)`,
  ],
  [
    'transfer without its other half',
    `SELECT o.node_id AS key_id, o.id FROM account_entries o
      LEFT JOIN account_entries i ON i.node_id = o.other_id AND i.id = o.id AND i.amount = o.amount
        AND i.kind = CASE o.kind WHEN 'transfer_out' THEN 'transfer_in' ELSE 'transfer_out' END
      WHERE o.kind IN ('transfer_out', 'transfer_in') AND i.id IS NULL`,
  ],
  [
    'key of an account left with credit of its own',
    `SELECT k.id AS key_id, k.id FROM keys k WHERE k.account_id IS NOT NULL AND k.mode = 'credit' AND
      coalesce((SELECT sum(CASE kind WHEN 'purchase' THEN amount ELSE -amount END) FROM entries e
        WHERE e.key_id = k.id AND e.root_id IS NULL), 0) + ${bookedSum('', 'k.id')} <> 0`,
  ],
  [
    'usage without a charge',
    `SELECT u.key_id, u.hold_id AS id FROM usage u
      LEFT JOIN entries e ON e.key_id = u.key_id AND e.kind = 'charge' AND e.id = u.hold_id WHERE e.id IS NULL`,
  ],
  ...moneyFaults(''),
];

/** The totals in memory must have been written. */
export function audit(sql: ColdStatements, nowMs: number): AuditReport {
  const rows = sql(SUMS).all();
  const findings = rows.map(accountOf).flatMap(compareTotals);
  for (const row of sql(NODE_SUMS).all()) findings.push(...compareNode(row));
  for (const [what, query] of FAULTS) {
    for (const row of sql(`${query} LIMIT ${FINDINGS_MAX}`).all())
      findings.push(faultLine(text(row, 'key_id'), what, text(row, 'id')));
  }
  const orphans = sql(`SELECT key_id, id FROM holds WHERE expires_at_ms <= ? LIMIT ${FINDINGS_MAX}`);
  for (const row of orphans.all(nowMs - ORPHAN_GRACE_MS))
    findings.push(faultLine(text(row, 'key_id'), 'hold is past its expiry', text(row, 'id')));
  return {
    ok: findings.length === 0,
    keys: rows.length,
    entries: count(sql, entryCount('')),
    liveHolds: count(sql, 'SELECT count(*) AS n FROM holds'),
    findings,
    flagged: count(sql, 'SELECT count(*) AS n FROM entries WHERE flag IS NOT NULL'),
  };
}

function accountOf(row: Row): AuditedKey {
  return auditedKey(row);
}

function count(sql: ColdStatements, query: string): number {
  const row = sql(query).get();
  return row === undefined ? 0 : integer(row, 'n');
}
