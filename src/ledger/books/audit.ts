/** Recomputes every sum from the entries and the live holds, and compares; all of it at one moment. */
import { integer, text } from '../../storage/columns.ts';
import { ORPHAN_GRACE_MS } from '../operations.ts';
import type { AuditReport } from '../port.ts';
import { compareKey, compareNode, FINDINGS_MAX, faultLine } from '../rules/audit-findings.ts';
import { SIGNED_AMOUNT } from '../rules/money-rules.ts';
import type { Dialect, Reading } from './dialect.ts';
import { MONEY_FAULTS } from './money-faults.ts';
import { query, queryOne, type Value, type Work } from './work.ts';

/** More of them than an operator looks at in one go. */
const FLAGGED_MAX = 100;

/** What a key or account was given in all, by the entries that are not charges. */
function bookedSum({ signedSum }: Dialect, node: string): string {
  return `coalesce((SELECT ${signedSum(SIGNED_AMOUNT)} FROM @account_entries b WHERE b.node_id = ${node}), 0)`;
}

/** What must be equal, per key: a total as it is kept, and the same total from its rows. */
function keySums(dialect: Dialect): string {
  return `SELECT a.key_id, a.mode, a.account_id, a.purchased, a.used, a.reserved, a.live_holds, a.period_used, a.day_spend,
      coalesce(e.purchased, 0) + ${bookedSum(dialect, 'a.key_id')} AS entries_purchased,
      coalesce(e.charged, 0) AS entries_charged, coalesce(e.in_period, 0) AS entries_in_period,
      coalesce(e.in_day, 0) AS entries_in_day, coalesce(h.reserved, 0) AS holds_reserved,
      coalesce(h.live_holds, 0) AS holds_live
    FROM @keys_with_totals a
    LEFT JOIN (
      SELECT e.key_id,
        sum(e.amount) FILTER (WHERE e.kind = 'purchase') AS purchased,
        sum(e.amount) FILTER (WHERE e.kind = 'charge') AS charged,
        sum(e.amount) FILTER (WHERE e.kind = 'charge' AND e.at_ms >= b.period_start_ms) AS in_period,
        sum(e.amount) FILTER (WHERE e.kind = 'charge' AND e.at_ms >= b.day_start_ms) AS in_day
      FROM @entries e JOIN @accounts b ON b.key_id = e.key_id GROUP BY e.key_id
    ) e ON e.key_id = a.key_id
    LEFT JOIN (
      SELECT key_id, sum(amount) AS reserved, count(*) AS live_holds FROM @holds GROUP BY key_id
    ) h ON h.key_id = a.key_id
    ORDER BY a.key_id`;
}

/** The same per account of a tree, from the paths that entries and holds carry. */
function nodeSums(dialect: Dialect): string {
  return `SELECT t.id, t.parent_id, t.purchased, t.used, t.reserved, t.reserved_tokens, t.live_holds, t.credit_used, t.tokens_used,
      ${bookedSum(dialect, 't.id')} AS entries_purchased,
      coalesce(e.used, 0) AS entries_used, coalesce(e.credit, 0) AS entries_credit, coalesce(e.tokens, 0) AS entries_tokens,
      coalesce(h.reserved, 0) AS holds_reserved, coalesce(h.tokens, 0) AS holds_tokens,
      coalesce(h.live_holds, 0) AS holds_live
    FROM @tree_accounts t
    LEFT JOIN (
      SELECT b.id, sum(e.amount) FILTER (WHERE k.mode = 'credit') AS used,
        sum(e.amount) FILTER (WHERE k.mode = 'credit' AND e.at_ms >= b.credit_start_ms) AS credit,
        sum(e.tokens) FILTER (WHERE e.at_ms >= b.tokens_start_ms) AS tokens
      FROM @entries e JOIN @keys k ON k.key_id = e.key_id CROSS JOIN ${dialect.pathOf('e.path')}
        JOIN @tree_accounts b ON b.id = p.value
      WHERE e.root_id IS NOT NULL GROUP BY b.id
    ) e ON e.id = t.id
    LEFT JOIN (
      SELECT p.value AS id, sum(h.amount) FILTER (WHERE k.mode = 'credit') AS reserved, sum(h.tokens) AS tokens,
        count(*) AS live_holds
      FROM @holds h JOIN @keys k ON k.key_id = h.key_id CROSS JOIN ${dialect.pathOf('h.path')}
      WHERE h.root_id IS NOT NULL GROUP BY p.value
    ) h ON h.id = t.id
    ORDER BY t.id`;
}

/** Rows that must not exist: each query gives `key_id` and `id`. */
const FAULTS: readonly (readonly [what: string, sql: string])[] = [
  ['key without an account', `SELECT t.key_id, t.key_id AS id FROM @keys t WHERE ${isWithoutKey('t.key_id')}`],
  ['hold without a key', `SELECT t.key_id, t.id FROM @holds t WHERE ${isWithoutKey('t.key_id')}`],
  ['entry without a key', `SELECT t.key_id, t.id FROM @entries t WHERE ${isWithoutKey('t.key_id')}`],
  [
    'hold is live and settled',
    `SELECT h.key_id, h.id FROM @holds h JOIN @entries e ON e.key_id = h.key_id AND e.kind = 'charge' AND e.id = h.id`,
  ],
  [
    'hold is live and voided',
    'SELECT h.key_id, h.id FROM @holds h JOIN @voided v ON v.key_id = h.key_id AND v.hold_id = h.id',
  ],
  [
    'hold is voided and settled',
    `SELECT v.key_id, v.hold_id AS id FROM @voided v
      JOIN @entries e ON e.key_id = v.key_id AND e.kind = 'charge' AND e.id = v.hold_id`,
  ],
  [
    'claim runs without its hold',
    `SELECT c.key_id, c.name AS id FROM @claims c LEFT JOIN @holds h ON h.key_id = c.key_id AND h.id = c.hold_id
      WHERE c.state = 'running' AND (h.id IS NULL OR h.claim_name IS DISTINCT FROM c.name)`,
  ],
  [
    'hold without its claim',
    `SELECT h.key_id, h.id FROM @holds h
      LEFT JOIN @claims c ON c.key_id = h.key_id AND c.name = h.claim_name AND c.hold_id = h.id AND c.state = 'running'
      WHERE h.claim_name IS NOT NULL AND c.name IS NULL`,
  ],
  [
    'claim ended without a charge',
    // That of a run leads to it, whether or not it was charged.
    `SELECT c.key_id, c.name AS id FROM @claims c WHERE c.state <> 'running' AND ${isWithoutCharge('c')}
      AND NOT (c.state = 'charged_incomplete'
        AND EXISTS (SELECT 1 FROM @voided v WHERE v.key_id = c.key_id AND v.hold_id = c.hold_id))`,
  ],
  [
    'run lives without its hold',
    `SELECT r.key_id, r.id FROM @runs r LEFT JOIN @holds h ON h.key_id = r.key_id AND h.id = r.hold_id
      WHERE r.expires_at_ms IS NULL AND h.id IS NULL`,
  ],
  [
    'hold of a run without it',
    `SELECT h.key_id, h.id FROM @holds h LEFT JOIN @runs r ON r.key_id = h.key_id AND r.hold_id = h.id
      WHERE h.run AND r.id IS NULL`,
  ],
  [
    'hold or charge of an account without its path',
    `SELECT h.key_id, h.id FROM @holds h JOIN @keys k ON k.key_id = h.key_id
      LEFT JOIN @tree_accounts t ON t.id = k.account_id
      WHERE h.root_id IS DISTINCT FROM t.root_id OR (h.path IS NULL) <> (h.root_id IS NULL)`,
  ],
  [
    'transfer without its other half',
    `SELECT o.node_id AS key_id, o.id FROM @account_entries o
      WHERE o.kind IN ('transfer_out', 'transfer_in') AND NOT EXISTS (SELECT 1 FROM @account_entries i
        WHERE i.node_id = o.other_id AND i.id = o.id AND i.amount = o.amount
          AND i.kind = CASE o.kind WHEN 'transfer_out' THEN 'transfer_in' ELSE 'transfer_out' END)`,
  ],
  ['usage without a charge', `SELECT u.key_id, u.hold_id AS id FROM @usage u WHERE ${isWithoutCharge('u')}`],
  ...MONEY_FAULTS,
];

function isWithoutKey(keyId: string): string {
  return `NOT EXISTS (SELECT 1 FROM @accounts a WHERE a.key_id = ${keyId})`;
}

function isWithoutCharge(row: string): string {
  return `NOT EXISTS (
    SELECT 1 FROM @entries e WHERE e.key_id = ${row}.key_id AND e.kind = 'charge' AND e.id = ${row}.hold_id)`;
}

export function* audit({ dialect, nowMs }: Reading): Work<AuditReport> {
  const keys = yield* query(keySums(dialect));
  const findings = keys.flatMap(compareKey);
  for (const row of yield* query(nodeSums(dialect))) findings.push(...compareNode(row));
  for (const [what, sql] of FAULTS) findings.push(...(yield* faults(what, sql)));
  const brought = `SELECT k.key_id, k.key_id AS id FROM @keys k WHERE k.account_id IS NOT NULL AND k.mode = 'credit' AND
    coalesce((SELECT sum(CASE e.kind WHEN 'purchase' THEN e.amount ELSE -e.amount END) FROM @entries e
      WHERE e.key_id = k.key_id AND e.root_id IS NULL), 0) + ${bookedSum(dialect, 'k.key_id')} <> 0`;
  findings.push(...(yield* faults('key of an account left with credit of its own', brought)));
  const late = 'SELECT key_id, id FROM @holds WHERE expires_at_ms <= $1';
  findings.push(...(yield* faults('hold is past its expiry', late, nowMs - ORPHAN_GRACE_MS)));
  return {
    ok: findings.length === 0,
    keys: keys.length,
    // What expires is booked by the ledger itself, sooner or later: it is not counted.
    entries: (yield* count('@entries')) + (yield* count(`@account_entries WHERE kind <> 'expired'`)),
    liveHolds: yield* count('@holds'),
    findings,
    ...(yield* flaggedCharges()),
  };
}

/** How many there are, and the newest of them, with one look at the entries. */
function* flaggedCharges(): Work<Pick<AuditReport, 'flagged' | 'flaggedCharges'>> {
  const rows = yield* query(`SELECT key_id, id, flag, at_ms, count(*) OVER () AS flagged FROM @entries
    WHERE flag IS NOT NULL ORDER BY at_ms DESC, key_id, id LIMIT ${FLAGGED_MAX}`);
  const [newest] = rows;
  const lines = rows.map((row) => {
    const at = new Date(integer(row, 'at_ms')).toISOString();
    return `${at} ${text(row, 'id')} of ${text(row, 'key_id')}: ${text(row, 'flag')}`;
  });
  return { flagged: newest === undefined ? 0 : integer(newest, 'flagged'), flaggedCharges: lines };
}

function* faults(what: string, sql: string, ...values: readonly Value[]): Work<readonly string[]> {
  const rows = yield* query(`${sql} LIMIT ${FINDINGS_MAX}`, ...values);
  return rows.map((row) => faultLine(text(row, 'key_id'), what, text(row, 'id')));
}

function* count(rows: string): Work<number> {
  const row = yield* queryOne(`SELECT count(*) AS n FROM ${rows}`);
  return row === undefined ? 0 : integer(row, 'n');
}
