-- Responses that are kept for the key that received them, each with what is new in it: the items before it are those of
-- its parent. The texts are JSON of the gateway; the store does not look into them.
CREATE TABLE responses (
  number INTEGER PRIMARY KEY,
  key_id TEXT NOT NULL,
  id TEXT NOT NULL,
  parent_id TEXT,
  expires_at_ms INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  -- Null where it was too large to be kept: then only the output items can be referred to.
  input TEXT,
  output TEXT NOT NULL,
  response TEXT NOT NULL,
  UNIQUE (key_id, id)
) STRICT;

CREATE INDEX responses_of_key_by_expiry ON responses (key_id, expires_at_ms, number);

CREATE INDEX responses_by_expiry ON responses (expires_at_ms);

-- Which response of a key has an output item of this id.
CREATE TABLE response_items (
  key_id TEXT NOT NULL,
  item_id TEXT NOT NULL,
  response_number INTEGER NOT NULL REFERENCES responses (number) ON DELETE CASCADE,
  PRIMARY KEY (key_id, item_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX response_items_of_response ON response_items (response_number);

-- How many bytes the responses of a key take.
CREATE TABLE response_bytes (
  key_id TEXT NOT NULL PRIMARY KEY,
  bytes INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TRIGGER responses_added AFTER INSERT ON responses
BEGIN
  INSERT INTO response_bytes (key_id, bytes) VALUES (new.key_id, new.bytes)
    ON CONFLICT (key_id) DO UPDATE SET bytes = bytes + excluded.bytes;
END;

CREATE TRIGGER responses_removed AFTER DELETE ON responses
BEGIN
  UPDATE response_bytes SET bytes = bytes - old.bytes WHERE key_id = old.key_id;
END;
