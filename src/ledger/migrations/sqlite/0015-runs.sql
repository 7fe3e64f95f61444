-- compatible_from 11: earlier releases make no runs, and leave those that there are alone.
-- Responses that are made in the background, and how many of them a key or an account may have at a time.
ALTER TABLE keys ADD COLUMN runs_limit INTEGER DEFAULT 16 CHECK (runs_limit >= 1);
ALTER TABLE tree_accounts ADD COLUMN runs_limit INTEGER CHECK (runs_limit >= 1);
-- Whether the hold is that of a run.
ALTER TABLE holds ADD COLUMN run INTEGER NOT NULL DEFAULT 0;

-- A run is live until it has an expiry; its hold lives as long. The texts are JSON of the gateway.
CREATE TABLE runs (
  key_id TEXT NOT NULL,
  id TEXT NOT NULL,
  hold_id TEXT NOT NULL,
  claim_name TEXT,
  status TEXT NOT NULL CHECK (status IN ('in_progress', 'completed', 'incomplete', 'failed', 'cancelled', 'lost')),
  -- Somebody has asked for its end.
  cancelled INTEGER NOT NULL DEFAULT 0,
  -- The number of the last event that is stored; -1 before the first.
  last_event INTEGER NOT NULL DEFAULT -1,
  bytes INTEGER NOT NULL DEFAULT 0,
  -- As its client saw it first.
  response TEXT NOT NULL,
  keep_ms INTEGER NOT NULL,
  expires_at_ms INTEGER,
  PRIMARY KEY (key_id, id)
) STRICT;

CREATE INDEX runs_live ON runs (key_id, hold_id) WHERE expires_at_ms IS NULL;

CREATE INDEX runs_by_claim ON runs (key_id, claim_name) WHERE claim_name IS NOT NULL;

CREATE INDEX runs_by_expiry ON runs (expires_at_ms) WHERE expires_at_ms IS NOT NULL;

-- The events of a run as every reader gets them, several in a row.
CREATE TABLE run_events (
  key_id TEXT NOT NULL,
  run_id TEXT NOT NULL,
  first_event INTEGER NOT NULL,
  last_event INTEGER NOT NULL,
  frames BLOB NOT NULL,
  PRIMARY KEY (key_id, run_id, first_event),
  FOREIGN KEY (key_id, run_id) REFERENCES runs (key_id, id) ON DELETE CASCADE
) STRICT;
