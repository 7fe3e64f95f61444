-- A statement can be applied long after its gateway has given it up: its server process was stopped, or the network held
-- its answer back. Whatever overtook it must not be undone by it.
--
-- A hold that is voided before its admission arrives counts as voided, so that the admission finds it; of two marks the one
-- with the greater number counts; a lease never becomes shorter. The first two are decided in functions.sql.

-- Operations that belong to no account: `[{"i":…,"op":…}]`. Returns `i,outcome` pairs through `results`.
CREATE OR REPLACE FUNCTION gateway.apply_others(others jsonb, now_ms bigint, INOUT results text[]) LANGUAGE plpgsql AS $$
DECLARE
  o record;
  a gateway.accounts;
BEGIN
  FOR o IN SELECT * FROM jsonb_to_recordset(others) AS x(i integer, op text, o text, t bigint, d text) ORDER BY i LOOP
    CASE o.op
      WHEN 'findKey' THEN
        SELECT c.* INTO a FROM secrets s JOIN accounts c ON c.key_id = s.key_id WHERE s.digest = o.d COLLATE "C";
        IF FOUND THEN
          results[o.i] := account_json(a);
        END IF;
      WHEN 'registerOwner' THEN
        INSERT INTO owners (id, lease_until_ms) VALUES (o.o, now_ms + o.t)
          ON CONFLICT (id) DO UPDATE SET lease_until_ms = greatest(owners.lease_until_ms, excluded.lease_until_ms);
      WHEN 'heartbeat' THEN
        UPDATE owners SET lease_until_ms = greatest(lease_until_ms, now_ms + o.t) WHERE id = o.o COLLATE "C";
        results[o.i] := CASE WHEN FOUND THEN '{"kind":"alive"}' ELSE '{"kind":"owner_lost"}' END;
      WHEN 'ping' THEN
        -- Not one row for all processes: they would wait for each other.
        INSERT INTO pings (id, at_ms) VALUES (pg_backend_pid() % 64, now_ms)
          ON CONFLICT (id) DO UPDATE SET at_ms = excluded.at_ms;
    END CASE;
  END LOOP;
END $$;
