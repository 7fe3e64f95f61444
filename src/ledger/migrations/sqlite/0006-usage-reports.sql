-- Usage reports: entries say which call they charge, and rollups hold their sums, so that a report over a month reads
-- neither entries nor usage records.

-- Null where nothing is known of the call: in entries from before this migration.
ALTER TABLE entries ADD COLUMN model TEXT;
ALTER TABLE entries ADD COLUMN provider TEXT;
ALTER TABLE entries ADD COLUMN format TEXT;
-- What the call cost the caller: for a credit key the amount, for a token budget its price. Null before this migration.
ALTER TABLE entries ADD COLUMN cost_nanos INTEGER;
-- What the provider asks for it.
ALTER TABLE entries ADD COLUMN provider_cost_nanos INTEGER;

-- From the arrival of the request to the first content of its answer.
ALTER TABLE usage ADD COLUMN first_byte_ms INTEGER;

-- Charges without a usage record that no rollup counts yet. Those with a record follow the order of `usage`.
CREATE TABLE unrolled (
  number INTEGER PRIMARY KEY,
  key_id TEXT NOT NULL,
  hold_id TEXT NOT NULL
) STRICT;

-- The rollups count all usage records up to this number, with their charges. It moves in the transaction that adds them.
CREATE TABLE usage_watermark (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  number INTEGER NOT NULL,
  -- How many times something was added. What was read before another addition is not added any more.
  version INTEGER NOT NULL
) STRICT;

INSERT INTO usage_watermark (id, number, version) VALUES (1, 0, 0);

-- Sums of charges and of their usage records by hour; the other rollups have the same sums by hour and key, and by day and
-- key. An unknown model, provider or format is empty.
CREATE TABLE usage_hours (
  -- First millisecond of the hour or day, in UTC.
  start_ms INTEGER NOT NULL,
  model TEXT NOT NULL,
  provider TEXT NOT NULL,
  format TEXT NOT NULL,
  -- All charges; those with a usage record; and those of them whose answer broke off.
  charges INTEGER NOT NULL,
  requests INTEGER NOT NULL,
  broken INTEGER NOT NULL,
  -- The amounts of the entries: of credit keys, and of token budgets.
  charged_nanos INTEGER NOT NULL,
  charged_tokens INTEGER NOT NULL,
  cost_nanos INTEGER NOT NULL,
  provider_cost_nanos INTEGER NOT NULL,
  input INTEGER NOT NULL,
  cache_read INTEGER NOT NULL,
  cache_write INTEGER NOT NULL,
  cache_write_1h INTEGER NOT NULL,
  output INTEGER NOT NULL,
  reasoning INTEGER NOT NULL,
  -- Histograms: how many requests had their first byte or their end in each class of milliseconds.
  times BLOB NOT NULL,
  PRIMARY KEY (start_ms, model, provider, format)
) STRICT, WITHOUT ROWID;

CREATE TABLE usage_key_hours (
  start_ms INTEGER NOT NULL,
  key_id TEXT NOT NULL,
  model TEXT NOT NULL,
  provider TEXT NOT NULL,
  format TEXT NOT NULL,
  charges INTEGER NOT NULL,
  requests INTEGER NOT NULL,
  broken INTEGER NOT NULL,
  charged_nanos INTEGER NOT NULL,
  charged_tokens INTEGER NOT NULL,
  cost_nanos INTEGER NOT NULL,
  provider_cost_nanos INTEGER NOT NULL,
  input INTEGER NOT NULL,
  cache_read INTEGER NOT NULL,
  cache_write INTEGER NOT NULL,
  cache_write_1h INTEGER NOT NULL,
  output INTEGER NOT NULL,
  reasoning INTEGER NOT NULL,
  times BLOB NOT NULL,
  PRIMARY KEY (start_ms, key_id, model, provider, format)
) STRICT, WITHOUT ROWID;

CREATE TABLE usage_key_days (
  start_ms INTEGER NOT NULL,
  key_id TEXT NOT NULL,
  model TEXT NOT NULL,
  provider TEXT NOT NULL,
  format TEXT NOT NULL,
  charges INTEGER NOT NULL,
  requests INTEGER NOT NULL,
  broken INTEGER NOT NULL,
  charged_nanos INTEGER NOT NULL,
  charged_tokens INTEGER NOT NULL,
  cost_nanos INTEGER NOT NULL,
  provider_cost_nanos INTEGER NOT NULL,
  input INTEGER NOT NULL,
  cache_read INTEGER NOT NULL,
  cache_write INTEGER NOT NULL,
  cache_write_1h INTEGER NOT NULL,
  output INTEGER NOT NULL,
  reasoning INTEGER NOT NULL,
  times BLOB NOT NULL,
  PRIMARY KEY (start_ms, key_id, model, provider, format)
) STRICT, WITHOUT ROWID;
