-- compatible_from 12: earlier releases make no runs, and leave those that there are alone.
-- How many bytes the runs of a key take that have ended: a new one would have to look at all of them otherwise.
CREATE TABLE gateway.run_bytes (
  key_id text COLLATE "C" NOT NULL PRIMARY KEY,
  bytes bigint NOT NULL
) WITH (fillfactor = 50);

INSERT INTO gateway.run_bytes (key_id, bytes)
  SELECT key_id, sum(bytes) FROM gateway.runs WHERE expires_at_ms IS NOT NULL GROUP BY key_id;

CREATE INDEX runs_ended ON gateway.runs (key_id, expires_at_ms, id DESC) WHERE expires_at_ms IS NOT NULL;

CREATE FUNCTION gateway.count_run_bytes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' THEN
    UPDATE gateway.run_bytes SET bytes = bytes - OLD.bytes WHERE key_id = OLD.key_id;
  ELSE
    INSERT INTO gateway.run_bytes AS t (key_id, bytes) VALUES (NEW.key_id, NEW.bytes)
      ON CONFLICT (key_id) DO UPDATE SET bytes = t.bytes + excluded.bytes;
  END IF;
  RETURN NULL;
END $$;

CREATE TRIGGER runs_ended_added AFTER INSERT ON gateway.runs FOR EACH ROW
  WHEN (NEW.expires_at_ms IS NOT NULL) EXECUTE FUNCTION gateway.count_run_bytes();

CREATE TRIGGER runs_ended_now AFTER UPDATE OF expires_at_ms ON gateway.runs FOR EACH ROW
  WHEN (OLD.expires_at_ms IS NULL AND NEW.expires_at_ms IS NOT NULL) EXECUTE FUNCTION gateway.count_run_bytes();

CREATE TRIGGER runs_ended_removed AFTER DELETE ON gateway.runs FOR EACH ROW
  WHEN (OLD.expires_at_ms IS NOT NULL) EXECUTE FUNCTION gateway.count_run_bytes();
