-- Usage reports: entries say which call they charge, and rollups hold their sums, so that a report over a month reads
-- neither entries nor usage records.

-- Null where nothing is known of the call: in entries from before this migration, and where a gateway of an earlier release
-- has settled a cancelled call.
ALTER TABLE gateway.entries ADD COLUMN model text, ADD COLUMN provider text, ADD COLUMN format text,
  -- What the call cost the caller: for a credit key the amount, for a token budget its price. Null before this migration.
  ADD COLUMN cost_nanos bigint,
  -- What the provider asks for it.
  ADD COLUMN provider_cost_nanos bigint;

-- From the arrival of the request to the first content of its answer.
ALTER TABLE gateway.usage ADD COLUMN first_byte_ms bigint;

-- What the entry of a call without a usage record says about it, by the columns of `entries`.
ALTER TYPE gateway.operation ADD ATTRIBUTE c jsonb;

-- The charges that no rollup counts yet. A charge leaves this table in the transaction that adds it to the rollups.
CREATE TABLE gateway.unrolled (
  key_id text COLLATE "C" NOT NULL,
  hold_id text COLLATE "C" NOT NULL,
  at_ms bigint NOT NULL,
  PRIMARY KEY (key_id, hold_id)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);

-- Sums of charges and of their usage records by hour; the other rollups have the same sums by hour and key, and by day and
-- key. An unknown model, provider or format is empty.
CREATE TABLE gateway.usage_hours (
  -- First millisecond of the hour or day, in UTC.
  start_ms bigint NOT NULL,
  model text COLLATE "C" NOT NULL,
  provider text COLLATE "C" NOT NULL,
  format text COLLATE "C" NOT NULL,
  -- All charges; those with a usage record; and those of them whose answer broke off.
  charges bigint NOT NULL,
  requests bigint NOT NULL,
  broken bigint NOT NULL,
  -- The amounts of the entries: of credit keys, and of token budgets.
  charged_nanos bigint NOT NULL,
  charged_tokens bigint NOT NULL,
  cost_nanos bigint NOT NULL,
  provider_cost_nanos bigint NOT NULL,
  input bigint NOT NULL,
  cache_read bigint NOT NULL,
  cache_write bigint NOT NULL,
  cache_write_1h bigint NOT NULL,
  output bigint NOT NULL,
  reasoning bigint NOT NULL,
  PRIMARY KEY (start_ms, model, provider, format)
) WITH (fillfactor = 70);

-- Histograms: how many requests had their first byte (f) or their end (d) in each class of milliseconds. Null means none.
DO $$
BEGIN
  FOR class IN 0..28 LOOP
    EXECUTE format('ALTER TABLE gateway.usage_hours ADD COLUMN f%s bigint, ADD COLUMN d%s bigint', class, class);
  END LOOP;
END $$;

CREATE TABLE gateway.usage_key_hours (
  key_id text COLLATE "C" NOT NULL,
  LIKE gateway.usage_hours,
  PRIMARY KEY (start_ms, key_id, model, provider, format)
) WITH (fillfactor = 70);

CREATE TABLE gateway.usage_key_days (
  key_id text COLLATE "C" NOT NULL,
  LIKE gateway.usage_hours,
  PRIMARY KEY (start_ms, key_id, model, provider, format)
) WITH (fillfactor = 70);

-- Usage records from before this migration are added in the background, in the order of their primary key: the last one that
-- was. No row: all were.
CREATE TABLE gateway.usage_history (
  key_id text COLLATE "C" NOT NULL,
  at_ms bigint NOT NULL,
  hold_id text COLLATE "C" NOT NULL
);

INSERT INTO gateway.usage_history (key_id, at_ms, hold_id) SELECT '', 0, '' WHERE EXISTS (SELECT FROM gateway.usage);
