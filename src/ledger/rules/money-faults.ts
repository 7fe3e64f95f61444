/**
 * What must not be found among entries of refunds and promotional credit, as SQL that both dialects have. Each query gives
 * `key_id`, which is whoever pays, and `id`.
 */
import { SIGNED_AMOUNT } from './money-rules.ts';

/** `schema`: what table names begin with. */
export function moneyFaults(schema: '' | 'gateway.'): readonly (readonly [what: string, sql: string])[] {
  const entries = `${schema}entries`;
  const booked = `${schema}account_entries`;
  const promotions = `${schema}promotions`;
  const spent = `${schema}promotion_charges`;
  return [
    [
      'refund without its charge',
      `SELECT r.node_id AS key_id, r.id FROM ${booked} r WHERE r.kind = 'refund' AND NOT EXISTS (
        SELECT 1 FROM ${entries} e WHERE e.key_id = r.charge_key_id AND e.kind = 'charge' AND e.id = r.charge_id)`,
    ],
    [
      'more refunded than charged',
      `SELECT r.charge_key_id AS key_id, r.charge_id AS id FROM ${booked} r
        JOIN ${entries} e ON e.key_id = r.charge_key_id AND e.kind = 'charge' AND e.id = r.charge_id
        WHERE r.kind = 'refund' GROUP BY r.charge_key_id, r.charge_id, e.amount HAVING sum(r.amount) > e.amount`,
    ],
    [
      'promotion with another rest than its charges and expiry leave',
      `SELECT p.node_id AS key_id, p.id FROM ${promotions} p WHERE p.remaining <> p.amount - p.moved
        - coalesce((SELECT sum(c.amount) FROM ${spent} c WHERE c.node_id = p.node_id AND c.promotion_id = p.id), 0)
        - coalesce((SELECT sum(x.amount) FROM ${booked} x
            WHERE x.node_id = p.node_id AND x.kind = 'expired' AND x.other_id = p.id), 0)`,
    ],
    [
      'promotion that nobody booked',
      `SELECT p.node_id AS key_id, p.id FROM ${promotions} p WHERE NOT EXISTS (SELECT 1 FROM ${booked} b
        WHERE b.node_id = p.node_id AND b.amount >= p.amount
          AND (b.kind = 'promotion' AND b.id = p.id OR b.kind = 'transfer_in'))`,
    ],
    [
      'charge paid from promotions beyond its amount',
      `SELECT c.key_id, c.hold_id AS id FROM ${spent} c
        LEFT JOIN ${entries} e ON e.key_id = c.key_id AND e.kind = 'charge' AND e.id = c.hold_id
        GROUP BY c.key_id, c.hold_id, e.amount HAVING e.amount IS NULL OR sum(c.amount) > e.amount`,
    ],
    [
      'more promotional credit than balance',
      `SELECT q.id AS key_id, q.id FROM (
          SELECT a.key_id AS id, a.purchased - a.used AS balance FROM ${schema}accounts a WHERE a.promo_ms IS NOT NULL
          UNION ALL SELECT t.id, t.purchased - t.used FROM ${schema}tree_accounts t WHERE t.promo_ms IS NOT NULL
        ) q WHERE q.balance < (SELECT sum(p.remaining) FROM ${promotions} p WHERE p.node_id = q.id)`,
    ],
    [
      'first expiry of promotional credit kept otherwise',
      `SELECT q.id AS key_id, q.id FROM (
          SELECT a.key_id AS id, a.promo_ms FROM ${schema}accounts a
          UNION ALL SELECT t.id, t.promo_ms FROM ${schema}tree_accounts t
        ) q LEFT JOIN (SELECT node_id, min(expires_at_ms) AS first_ms FROM ${promotions} WHERE remaining > 0 GROUP BY node_id) p
          ON p.node_id = q.id WHERE coalesce(q.promo_ms, -1) <> coalesce(p.first_ms, -1)`,
    ],
  ];
}

/** What a key or account was given in all, by the entries that are not charges. */
export function bookedSum(schema: '' | 'gateway.', node: string): string {
  return `coalesce((SELECT ${signedSum(schema, SIGNED_AMOUNT)} FROM ${schema}account_entries b WHERE b.node_id = ${node}), 0)`;
}

/**
 * The sum of amounts that add and take away. It is in range, but a sum on the way to it may not be, which SQLite refuses:
 * there the higher and the lower bits are added up apart.
 */
export function signedSum(schema: '' | 'gateway.', amount: string): string {
  return schema === '' ? `(sum((${amount}) >> 31) << 31) + sum((${amount}) & 2147483647)` : `sum(${amount})`;
}

/** What expires is booked by the ledger itself, sooner or later: it is not counted. */
export function entryCount(schema: '' | 'gateway.'): string {
  return `SELECT (SELECT count(*) FROM ${schema}entries)
    + (SELECT count(*) FROM ${schema}account_entries WHERE kind <> 'expired') AS n`;
}
