/**
 * What must not be found among entries of refunds and promotional credit. Each query gives `key_id`, which is whoever pays, and
 * `id`.
 */
export const MONEY_FAULTS: readonly (readonly [what: string, sql: string])[] = [
  [
    'refund without its charge',
    `SELECT r.node_id AS key_id, r.id FROM @account_entries r WHERE r.kind = 'refund' AND NOT EXISTS (
      SELECT 1 FROM @entries e WHERE e.key_id = r.charge_key_id AND e.kind = 'charge' AND e.id = r.charge_id)`,
  ],
  [
    'more refunded than charged',
    `SELECT r.charge_key_id AS key_id, r.charge_id AS id FROM @account_entries r
      JOIN @entries e ON e.key_id = r.charge_key_id AND e.kind = 'charge' AND e.id = r.charge_id
      WHERE r.kind = 'refund' GROUP BY r.charge_key_id, r.charge_id, e.amount HAVING sum(r.amount) > e.amount`,
  ],
  [
    'promotion with another rest than its charges and expiry leave',
    `SELECT p.node_id AS key_id, p.id FROM @promotions p WHERE p.remaining <> p.amount - p.moved
      - coalesce((SELECT sum(c.amount) FROM @promotion_charges c WHERE c.node_id = p.node_id AND c.promotion_id = p.id), 0)
      - coalesce((SELECT sum(x.amount) FROM @account_entries x
          WHERE x.node_id = p.node_id AND x.kind = 'expired' AND x.other_id = p.id), 0)`,
  ],
  [
    'promotion that nobody booked',
    `SELECT p.node_id AS key_id, p.id FROM @promotions p WHERE NOT EXISTS (SELECT 1 FROM @account_entries b
      WHERE b.node_id = p.node_id AND b.amount >= p.amount
        AND (b.kind = 'promotion' AND b.id = p.id OR b.kind = 'transfer_in'))`,
  ],
  [
    'charge paid from promotions beyond its amount',
    `SELECT c.key_id, c.hold_id AS id FROM @promotion_charges c
      LEFT JOIN @entries e ON e.key_id = c.key_id AND e.kind = 'charge' AND e.id = c.hold_id
      GROUP BY c.key_id, c.hold_id, e.amount HAVING e.amount IS NULL OR sum(c.amount) > e.amount`,
  ],
  [
    'more promotional credit than balance',
    `SELECT q.id AS key_id, q.id FROM (
        SELECT a.key_id AS id, a.purchased - a.used AS balance FROM @accounts a WHERE a.promo_ms IS NOT NULL
        UNION ALL SELECT t.id, t.purchased - t.used FROM @tree_accounts t WHERE t.promo_ms IS NOT NULL
      ) q WHERE q.balance < (SELECT sum(p.remaining) FROM @promotions p WHERE p.node_id = q.id)`,
  ],
  [
    'first expiry of promotional credit kept otherwise',
    `SELECT q.id AS key_id, q.id FROM (
        SELECT a.key_id AS id, a.promo_ms FROM @accounts a
        UNION ALL SELECT t.id, t.promo_ms FROM @tree_accounts t
      ) q LEFT JOIN (SELECT node_id, min(expires_at_ms) AS first_ms FROM @promotions WHERE remaining > 0 GROUP BY node_id) p
        ON p.node_id = q.id WHERE coalesce(q.promo_ms, -1) <> coalesce(p.first_ms, -1)`,
  ],
];
