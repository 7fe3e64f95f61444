-- The book of everything but charges, for whoever pays: the root of a tree, or a key that pays for itself. Purchases of keys
-- from before this migration are in `entries`.

DROP TRIGGER account_entries_never_change;
DROP TRIGGER account_entries_never_leave;
ALTER TABLE account_entries RENAME TO account_entries_before;

-- `node_id` is the root, or the key. An amount is what is added, but for `transfer_out` and `expired`, which take it away;
-- a correction has its sign.
CREATE TABLE account_entries (
  node_id TEXT NOT NULL,
  kind TEXT NOT NULL
    CHECK (kind IN ('purchase', 'promotion', 'refund', 'correction', 'expired', 'transfer_out', 'transfer_in')),
  id TEXT NOT NULL,
  amount INTEGER NOT NULL CHECK (amount >= 0 OR kind = 'correction'),
  at_ms INTEGER NOT NULL,
  -- The key or the root on the other side of a transfer; for what has expired, the promotion.
  other_id TEXT,
  note TEXT,
  -- Who booked it, as the audit trail names them.
  actor TEXT,
  -- The charge that a refund is for.
  charge_key_id TEXT,
  charge_id TEXT,
  expires_at_ms INTEGER,
  PRIMARY KEY (node_id, kind, id),
  CHECK ((kind = 'refund') = (charge_id IS NOT NULL)),
  CHECK ((kind = 'promotion') = (expires_at_ms IS NOT NULL))
) STRICT, WITHOUT ROWID;

INSERT INTO account_entries (node_id, kind, id, amount, at_ms, other_id, note)
  SELECT node_id, kind, id, amount, at_ms, other_id, note FROM account_entries_before;
DROP TABLE account_entries_before;

CREATE INDEX refunds_of_charge ON account_entries (charge_key_id, charge_id) WHERE charge_id IS NOT NULL;

CREATE TRIGGER account_entries_never_change BEFORE UPDATE ON account_entries
BEGIN
  SELECT RAISE(ABORT, 'an entry never changes');
END;

CREATE TRIGGER account_entries_never_leave BEFORE DELETE ON account_entries
BEGIN
  SELECT RAISE(ABORT, 'an entry is never removed');
END;

-- What is left of promotional credit. The audit recomputes it: the amount, without what went to another payer, what charges
-- took and what has expired.
CREATE TABLE promotions (
  node_id TEXT NOT NULL,
  id TEXT NOT NULL,
  amount INTEGER NOT NULL CHECK (amount >= 0),
  remaining INTEGER NOT NULL CHECK (remaining >= 0),
  moved INTEGER NOT NULL DEFAULT 0 CHECK (moved >= 0),
  expires_at_ms INTEGER NOT NULL,
  PRIMARY KEY (node_id, id)
) STRICT, WITHOUT ROWID;

CREATE INDEX promotions_left ON promotions (expires_at_ms) WHERE remaining > 0;

-- Which part of a charge was paid from which promotion.
CREATE TABLE promotion_charges (
  node_id TEXT NOT NULL,
  promotion_id TEXT NOT NULL,
  key_id TEXT NOT NULL,
  hold_id TEXT NOT NULL,
  amount INTEGER NOT NULL CHECK (amount > 0),
  PRIMARY KEY (node_id, promotion_id, key_id, hold_id)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER promotion_charges_never_change BEFORE UPDATE ON promotion_charges
BEGIN
  SELECT RAISE(ABORT, 'an entry never changes');
END;

CREATE TRIGGER promotion_charges_never_leave BEFORE DELETE ON promotion_charges
BEGIN
  SELECT RAISE(ABORT, 'an entry is never removed');
END;

-- When the first promotion of which something is left expires; null where none is. Nothing else is looked at for the others.
ALTER TABLE accounts ADD COLUMN promo_ms INTEGER;
ALTER TABLE tree_accounts ADD COLUMN promo_ms INTEGER;
