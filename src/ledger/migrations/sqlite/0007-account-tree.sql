-- Accounts in a tree. The root owns the credit that all keys below it spend; caps of an account limit what passes through it.
-- A key without an account pays for itself, as before, and none of this is touched for it.

-- `root_id` is its own id for a root. Sums are of everything that was charged or is held on a path through the account.
CREATE TABLE tree_accounts (
  id TEXT NOT NULL PRIMARY KEY,
  root_id TEXT NOT NULL,
  parent_id TEXT REFERENCES tree_accounts (id),
  version INTEGER NOT NULL,
  name TEXT NOT NULL,
  external_id TEXT UNIQUE,
  -- A JSON object of texts.
  labels TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('active', 'suspended', 'closed')),
  rpm_limit INTEGER CHECK (rpm_limit >= 1),
  -- In nanos of a credit, counted for credit keys.
  credit_cap INTEGER CHECK (credit_cap >= 0),
  credit_period TEXT CHECK (credit_period IN ('day', 'week', 'month', 'none')),
  -- In tokens, counted for keys of both modes.
  token_cap INTEGER CHECK (token_cap >= 0),
  token_period TEXT CHECK (token_period IN ('day', 'week', 'month', 'none')),
  created_at_ms INTEGER NOT NULL,
  purchased INTEGER NOT NULL DEFAULT 0 CHECK (purchased >= 0),
  used INTEGER NOT NULL DEFAULT 0 CHECK (used >= 0),
  reserved INTEGER NOT NULL DEFAULT 0 CHECK (reserved >= 0),
  reserved_tokens INTEGER NOT NULL DEFAULT 0 CHECK (reserved_tokens >= 0),
  live_holds INTEGER NOT NULL DEFAULT 0 CHECK (live_holds >= 0),
  credit_start_ms INTEGER NOT NULL DEFAULT 0,
  credit_used INTEGER NOT NULL DEFAULT 0 CHECK (credit_used >= 0),
  tokens_start_ms INTEGER NOT NULL DEFAULT 0,
  tokens_used INTEGER NOT NULL DEFAULT 0 CHECK (tokens_used >= 0),
  hold_ms INTEGER NOT NULL DEFAULT 0,
  CHECK ((credit_cap IS NULL) = (credit_period IS NULL)),
  CHECK ((token_cap IS NULL) = (token_period IS NULL)),
  CHECK ((parent_id IS NULL) = (root_id = id)),
  CHECK (parent_id IS NULL OR purchased = 0),
  CHECK (parent_id IS NOT NULL OR purchased - used - reserved >= 0)
) STRICT;

CREATE INDEX tree_accounts_of_root ON tree_accounts (root_id);

-- The book of the roots: purchases, and what keys brought along. `node_id` is the account, or the key of a `transfer_out`.
CREATE TABLE account_entries (
  node_id TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('purchase', 'transfer_out', 'transfer_in')),
  id TEXT NOT NULL,
  amount INTEGER NOT NULL CHECK (amount >= 0),
  at_ms INTEGER NOT NULL,
  -- The key or the root on the other side of a transfer.
  other_id TEXT,
  note TEXT,
  PRIMARY KEY (node_id, kind, id)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER account_entries_never_change BEFORE UPDATE ON account_entries
BEGIN
  SELECT RAISE(ABORT, 'an entry never changes');
END;

CREATE TRIGGER account_entries_never_leave BEFORE DELETE ON account_entries
BEGIN
  SELECT RAISE(ABORT, 'an entry is never removed');
END;

-- For a key of an account, `purchased` of its sums is what the root has paid for it: what it has used and holds.
ALTER TABLE keys ADD COLUMN account_id TEXT REFERENCES tree_accounts (id);
ALTER TABLE keys ADD COLUMN cap INTEGER CHECK (cap >= 0);

CREATE INDEX keys_of_account ON keys (account_id) WHERE account_id IS NOT NULL;

-- The path is a JSON array of the accounts above the key, from the nearest to the root; null for a key without an account.
ALTER TABLE holds ADD COLUMN tokens INTEGER NOT NULL DEFAULT 0 CHECK (tokens >= 0);
ALTER TABLE holds ADD COLUMN root_id TEXT;
ALTER TABLE holds ADD COLUMN path TEXT;

CREATE INDEX holds_of_root ON holds (root_id) WHERE root_id IS NOT NULL;

ALTER TABLE entries ADD COLUMN tokens INTEGER NOT NULL DEFAULT 0 CHECK (tokens >= 0);
ALTER TABLE entries ADD COLUMN held_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE entries ADD COLUMN root_id TEXT;
ALTER TABLE entries ADD COLUMN path TEXT;

CREATE INDEX entries_of_root ON entries (root_id, at_ms) WHERE root_id IS NOT NULL;
