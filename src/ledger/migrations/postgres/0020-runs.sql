-- compatible_from 12: earlier releases make no runs, and leave those that there are alone.
-- Responses that are made in the background, and how many of them a key or an account may have at a time.
ALTER TABLE gateway.accounts ADD COLUMN runs_limit bigint DEFAULT 16 CHECK (runs_limit >= 1);
ALTER TABLE gateway.tree_accounts ADD COLUMN runs_limit bigint CHECK (runs_limit >= 1);
-- Whether the hold is that of a run.
ALTER TABLE gateway.holds ADD COLUMN run boolean NOT NULL DEFAULT false;

-- A run is live until it has an expiry; its hold lives as long. The texts are JSON of the gateway.
CREATE TABLE gateway.runs (
  key_id text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  hold_id text COLLATE "C" NOT NULL,
  claim_name text COLLATE "C",
  status text NOT NULL CHECK (status IN ('in_progress', 'completed', 'incomplete', 'failed', 'cancelled', 'lost')),
  -- Somebody has asked for its end.
  cancelled boolean NOT NULL DEFAULT false,
  -- The number of the last event that is stored; -1 before the first.
  last_event bigint NOT NULL DEFAULT -1,
  bytes bigint NOT NULL DEFAULT 0,
  -- As its client saw it first.
  response text NOT NULL,
  keep_ms bigint NOT NULL,
  expires_at_ms bigint,
  PRIMARY KEY (key_id, id)
);

CREATE INDEX runs_live ON gateway.runs (key_id, hold_id) WHERE expires_at_ms IS NULL;

CREATE INDEX runs_by_claim ON gateway.runs (key_id, claim_name) WHERE claim_name IS NOT NULL;

CREATE INDEX runs_by_expiry ON gateway.runs (expires_at_ms) WHERE expires_at_ms IS NOT NULL;

-- The events of a run as every reader gets them, several in a row.
CREATE TABLE gateway.run_events (
  key_id text COLLATE "C" NOT NULL,
  run_id text COLLATE "C" NOT NULL,
  first_event bigint NOT NULL,
  last_event bigint NOT NULL,
  frames bytea NOT NULL,
  PRIMARY KEY (key_id, run_id, first_event),
  FOREIGN KEY (key_id, run_id) REFERENCES gateway.runs (key_id, id) ON DELETE CASCADE
);
