/** Recomputes every sum from the entries and the live holds, and compares; all of it at one moment. */

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
import type { Query } from './connection.ts';
import type { Work } from './keys.ts';

/** What must be equal, per key: a total as it is kept, and the same total from its rows. */
const SUMS = `
  SELECT a.key_id, a.mode, a.account_id, a.purchased, a.used, a.reserved, a.live_holds, a.period_used, a.day_spend,
    (coalesce(e.purchased, 0) + ${bookedSum('gateway.', 'a.key_id')})::text AS entries_purchased, coalesce(e.charged, 0)::text AS entries_charged,
    coalesce(e.in_period, 0)::text AS entries_in_period, coalesce(e.in_day, 0)::text AS entries_in_day,
    coalesce(h.reserved, 0)::text AS holds_reserved, coalesce(h.live_holds, 0)::text AS holds_live
  FROM gateway.accounts a
  LEFT JOIN (
    SELECT e.key_id,
      sum(e.amount) FILTER (WHERE e.kind = 'purchase') AS purchased,
      sum(e.amount) FILTER (WHERE e.kind = 'charge') AS charged,
      sum(e.amount) FILTER (WHERE e.kind = 'charge' AND e.at_ms >= b.period_start_ms) AS in_period,
      sum(e.amount) FILTER (WHERE e.kind = 'charge' AND e.at_ms >= b.day_start_ms) AS in_day
    FROM gateway.entries e JOIN gateway.accounts b ON b.key_id = e.key_id GROUP BY e.key_id
  ) e ON e.key_id = a.key_id
  LEFT JOIN (
    SELECT key_id, sum(amount) AS reserved, count(*) AS live_holds FROM gateway.holds GROUP BY key_id
  ) h ON h.key_id = a.key_id
  ORDER BY a.key_id`;

/** The same per account of a tree, from the paths that entries and holds carry. */
const NODE_SUMS = `
  SELECT t.id, t.parent_id, t.purchased, t.used, t.reserved, t.reserved_tokens, t.live_holds, t.credit_used, t.tokens_used,
    ${bookedSum('gateway.', 't.id')}::text AS entries_purchased,
    coalesce(e.used, 0)::text AS entries_used, coalesce(e.credit, 0)::text AS entries_credit,
    coalesce(e.tokens, 0)::text AS entries_tokens,
    coalesce(h.reserved, 0)::text AS holds_reserved, coalesce(h.tokens, 0)::text AS holds_tokens,
    coalesce(h.live_holds, 0)::text AS holds_live
  FROM gateway.tree_accounts t
  LEFT JOIN (
    SELECT b.id, sum(e.amount) FILTER (WHERE a.mode = 'credit') AS used,
      sum(e.amount) FILTER (WHERE a.mode = 'credit' AND e.at_ms >= b.credit_start_ms) AS credit,
      sum(e.tokens) FILTER (WHERE e.at_ms >= b.tokens_start_ms) AS tokens
    FROM gateway.entries e JOIN gateway.accounts a ON a.key_id = e.key_id CROSS JOIN LATERAL unnest(e.path) p(id)
      JOIN gateway.tree_accounts b ON b.id = p.id
    WHERE e.root_id IS NOT NULL GROUP BY b.id
  ) e ON e.id = t.id
  LEFT JOIN (
    SELECT p.id, sum(h.amount) FILTER (WHERE a.mode = 'credit') AS reserved, sum(h.tokens) AS tokens, count(*) AS live_holds
    FROM gateway.holds h JOIN gateway.accounts a ON a.key_id = h.key_id CROSS JOIN LATERAL unnest(h.path) p(id)
    WHERE h.root_id IS NOT NULL GROUP BY p.id
  ) h ON h.id = t.id
  ORDER BY t.id`;

/** Rows that must not exist: each query gives `key_id` and `id`. */
const FAULTS: readonly (readonly [string, string])[] = [
  ['hold without a key', withoutKey('holds')],
  ['entry without a key', withoutKey('entries')],
  [
    'hold is live and settled',
    `SELECT h.key_id, h.id FROM gateway.holds h
      JOIN gateway.entries e ON e.key_id = h.key_id AND e.kind = 'charge' AND e.id = h.id`,
  ],
  [
    'hold is live and voided',
    'SELECT h.key_id, h.id FROM gateway.holds h JOIN gateway.voided v ON v.key_id = h.key_id AND v.hold_id = h.id',
  ],
  [
    'hold is voided and settled',
    `SELECT v.key_id, v.hold_id AS id FROM gateway.voided v
      JOIN gateway.entries e ON e.key_id = v.key_id AND e.kind = 'charge' AND e.id = v.hold_id`,
  ],
  [
    'claim runs without its hold',
    `SELECT c.key_id, c.name AS id FROM gateway.claims c
      LEFT JOIN gateway.holds h ON h.key_id = c.key_id AND h.id = c.hold_id
      WHERE c.state = 'running' AND (h.id IS NULL OR h.claim_name IS DISTINCT FROM c.name)`,
  ],
  [
    'hold without its claim',
    `SELECT h.key_id, h.id FROM gateway.holds h
      LEFT JOIN gateway.claims c
        ON c.key_id = h.key_id AND c.name = h.claim_name AND c.hold_id = h.id AND c.state = 'running'
      WHERE h.claim_name IS NOT NULL AND c.name IS NULL`,
  ],
  [
    'claim ended without a charge',
    `SELECT c.key_id, c.name AS id FROM gateway.claims c
      WHERE c.state <> 'running' AND NOT EXISTS (
        SELECT FROM gateway.entries e WHERE e.key_id = c.key_id AND e.kind = 'charge' AND e.id = c.hold_id)`,
  ],
  [
    'hold or charge of an account without its path',
    `SELECT h.key_id, h.id FROM gateway.holds h JOIN gateway.accounts a ON a.key_id = h.key_id
      WHERE h.root_id IS DISTINCT FROM a.root_id OR (h.path IS NULL) <> (h.root_id IS NULL)`,
  ],
  [
    'transfer without its other half',
    `SELECT o.node_id AS key_id, o.id FROM gateway.account_entries o
      WHERE o.kind IN ('transfer_out', 'transfer_in') AND NOT EXISTS (SELECT FROM gateway.account_entries i
        WHERE i.node_id = o.other_id AND i.id = o.id AND i.amount = o.amount
          AND i.kind = CASE o.kind WHEN 'transfer_out' THEN 'transfer_in' ELSE 'transfer_out' END)`,
  ],
  [
    'key of an account left with credit of its own',
    `SELECT a.key_id, a.key_id AS id FROM gateway.accounts a WHERE a.account_id IS NOT NULL AND a.mode = 'credit' AND
      coalesce((SELECT sum(CASE e.kind WHEN 'purchase' THEN e.amount ELSE -e.amount END) FROM gateway.entries e
        WHERE e.key_id = a.key_id AND e.root_id IS NULL), 0) + ${bookedSum('gateway.', 'a.key_id')} <> 0`,
  ],
  [
    'usage without a charge',
    `SELECT u.key_id, u.hold_id AS id FROM gateway.usage u
      WHERE NOT EXISTS (
        SELECT FROM gateway.entries e WHERE e.key_id = u.key_id AND e.kind = 'charge' AND e.id = u.hold_id)`,
  ],
  ...moneyFaults('gateway.'),
];

function withoutKey(table: string): string {
  return `SELECT t.key_id, t.id FROM gateway.${table} t
    WHERE NOT EXISTS (SELECT FROM gateway.accounts a WHERE a.key_id = t.key_id)`;
}

/** The transaction must see one moment (`REPEATABLE READ`). */
export async function audit({ query, nowMs }: Work): Promise<AuditReport> {
  const rows = await query(SUMS);
  const findings = rows.map(accountOf).flatMap(compareTotals);
  for (const row of await query(NODE_SUMS)) findings.push(...compareNode(row));
  const find = async (what: string, sql: string, values: readonly unknown[] = []): Promise<void> => {
    for (const row of await query(`${sql} LIMIT ${FINDINGS_MAX}`, values)) {
      findings.push(faultLine(text(row, 'key_id'), what, text(row, 'id')));
    }
  };
  for (const [what, sql] of FAULTS) await find(what, sql);
  await find('hold is past its expiry', 'SELECT key_id, id FROM gateway.holds WHERE expires_at_ms <= $1', [
    nowMs - ORPHAN_GRACE_MS,
  ]);
  return {
    ok: findings.length === 0,
    keys: rows.length,
    entries: await count(query, entryCount('gateway.')),
    liveHolds: await count(query, 'SELECT count(*) AS n FROM gateway.holds'),
    findings,
    flagged: await count(query, 'SELECT count(*) AS n FROM gateway.entries WHERE flag IS NOT NULL'),
  };
}

function accountOf(row: Row): AuditedKey {
  return auditedKey(row);
}

async function count(query: Query, sql: string): Promise<number> {
  const [row] = await query(sql);
  return row === undefined ? 0 : integer(row, 'n');
}
