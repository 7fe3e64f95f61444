-- Amounts are 64-bit integers in the key's own unit: nanos of a credit, or tokens of a budget. Times are milliseconds
-- since the Unix epoch. Every table that requests write begins its primary key with the key's id, and no operation on a
-- key reads the rows of another one: the tables can be partitioned or distributed by key_id as they are.

-- A key and its running sums, in one row: whoever has locked it sees the newest of both. The audit recomputes the sums
-- from the entries and the live holds.
CREATE TABLE gateway.accounts (
  key_id text COLLATE "C" NOT NULL PRIMARY KEY,
  version bigint NOT NULL,
  mode text NOT NULL CHECK (mode IN ('credit', 'token_budget')),
  label text,
  status text NOT NULL CHECK (status IN ('active', 'suspended', 'disabled', 'revoked')),
  expires_at_ms bigint,
  provider_scope text NOT NULL,
  -- A JSON array of model ids; null means all.
  models text,
  rpm_limit bigint CHECK (rpm_limit >= 1),
  budget bigint CHECK (budget >= 0),
  period text NOT NULL CHECK (period IN ('day', 'week', 'month', 'none')),
  created_at_ms bigint NOT NULL,
  created_number bigserial,
  prefix text NOT NULL,
  purchased bigint NOT NULL DEFAULT 0 CHECK (purchased >= 0),
  used bigint NOT NULL DEFAULT 0 CHECK (used >= 0),
  reserved bigint NOT NULL DEFAULT 0 CHECK (reserved >= 0),
  live_holds bigint NOT NULL DEFAULT 0 CHECK (live_holds >= 0),
  period_start_ms bigint NOT NULL DEFAULT 0,
  period_used bigint NOT NULL DEFAULT 0 CHECK (period_used >= 0),
  day_start_ms bigint NOT NULL DEFAULT 0,
  day_spend bigint NOT NULL DEFAULT 0 CHECK (day_spend >= 0),
  last_cost bigint NOT NULL DEFAULT 0 CHECK (last_cost >= 0),
  input_tokens bigint NOT NULL DEFAULT 0 CHECK (input_tokens >= 0),
  output_tokens bigint NOT NULL DEFAULT 0 CHECK (output_tokens >= 0),
  requests bigint NOT NULL DEFAULT 0 CHECK (requests >= 0),
  -- Running average of how long a hold lives, for the estimate of when held balance comes free.
  hold_ms bigint NOT NULL DEFAULT 0,
  -- The latest time that this account has seen; its time never runs backwards.
  seen_ms bigint NOT NULL DEFAULT 0,
  -- Places in the rate limit are numbered: the oldest that counts, the next one, the oldest that is stored, and when the
  -- newest was taken.
  rate_first bigint NOT NULL DEFAULT 0,
  rate_next bigint NOT NULL DEFAULT 0,
  rate_stored bigint NOT NULL DEFAULT 0,
  rate_at_ms bigint NOT NULL DEFAULT 0,
  CHECK (mode = 'token_budget' OR budget IS NULL),
  CHECK (mode <> 'credit' OR purchased - used - reserved >= 0),
  CHECK (mode <> 'token_budget' OR (purchased = 0 AND used = 0))
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);

-- The only way from a secret to its key. Written by the operator only, so it can be copied to every shard.
CREATE TABLE gateway.secrets (
  digest text COLLATE "C" NOT NULL PRIMARY KEY,
  key_id text COLLATE "C" NOT NULL REFERENCES gateway.accounts (key_id),
  prefix text NOT NULL,
  number bigint NOT NULL,
  UNIQUE (key_id, number)
);

-- Processes that may hold balance. A process that is not here is dead.
CREATE TABLE gateway.owners (
  id text COLLATE "C" NOT NULL PRIMARY KEY,
  lease_until_ms bigint NOT NULL
) WITH (fillfactor = 50);

-- Live holds only: a hold that ends leaves this table for `entries` or `voided`.
CREATE TABLE gateway.holds (
  key_id text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  owner text COLLATE "C" NOT NULL,
  amount bigint NOT NULL CHECK (amount >= 0),
  held_at_ms bigint NOT NULL,
  expires_at_ms bigint NOT NULL,
  claim_name text COLLATE "C",
  -- What recovery charges; null means not dispatched yet.
  mark_charge bigint CHECK (mark_charge >= 0),
  -- The usage record of a recovered charge, and its sums.
  mark_detail jsonb,
  PRIMARY KEY (key_id, id)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);

-- The book: one entry per purchase, one per settled hold (`id` is the hold's). Nothing here ever changes.
CREATE TABLE gateway.entries (
  key_id text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL CHECK (kind IN ('purchase', 'charge')),
  id text COLLATE "C" NOT NULL,
  amount bigint NOT NULL CHECK (amount >= 0),
  -- What was held for a charge; a charge never exceeds it.
  held bigint NOT NULL,
  at_ms bigint NOT NULL,
  flag text,
  note text,
  PRIMARY KEY (key_id, kind, id),
  CHECK (kind <> 'charge' OR amount <= held)
);

CREATE INDEX entries_by_time ON gateway.entries USING brin (at_ms);

CREATE FUNCTION gateway.refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'an entry never changes and is never removed';
END $$;

CREATE TRIGGER entries_never_change BEFORE UPDATE OR DELETE ON gateway.entries
  FOR EACH ROW EXECUTE FUNCTION gateway.refuse_change();

CREATE TRIGGER entries_never_leave BEFORE TRUNCATE ON gateway.entries
  FOR EACH STATEMENT EXECUTE FUNCTION gateway.refuse_change();

-- Remembers for some days that a hold was voided.
CREATE TABLE gateway.voided (
  key_id text COLLATE "C" NOT NULL,
  hold_id text COLLATE "C" NOT NULL,
  held bigint NOT NULL,
  at_ms bigint NOT NULL,
  PRIMARY KEY (key_id, hold_id)
);

CREATE INDEX voided_by_time ON gateway.voided USING brin (at_ms);

-- Places that requests of a limited key took: `taken` of them at one time, the first one under this number.
CREATE TABLE gateway.rates (
  key_id text COLLATE "C" NOT NULL,
  number bigint NOT NULL,
  at_ms bigint NOT NULL,
  taken bigint NOT NULL CHECK (taken >= 1),
  PRIMARY KEY (key_id, number)
) WITH (autovacuum_vacuum_scale_factor = 0.05);

CREATE TABLE gateway.claims (
  key_id text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  fingerprint text COLLATE "C" NOT NULL,
  hold_id text COLLATE "C" NOT NULL,
  state text NOT NULL CHECK (state IN ('running', 'done', 'charged_incomplete', 'reply_not_stored')),
  ended_at_ms bigint,
  reply_status integer,
  reply_type text,
  reply_body bytea,
  PRIMARY KEY (key_id, name),
  CHECK ((state = 'running') = (ended_at_ms IS NULL)),
  CHECK ((state = 'done') = (reply_body IS NOT NULL))
);

CREATE INDEX claims_by_end ON gateway.claims (ended_at_ms) WHERE ended_at_ms IS NOT NULL;

CREATE TABLE gateway.usage (
  key_id text COLLATE "C" NOT NULL,
  at_ms bigint NOT NULL,
  hold_id text COLLATE "C" NOT NULL,
  request_id text NOT NULL,
  model text NOT NULL,
  provider text NOT NULL,
  format text NOT NULL,
  streamed boolean NOT NULL,
  outcome text NOT NULL,
  source text NOT NULL,
  input bigint NOT NULL,
  cache_read bigint NOT NULL,
  cache_write bigint NOT NULL,
  cache_write_1h bigint NOT NULL,
  output bigint NOT NULL,
  reasoning bigint NOT NULL,
  cost_nanos bigint NOT NULL,
  provider_cost_nanos bigint NOT NULL,
  attempts bigint NOT NULL,
  duration_ms bigint NOT NULL,
  PRIMARY KEY (key_id, at_ms, hold_id)
);

CREATE INDEX usage_by_time ON gateway.usage USING brin (at_ms);

-- Written by `ping`, which wants to know whether the store can commit.
CREATE TABLE gateway.pings (
  id bigint NOT NULL PRIMARY KEY,
  at_ms bigint NOT NULL
) WITH (fillfactor = 50);

-- What all gateways on this database must agree on.
CREATE TABLE gateway.settings (
  name text NOT NULL PRIMARY KEY,
  value text NOT NULL
);
