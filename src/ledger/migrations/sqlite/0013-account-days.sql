-- compatible_from 11: a release that does not know them leaves these tables alone, and they are built anew after it.
-- Usage by day and account, for reports over all keys: the sums of `usage_key_days` by the account that each key has now.
-- Those of keys without an account are under the empty id.
CREATE TABLE usage_account_days (
  start_ms INTEGER NOT NULL,
  account_id TEXT NOT NULL,
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
  PRIMARY KEY (start_ms, account_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE usage_account_watermark (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  -- Of `usage_watermark`: where it has another one, something was added that is missing here.
  version INTEGER NOT NULL,
  -- Days from this one on are here; those before it are added in the background, the newest first.
  from_ms INTEGER NOT NULL,
  -- Of the day before it, the accounts up to this one are here as well.
  account_id TEXT
) STRICT;

INSERT INTO usage_account_watermark (id, version, from_ms, account_id)
  SELECT 1, version, coalesce((SELECT max(start_ms) + 86400000 FROM usage_key_days), 0), NULL FROM usage_watermark;

-- Keys that have moved since, each with the account that its usage is still counted for here.
CREATE TABLE usage_moved_keys (
  key_id TEXT NOT NULL PRIMARY KEY,
  account_id TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TRIGGER usage_moves_along AFTER UPDATE OF account_id ON keys WHEN OLD.account_id IS NOT NEW.account_id
BEGIN
  INSERT OR IGNORE INTO usage_moved_keys (key_id, account_id) VALUES (OLD.id, coalesce(OLD.account_id, ''));
END;
