-- Streams that share a balance can all come to wait for each other's holds; then the youngest of them has to end.

-- Whether the last extension of the hold failed only because of what other holds reserve.
ALTER TABLE gateway.holds ADD COLUMN waiting boolean NOT NULL DEFAULT false;

-- Whether a hold that cannot be extended because of others is the youngest of the account, and all others wait as well.
-- `ended_keys` and `ended_ids` name the holds that this batch has ended so far; the holds that it has admitted are counted
-- by the account only, and do not wait.
CREATE FUNCTION gateway.must_yield(
  a gateway.accounts, o_hold text, o_held_at_ms bigint, ended_keys text[], ended_ids text[]
) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  RETURN (
    SELECT count(*) = a.live_holds - 1 AND bool_and(
        h.waiting AND (h.held_at_ms, h.id) < (o_held_at_ms, o_hold COLLATE "C"))
      FROM holds h
      WHERE h.key_id = a.key_id AND h.id <> o_hold COLLATE "C" AND NOT EXISTS (
        SELECT FROM unnest(ended_keys, ended_ids) AS e(k, i) WHERE e.k = h.key_id AND e.i = h.id));
END $$;
