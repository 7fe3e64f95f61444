-- Usage reports: entries say which call they charge, and rollups hold their sums, so that a report over a month reads
-- neither entries nor usage records.

-- Null where nothing is known of the call: in entries from before this migration, and where a gateway of an earlier release
-- has settled a cancelled call.
ALTER TABLE gateway.entries ADD COLUMN model text, ADD COLUMN provider text, ADD COLUMN format text,
  -- What the call cost the caller: for a credit key the amount, for a token budget its price. Null before this migration.
  ADD COLUMN cost_nanos bigint,
  -- What the provider asks for it.
  ADD COLUMN provider_cost_nanos bigint;

-- From the arrival of the request to the first content of its answer.
ALTER TABLE gateway.usage ADD COLUMN first_byte_ms bigint;

-- What the entry of a call without a usage record says about it, by the columns of `entries`.
ALTER TYPE gateway.operation ADD ATTRIBUTE c jsonb;

-- The charges that no rollup counts yet. A charge leaves this table in the transaction that adds it to the rollups.
CREATE TABLE gateway.unrolled (
  key_id text COLLATE "C" NOT NULL,
  hold_id text COLLATE "C" NOT NULL,
  at_ms bigint NOT NULL,
  PRIMARY KEY (key_id, hold_id)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);

-- Sums of charges and of their usage records by hour; the other rollups have the same sums by hour and key, and by day and
-- key. An unknown model, provider or format is empty.
CREATE TABLE gateway.usage_hours (
  -- First millisecond of the hour or day, in UTC.
  start_ms bigint NOT NULL,
  model text COLLATE "C" NOT NULL,
  provider text COLLATE "C" NOT NULL,
  format text COLLATE "C" NOT NULL,
  -- All charges; those with a usage record; and those of them whose answer broke off.
  charges bigint NOT NULL,
  requests bigint NOT NULL,
  broken bigint NOT NULL,
  -- The amounts of the entries: of credit keys, and of token budgets.
  charged_nanos bigint NOT NULL,
  charged_tokens bigint NOT NULL,
  cost_nanos bigint NOT NULL,
  provider_cost_nanos bigint NOT NULL,
  input bigint NOT NULL,
  cache_read bigint NOT NULL,
  cache_write bigint NOT NULL,
  cache_write_1h bigint NOT NULL,
  output bigint NOT NULL,
  reasoning bigint NOT NULL,
  PRIMARY KEY (start_ms, model, provider, format)
) WITH (fillfactor = 70);

-- Histograms: how many requests had their first byte (f) or their end (d) in each class of milliseconds. Null means none.
DO $$
BEGIN
  FOR class IN 0..28 LOOP
    EXECUTE format('ALTER TABLE gateway.usage_hours ADD COLUMN f%s bigint, ADD COLUMN d%s bigint', class, class);
  END LOOP;
END $$;

CREATE TABLE gateway.usage_key_hours (
  key_id text COLLATE "C" NOT NULL,
  LIKE gateway.usage_hours,
  PRIMARY KEY (start_ms, key_id, model, provider, format)
) WITH (fillfactor = 70);

CREATE TABLE gateway.usage_key_days (
  key_id text COLLATE "C" NOT NULL,
  LIKE gateway.usage_hours,
  PRIMARY KEY (start_ms, key_id, model, provider, format)
) WITH (fillfactor = 70);

-- Usage records from before this migration are added in the background, in the order of their primary key: the last one that
-- was. No row: all were.
CREATE TABLE gateway.usage_history (
  key_id text COLLATE "C" NOT NULL,
  at_ms bigint NOT NULL,
  hold_id text COLLATE "C" NOT NULL
);

INSERT INTO gateway.usage_history (key_id, at_ms, hold_id) SELECT '', 0, '' WHERE EXISTS (SELECT FROM gateway.usage);

-- `keys` and `owners` name what `batch` is about, each once; within a batch no hold and no claim comes up twice.
-- Returns `{"now":…,"results":[…]}` with one outcome per operation, in the order of their places.
CREATE OR REPLACE FUNCTION gateway.apply_batch(
  keys text[], owner_ids text[], batch jsonb, others jsonb, places integer, given_ms bigint, floor_ms bigint
) RETURNS text LANGUAGE plpgsql
SET search_path = gateway, pg_temp
-- Rows are looked up by their keys, in the order of an index, whatever the statistics say: the tables may have been empty
-- when the plans were made.
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
SET enable_material = off
SET enable_sort = off
SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
  window_ms CONSTANT bigint := 60000;
  day_ms CONSTANT bigint := 86400000;
  amount_max CONSTANT bigint := 9223372036854775807;
  base_ms bigint := ledger_ms(given_ms, floor_ms);
  top_ms bigint := base_ms;
  now_ms bigint;
  results text[] := array_fill(NULL::text, ARRAY[greatest(places, 1)]);
  living text[];
  o record;
  a accounts;
  loaded accounts;
  rate text;
  advanced boolean;
  oldest_ms bigint;
  obstacle text;
  means bigint;
  amount bigint;
  at_ms bigint;
  call jsonb;
  place bigint;
  saved accounts[] := '{}';
  holds_new holds[] := '{}';
  entries_new entries[] := '{}';
  voided_new voided[] := '{}';
  rates_new rates[] := '{}';
  ended_keys text[] := '{}';
  ended_ids text[] := '{}';
  used_places integer[] := '{}';
  used_at_ms bigint[] := '{}';
  marks integer[] := '{}';
BEGIN
  IF others IS NOT NULL THEN
    results := apply_others(others, base_ms, results);
  END IF;
  -- Declaring an owner dead waits for this batch, or this batch sees that it is dead.
  living := ARRAY(SELECT id FROM owners WHERE id = ANY (owner_ids) ORDER BY id FOR KEY SHARE);
  PERFORM 1 FROM accounts WHERE key_id = ANY (keys) ORDER BY key_id FOR UPDATE;

  FOR o IN
    SELECT x.*, h.amount AS held, h.held_at_ms, h.claim_name, h.waiting,
      CASE WHEN x.op = 'admit' THEN coalesce(h.amount,
        (SELECT e.held FROM entries e WHERE e.key_id = x.k AND e.kind = 'charge' AND e.id = x.h)) END AS held_earlier,
      x.op = 'admit' AND h.id IS NULL
        AND EXISTS (SELECT FROM voided w WHERE w.key_id = x.k AND w.hold_id = x.h) AS was_voided
    FROM jsonb_populate_recordset(NULL::operation, batch) x
    LEFT JOIN LATERAL (SELECT * FROM holds l WHERE l.key_id = x.k AND l.id = x.h LIMIT 1) h ON true
    ORDER BY x.k, x.i
  LOOP
    IF a.key_id IS DISTINCT FROM o.k THEN
      IF a IS DISTINCT FROM loaded THEN
        saved := array_append(saved, a);
        IF a.rate_next > loaded.rate_next THEN
          rates_new := array_append(rates_new,
            ROW(a.key_id, loaded.rate_next, a.seen_ms, a.rate_next - loaded.rate_next)::rates);
        END IF;
      END IF;
      SELECT * INTO a FROM accounts WHERE key_id = o.k;
      IF a.key_id IS NULL THEN
        results[o.i] := CASE o.op
          WHEN 'admit' THEN '{"kind":"key_refused","status":"revoked"}'
          WHEN 'extend' THEN '{"kind":"ended"}'
          WHEN 'settle' THEN '{"kind":"already_voided"}'
          WHEN 'void' THEN '{"kind":"already_voided"}'
        END;
        loaded := a;
        CONTINUE;
      END IF;
      now_ms := greatest(base_ms, a.seen_ms);
      top_ms := greatest(top_ms, now_ms);
      a.seen_ms := now_ms;
      loaded := a;
      advanced := false;
      oldest_ms := NULL;
    END IF;

    -- All periods begin where a day begins.
    IF now_ms >= a.day_start_ms + day_ms THEN
      a.day_start_ms := now_ms / day_ms * day_ms;
      a.day_spend := 0;
      at_ms := period_start_ms(a.period, now_ms);
      IF at_ms > a.period_start_ms THEN
        a.period_start_ms := at_ms;
        a.period_used := 0;
      END IF;
    END IF;

    CASE o.op
    WHEN 'admit' THEN
      rate := 'null';
      IF a.rpm_limit IS NOT NULL THEN
        IF NOT advanced THEN
          advanced := true;
          IF a.rate_at_ms <= now_ms - window_ms THEN
            a.rate_first := a.rate_next;
          ELSE
            SELECT r.number INTO place FROM rates r
              WHERE r.key_id = o.k AND r.number >= a.rate_first AND r.at_ms > now_ms - window_ms
              ORDER BY r.number LIMIT 1;
            a.rate_first := coalesce(place, a.rate_next);
          END IF;
          loaded.rate_first := a.rate_first;
        END IF;
      END IF;
      IF o.was_voided THEN
        -- Whoever sent this admission has given it up.
        results[o.i] := json_build_object('kind', 'operation_failed', 'message', 'the hold ' || o.h || ' was voided');
        CONTINUE;
      ELSIF o.held_earlier IS NOT NULL THEN
        -- Its acknowledgement was lost.
        amount := o.held_earlier;
      ELSIF a.status <> 'active' THEN
        results[o.i] := '{"kind":"key_refused","status":"' || a.status || '"}';
        CONTINUE;
      ELSIF a.expires_at_ms <= now_ms THEN
        results[o.i] := '{"kind":"key_refused","status":"expired"}';
        CONTINUE;
      ELSIF a.version <> o.v THEN
        results[o.i] := '{"kind":"key_changed","key":' || account_json(a) || '}';
        CONTINUE;
      ELSIF o.h IS NOT NULL AND o.o <> ALL (living) THEN
        results[o.i] := '{"kind":"owner_lost"}';
        CONTINUE;
      ELSE
        amount := NULL;
      END IF;

      IF a.rpm_limit IS NOT NULL THEN
        IF amount IS NULL AND o.q IS NULL THEN
          place := a.rate_next - a.rpm_limit;
          IF place >= a.rate_first THEN
            -- The place that must grow old first; one that this batch took is not stored yet.
            SELECT r.at_ms INTO at_ms FROM rates r
              WHERE r.key_id = o.k AND r.number <= place AND r.number + r.taken > place
              ORDER BY r.number DESC LIMIT 1;
            results[o.i] := '{"kind":"rate_limited","rate":{"limit":' || a.rpm_limit || ',"remaining":0,"resetMs":'
              || a.rate_at_ms + window_ms - now_ms || '},"retryAfterMs":'
              || coalesce(at_ms, now_ms) + window_ms - now_ms || '}';
            CONTINUE;
          END IF;
          a.rate_next := a.rate_next + 1;
          a.rate_at_ms := now_ms;
        END IF;
        rate := '{"limit":' || a.rpm_limit || ',"remaining":'
          || greatest(0, a.rpm_limit - a.rate_next + a.rate_first) || ',"resetMs":'
          || CASE WHEN a.rate_next = a.rate_first THEN 0 ELSE a.rate_at_ms + window_ms - now_ms END || '}';
      END IF;
      IF amount IS NOT NULL OR o.h IS NULL THEN
        results[o.i] := '{"kind":"admitted","rate":' || rate || ',"held":"' || coalesce(amount, 0) || '"}';
        CONTINUE;
      END IF;

      IF o.n IS NOT NULL THEN
        obstacle := claim_obstacle(o.k, o.n, o.f, now_ms);
        IF obstacle IS NOT NULL THEN
          results[o.i] := '{"rate":' || rate || ',' || obstacle || '}';
          CONTINUE;
        END IF;
      END IF;
      IF a.mode = 'credit' THEN
        means := a.purchased - a.used;
      ELSE
        means := coalesce(a.budget, amount_max) - a.period_used;
        IF means <= 0 OR (means < o.m AND means < 256) THEN
          results[o.i] := '{"kind":"limit_reached","rate":' || rate || ',"period":"' || a.period || '","now":' || now_ms
            || ',"at":' || greatest(now_ms, a.period_start_ms, a.day_start_ms) || '}';
          CONTINUE;
        END IF;
      END IF;
      IF means < o.m THEN
        results[o.i] := '{"kind":"insufficient","rate":' || rate || ',"available":"' || means || '"}';
        CONTINUE;
      END IF;
      amount := least(o.a, means);
      IF means - a.reserved < amount THEN
        -- The oldest hold is likely to end first; holds of this batch began now.
        IF oldest_ms IS NULL THEN
          SELECT min(h.held_at_ms) INTO oldest_ms FROM holds h WHERE h.key_id = o.k;
          oldest_ms := coalesce(oldest_ms, now_ms);
        END IF;
        results[o.i] := '{"kind":"temporarily_held","rate":' || rate || ',"retryAfterMs":'
          || greatest(1000, a.hold_ms - (now_ms - oldest_ms)) || '}';
        CONTINUE;
      END IF;
      IF o.n IS NOT NULL THEN
        INSERT INTO claims (key_id, name, fingerprint, hold_id, state) VALUES (o.k, o.n, o.f, o.h, 'running');
      END IF;
      holds_new := array_append(holds_new,
        ROW(o.k, o.h, o.o, amount, now_ms, now_ms + o.t, o.n, NULL, NULL, false)::holds);
      a.reserved := a.reserved + amount;
      a.live_holds := a.live_holds + 1;
      results[o.i] := '{"kind":"admitted","rate":' || rate || ',"held":"' || amount || '"}';

    WHEN 'settle', 'void' THEN
      IF o.held IS NULL THEN
        results[o.i] := ended_outcome(o.k, o.h);
        IF results[o.i] = '{"kind":"already_voided"}' THEN
          -- Its admission may still be under way, and must find that nobody wants it any more.
          voided_new := array_append(voided_new, ROW(o.k, o.h, 0, now_ms)::voided);
        END IF;
        CONTINUE;
      END IF;
      ended_keys := array_append(ended_keys, o.k);
      ended_ids := array_append(ended_ids, o.h);
      a.reserved := a.reserved - o.held;
      a.live_holds := a.live_holds - 1;
      a.hold_ms := CASE a.hold_ms WHEN 0 THEN now_ms - o.held_at_ms
        ELSE a.hold_ms + (now_ms - o.held_at_ms - a.hold_ms) / 8 END;
      IF o.op = 'void' THEN
        voided_new := array_append(voided_new, ROW(o.k, o.h, o.held, now_ms)::voided);
        IF o.claim_name IS NOT NULL THEN
          DELETE FROM claims WHERE key_id = o.k AND name = o.claim_name;
        END IF;
        results[o.i] := '{"kind":"voided"}';
        CONTINUE;
      END IF;
      amount := least(o.a, o.held);
      at_ms := greatest(now_ms, a.period_start_ms, a.day_start_ms);
      IF a.mode = 'token_budget' THEN
        a.period_used := a.period_used + amount;
      ELSE
        a.used := a.used + amount;
        a.day_spend := a.day_spend + amount;
        a.last_cost := amount;
      END IF;
      call := coalesce(o.r, o.c);
      entries_new := array_append(entries_new, ROW(o.k, 'charge', o.h, amount, o.held, at_ms,
        CASE WHEN o.a <= o.held THEN o.g WHEN o.g IS NULL THEN 'clamped' ELSE o.g || ', clamped' END, NULL,
        call ->> 'model', call ->> 'provider', call ->> 'format',
        CASE a.mode WHEN 'credit' THEN amount ELSE coalesce((call ->> 'cost_nanos')::bigint, 0) END,
        coalesce((call ->> 'provider_cost_nanos')::bigint, 0))::entries);
      IF o.r IS NOT NULL THEN
        a.input_tokens := CASE WHEN a.input_tokens > amount_max - o.ti THEN amount_max ELSE a.input_tokens + o.ti END;
        a.output_tokens := CASE WHEN a.output_tokens > amount_max - o.tu THEN amount_max ELSE a.output_tokens + o.tu END;
        a.requests := a.requests + 1;
        used_places := array_append(used_places, o.i);
        used_at_ms := array_append(used_at_ms, at_ms);
      END IF;
      IF o.claim_name IS NOT NULL THEN
        UPDATE claims SET state = CASE WHEN o.b IS NULL THEN o.x ELSE 'done' END, ended_at_ms = now_ms,
          reply_status = o.s, reply_type = o.ct, reply_body = decode(o.b, 'base64')
          WHERE key_id = o.k AND name = o.claim_name;
      END IF;
      results[o.i] := '{"kind":"settled","charged":"' || amount || '"}';

    WHEN 'mark' THEN
      IF o.held IS NOT NULL THEN
        marks := array_append(marks, o.i);
      END IF;

    WHEN 'extend' THEN
      means := CASE a.mode WHEN 'credit' THEN a.purchased - a.used
        ELSE coalesce(a.budget, amount_max) - a.period_used END;
      results[o.i] := CASE
        WHEN o.held IS NULL THEN '{"kind":"ended"}'
        WHEN o.a <= o.held THEN '{"kind":"extended","held":"' || o.held || '"}'
        WHEN means < o.a THEN '{"kind":"insufficient"}'
        WHEN means - a.reserved < o.a - o.held THEN
          CASE WHEN must_yield(a, o.h, o.held_at_ms, ended_keys, ended_ids) THEN '{"kind":"insufficient"}'
            ELSE '{"kind":"temporarily_held"}' END
      END;
      IF results[o.i] IS NULL THEN
        UPDATE holds h SET amount = o.a, waiting = false WHERE h.key_id = o.k AND h.id = o.h;
        a.reserved := a.reserved + o.a - o.held;
        results[o.i] := '{"kind":"extended","held":"' || o.a || '"}';
      ELSIF o.waiting <> (results[o.i] = '{"kind":"temporarily_held"}') THEN
        UPDATE holds h SET waiting = NOT o.waiting WHERE h.key_id = o.k AND h.id = o.h;
      END IF;

    WHEN 'summary' THEN
      results[o.i] := account_json(a);
    END CASE;
  END LOOP;
  IF a IS DISTINCT FROM loaded THEN
    saved := array_append(saved, a);
    IF a.rate_next > loaded.rate_next THEN
      rates_new := array_append(rates_new,
        ROW(a.key_id, loaded.rate_next, a.seen_ms, a.rate_next - loaded.rate_next)::rates);
    END IF;
  END IF;

  PERFORM write_batch(batch, saved, holds_new, entries_new, voided_new, rates_new, ended_keys, ended_ids,
    used_places, used_at_ms, marks);
  RETURN '{"now":' || top_ms || ',"results":[' || array_to_string(results, ',', 'null') || ']}';
END $$;

-- All that a batch changes, one statement per table.
CREATE OR REPLACE FUNCTION gateway.write_batch(
  batch jsonb, saved gateway.accounts[], holds_new gateway.holds[], entries_new gateway.entries[],
  voided_new gateway.voided[], rates_new gateway.rates[], ended_keys text[], ended_ids text[], used_places integer[],
  used_at_ms bigint[], marks integer[]
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF cardinality(saved) > 0 THEN
    UPDATE accounts t SET used = n.used, reserved = n.reserved, live_holds = n.live_holds,
        period_start_ms = n.period_start_ms, period_used = n.period_used, day_start_ms = n.day_start_ms,
        day_spend = n.day_spend, last_cost = n.last_cost, input_tokens = n.input_tokens,
        output_tokens = n.output_tokens, requests = n.requests, hold_ms = n.hold_ms, seen_ms = n.seen_ms,
        rate_first = n.rate_first, rate_next = n.rate_next, rate_at_ms = n.rate_at_ms,
        rate_stored = CASE WHEN n.rate_first - n.rate_stored >= 64 THEN n.rate_first ELSE n.rate_stored END
      FROM unnest(saved) n WHERE t.key_id = n.key_id;
    DELETE FROM rates r USING unnest(saved) n
      WHERE n.rate_first - n.rate_stored >= 64 AND r.key_id = n.key_id AND r.number < n.rate_first;
  END IF;
  IF cardinality(rates_new) > 0 THEN
    INSERT INTO rates SELECT * FROM unnest(rates_new);
  END IF;
  IF cardinality(ended_ids) > 0 THEN
    DELETE FROM holds h USING unnest(ended_keys, ended_ids) AS e(k, i)
      WHERE h.key_id = e.k COLLATE "C" AND h.id = e.i COLLATE "C";
  END IF;
  IF cardinality(holds_new) > 0 THEN
    INSERT INTO holds SELECT * FROM unnest(holds_new);
  END IF;
  IF cardinality(entries_new) > 0 THEN
    INSERT INTO entries SELECT * FROM unnest(entries_new);
    INSERT INTO unrolled (key_id, hold_id, at_ms) SELECT key_id, id, at_ms FROM unnest(entries_new);
  END IF;
  IF cardinality(voided_new) > 0 THEN
    INSERT INTO voided SELECT * FROM unnest(voided_new) ON CONFLICT DO NOTHING;
  END IF;
  IF cardinality(used_places) > 0 THEN
    INSERT INTO usage
      SELECT p.op ->> 'k', p.at_ms, p.op ->> 'h', r.request_id, r.model, r.provider, r.format, r.streamed, r.outcome,
        r.source, r.input, r.cache_read, r.cache_write, r.cache_write_1h, r.output, r.reasoning, r.cost_nanos,
        r.provider_cost_nanos, r.attempts, r.duration_ms, r.first_byte_ms
      FROM (SELECT batch -> (u.place - 1) AS op, u.at_ms FROM unnest(used_places, used_at_ms) AS u(place, at_ms)) p
      CROSS JOIN LATERAL jsonb_populate_record(NULL::usage, p.op -> 'r') r;
  END IF;
  IF cardinality(marks) > 0 THEN
    UPDATE holds h SET mark_charge = least((m.op ->> 'a')::bigint, h.amount), mark_detail = m.op -> 'r'
      FROM (SELECT batch -> (u.place - 1) AS op FROM unnest(marks) AS u(place)) m
      WHERE h.key_id = (m.op ->> 'k') COLLATE "C" AND h.id = (m.op ->> 'h') COLLATE "C"
        AND coalesce((h.mark_detail ->> 'n')::bigint, 0) <= coalesce((m.op -> 'r' ->> 'n')::bigint, 0);
  END IF;
END $$;
