-- compatible_from 12: earlier releases go on writing `usage` and `unrolled`, which are read as before. They do not see the usage
-- records of this release, and leave its sums for the reports of the next gateway of this release.
-- The usage records of charges that were written together, and what reports need of them: one row for a batch of a key instead of
-- two rows and two index entries for a charge. The entries stay as they are.

-- What is the same as something else, or zero, is null: see `usage_records` and `chargeFacts`.
CREATE TYPE gateway.charged_call AS (
  hold_id text,
  -- Null where it is the id of the hold.
  request_id text,
  -- What the entry says; the cost of the call is null where it is the same, and that of the provider where it is that of the call.
  amount bigint,
  cost_nanos bigint,
  provider_cost_nanos bigint,
  streamed boolean,
  -- Null where the charge has no usage record.
  outcome text,
  source text,
  input bigint,
  cache_read bigint,
  cache_write bigint,
  cache_write_1h bigint,
  output bigint,
  reasoning bigint,
  attempts bigint,
  duration_ms bigint,
  first_byte_ms bigint
);

CREATE TABLE gateway.charge_batches (
  key_id text COLLATE "C" NOT NULL,
  at_ms bigint NOT NULL,
  number bigint GENERATED ALWAYS AS IDENTITY,
  model text,
  provider text,
  format text,
  charges gateway.charged_call[] NOT NULL,
  PRIMARY KEY (key_id, at_ms, number)
) WITH (toast_tuple_target = 8160);

-- Compressing them would take more than writing them.
ALTER TABLE gateway.charge_batches ALTER COLUMN charges SET STORAGE EXTERNAL;

CREATE INDEX charge_batches_by_time ON gateway.charge_batches USING brin (at_ms);

-- The batches that no rollup counts yet. A batch leaves this table in the transaction that adds it to the rollups.
CREATE TABLE gateway.unrolled_batches (
  key_id text COLLATE "C" NOT NULL,
  at_ms bigint NOT NULL,
  number bigint NOT NULL,
  charges bigint NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);

-- Every usage record, whichever release wrote it.
CREATE VIEW gateway.usage_records AS
  SELECT key_id, at_ms, hold_id, request_id, model, provider, format, streamed, outcome, source, input, cache_read, cache_write,
    cache_write_1h, output, reasoning, cost_nanos, provider_cost_nanos, attempts, duration_ms, first_byte_ms
  FROM gateway.usage
  UNION ALL
  SELECT b.key_id, b.at_ms, c.hold_id COLLATE "C", coalesce(c.request_id, c.hold_id), coalesce(b.model, ''), coalesce(b.provider, ''),
    coalesce(b.format, ''), c.streamed, c.outcome, c.source, coalesce(c.input, 0), coalesce(c.cache_read, 0),
    coalesce(c.cache_write, 0), coalesce(c.cache_write_1h, 0), coalesce(c.output, 0), coalesce(c.reasoning, 0),
    coalesce(c.cost_nanos, c.amount), coalesce(c.provider_cost_nanos, c.cost_nanos, c.amount), c.attempts, c.duration_ms,
    c.first_byte_ms
  FROM gateway.charge_batches b CROSS JOIN LATERAL unnest(b.charges) c WHERE c.outcome IS NOT NULL;
