-- More limits of keys and of accounts: tokens per minute, parallel requests, the largest output, and where requests may come
-- from; of accounts also the models. For a key, `models` may have patterns from now on.
--
-- The functions that this needs are in functions.sql, which is applied after the last migration.
ALTER TABLE gateway.accounts ADD COLUMN tpm_limit bigint CHECK (tpm_limit >= 1),
  ADD COLUMN parallel_limit bigint CHECK (parallel_limit >= 1),
  ADD COLUMN output_limit bigint CHECK (output_limit >= 1),
  -- A JSON array of addresses and ranges; null means all.
  ADD COLUMN addresses text,
  -- A JSON array of what the accounts above the key allow, copied from them; null where they allow everything.
  ADD COLUMN inherited text;

ALTER TABLE gateway.tree_accounts ADD COLUMN tpm_limit bigint CHECK (tpm_limit >= 1),
  ADD COLUMN parallel_limit bigint CHECK (parallel_limit >= 1),
  ADD COLUMN models text,
  ADD COLUMN output_limit bigint CHECK (output_limit >= 1),
  ADD COLUMN addresses text;

-- As `rates`, for limits on tokens per minute: `taken` tokens were counted at one time, the first one under this number.
CREATE TABLE gateway.token_rates (
  key_id text COLLATE "C" NOT NULL,
  number bigint NOT NULL,
  at_ms bigint NOT NULL,
  taken bigint NOT NULL CHECK (taken >= 1),
  PRIMARY KEY (key_id, number)
) WITH (autovacuum_vacuum_scale_factor = 0.05);

CREATE INDEX token_rates_by_time ON gateway.token_rates (key_id, at_ms, number);
