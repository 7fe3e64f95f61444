-- The functions of the ledger that have changed since their first migration, each as it is now and nowhere else. They are
-- created anew whenever a migration was applied: whoever changes one of them adds a migration, which may be nothing but a
-- comment. A database of an earlier release keeps the former functions that have other arguments; nothing calls them.
--
-- What is booked is decided by the gateway now (src/ledger/engine, src/ledger/rules). `apply_batch`, `apply_tree`, `recover_holds`,
-- `expire_payer`, `expire_due` and what only they call are for replicas of 0.2 that run beside this release, and leave with the next one.
-- What stays: `ledger_ms` (the time of the transaction), `lock_payers` and `has_joined` (locks in one order, in one statement),
-- `first_expiry_ms`, and `due_expiries` with `pending_expiry`, which are only read: a list shows thousands of balances in one statement,
-- each as it would be if what is due had expired.

-- An account as the gateway reads it; amounts as text, because JSON numbers are not exact.
CREATE OR REPLACE FUNCTION gateway.account_json(a gateway.accounts) RETURNS text LANGUAGE sql STABLE AS $$
  SELECT json_build_object('key_id', a.key_id, 'version', a.version::text, 'mode', a.mode, 'label', a.label,
    'status', a.status, 'expires_at_ms', a.expires_at_ms::text, 'provider_scope', a.provider_scope, 'models', a.models,
    'rpm_limit', a.rpm_limit::text, 'tpm_limit', a.tpm_limit::text, 'parallel_limit', a.parallel_limit::text,
    'output_limit', a.output_limit::text, 'addresses', a.addresses, 'inherited', a.inherited, 'capture_days', a.capture_days::text,
    'budget', a.budget::text, 'period', a.period, 'account_id', a.account_id, 'cap', a.cap::text, 'created_at_ms', a.created_at_ms::text,
    'prefix', a.prefix, 'purchased', a.purchased::text, 'used', a.used::text, 'reserved', a.reserved::text,
    'live_holds', a.live_holds::text, 'period_start_ms', a.period_start_ms::text, 'period_used', a.period_used::text,
    'day_start_ms', a.day_start_ms::text, 'day_spend', a.day_spend::text, 'last_cost', a.last_cost::text,
    'input_tokens', a.input_tokens::text, 'output_tokens', a.output_tokens::text, 'requests', a.requests::text,
    'hold_ms', a.hold_ms::text, 'seen_ms', a.seen_ms::text)::text
$$;

-- For the condition of a lock: the transaction is undone, and can go again at once.
CREATE OR REPLACE FUNCTION gateway.has_joined(key_id text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'the key % has joined an account meanwhile', key_id USING ERRCODE = 'serialization_failure';
END $$;

-- The lock of everything that a batch is about. Keys that pay for themselves first, then the roots of the others, each in
-- their order, so that nobody waits in a circle; the row of a root stands for its whole tree. A key never leaves its root.
--
-- The row of a key that joins an account while it is waited for gets locked as well, and from then on that is against the
-- order: whoever has the root may want to write it. So it is given back at once, with everything else. Returns those that
-- belong to accounts.
CREATE OR REPLACE FUNCTION gateway.lock_payers(keys text[]) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
  paying text[];
  others text[];
  roots text[];
BEGIN
  SELECT array_agg(a.key_id) FILTER (WHERE a.root_id IS NULL), array_agg(a.key_id) FILTER (WHERE a.root_id IS NOT NULL),
      array_agg(a.root_id) FILTER (WHERE a.root_id IS NOT NULL)
    INTO paying, others, roots FROM gateway.accounts a WHERE a.key_id = ANY (keys);
  IF paying IS NOT NULL THEN
    PERFORM 1 FROM gateway.accounts a WHERE a.key_id = ANY (paying)
      AND CASE WHEN a.root_id IS NULL THEN true ELSE gateway.has_joined(a.key_id) END
      ORDER BY a.key_id FOR UPDATE;
  END IF;
  IF roots IS NOT NULL THEN
    PERFORM 1 FROM gateway.tree_accounts WHERE id = ANY (roots) ORDER BY id FOR UPDATE;
  END IF;
  RETURN coalesce(others, '{}');
END $$;

-- Under the name, and without the result, that releases from before migration 14 know.
CREATE OR REPLACE FUNCTION gateway.lock_keys(keys text[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM gateway.lock_payers(keys);
END $$;

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
  repeated text;
  means bigint;
  amount bigint;
  raised bigint;
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
  tree_keys text[];
BEGIN
  IF others IS NOT NULL THEN
    results := apply_others(others, base_ms, results);
  END IF;
  -- Declaring an owner dead waits for this batch, or this batch sees that it is dead.
  living := ARRAY(SELECT id FROM owners WHERE id = ANY (owner_ids) ORDER BY id FOR KEY SHARE);
  tree_keys := lock_payers(keys);

  FOR o IN
    SELECT x.*, h.amount AS held, h.held_at_ms, h.claim_name, h.waiting,
      CASE WHEN x.op = 'admit' THEN coalesce(h.amount,
        (SELECT e.held FROM entries e WHERE e.key_id = x.k AND e.kind = 'charge' AND e.id = x.h)) END AS held_earlier,
      x.op = 'admit' AND h.id IS NULL
        AND EXISTS (SELECT FROM voided w WHERE w.key_id = x.k AND w.hold_id = x.h) AS was_voided
    FROM jsonb_populate_recordset(NULL::operation, batch) x
    LEFT JOIN LATERAL (SELECT * FROM holds l WHERE l.key_id = x.k AND l.id = x.h LIMIT 1) h ON true
    WHERE x.k <> ALL (tree_keys) ORDER BY x.k, x.i
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

    IF a.promo_ms <= now_ms THEN
      SELECT a.purchased - x.expired, x.first_ms INTO a.purchased, a.promo_ms
        FROM expire_promotions(a.key_id, true, now_ms, ended_keys, ended_ids) x;
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

      IF a.rpm_limit IS NOT NULL AND amount IS NULL AND o.q IS NULL THEN
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
      END IF;
      -- A repeat takes its place in requests per minute, and no other limit is asked.
      repeated := NULL;
      IF o.n IS NOT NULL AND amount IS NULL AND o.h IS NOT NULL THEN
        repeated := claim_obstacle(o.k, o.n, o.f, now_ms);
      END IF;
      IF (a.tpm_limit IS NOT NULL OR a.parallel_limit IS NOT NULL) AND repeated IS NULL AND amount IS NULL
        AND o.h IS NOT NULL THEN
        obstacle := load_refusal(o.k, a.tpm_limit, a.parallel_limit, a.live_holds, coalesce(o.ti, 0), now_ms);
        IF obstacle IS NOT NULL THEN
          results[o.i] := '{"rate":' || rate_json(a, now_ms) || ',"account":false,' || obstacle || '}';
          CONTINUE;
        END IF;
      END IF;
      IF a.rpm_limit IS NOT NULL THEN
        IF amount IS NULL AND o.q IS NULL THEN
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

      IF repeated IS NOT NULL THEN
        results[o.i] := '{"rate":' || rate || ',' || repeated || '}';
        CONTINUE;
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
      IF means - a.reserved < amount OR means - a.reserved < amount::numeric * (1 + o.room) THEN
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
        ROW(o.k, o.h, o.o, amount, now_ms, now_ms + o.t, o.n, NULL, NULL, false, 0, NULL, NULL, false)::holds);
      a.reserved := a.reserved + amount;
      a.live_holds := a.live_holds + 1;
      IF a.tpm_limit IS NOT NULL THEN
        PERFORM count_tokens(o.k, o.ti, now_ms);
      END IF;
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
      IF a.tpm_limit IS NOT NULL THEN
        PERFORM count_tokens(o.k, o.tu, now_ms);
      END IF;
      amount := least(o.a, o.held);
      at_ms := greatest(now_ms, a.period_start_ms, a.day_start_ms);
      IF a.mode = 'token_budget' THEN
        a.period_used := a.period_used + amount;
      ELSE
        a.used := a.used + amount;
        a.day_spend := a.day_spend + amount;
        a.last_cost := amount;
        IF a.promo_ms IS NOT NULL THEN
          a.promo_ms := spend_promotions(o.k, o.k, o.h, amount, o.held_at_ms);
        END IF;
      END IF;
      call := coalesce(o.r, o.c);
      entries_new := array_append(entries_new, ROW(o.k, 'charge', o.h, amount, o.held, at_ms,
        CASE WHEN o.a <= o.held THEN o.g WHEN o.g IS NULL THEN 'clamped' ELSE o.g || ', clamped' END, NULL,
        call ->> 'model', call ->> 'provider', call ->> 'format',
        CASE a.mode WHEN 'credit' THEN amount ELSE coalesce((call ->> 'cost_nanos')::bigint, 0) END,
        coalesce((call ->> 'provider_cost_nanos')::bigint, 0), 0, 0, NULL, NULL)::entries);
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
      -- As much as is free; never less than is held.
      raised := o.held + least(o.a - o.held, greatest(means - a.reserved, 0));
      results[o.i] := CASE
        WHEN o.held IS NULL THEN '{"kind":"ended"}'
        WHEN o.a <= o.held THEN '{"kind":"extended","held":"' || o.held || '"}'
        WHEN raised >= least(o.m, o.a) THEN NULL
        WHEN means < least(o.m, o.a) THEN '{"kind":"insufficient"}'
        WHEN must_yield(a, o.h, o.held_at_ms, ended_keys, ended_ids) THEN '{"kind":"insufficient"}'
        ELSE '{"kind":"temporarily_held"}'
      END;
      IF results[o.i] IS NULL THEN
        UPDATE holds h SET amount = raised, waiting = false WHERE h.key_id = o.k AND h.id = o.h;
        a.reserved := a.reserved + (raised - o.held);
        results[o.i] := '{"kind":"extended","held":"' || raised || '"}';
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
    used_places, used_at_ms, marks, top_ms);
  IF cardinality(tree_keys) > 0 THEN
    SELECT t.results, t.top_ms INTO results, top_ms
      FROM apply_tree(batch, tree_keys, living, base_ms, results, top_ms) t;
  END IF;
  RETURN '{"now":' || top_ms || ',"results":[' || array_to_string(results, ',', 'null') || ']}';
END $$;

-- What has to expire now of the promotional credit of a payer, a key or a root. What holds from before an expiry may still need
-- stays. The holds that the batch has ended are still there.
CREATE OR REPLACE FUNCTION gateway.due_expiries(
  payer text, of_key boolean, now_ms bigint, ended_keys text[], ended_ids text[]
) RETURNS TABLE (id text, amount bigint) LANGUAGE plpgsql STABLE AS $$
DECLARE
  p gateway.promotions;
  held bigint;
  keep bigint;
  kept bigint := 0;
BEGIN
  FOR p IN
    SELECT * FROM gateway.promotions q
      WHERE q.node_id = payer COLLATE "C" AND q.remaining > 0 AND q.expires_at_ms <= now_ms ORDER BY q.expires_at_ms, q.id
  LOOP
    IF of_key THEN
      SELECT coalesce(sum(h.amount), 0) INTO held FROM gateway.holds h
        WHERE h.key_id = payer COLLATE "C" AND h.held_at_ms < p.expires_at_ms AND NOT EXISTS (
          SELECT FROM unnest(ended_keys, ended_ids) AS e(k, i) WHERE e.k = h.key_id AND e.i = h.id);
    ELSE
      SELECT coalesce(sum(h.amount), 0) INTO held FROM gateway.holds h JOIN gateway.accounts a ON a.key_id = h.key_id
        WHERE h.root_id = payer COLLATE "C" AND h.held_at_ms < p.expires_at_ms AND a.mode = 'credit' AND NOT EXISTS (
          SELECT FROM unnest(ended_keys, ended_ids) AS e(k, i) WHERE e.k = h.key_id AND e.i = h.id);
    END IF;
    keep := least(p.remaining, greatest(held - kept, 0));
    kept := kept + keep;
    IF keep < p.remaining THEN
      id := p.id;
      amount := p.remaining - keep;
      RETURN NEXT;
    END IF;
  END LOOP;
END $$;

-- Lets it expire; the row of the payer is locked, and whoever has it in hand takes `expired` from what was purchased.
-- `first_ms`: when the next one expires.
CREATE OR REPLACE FUNCTION gateway.expire_promotions(
  payer text, of_key boolean, now_ms bigint, ended_keys text[], ended_ids text[], OUT expired bigint, OUT first_ms bigint
) LANGUAGE plpgsql AS $$
DECLARE
  due record;
BEGIN
  expired := 0;
  FOR due IN SELECT * FROM gateway.due_expiries(payer, of_key, now_ms, ended_keys, ended_ids) LOOP
    UPDATE gateway.promotions p SET remaining = p.remaining - due.amount
      WHERE p.node_id = payer COLLATE "C" AND p.id = due.id COLLATE "C";
    INSERT INTO gateway.account_entries (node_id, kind, id, amount, at_ms, other_id)
      SELECT payer, 'expired', due.id || ' ' || count(*), due.amount, now_ms, due.id FROM gateway.account_entries e
        WHERE e.node_id = payer COLLATE "C" AND e.kind = 'expired' AND e.other_id = due.id COLLATE "C";
    expired := expired + due.amount;
  END LOOP;
  first_ms := gateway.first_expiry_ms(payer);
END $$;

CREATE OR REPLACE FUNCTION gateway.first_expiry_ms(payer text) RETURNS bigint LANGUAGE sql STABLE AS $$
  SELECT min(p.expires_at_ms) FROM gateway.promotions p WHERE p.node_id = payer COLLATE "C" AND p.remaining > 0
$$;

-- A charge is paid from promotional credit as far as that goes, what expires first before the rest; a hold has no part in what
-- had expired before it was admitted. Returns when the next one expires.
CREATE OR REPLACE FUNCTION gateway.spend_promotions(
  payer text, o_key text, o_hold text, charged bigint, o_held_at_ms bigint
) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  p gateway.promotions;
  rest bigint := charged;
  part bigint;
BEGIN
  FOR p IN
    SELECT * FROM gateway.promotions q WHERE q.node_id = payer COLLATE "C" AND q.remaining > 0
      AND q.expires_at_ms > o_held_at_ms ORDER BY q.expires_at_ms, q.id
  LOOP
    EXIT WHEN rest = 0;
    part := least(rest, p.remaining);
    UPDATE gateway.promotions q SET remaining = q.remaining - part WHERE q.node_id = p.node_id AND q.id = p.id;
    INSERT INTO gateway.promotion_charges (node_id, promotion_id, key_id, hold_id, amount)
      VALUES (payer, p.id, o_key, o_hold, part);
    rest := rest - part;
  END LOOP;
  RETURN gateway.first_expiry_ms(payer);
END $$;

-- Lets expire what is due of one payer, whose row is locked, and writes it there.
CREATE OR REPLACE FUNCTION gateway.expire_payer(payer text, of_key boolean, now_ms bigint) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  x record;
BEGIN
  SELECT * INTO x FROM gateway.expire_promotions(payer, of_key, now_ms, '{}', '{}');
  IF of_key THEN
    UPDATE gateway.accounts SET purchased = purchased - x.expired, promo_ms = x.first_ms,
      seen_ms = greatest(seen_ms, now_ms) WHERE key_id = payer COLLATE "C";
  ELSE
    UPDATE gateway.tree_accounts SET purchased = purchased - x.expired, promo_ms = x.first_ms,
      seen_ms = greatest(seen_ms, now_ms) WHERE id = payer COLLATE "C";
  END IF;
END $$;

-- The same for up to so many payers, in the background: what nobody touches expires too. Returns the time.
CREATE OR REPLACE FUNCTION gateway.expire_due(at_most integer, given_ms bigint, floor_ms bigint) RETURNS bigint
LANGUAGE plpgsql
SET search_path = gateway, pg_temp
AS $$
DECLARE
  now_ms bigint := ledger_ms(given_ms, floor_ms);
  payers text[] := ARRAY(SELECT DISTINCT p.node_id FROM promotions p
    WHERE p.remaining > 0 AND p.expires_at_ms <= now_ms LIMIT at_most);
  payer record;
BEGIN
  IF cardinality(payers) > 0 THEN
    -- In the order in which everybody else locks: keys, then roots.
    PERFORM lock_payers(payers);
    FOR payer IN SELECT key_id, seen_ms FROM accounts WHERE key_id = ANY (payers) AND root_id IS NULL
      ORDER BY key_id FOR UPDATE
    LOOP
      PERFORM expire_payer(payer.key_id, true, greatest(now_ms, payer.seen_ms));
    END LOOP;
    FOR payer IN SELECT id, seen_ms FROM tree_accounts WHERE id = ANY (payers) ORDER BY id FOR UPDATE LOOP
      PERFORM expire_payer(payer.id, false, greatest(now_ms, payer.seen_ms));
    END LOOP;
  END IF;
  RETURN now_ms;
END $$;

-- What an account would show less, if what is due had expired.
CREATE OR REPLACE FUNCTION gateway.pending_expiry(payer text, of_key boolean, now_ms bigint) RETURNS bigint
LANGUAGE sql STABLE AS $$
  SELECT coalesce(sum(d.amount), 0)::bigint FROM gateway.due_expiries(payer, of_key, now_ms, '{}', '{}') d
$$;

-- All that a batch changes, one statement per table.
CREATE OR REPLACE FUNCTION gateway.write_batch(
  batch jsonb, saved gateway.accounts[], holds_new gateway.holds[], entries_new gateway.entries[],
  voided_new gateway.voided[], rates_new gateway.rates[], ended_keys text[], ended_ids text[], used_places integer[],
  used_at_ms bigint[], marks integer[], now_ms bigint
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF cardinality(saved) > 0 THEN
    UPDATE accounts t SET purchased = n.purchased, promo_ms = n.promo_ms, used = n.used, reserved = n.reserved,
        live_holds = n.live_holds, period_start_ms = n.period_start_ms, period_used = n.period_used, day_start_ms = n.day_start_ms,
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
    UPDATE holds h SET mark_charge = least((m.op ->> 'a')::bigint, h.amount),
        mark_detail = (m.op -> 'r') || jsonb_build_object('duration_ms', now_ms - h.held_at_ms)
      FROM (SELECT batch -> (u.place - 1) AS op FROM unnest(marks) AS u(place)) m
      WHERE h.key_id = (m.op ->> 'k') COLLATE "C" AND h.id = (m.op ->> 'h') COLLATE "C"
        AND coalesce((h.mark_detail ->> 'n')::bigint, 0) <= coalesce((m.op -> 'r' ->> 'n')::bigint, 0);
  END IF;
END $$;

-- The oldest place of a rate limit that counts now, of those from `oldest` to before `following`.
CREATE OR REPLACE FUNCTION gateway.first_place(o_id text, oldest bigint, following bigint, newest_ms bigint, now_ms bigint)
RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
  IF newest_ms <= now_ms - 60000 THEN
    RETURN following;
  END IF;
  RETURN coalesce((SELECT r.number FROM rates r WHERE r.key_id = o_id COLLATE "C" AND r.number >= oldest
    AND r.at_ms > now_ms - 60000 ORDER BY r.number LIMIT 1), following);
END $$;

-- How long until one more request fits under the limit; 0 when it fits now.
CREATE OR REPLACE FUNCTION gateway.place_wait_ms(o_id text, oldest bigint, following bigint, o_limit bigint, now_ms bigint)
RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
  IF following - o_limit < oldest THEN
    RETURN 0;
  END IF;
  -- One that this batch took is not stored yet.
  RETURN coalesce((SELECT r.at_ms FROM rates r WHERE r.key_id = o_id COLLATE "C" AND r.number <= following - o_limit
    AND r.number + r.taken > following - o_limit ORDER BY r.number DESC LIMIT 1), now_ms) + 60000 - now_ms;
END $$;

-- Why a limit on tokens per minute or on parallel requests refuses a request, as a part of its outcome; null when none does.
CREATE OR REPLACE FUNCTION gateway.load_refusal(
  o_id text, tpm_limit bigint, parallel_limit bigint, live_holds bigint, more bigint, now_ms bigint
) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  following bigint;
  oldest bigint;
  -- The last token that must have left the window.
  place bigint;
BEGIN
  IF more > tpm_limit THEN
    RETURN '"kind":"tokens_limited","retryAfterMs":60000,"tooLarge":true';
  END IF;
  IF tpm_limit IS NOT NULL THEN
    SELECT r.number + r.taken INTO following FROM token_rates r WHERE r.key_id = o_id COLLATE "C"
      ORDER BY r.number DESC LIMIT 1;
    SELECT r.number INTO oldest FROM token_rates r WHERE r.key_id = o_id COLLATE "C" AND r.at_ms > now_ms - 60000
      ORDER BY r.at_ms, r.number LIMIT 1;
    place := following + more - tpm_limit - 1;
    IF place >= oldest THEN
      RETURN '"kind":"tokens_limited","retryAfterMs":' || (SELECT r.at_ms FROM token_rates r
        WHERE r.key_id = o_id COLLATE "C" AND r.number <= place ORDER BY r.number DESC LIMIT 1) + 60000 - now_ms
        || ',"tooLarge":false';
    END IF;
  END IF;
  IF live_holds >= parallel_limit THEN
    RETURN '"kind":"parallel_limited","retryAfterMs":1000,"tooLarge":false';
  END IF;
  RETURN NULL;
END $$;

-- For a limit on tokens per minute. What it does not count any more is removed a minute's worth at a time.
CREATE OR REPLACE FUNCTION gateway.count_tokens(o_id text, tokens bigint, now_ms bigint) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  following bigint;
  oldest_ms bigint;
BEGIN
  IF coalesce(tokens, 0) = 0 THEN
    RETURN;
  END IF;
  SELECT r.number + r.taken INTO following FROM token_rates r WHERE r.key_id = o_id COLLATE "C"
    ORDER BY r.number DESC LIMIT 1;
  -- No call has so many: no sum of them overflows.
  INSERT INTO token_rates (key_id, number, at_ms, taken)
    VALUES (o_id, coalesce(following, 0), now_ms, least(tokens, 1099511627776));
  SELECT r.at_ms INTO oldest_ms FROM token_rates r WHERE r.key_id = o_id COLLATE "C" ORDER BY r.number LIMIT 1;
  IF oldest_ms <= now_ms - 120000 THEN
    DELETE FROM token_rates r WHERE r.key_id = o_id COLLATE "C" AND r.at_ms <= now_ms - 60000;
  END IF;
END $$;

-- The part of a batch that is about `tree_keys`, keys of accounts, whose roots are locked: in the order of the batch. The
-- sums of keys and accounts are decided on in memory and written once per root, and the rows that are new or end once per
-- batch: one statement for each would cost more than everything else here.
CREATE OR REPLACE FUNCTION gateway.apply_tree(
  batch jsonb, tree_keys text[], living text[], base_ms bigint, INOUT results text[], INOUT top_ms bigint
) LANGUAGE plpgsql
AS $$
DECLARE
  day_ms CONSTANT bigint := 86400000;
  amount_max CONSTANT bigint := 9223372036854775807;
  o record;
  now_ms bigint;
  root text;
  key_ids text[] := '{}';
  key_rows gateway.accounts[] := '{}';
  node_ids text[] := '{}';
  nodes gateway.tree_accounts[] := '{}';
  k integer;
  j integer;
  root_node integer;
  a gateway.accounts;
  n gateway.tree_accounts;
  credit boolean;
  up text;
  -- The accounts above the key `path_key`, from the nearest to the root; of a live hold, those that it was admitted on.
  path_key text;
  path_held text[];
  ids text[];
  path integer[];
  -- The state of the nearest that is not active, and whether any of them limits requests or tokens per minute.
  closed text;
  limited boolean;
  -- Until when the accounts of the tree are in their periods.
  rolled_ms bigint;
  rate text;
  wait_ms bigint;
  obstacle text;
  repeated text;
  -- What is held of the key's unit and of tokens, and the least that will do.
  most bigint;
  most_tokens bigint;
  least_tokens bigint;
  more bigint;
  more_tokens bigint;
  -- A limit of a level: `level` counts them from the key upwards, two or three for each account.
  refusal text;
  means bigint;
  reserved bigint;
  period text;
  start_ms bigint;
  in_tokens boolean;
  wanted bigint;
  least_wanted bigint;
  booked_ms bigint;
  call jsonb;
  -- The next place of a rate limit as it is stored, of the keys and accounts whose places were counted.
  key_next bigint[] := '{}';
  node_next bigint[] := '{}';
  holds_new gateway.holds[] := '{}';
  entries_new gateway.entries[] := '{}';
  voided_new gateway.voided[] := '{}';
  ended_keys text[] := '{}';
  ended_ids text[] := '{}';
  used_places integer[] := '{}';
  used_at_ms bigint[] := '{}';
  marks integer[] := '{}';
BEGIN
  FOR o IN
    SELECT x.*, c.root_id, h.amount AS held, h.tokens AS held_tokens, h.path AS held_path, h.held_at_ms, h.claim_name,
      h.waiting, coalesce(h.amount, e.held) AS held_earlier,
      CASE WHEN h.id IS NOT NULL THEN h.tokens WHEN e.path IS NOT NULL THEN e.held_tokens END AS tokens_earlier,
      x.op = 'admit' AND h.id IS NULL
        AND EXISTS (SELECT FROM voided w WHERE w.key_id = x.k AND w.hold_id = x.h) AS was_voided
    FROM jsonb_populate_recordset(NULL::operation, batch) x
    JOIN accounts c ON c.key_id = x.k
    LEFT JOIN LATERAL (SELECT * FROM holds l WHERE l.key_id = x.k AND l.id = x.h LIMIT 1) h ON true
    LEFT JOIN LATERAL (SELECT * FROM entries l
      WHERE x.op = 'admit' AND l.key_id = x.k AND l.kind = 'charge' AND l.id = x.h LIMIT 1) e ON true
    WHERE x.k = ANY (tree_keys) ORDER BY c.root_id, x.i
  LOOP
    IF root IS DISTINCT FROM o.root_id THEN
      PERFORM write_tree(key_rows, nodes, key_next, node_next);
      root := o.root_id;
      key_ids := '{}';
      key_rows := '{}';
      key_next := '{}';
      node_ids := '{}';
      nodes := '{}';
      node_next := '{}';
      path_key := NULL;
    END IF;
    k := array_position(key_ids, o.k);
    IF k IS NULL THEN
      k := cardinality(key_ids) + 1;
      SELECT * INTO a FROM accounts WHERE key_id = o.k;
      key_ids[k] := o.k;
      key_rows[k] := a;
    ELSE
      a := key_rows[k];
    END IF;
    credit := a.mode = 'credit';

    IF path_key IS DISTINCT FROM o.k OR path_held IS DISTINCT FROM o.held_path THEN
      path_key := o.k;
      path_held := o.held_path;
      ids := '{}';
      path := '{}';
      closed := NULL;
      limited := false;
      up := coalesce(o.held_path[1], a.account_id);
      WHILE up IS NOT NULL LOOP
        j := array_position(node_ids, up);
        IF j IS NULL THEN
          j := cardinality(node_ids) + 1;
          SELECT * INTO n FROM tree_accounts WHERE root_id = root AND id = up;
          node_ids[j] := up;
          nodes[j] := n;
          rolled_ms := 0;
        ELSE
          n := nodes[j];
        END IF;
        closed := coalesce(closed, nullif(n.status, 'active'));
        limited := limited OR n.rpm_limit IS NOT NULL OR n.tpm_limit IS NOT NULL OR n.parallel_limit IS NOT NULL;
        ids := array_append(ids, up);
        path := array_append(path, j);
        up := CASE WHEN o.held_path IS NULL THEN n.parent_id ELSE o.held_path[cardinality(ids) + 1] END;
      END LOOP;
    END IF;
    -- The last one is the root, whose time is that of its tree.
    root_node := path[cardinality(path)];
    n := nodes[root_node];
    now_ms := greatest(base_ms, a.seen_ms, n.seen_ms);
    top_ms := greatest(top_ms, now_ms);
    a.seen_ms := now_ms;
    IF n.seen_ms < now_ms THEN
      n.seen_ms := now_ms;
      nodes[root_node] := n;
    END IF;

    -- All periods begin where a day begins.
    IF now_ms >= a.day_start_ms + day_ms THEN
      a.day_start_ms := now_ms / day_ms * day_ms;
      a.day_spend := 0;
      start_ms := period_start_ms(a.period, now_ms);
      IF start_ms > a.period_start_ms THEN
        a.period_start_ms := start_ms;
        a.period_used := 0;
      END IF;
    END IF;
    IF now_ms >= rolled_ms THEN
      rolled_ms := (now_ms / day_ms + 1) * day_ms;
      FOR j IN 1 .. cardinality(node_ids) LOOP
        n := nodes[j];
        IF n.credit_period <> 'none' AND now_ms >= n.credit_start_ms + day_ms THEN
          start_ms := period_start_ms(n.credit_period, now_ms);
          IF start_ms > n.credit_start_ms THEN
            n.credit_start_ms := start_ms;
            n.credit_used := 0;
            nodes[j] := n;
          END IF;
        END IF;
        IF n.token_period <> 'none' AND now_ms >= n.tokens_start_ms + day_ms THEN
          start_ms := period_start_ms(n.token_period, now_ms);
          IF start_ms > n.tokens_start_ms THEN
            n.tokens_start_ms := start_ms;
            n.tokens_used := 0;
            nodes[j] := n;
          END IF;
        END IF;
      END LOOP;
      n := nodes[root_node];
    END IF;
    key_rows[k] := a;
    -- Everybody spends the credit of the root.
    IF n.promo_ms <= now_ms THEN
      SELECT n.purchased - x.expired, x.first_ms INTO n.purchased, n.promo_ms
        FROM expire_promotions(root, false, now_ms, ended_keys, ended_ids) x;
      nodes[root_node] := n;
    END IF;

    CASE o.op
    WHEN 'admit' THEN
      rate := 'null';
      IF a.rpm_limit IS NOT NULL AND key_next[k] IS NULL THEN
        a.rate_first := first_place(o.k, a.rate_first, a.rate_next, a.rate_at_ms, now_ms);
        key_rows[k] := a;
        key_next[k] := a.rate_next;
      END IF;
      IF o.was_voided THEN
        -- Whoever sent this admission has given it up.
        results[o.i] := json_build_object('kind', 'operation_failed', 'message', 'the hold ' || o.h || ' was voided');
        CONTINUE;
      END IF;
      IF o.held_earlier IS NULL THEN
        IF a.status <> 'active' THEN
          results[o.i] := '{"kind":"key_refused","status":"' || a.status || '"}';
          CONTINUE;
        ELSIF a.expires_at_ms <= now_ms THEN
          results[o.i] := '{"kind":"key_refused","status":"expired"}';
          CONTINUE;
        ELSIF a.version <> o.v THEN
          results[o.i] := '{"kind":"key_changed","key":' || account_json(a) || '}';
          CONTINUE;
        ELSIF closed IS NOT NULL THEN
          results[o.i] := '{"kind":"account_refused","status":"' || closed || '"}';
          CONTINUE;
        ELSIF o.h IS NOT NULL AND o.o <> ALL (living) THEN
          results[o.i] := '{"kind":"owner_lost"}';
          CONTINUE;
        END IF;
        IF o.q IS NULL AND a.rpm_limit IS NOT NULL THEN
          wait_ms := place_wait_ms(o.k, a.rate_first, a.rate_next, a.rpm_limit, now_ms);
          IF wait_ms > 0 THEN
            results[o.i] := '{"kind":"rate_limited","rate":{"limit":' || a.rpm_limit || ',"remaining":0,"resetMs":'
              || a.rate_at_ms + 60000 - now_ms || '},"retryAfterMs":' || wait_ms || '}';
            CONTINUE;
          END IF;
        END IF;
        obstacle := NULL;
        IF o.q IS NULL AND limited THEN
          FOREACH j IN ARRAY path LOOP
            n := nodes[j];
            CONTINUE WHEN n.rpm_limit IS NULL;
            IF node_next[j] IS NULL THEN
              n.rate_first := first_place(n.id, n.rate_first, n.rate_next, n.rate_at_ms, now_ms);
              nodes[j] := n;
              node_next[j] := n.rate_next;
            END IF;
            wait_ms := place_wait_ms(n.id, n.rate_first, n.rate_next, n.rpm_limit, now_ms);
            IF wait_ms > 0 THEN
              obstacle := '"kind":"account_rate_limited","retryAfterMs":' || wait_ms;
              EXIT;
            END IF;
          END LOOP;
        END IF;
        -- A repeat takes its places in requests per minute, and no other limit is asked.
        repeated := NULL;
        IF o.n IS NOT NULL AND o.h IS NOT NULL AND obstacle IS NULL THEN
          repeated := claim_obstacle(o.k, o.n, o.f, now_ms);
        END IF;
        IF o.h IS NOT NULL AND repeated IS NULL AND obstacle IS NULL THEN
          IF a.tpm_limit IS NOT NULL OR a.parallel_limit IS NOT NULL THEN
            obstacle := '"account":false,'
              || load_refusal(o.k, a.tpm_limit, a.parallel_limit, a.live_holds, coalesce(o.ti, 0), now_ms);
          END IF;
          IF obstacle IS NULL AND limited THEN
            FOREACH j IN ARRAY path LOOP
              n := nodes[j];
              CONTINUE WHEN n.tpm_limit IS NULL AND n.parallel_limit IS NULL;
              obstacle := '"account":true,'
                || load_refusal(n.id, n.tpm_limit, n.parallel_limit, n.live_holds, coalesce(o.ti, 0), now_ms);
              EXIT WHEN obstacle IS NOT NULL;
            END LOOP;
          END IF;
        END IF;
        IF obstacle IS NOT NULL THEN
          results[o.i] := '{"rate":' || rate_json(a, now_ms) || ',' || obstacle || '}';
          CONTINUE;
        END IF;
        IF o.q IS NULL THEN
          -- One at every level that has a limit, now that none refuses.
          IF a.rpm_limit IS NOT NULL THEN
            a.rate_next := a.rate_next + 1;
            a.rate_at_ms := now_ms;
            key_rows[k] := a;
          END IF;
          IF limited THEN
            FOREACH j IN ARRAY path LOOP
              n := nodes[j];
              CONTINUE WHEN n.rpm_limit IS NULL;
              n.rate_next := n.rate_next + 1;
              n.rate_at_ms := now_ms;
              nodes[j] := n;
            END LOOP;
          END IF;
        END IF;
      END IF;
      rate := rate_json(a, now_ms);
      IF o.held_earlier IS NOT NULL THEN
        -- Its acknowledgement was lost.
        results[o.i] := '{"kind":"admitted","rate":' || rate || ',"held":"' || o.held_earlier || '"'
          || coalesce(',"heldTokens":"' || o.tokens_earlier || '"', '') || '}';
        CONTINUE;
      END IF;
      IF o.h IS NULL THEN
        results[o.i] := '{"kind":"admitted","rate":' || rate || ',"held":"0"}';
        CONTINUE;
      END IF;
      IF repeated IS NOT NULL THEN
        results[o.i] := '{"rate":' || rate || ',' || repeated || '}';
        CONTINUE;
      END IF;

      most := o.a;
      most_tokens := CASE WHEN credit THEN coalesce(o.w, 0) ELSE o.a END;
      least_tokens := CASE WHEN credit THEN coalesce(o.wm, o.w, 0) ELSE o.m END;
      refusal := NULL;
      FOR means, reserved, period, start_ms, in_tokens, j IN SELECT * FROM tree_levels(a, path, nodes) LOOP
        wanted := CASE WHEN in_tokens THEN most_tokens ELSE most END;
        least_wanted := CASE WHEN in_tokens THEN least_tokens ELSE o.m END;
        IF period IS NOT NULL
          AND (means <= 0 OR (in_tokens AND means < least_wanted AND means < 256)) THEN
          refusal := '"kind":"limit_reached","period":"' || period || '","now":' || now_ms || ',"at":'
            || greatest(now_ms, start_ms);
        ELSIF means < least_wanted THEN
          refusal := '"kind":"insufficient","available":"' || means || '"';
        ELSE
          wanted := least(wanted, means);
          IF means - reserved < wanted OR means - reserved < wanted::numeric * (1 + o.room) THEN
            SELECT min(h.held_at_ms) INTO booked_ms FROM holds h WHERE CASE
              WHEN j = 0 THEN h.key_id = o.k ELSE h.root_id = root AND node_ids[j] = ANY (h.path) END;
            refusal := '"kind":"temporarily_held","retryAfterMs":' || greatest(1000,
              CASE WHEN j = 0 THEN a.hold_ms ELSE (nodes[j]).hold_ms END - (now_ms - coalesce(booked_ms, now_ms)));
          ELSIF in_tokens THEN
            most_tokens := wanted;
          ELSE
            most := wanted;
          END IF;
        END IF;
        IF refusal IS NOT NULL THEN
          results[o.i] := '{' || refusal || ',"rate":' || rate || ',"level":{"account":' || (j > 0)::text || ',"unit":"'
            || CASE WHEN in_tokens THEN 'tokens' ELSE 'credit' END || '"}}';
          EXIT;
        END IF;
      END LOOP;
      CONTINUE WHEN refusal IS NOT NULL;
      IF NOT credit THEN
        most := most_tokens;
      END IF;
      IF o.n IS NOT NULL THEN
        INSERT INTO claims (key_id, name, fingerprint, hold_id, state) VALUES (o.k, o.n, o.f, o.h, 'running');
      END IF;
      holds_new := array_append(holds_new, ROW(o.k, o.h, o.o, most, now_ms, now_ms + o.t, o.n, NULL, NULL, false,
        most_tokens, root, ids, false)::gateway.holds);
      a.reserved := a.reserved + most;
      a.live_holds := a.live_holds + 1;
      key_rows[k] := a;
      FOREACH j IN ARRAY path LOOP
        n := nodes[j];
        IF credit THEN
          n.reserved := n.reserved + most;
        END IF;
        n.reserved_tokens := n.reserved_tokens + most_tokens;
        n.live_holds := n.live_holds + 1;
        nodes[j] := n;
        IF n.tpm_limit IS NOT NULL THEN
          PERFORM count_tokens(n.id, o.ti, now_ms);
        END IF;
      END LOOP;
      IF a.tpm_limit IS NOT NULL THEN
        PERFORM count_tokens(o.k, o.ti, now_ms);
      END IF;
      results[o.i] := '{"kind":"admitted","rate":' || rate || ',"held":"' || most || '","heldTokens":"' || most_tokens
        || '"}';

    WHEN 'settle', 'void' THEN
      IF o.held IS NULL THEN
        results[o.i] := ended_outcome(o.k, o.h);
        IF results[o.i] = '{"kind":"already_voided"}' THEN
          -- Its admission may still be under way, and must find that nobody wants it any more.
          voided_new := array_append(voided_new, ROW(o.k, o.h, 0, now_ms)::gateway.voided);
        END IF;
        CONTINUE;
      END IF;
      ended_keys := array_append(ended_keys, o.k);
      ended_ids := array_append(ended_ids, o.h);
      a.reserved := a.reserved - o.held;
      a.live_holds := a.live_holds - 1;
      a.hold_ms := averaged_ms(a.hold_ms, now_ms - o.held_at_ms);
      booked_ms := greatest(now_ms, a.period_start_ms, a.day_start_ms);
      -- What is charged: nothing where the hold is voided.
      most := CASE o.op WHEN 'settle' THEN least(o.a, o.held) ELSE 0 END;
      most_tokens := CASE WHEN o.op = 'void' THEN 0 WHEN credit THEN least(coalesce(o.w, 0), o.held_tokens)
        ELSE least(most, o.held_tokens) END;
      FOREACH j IN ARRAY path LOOP
        n := nodes[j];
        booked_ms := greatest(booked_ms, n.credit_start_ms, n.tokens_start_ms);
        IF credit THEN
          n.reserved := n.reserved - o.held;
          n.used := n.used + most;
          n.credit_used := n.credit_used + most;
        END IF;
        n.reserved_tokens := n.reserved_tokens - o.held_tokens;
        n.tokens_used := n.tokens_used + most_tokens;
        n.live_holds := n.live_holds - 1;
        n.hold_ms := averaged_ms(n.hold_ms, now_ms - o.held_at_ms);
        nodes[j] := n;
        IF o.op = 'settle' AND n.tpm_limit IS NOT NULL THEN
          PERFORM count_tokens(n.id, o.tu, now_ms);
        END IF;
      END LOOP;
      IF o.op = 'void' THEN
        key_rows[k] := a;
        voided_new := array_append(voided_new, ROW(o.k, o.h, o.held, now_ms)::gateway.voided);
        IF o.claim_name IS NOT NULL THEN
          DELETE FROM claims WHERE key_id = o.k AND name = o.claim_name;
        END IF;
        results[o.i] := '{"kind":"voided"}';
        CONTINUE;
      END IF;
      IF a.tpm_limit IS NOT NULL THEN
        PERFORM count_tokens(o.k, o.tu, now_ms);
      END IF;
      a.period_used := a.period_used + most;
      IF credit THEN
        a.used := a.used + most;
        a.day_spend := a.day_spend + most;
        a.last_cost := most;
        IF n.promo_ms IS NOT NULL THEN
          n.promo_ms := spend_promotions(root, o.k, o.h, most, o.held_at_ms);
          nodes[root_node] := n;
        END IF;
      END IF;
      call := coalesce(o.r, o.c);
      entries_new := array_append(entries_new, ROW(o.k, 'charge', o.h, most, o.held, booked_ms,
        CASE WHEN o.a <= o.held THEN o.g WHEN o.g IS NULL THEN 'clamped' ELSE o.g || ', clamped' END, NULL,
        call ->> 'model', call ->> 'provider', call ->> 'format',
        CASE WHEN credit THEN most ELSE coalesce((call ->> 'cost_nanos')::bigint, 0) END,
        coalesce((call ->> 'provider_cost_nanos')::bigint, 0), most_tokens, o.held_tokens, root,
        o.held_path)::gateway.entries);
      IF o.r IS NOT NULL THEN
        a.input_tokens := CASE WHEN a.input_tokens > amount_max - o.ti THEN amount_max ELSE a.input_tokens + o.ti END;
        a.output_tokens := CASE WHEN a.output_tokens > amount_max - o.tu THEN amount_max ELSE a.output_tokens + o.tu END;
        a.requests := a.requests + 1;
        used_places := array_append(used_places, o.i);
        used_at_ms := array_append(used_at_ms, booked_ms);
      END IF;
      key_rows[k] := a;
      IF o.claim_name IS NOT NULL THEN
        UPDATE claims SET state = CASE WHEN o.b IS NULL THEN o.x ELSE 'done' END, ended_at_ms = now_ms,
          reply_status = o.s, reply_type = o.ct, reply_body = decode(o.b, 'base64')
          WHERE key_id = o.k AND name = o.claim_name;
      END IF;
      results[o.i] := '{"kind":"settled","charged":"' || most || '"}';

    WHEN 'mark' THEN
      IF o.held IS NOT NULL THEN
        marks := array_append(marks, o.i);
      END IF;

    WHEN 'extend' THEN
      IF o.held IS NULL THEN
        results[o.i] := '{"kind":"ended"}';
        CONTINUE;
      END IF;
      most := greatest(o.a, o.held);
      most_tokens := greatest(CASE WHEN credit THEN coalesce(o.w, 0) ELSE o.a END, o.held_tokens);
      least_tokens := CASE WHEN credit THEN least(o.wm, coalesce(o.w, 0)) ELSE least(o.m, o.a) END;
      refusal := NULL;
      FOR means, reserved, in_tokens, j IN
        SELECT l.means, l.reserved, l.in_tokens, l.node FROM tree_levels(a, path, nodes) l
      LOOP
        wanted := CASE WHEN in_tokens THEN most_tokens - o.held_tokens ELSE most - o.held END;
        CONTINUE WHEN wanted = 0;
        -- As much as is free; never less than is held.
        wanted := CASE WHEN in_tokens THEN o.held_tokens ELSE o.held END + least(wanted, greatest(means - reserved, 0));
        least_wanted := CASE WHEN in_tokens THEN least_tokens ELSE least(o.m, o.a) END;
        IF wanted >= least_wanted THEN
          IF in_tokens THEN
            most_tokens := wanted;
          ELSE
            most := wanted;
          END IF;
        ELSIF means < least_wanted THEN
          refusal := '{"kind":"insufficient"}';
        ELSE
          -- Where all holds that the level counts wait for each other, the youngest gives way.
          -- Those that this batch has admitted are counted by the level only, and do not wait.
          SELECT CASE WHEN count(*) = CASE WHEN j = 0 THEN a.live_holds ELSE (nodes[j]).live_holds END - 1
                AND coalesce(bool_and(h.waiting AND (h.held_at_ms, h.id) < (o.held_at_ms, o.h)), true)
              THEN '{"kind":"insufficient"}' ELSE '{"kind":"temporarily_held"}' END INTO refusal
            FROM holds h WHERE NOT (h.key_id = o.k AND h.id = o.h) AND CASE
              WHEN j = 0 THEN h.key_id = o.k ELSE h.root_id = root AND node_ids[j] = ANY (h.path) END
              AND NOT EXISTS (SELECT FROM unnest(ended_keys, ended_ids) AS e(k, i) WHERE e.k = h.key_id AND e.i = h.id);
        END IF;
        EXIT WHEN refusal IS NOT NULL;
      END LOOP;
      IF refusal IS NOT NULL THEN
        results[o.i] := refusal;
        UPDATE holds h SET waiting = (refusal = '{"kind":"temporarily_held"}')
          WHERE h.key_id = o.k AND h.id = o.h AND h.waiting <> (refusal = '{"kind":"temporarily_held"}');
        CONTINUE;
      END IF;
      IF NOT credit THEN
        most := greatest(o.held, least(most, most_tokens));
      END IF;
      more := most - o.held;
      more_tokens := most_tokens - o.held_tokens;
      results[o.i] := '{"kind":"extended","held":"' || most || '","heldTokens":"' || most_tokens || '"}';
      IF more > 0 OR more_tokens > 0 OR o.waiting THEN
        UPDATE holds h SET amount = most, tokens = most_tokens, waiting = false WHERE h.key_id = o.k AND h.id = o.h;
        a.reserved := a.reserved + more;
        key_rows[k] := a;
        FOREACH j IN ARRAY path LOOP
          n := nodes[j];
          IF credit THEN
            n.reserved := n.reserved + more;
          END IF;
          n.reserved_tokens := n.reserved_tokens + more_tokens;
          nodes[j] := n;
        END LOOP;
      END IF;

    WHEN 'summary' THEN
      results[o.i] := account_json(a)::jsonb || jsonb_build_object('path',
        (SELECT jsonb_agg(tree_json(nodes[p.j]) ORDER BY p.level) FROM unnest(path) WITH ORDINALITY AS p(j, level)));
    END CASE;
  END LOOP;
  PERFORM write_tree(key_rows, nodes, key_next, node_next);
  PERFORM write_batch(batch, '{}', holds_new, entries_new, voided_new, '{}', ended_keys, ended_ids, used_places,
    used_at_ms, marks, top_ms);
END $$;

-- Every limit of every level, from the key upwards: what it could carry if nothing were held, and what is held. `period` is
-- null for a balance, `node` is 0 for the key itself.
CREATE OR REPLACE FUNCTION gateway.tree_levels(a gateway.accounts, path integer[], nodes gateway.tree_accounts[])
RETURNS TABLE (means bigint, reserved bigint, period text, start_ms bigint, in_tokens boolean, node integer)
LANGUAGE plpgsql AS $$
DECLARE
  amount_max CONSTANT bigint := 9223372036854775807;
  n gateway.tree_accounts;
BEGIN
  node := 0;
  reserved := a.reserved;
  period := a.period;
  start_ms := greatest(a.period_start_ms, a.day_start_ms);
  in_tokens := a.mode <> 'credit';
  means := CASE WHEN in_tokens THEN coalesce(a.budget, amount_max) ELSE a.cap END - a.period_used;
  IF means IS NOT NULL THEN
    RETURN NEXT;
  END IF;
  IF a.mode = 'credit' THEN
    -- What the key may spend in all, which must fit into its sums.
    means := amount_max - a.used;
    period := 'none';
    RETURN NEXT;
  END IF;
  FOREACH node IN ARRAY path LOOP
    n := nodes[node];
    IF a.mode = 'credit' AND n.credit_cap IS NOT NULL THEN
      means := n.credit_cap - n.credit_used;
      reserved := n.reserved;
      period := n.credit_period;
      start_ms := n.credit_start_ms;
      in_tokens := false;
      RETURN NEXT;
    END IF;
    means := coalesce(n.token_cap, amount_max) - n.tokens_used;
    reserved := n.reserved_tokens;
    period := coalesce(n.token_period, 'none');
    start_ms := n.tokens_start_ms;
    in_tokens := true;
    RETURN NEXT;
    IF a.mode = 'credit' AND n.parent_id IS NULL THEN
      means := n.purchased - n.used;
      reserved := n.reserved;
      period := NULL;
      in_tokens := false;
      RETURN NEXT;
    END IF;
  END LOOP;
END $$;

-- An account of a tree as the gateway reads it; amounts as text, because JSON numbers are not exact.
CREATE OR REPLACE FUNCTION gateway.tree_json(n gateway.tree_accounts) RETURNS jsonb LANGUAGE sql STABLE AS $$
  SELECT jsonb_build_object('id', n.id, 'version', n.version::text, 'parent_id', n.parent_id, 'root_id', n.root_id,
    'name', n.name, 'external_id', n.external_id, 'labels', n.labels, 'status', n.status,
    'rpm_limit', n.rpm_limit::text, 'tpm_limit', n.tpm_limit::text, 'parallel_limit', n.parallel_limit::text,
    'models', n.models, 'output_limit', n.output_limit::text, 'addresses', n.addresses, 'credit_cap', n.credit_cap::text, 'credit_period', n.credit_period,
    'token_cap', n.token_cap::text, 'token_period', n.token_period, 'created_at_ms', n.created_at_ms::text,
    'purchased', n.purchased::text, 'used', n.used::text, 'reserved', n.reserved::text,
    'reserved_tokens', n.reserved_tokens::text, 'live_holds', n.live_holds::text,
    'credit_start_ms', n.credit_start_ms::text, 'credit_used', n.credit_used::text,
    'tokens_start_ms', n.tokens_start_ms::text, 'tokens_used', n.tokens_used::text, 'hold_ms', n.hold_ms::text)
$$;

-- The state of a key's own rate limit, as an outcome carries it.
CREATE OR REPLACE FUNCTION gateway.rate_json(a gateway.accounts, now_ms bigint) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  IF a.rpm_limit IS NULL THEN
    RETURN 'null';
  END IF;
  RETURN '{"limit":' || a.rpm_limit || ',"remaining":' || greatest(0, a.rpm_limit - a.rate_next + a.rate_first)
    || ',"resetMs":' || CASE WHEN a.rate_next = a.rate_first THEN 0 ELSE a.rate_at_ms + 60000 - now_ms END || '}';
END $$;

-- How one more hold moves the running average of how long holds live.
CREATE OR REPLACE FUNCTION gateway.averaged_ms(average_ms bigint, lived_ms bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE average_ms WHEN 0 THEN lived_ms ELSE average_ms + (lived_ms - average_ms) / 8 END
$$;

-- The sums of the keys and accounts of one tree, and the places of rate limits that were taken: those from `key_next` and
-- `node_next` on. The root has paid for what a credit key has used and holds.
CREATE OR REPLACE FUNCTION gateway.write_tree(
  key_rows gateway.accounts[], nodes gateway.tree_accounts[], key_next bigint[], node_next bigint[]
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF cardinality(key_rows) = 0 THEN
    RETURN;
  END IF;
  IF cardinality(key_next) > 0 THEN
    INSERT INTO rates (key_id, number, at_ms, taken)
      SELECT n.key_id, key_next[n.ordinality], n.rate_at_ms, n.rate_next - key_next[n.ordinality]
      FROM unnest(key_rows) WITH ORDINALITY n WHERE n.rate_next > key_next[n.ordinality];
  END IF;
  IF cardinality(node_next) > 0 THEN
    INSERT INTO rates (key_id, number, at_ms, taken)
      SELECT n.id, node_next[n.ordinality], n.rate_at_ms, n.rate_next - node_next[n.ordinality]
      FROM unnest(nodes) WITH ORDINALITY n WHERE n.rate_next > node_next[n.ordinality];
  END IF;
  UPDATE accounts t SET used = n.used, reserved = n.reserved, live_holds = n.live_holds,
      purchased = CASE n.mode WHEN 'credit' THEN n.used + n.reserved ELSE 0 END,
      period_start_ms = n.period_start_ms, period_used = n.period_used, day_start_ms = n.day_start_ms,
      day_spend = n.day_spend, last_cost = n.last_cost, input_tokens = n.input_tokens,
      output_tokens = n.output_tokens, requests = n.requests, hold_ms = n.hold_ms, seen_ms = n.seen_ms,
      rate_first = n.rate_first, rate_next = n.rate_next, rate_at_ms = n.rate_at_ms,
      rate_stored = CASE WHEN n.rate_first - n.rate_stored >= 64 THEN n.rate_first ELSE n.rate_stored END
    FROM unnest(key_rows) n WHERE t.key_id = n.key_id;
  UPDATE tree_accounts t SET purchased = n.purchased, promo_ms = n.promo_ms, used = n.used, reserved = n.reserved,
      reserved_tokens = n.reserved_tokens, live_holds = n.live_holds, credit_start_ms = n.credit_start_ms, credit_used = n.credit_used,
      tokens_start_ms = n.tokens_start_ms, tokens_used = n.tokens_used, hold_ms = n.hold_ms, seen_ms = n.seen_ms,
      rate_first = n.rate_first, rate_next = n.rate_next, rate_at_ms = n.rate_at_ms,
      rate_stored = CASE WHEN n.rate_first - n.rate_stored >= 64 THEN n.rate_first ELSE n.rate_stored END
    FROM unnest(nodes) n WHERE t.root_id = n.root_id AND t.id = n.id;
  DELETE FROM rates r USING unnest(key_rows) n
    WHERE n.rate_first - n.rate_stored >= 64 AND r.key_id = n.key_id AND r.number < n.rate_first;
  DELETE FROM rates r USING unnest(nodes) n
    WHERE n.rate_first - n.rate_stored >= 64 AND r.key_id = n.id AND r.number < n.rate_first;
END $$;

-- So that one bad operation does not spoil the others of its batch: each in a transaction of its own within this one.
CREATE OR REPLACE FUNCTION gateway.apply_one_by_one(
  keys text[], owner_ids text[], batch jsonb, others jsonb, places integer, given_ms bigint, floor_ms bigint
) RETURNS text LANGUAGE plpgsql
SET search_path = gateway, pg_temp
AS $$
DECLARE
  o jsonb;
  answer jsonb;
  top_ms bigint := ledger_ms(given_ms, floor_ms);
  results text[] := array_fill(NULL::text, ARRAY[greatest(places, 1)]);
BEGIN
  IF others IS NOT NULL THEN
    results := apply_others(others, top_ms, results);
  END IF;
  -- In the order in which everybody else locks.
  PERFORM 1 FROM owners WHERE id = ANY (owner_ids) ORDER BY id FOR KEY SHARE;
  PERFORM lock_payers(keys);
  FOR o IN SELECT x FROM jsonb_array_elements(batch) x ORDER BY (x ->> 'k') COLLATE "C", (x ->> 'i')::integer LOOP
    BEGIN
      answer := apply_batch(ARRAY[o ->> 'k'], owner_ids, jsonb_build_array(o || '{"i":1}'), NULL, 1, given_ms, floor_ms);
      top_ms := greatest(top_ms, (answer ->> 'now')::bigint);
      results[(o ->> 'i')::integer] := answer -> 'results' -> 0;
    EXCEPTION WHEN data_exception OR integrity_constraint_violation OR program_limit_exceeded OR raise_exception
      OR case_not_found THEN
      results[(o ->> 'i')::integer] := json_build_object('kind', 'operation_failed', 'message', sqlerrm);
    END;
  END LOOP;
  RETURN '{"now":' || top_ms || ',"results":[' || array_to_string(results, ',', 'null') || ']}';
END $$;

-- Declares owners dead whose lease is over, then ends holds that have no living owner or are past their expiry: what was
-- marked is charged once, what was not is voided. Returns the time and how many there were of each.
CREATE OR REPLACE FUNCTION gateway.recover_holds(
  at_most integer, given_ms bigint, floor_ms bigint,
  OUT now_ms bigint, OUT charged integer, OUT voided integer, OUT more boolean
) LANGUAGE plpgsql
SET search_path = gateway, pg_temp
AS $$
DECLARE
  keys text[];
  ids text[];
  batch jsonb;
  answer jsonb;
BEGIN
  now_ms := ledger_ms(given_ms, floor_ms);
  -- An owner that is just being served is alive; one that is just being declared dead is.
  DELETE FROM owners w USING (
    SELECT id FROM owners WHERE lease_until_ms <= now_ms ORDER BY id FOR UPDATE SKIP LOCKED
  ) d WHERE w.id = d.id;
  SELECT coalesce(array_agg(f.key_id), '{}'), coalesce(array_agg(f.id), '{}') INTO keys, ids FROM (
    SELECT h.key_id, h.id FROM holds h
      WHERE h.expires_at_ms <= now_ms OR NOT EXISTS (SELECT FROM owners w WHERE w.id = h.owner) LIMIT at_most
  ) f;
  more := cardinality(ids) = at_most;
  PERFORM lock_payers(keys);
  -- Read again under the lock: somebody else may have ended or marked them meanwhile.
  SELECT jsonb_agg(jsonb_build_object('i', f.number, 'k', f.key_id, 'h', f.id) || CASE
      WHEN f.mark_charge IS NULL THEN '{"op":"void"}'::jsonb
      ELSE jsonb_build_object('op', 'settle', 'a', f.mark_charge::text, 'g', 'recovered', 'x', 'charged_incomplete',
        'ti', f.mark_detail -> 'ti', 'tu', f.mark_detail -> 'tu',
        'w', ((f.mark_detail ->> 'ti')::bigint + (f.mark_detail ->> 'tu')::bigint)::text, 'r', (f.mark_detail - 'ti' - 'tu') || jsonb_build_object(
          -- Until it was known to run, not until it was found; its arrival, from which the first byte counts, was before the hold.
          'duration_ms', greatest((f.mark_detail ->> 'duration_ms')::bigint, (f.mark_detail ->> 'first_byte_ms')::bigint),
          'cost_nanos', coalesce(f.mark_detail ->> 'cost_nanos', CASE f.mode WHEN 'credit' THEN f.mark_charge ELSE 0 END::text)))
      END ORDER BY f.number),
      coalesce(sum((f.mark_charge IS NOT NULL)::integer), 0), coalesce(sum((f.mark_charge IS NULL)::integer), 0)
    INTO batch, charged, voided
    FROM (
      SELECT h.*, c.mode, row_number() OVER () AS number FROM unnest(keys, ids) AS u(k, i)
        JOIN holds h ON h.key_id = u.k COLLATE "C" AND h.id = u.i COLLATE "C" JOIN accounts c ON c.key_id = h.key_id
    ) f;
  IF batch IS NOT NULL THEN
    answer := apply_batch(keys, '{}', batch, NULL, jsonb_array_length(batch), now_ms, now_ms);
    now_ms := (answer ->> 'now')::bigint;
  END IF;
END $$;
