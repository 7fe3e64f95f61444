-- What the operations that requests wait for are made of. The functions that later migrations have replaced are in
-- functions.sql alone, which is applied after the last migration.

-- The database's clock, or the time that a test gives; never before what the caller has seen already.
CREATE FUNCTION gateway.ledger_ms(given_ms bigint, floor_ms bigint) RETURNS bigint LANGUAGE sql VOLATILE AS $$
  SELECT greatest(coalesce(given_ms, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint), floor_ms)
$$;

-- First millisecond of the period that holds `at_ms`, in UTC; 0 for `none`. Day 0 was a Thursday, weeks begin on Monday.
CREATE FUNCTION gateway.period_start_ms(period text, at_ms bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE period
    WHEN 'day' THEN at_ms / 86400000 * 86400000
    WHEN 'week' THEN (at_ms / 86400000 - (at_ms / 86400000 + 3) % 7) * 86400000
    WHEN 'month' THEN
      (date_trunc('month', (date '1970-01-01' + (at_ms / 86400000)::integer)::timestamp)::date - date '1970-01-01')::bigint
        * 86400000
    ELSE 0
  END
$$;

-- One operation on a key, as the gateway sends it. The names are short because they travel with every one.
CREATE TYPE gateway.operation AS (
  i integer,                  -- place in the batch, from 1
  op text,
  k text COLLATE "C",         -- key
  h text COLLATE "C",         -- hold
  o text COLLATE "C",         -- owner
  v bigint,                   -- version of the key
  n text COLLATE "C",         -- name of the claim
  f text COLLATE "C",         -- its fingerprint
  a bigint,                   -- amount or charge
  m bigint,                   -- least amount
  t bigint,                   -- lifetime
  r jsonb,                    -- usage record, by the columns of `usage`
  ti bigint,                  -- its input tokens
  tu bigint,                  -- its output tokens
  s integer,                  -- status of the reply
  ct text,                    -- its content type
  b text,                     -- its body, in base64
  x text,                     -- why there is none
  g text,                     -- flag
  q boolean                   -- it has its place in the rate limit already
);

-- What stands in the way of a claim, as the rest of an outcome; null when it is free.
CREATE FUNCTION gateway.claim_obstacle(o_key text, o_name text, o_fingerprint text, now_ms bigint) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
  c gateway.claims;
BEGIN
  SELECT * INTO c FROM claims WHERE key_id = o_key AND name = o_name;
  IF NOT FOUND THEN
    RETURN NULL;
  END IF;
  IF c.ended_at_ms + 86400000 <= now_ms THEN
    DELETE FROM claims WHERE key_id = o_key AND name = o_name;
    RETURN NULL;
  END IF;
  IF c.fingerprint <> o_fingerprint THEN
    RETURN '"kind":"conflict","reason":"other_request"';
  END IF;
  IF c.state = 'running' THEN
    RETURN '"kind":"in_flight"';
  END IF;
  IF c.state <> 'done' THEN
    RETURN '"kind":"conflict","reason":"' || c.state || '"';
  END IF;
  RETURN '"kind":"replay","status":' || c.reply_status || ',"contentType":' || to_json(c.reply_type)
    || ',"body":"' || translate(encode(c.reply_body, 'base64'), E'\n', '') || '"';
END $$;

-- How a hold ended that is not live. One that nobody knows any more was voided long ago.
CREATE FUNCTION gateway.ended_outcome(o_key text, o_hold text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  charged bigint;
BEGIN
  SELECT amount INTO charged FROM entries WHERE key_id = o_key AND kind = 'charge' AND id = o_hold;
  IF FOUND THEN
    RETURN '{"kind":"already_settled","charged":"' || charged || '"}';
  END IF;
  RETURN '{"kind":"already_voided"}';
END $$;
