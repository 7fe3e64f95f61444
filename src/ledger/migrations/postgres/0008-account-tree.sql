-- Accounts in a tree. The root owns the credit that all keys below it spend; caps of an account limit what passes through it.
-- A key without an account pays for itself, as before, and none of this is touched for it.
--
-- The functions that this needs are in functions.sql, which is applied after the last migration.

-- `root_id` is its own id for a root, whose row is the lock of the whole tree. Sums are of everything that was charged or is
-- held on a path through the account.
CREATE TABLE gateway.tree_accounts (
  root_id text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL UNIQUE,
  parent_id text COLLATE "C",
  version bigint NOT NULL,
  name text NOT NULL,
  external_id text UNIQUE,
  -- A JSON object of texts.
  labels text NOT NULL,
  status text NOT NULL CHECK (status IN ('active', 'suspended', 'closed')),
  rpm_limit bigint CHECK (rpm_limit >= 1),
  -- In nanos of a credit, counted for credit keys.
  credit_cap bigint CHECK (credit_cap >= 0),
  credit_period text CHECK (credit_period IN ('day', 'week', 'month', 'none')),
  -- In tokens, counted for keys of both modes.
  token_cap bigint CHECK (token_cap >= 0),
  token_period text CHECK (token_period IN ('day', 'week', 'month', 'none')),
  created_at_ms bigint NOT NULL,
  created_number bigserial,
  purchased bigint NOT NULL DEFAULT 0 CHECK (purchased >= 0),
  used bigint NOT NULL DEFAULT 0 CHECK (used >= 0),
  reserved bigint NOT NULL DEFAULT 0 CHECK (reserved >= 0),
  reserved_tokens bigint NOT NULL DEFAULT 0 CHECK (reserved_tokens >= 0),
  live_holds bigint NOT NULL DEFAULT 0 CHECK (live_holds >= 0),
  credit_start_ms bigint NOT NULL DEFAULT 0,
  credit_used bigint NOT NULL DEFAULT 0 CHECK (credit_used >= 0),
  tokens_start_ms bigint NOT NULL DEFAULT 0,
  tokens_used bigint NOT NULL DEFAULT 0 CHECK (tokens_used >= 0),
  hold_ms bigint NOT NULL DEFAULT 0,
  -- Of a root: the latest time that its tree has seen.
  seen_ms bigint NOT NULL DEFAULT 0,
  -- Places in the rate limit, as in `accounts`.
  rate_first bigint NOT NULL DEFAULT 0,
  rate_next bigint NOT NULL DEFAULT 0,
  rate_stored bigint NOT NULL DEFAULT 0,
  rate_at_ms bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (root_id, id),
  CHECK ((credit_cap IS NULL) = (credit_period IS NULL)),
  CHECK ((token_cap IS NULL) = (token_period IS NULL)),
  CHECK ((parent_id IS NULL) = (root_id = id)),
  CHECK (parent_id IS NULL OR purchased = 0),
  CHECK (parent_id IS NOT NULL OR purchased - used - reserved >= 0)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);

-- The book of the roots: purchases, and what keys brought along. `node_id` is the account, or the key of a `transfer_out`.
CREATE TABLE gateway.account_entries (
  node_id text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL CHECK (kind IN ('purchase', 'transfer_out', 'transfer_in')),
  id text COLLATE "C" NOT NULL,
  amount bigint NOT NULL CHECK (amount >= 0),
  at_ms bigint NOT NULL,
  -- The key or the root on the other side of a transfer.
  other_id text COLLATE "C",
  note text,
  PRIMARY KEY (node_id, kind, id)
);

CREATE TRIGGER account_entries_never_change BEFORE UPDATE OR DELETE ON gateway.account_entries
  FOR EACH ROW EXECUTE FUNCTION gateway.refuse_change();

CREATE TRIGGER account_entries_never_leave BEFORE TRUNCATE ON gateway.account_entries
  FOR EACH STATEMENT EXECUTE FUNCTION gateway.refuse_change();

-- For a key of an account, `purchased` is what the root has paid for it: what it has used and holds.
ALTER TABLE gateway.accounts ADD COLUMN account_id text COLLATE "C", ADD COLUMN root_id text COLLATE "C",
  ADD COLUMN cap bigint CHECK (cap >= 0);

CREATE INDEX accounts_of_account ON gateway.accounts (account_id) WHERE account_id IS NOT NULL;

-- The path is the accounts above the key, from the nearest to the root; null for a key without an account.
ALTER TABLE gateway.holds ADD COLUMN tokens bigint NOT NULL DEFAULT 0 CHECK (tokens >= 0),
  ADD COLUMN root_id text COLLATE "C", ADD COLUMN path text[];

CREATE INDEX holds_of_root ON gateway.holds (root_id) WHERE root_id IS NOT NULL;

ALTER TABLE gateway.entries ADD COLUMN tokens bigint NOT NULL DEFAULT 0 CHECK (tokens >= 0),
  ADD COLUMN held_tokens bigint NOT NULL DEFAULT 0, ADD COLUMN root_id text COLLATE "C", ADD COLUMN path text[];

CREATE INDEX entries_of_root ON gateway.entries (root_id, at_ms) WHERE root_id IS NOT NULL;

-- Tokens of a hold, an extension or a charge, and the least that will do.
ALTER TYPE gateway.operation ADD ATTRIBUTE w bigint, ADD ATTRIBUTE wm bigint;
