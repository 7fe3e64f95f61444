-- Amounts are 64-bit integers in the key's own unit: nanos of a credit, or tokens of a budget. Times are milliseconds
-- since the Unix epoch. Tables that every request touches begin their primary key with the key's id.

CREATE TABLE keys (
  id TEXT NOT NULL PRIMARY KEY,
  version INTEGER NOT NULL,
  mode TEXT NOT NULL CHECK (mode IN ('credit', 'token_budget')),
  label TEXT,
  status TEXT NOT NULL CHECK (status IN ('active', 'suspended', 'disabled', 'revoked')),
  expires_at_ms INTEGER,
  provider_scope TEXT NOT NULL,
  -- A JSON array of model ids; null means all.
  models TEXT,
  rpm_limit INTEGER CHECK (rpm_limit >= 1),
  budget INTEGER CHECK (budget >= 0),
  period TEXT NOT NULL CHECK (period IN ('day', 'week', 'month', 'none')),
  created_at_ms INTEGER NOT NULL,
  prefix TEXT NOT NULL,
  CHECK (mode = 'token_budget' OR budget IS NULL)
) STRICT;

CREATE TABLE secrets (
  digest TEXT NOT NULL PRIMARY KEY,
  key_id TEXT NOT NULL REFERENCES keys (id),
  prefix TEXT NOT NULL,
  number INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX secrets_of_key ON secrets (key_id, number);

-- The running sums of each key. The audit recomputes them from the entries and the live holds.
CREATE TABLE accounts (
  key_id TEXT NOT NULL PRIMARY KEY REFERENCES keys (id),
  mode TEXT NOT NULL,
  purchased INTEGER NOT NULL DEFAULT 0 CHECK (purchased >= 0),
  used INTEGER NOT NULL DEFAULT 0 CHECK (used >= 0),
  reserved INTEGER NOT NULL DEFAULT 0 CHECK (reserved >= 0),
  live_holds INTEGER NOT NULL DEFAULT 0 CHECK (live_holds >= 0),
  period_start_ms INTEGER NOT NULL DEFAULT 0,
  period_used INTEGER NOT NULL DEFAULT 0 CHECK (period_used >= 0),
  day_start_ms INTEGER NOT NULL DEFAULT 0,
  day_spend INTEGER NOT NULL DEFAULT 0 CHECK (day_spend >= 0),
  last_cost INTEGER NOT NULL DEFAULT 0 CHECK (last_cost >= 0),
  input_tokens INTEGER NOT NULL DEFAULT 0 CHECK (input_tokens >= 0),
  output_tokens INTEGER NOT NULL DEFAULT 0 CHECK (output_tokens >= 0),
  requests INTEGER NOT NULL DEFAULT 0 CHECK (requests >= 0),
  -- Running average of how long a hold lives, for the estimate of when held balance comes free.
  hold_ms INTEGER NOT NULL DEFAULT 0,
  CHECK (mode <> 'credit' OR purchased - used - reserved >= 0),
  CHECK (mode <> 'token_budget' OR (purchased = 0 AND used = 0))
) STRICT, WITHOUT ROWID;

-- Processes that may hold balance. A process that is not here is dead.
CREATE TABLE owners (
  id TEXT NOT NULL PRIMARY KEY,
  lease_until_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Live holds only: a hold that ends leaves this table for `entries` or `voided`.
CREATE TABLE holds (
  key_id TEXT NOT NULL,
  id TEXT NOT NULL,
  owner TEXT NOT NULL,
  amount INTEGER NOT NULL CHECK (amount >= 0),
  held_at_ms INTEGER NOT NULL,
  expires_at_ms INTEGER NOT NULL,
  claim_name TEXT,
  -- What recovery charges; null means not dispatched yet.
  mark_charge INTEGER CHECK (mark_charge >= 0),
  -- JSON: the tokens so far, and what the usage record says about the call.
  mark_detail TEXT,
  PRIMARY KEY (key_id, id)
) STRICT, WITHOUT ROWID;

-- The book: one entry per purchase, one per settled hold (`id` is the hold's). Nothing here ever changes.
CREATE TABLE entries (
  key_id TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('purchase', 'charge')),
  id TEXT NOT NULL,
  amount INTEGER NOT NULL CHECK (amount >= 0),
  -- What was held for a charge; a charge never exceeds it.
  held INTEGER NOT NULL,
  at_ms INTEGER NOT NULL,
  flag TEXT,
  note TEXT,
  PRIMARY KEY (key_id, kind, id),
  CHECK (kind <> 'charge' OR amount <= held)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER entries_never_change BEFORE UPDATE ON entries
BEGIN
  SELECT RAISE(ABORT, 'an entry never changes');
END;

CREATE TRIGGER entries_never_leave BEFORE DELETE ON entries
BEGIN
  SELECT RAISE(ABORT, 'an entry is never removed');
END;

-- Remembers for some days that a hold was voided.
CREATE TABLE voided (
  key_id TEXT NOT NULL,
  hold_id TEXT NOT NULL,
  held INTEGER NOT NULL,
  at_ms INTEGER NOT NULL,
  PRIMARY KEY (key_id, hold_id)
) STRICT;

-- One row per admitted request of a limited key, numbered per key.
CREATE TABLE rates (
  key_id TEXT NOT NULL,
  number INTEGER NOT NULL,
  at_ms INTEGER NOT NULL,
  PRIMARY KEY (key_id, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE claims (
  key_id TEXT NOT NULL,
  name TEXT NOT NULL,
  fingerprint TEXT NOT NULL,
  hold_id TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('running', 'done', 'charged_incomplete', 'reply_not_stored')),
  ended_at_ms INTEGER,
  reply_status INTEGER,
  reply_type TEXT,
  reply_body BLOB,
  PRIMARY KEY (key_id, name),
  CHECK ((state = 'running') = (ended_at_ms IS NULL)),
  CHECK ((state = 'done') = (reply_body IS NOT NULL))
) STRICT;

-- A log: rows of all keys follow each other in the order of time, so that a batch writes one page, not one per key.
CREATE TABLE usage (
  number INTEGER PRIMARY KEY,
  key_id TEXT NOT NULL,
  at_ms INTEGER NOT NULL,
  hold_id TEXT NOT NULL,
  request_id TEXT NOT NULL,
  model TEXT NOT NULL,
  provider TEXT NOT NULL,
  format TEXT NOT NULL,
  streamed INTEGER NOT NULL,
  outcome TEXT NOT NULL,
  source TEXT NOT NULL,
  input INTEGER NOT NULL,
  cache_read INTEGER NOT NULL,
  cache_write INTEGER NOT NULL,
  cache_write_1h INTEGER NOT NULL,
  output INTEGER NOT NULL,
  reasoning INTEGER NOT NULL,
  cost_nanos INTEGER NOT NULL,
  provider_cost_nanos INTEGER NOT NULL,
  attempts INTEGER NOT NULL,
  duration_ms INTEGER NOT NULL
) STRICT;

-- Written by `ping`, which wants to know whether the store can commit.
CREATE TABLE pings (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  at_ms INTEGER NOT NULL
) STRICT;
