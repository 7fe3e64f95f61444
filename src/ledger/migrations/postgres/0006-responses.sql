-- Responses that are kept for the key that received them, each with what is new in it: the items before it are those of
-- its parent. The texts are JSON of the gateway; the store does not look into them.
CREATE TABLE gateway.responses (
  key_id text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  number bigserial,
  parent_id text COLLATE "C",
  expires_at_ms bigint NOT NULL,
  bytes bigint NOT NULL,
  -- Null where it was too large to be kept: then only the output items can be referred to.
  input text,
  output text NOT NULL,
  response text NOT NULL,
  PRIMARY KEY (key_id, id)
);

CREATE INDEX responses_of_key_by_expiry ON gateway.responses (key_id, expires_at_ms, number);

CREATE INDEX responses_by_expiry ON gateway.responses (expires_at_ms);

-- Which response of a key has an output item of this id.
CREATE TABLE gateway.response_items (
  key_id text COLLATE "C" NOT NULL,
  item_id text COLLATE "C" NOT NULL,
  response_id text COLLATE "C" NOT NULL,
  PRIMARY KEY (key_id, item_id),
  FOREIGN KEY (key_id, response_id) REFERENCES gateway.responses (key_id, id) ON DELETE CASCADE
);

CREATE INDEX response_items_of_response ON gateway.response_items (key_id, response_id);

-- How many bytes the responses of a key take.
CREATE TABLE gateway.response_bytes (
  key_id text COLLATE "C" NOT NULL PRIMARY KEY,
  bytes bigint NOT NULL
) WITH (fillfactor = 50);

CREATE FUNCTION gateway.count_response_bytes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO gateway.response_bytes AS t (key_id, bytes) VALUES (NEW.key_id, NEW.bytes)
      ON CONFLICT (key_id) DO UPDATE SET bytes = t.bytes + excluded.bytes;
  ELSE
    UPDATE gateway.response_bytes SET bytes = bytes - OLD.bytes WHERE key_id = OLD.key_id;
  END IF;
  RETURN NULL;
END $$;

CREATE TRIGGER responses_counted AFTER INSERT OR DELETE ON gateway.responses
  FOR EACH ROW EXECUTE FUNCTION gateway.count_response_bytes();

-- Keeps a response, in the place of an earlier one of the same id; the oldest of its key leave until it fits.
CREATE FUNCTION gateway.keep_response(
  o_key text, o_id text, o_parent text, item_ids text[], o_input text, o_output text, o_response text, o_bytes bigint,
  keep_ms bigint, key_bytes_max bigint, now_ms bigint
) RETURNS void LANGUAGE plpgsql
SET search_path = gateway, pg_temp
AS $$
DECLARE
  excess bigint;
  r record;
BEGIN
  DELETE FROM responses WHERE key_id = o_key AND id = o_id;
  SELECT b.bytes + o_bytes - key_bytes_max INTO excess FROM response_bytes b WHERE b.key_id = o_key;
  IF excess > 0 THEN
    -- One that is being removed already is passed over.
    FOR r IN SELECT id, bytes FROM responses WHERE key_id = o_key ORDER BY expires_at_ms, number FOR UPDATE SKIP LOCKED LOOP
      DELETE FROM responses WHERE key_id = o_key AND id = r.id;
      excess := excess - r.bytes;
      EXIT WHEN excess <= 0;
    END LOOP;
  END IF;
  INSERT INTO responses (key_id, id, parent_id, expires_at_ms, bytes, input, output, response)
    VALUES (o_key, o_id, o_parent, now_ms + keep_ms, o_bytes, o_input, o_output, o_response);
  INSERT INTO response_items (key_id, item_id, response_id) SELECT DISTINCT o_key, u, o_id FROM unnest(item_ids) u
    ON CONFLICT (key_id, item_id) DO UPDATE SET response_id = excluded.response_id;
END $$;

-- A batch whose settlements bring responses to keep: `[{"i":…,"k":…,"id":…}]`, each by the place of its settlement. What
-- is settled is kept in the same transaction.
CREATE FUNCTION gateway.apply_and_keep(
  keys text[], owner_ids text[], batch jsonb, others jsonb, places integer, given_ms bigint, floor_ms bigint,
  one_by_one boolean, kept jsonb
) RETURNS text LANGUAGE plpgsql
SET search_path = gateway, pg_temp
AS $$
DECLARE
  answer text;
  parsed jsonb;
  r record;
BEGIN
  IF one_by_one THEN
    answer := apply_one_by_one(keys, owner_ids, batch, others, places, given_ms, floor_ms);
  ELSE
    answer := apply_batch(keys, owner_ids, batch, others, places, given_ms, floor_ms);
  END IF;
  parsed := answer::jsonb;
  FOR r IN SELECT * FROM jsonb_to_recordset(kept) AS x(
      i integer, k text, id text, parent text, items text[], input text, output text, response text, bytes bigint,
      keep bigint, max bigint) ORDER BY k COLLATE "C", i LOOP
    IF parsed -> 'results' -> (r.i - 1) ->> 'kind' = 'settled' THEN
      PERFORM keep_response(r.k, r.id, r.parent, r.items, r.input, r.output, r.response, r.bytes, r.keep, r.max,
        (parsed ->> 'now')::bigint);
    END IF;
  END LOOP;
  RETURN answer;
END $$;

-- A response and what it continues, newest first, up to the first that is not there, comes up twice or goes beyond
-- `bytes_max`. Their time begins anew, where a twenty-fourth of it is over.
CREATE FUNCTION gateway.find_chain(
  o_key text, o_id text, keep_ms bigint, bytes_max bigint, given_ms bigint, floor_ms bigint
) RETURNS TABLE (id text, parent_id text, input text, output text) LANGUAGE plpgsql
SET search_path = gateway, pg_temp
AS $$
DECLARE
  now_ms CONSTANT bigint := ledger_ms(given_ms, floor_ms);
  next_id text := o_id;
  seen text[] := '{}';
  total bigint := 0;
BEGIN
  WHILE next_id IS NOT NULL AND next_id <> ALL (seen) AND total <= bytes_max LOOP
    SELECT r.id, r.parent_id, r.input, r.output INTO id, parent_id, input, output FROM responses r
      WHERE r.key_id = o_key AND r.id = next_id AND r.expires_at_ms > now_ms;
    EXIT WHEN NOT FOUND;
    RETURN NEXT;
    seen := array_append(seen, next_id);
    total := total + coalesce(octet_length(input), 0) + octet_length(output);
    next_id := parent_id;
  END LOOP;
  UPDATE responses r SET expires_at_ms = now_ms + keep_ms
    WHERE r.key_id = o_key AND r.id = ANY (seen) AND r.expires_at_ms < now_ms + keep_ms - keep_ms / 24;
END $$;

-- The responses that have these output items, up to `bytes_max`. Their time begins anew, as for a chain.
CREATE FUNCTION gateway.find_items(
  o_key text, item_ids text[], keep_ms bigint, bytes_max bigint, given_ms bigint, floor_ms bigint
) RETURNS TABLE (id text, output text) LANGUAGE plpgsql
SET search_path = gateway, pg_temp
AS $$
DECLARE
  now_ms CONSTANT bigint := ledger_ms(given_ms, floor_ms);
  seen text[] := '{}';
  total bigint := 0;
BEGIN
  FOR id, output IN
    SELECT r.id, r.output FROM responses r WHERE r.key_id = o_key AND r.expires_at_ms > now_ms AND r.id IN (
      SELECT s.response_id FROM response_items s WHERE s.key_id = o_key AND s.item_id = ANY (item_ids))
  LOOP
    RETURN NEXT;
    seen := array_append(seen, id);
    total := total + octet_length(output);
    EXIT WHEN total > bytes_max;
  END LOOP;
  UPDATE responses r SET expires_at_ms = now_ms + keep_ms
    WHERE r.key_id = o_key AND r.id = ANY (seen) AND r.expires_at_ms < now_ms + keep_ms - keep_ms / 24;
END $$;
