-- compatible_from 11: earlier releases make no runs, and leave those that there are alone.
-- How many bytes the runs of a key take that have ended: a new one would have to look at all of them otherwise.
CREATE TABLE run_bytes (
  key_id TEXT NOT NULL PRIMARY KEY,
  bytes INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

INSERT INTO run_bytes (key_id, bytes)
  SELECT key_id, sum(bytes) FROM runs WHERE expires_at_ms IS NOT NULL GROUP BY key_id;

CREATE INDEX runs_ended ON runs (key_id, expires_at_ms, id DESC) WHERE expires_at_ms IS NOT NULL;

CREATE TRIGGER runs_ended_added AFTER INSERT ON runs WHEN new.expires_at_ms IS NOT NULL
BEGIN
  INSERT INTO run_bytes (key_id, bytes) VALUES (new.key_id, new.bytes)
    ON CONFLICT (key_id) DO UPDATE SET bytes = bytes + excluded.bytes;
END;

CREATE TRIGGER runs_ended_now AFTER UPDATE OF expires_at_ms ON runs
  WHEN old.expires_at_ms IS NULL AND new.expires_at_ms IS NOT NULL
BEGIN
  INSERT INTO run_bytes (key_id, bytes) VALUES (new.key_id, new.bytes)
    ON CONFLICT (key_id) DO UPDATE SET bytes = bytes + excluded.bytes;
END;

CREATE TRIGGER runs_ended_removed AFTER DELETE ON runs WHEN old.expires_at_ms IS NOT NULL
BEGIN
  UPDATE run_bytes SET bytes = bytes - old.bytes WHERE key_id = old.key_id;
END;
