-- The book of everything but charges, for whoever pays: the root of a tree, or a key that pays for itself. Purchases of keys
-- from before this migration are in `entries`.

-- `node_id` is the root, or the key. An amount is what is added, but for `transfer_out` and `expired`, which take it away;
-- a correction has its sign.
ALTER TABLE gateway.account_entries
  DROP CONSTRAINT account_entries_kind_check,
  DROP CONSTRAINT account_entries_amount_check,
  -- Who booked it, as the audit trail names them.
  ADD COLUMN actor text,
  -- The charge that a refund is for.
  ADD COLUMN charge_key_id text COLLATE "C",
  ADD COLUMN charge_id text COLLATE "C",
  ADD COLUMN expires_at_ms bigint,
  ADD CONSTRAINT account_entries_kind_check
    CHECK (kind IN ('purchase', 'promotion', 'refund', 'correction', 'expired', 'transfer_out', 'transfer_in')),
  ADD CONSTRAINT account_entries_amount_check CHECK (amount >= 0 OR kind = 'correction'),
  ADD CHECK ((kind = 'refund') = (charge_id IS NOT NULL)),
  ADD CHECK ((kind = 'promotion') = (expires_at_ms IS NOT NULL));

CREATE INDEX refunds_of_charge ON gateway.account_entries (charge_key_id, charge_id) WHERE charge_id IS NOT NULL;

-- What is left of promotional credit. The audit recomputes it: the amount, without what went to another payer, what charges
-- took and what has expired.
CREATE TABLE gateway.promotions (
  node_id text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  amount bigint NOT NULL CHECK (amount >= 0),
  remaining bigint NOT NULL CHECK (remaining >= 0),
  moved bigint NOT NULL DEFAULT 0 CHECK (moved >= 0),
  expires_at_ms bigint NOT NULL,
  PRIMARY KEY (node_id, id)
);

CREATE INDEX promotions_left ON gateway.promotions (expires_at_ms) WHERE remaining > 0;

-- Which part of a charge was paid from which promotion.
CREATE TABLE gateway.promotion_charges (
  node_id text COLLATE "C" NOT NULL,
  promotion_id text COLLATE "C" NOT NULL,
  key_id text COLLATE "C" NOT NULL,
  hold_id text COLLATE "C" NOT NULL,
  amount bigint NOT NULL CHECK (amount > 0),
  PRIMARY KEY (node_id, promotion_id, key_id, hold_id)
);

CREATE TRIGGER promotion_charges_never_change BEFORE UPDATE OR DELETE ON gateway.promotion_charges
  FOR EACH ROW EXECUTE FUNCTION gateway.refuse_change();

CREATE TRIGGER promotion_charges_never_leave BEFORE TRUNCATE ON gateway.promotion_charges
  FOR EACH STATEMENT EXECUTE FUNCTION gateway.refuse_change();

-- When the first promotion of which something is left expires; null where none is. Nothing else is looked at for the others.
ALTER TABLE gateway.accounts ADD COLUMN promo_ms bigint;
ALTER TABLE gateway.tree_accounts ADD COLUMN promo_ms bigint;
