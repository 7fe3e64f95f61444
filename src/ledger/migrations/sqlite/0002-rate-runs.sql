-- A row per commit and key instead of one per request: the requests since the last commit, numbered per key without gaps.
ALTER TABLE rates RENAME TO rates_before;

CREATE TABLE rates (
  key_id TEXT NOT NULL,
  -- Of the first request of the run.
  number INTEGER NOT NULL,
  -- A JSON array of times, oldest first.
  times TEXT NOT NULL,
  newest_ms INTEGER NOT NULL,
  PRIMARY KEY (key_id, number)
) STRICT, WITHOUT ROWID;

INSERT INTO rates (key_id, number, times, newest_ms)
SELECT key_id, number, json_array(at_ms), at_ms FROM rates_before;

DROP TABLE rates_before;
