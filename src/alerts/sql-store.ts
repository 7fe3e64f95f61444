/** Alerts in SQL that both engines understand, beside the operators. */
import type { AlertType } from '../core/alert-types.ts';
import { amount, integer, integerOrNull, type Row, text, textOrNull } from '../storage/columns.ts';
import { allOf, type SqlEngine, type Value } from '../storage/sql-engine.ts';
import type { Alert } from './alert.ts';
import { alertBody, withoutName } from './alert.ts';
import type {
  AccountReceiver,
  AccountWebhook,
  Delivery,
  DeliveryState,
  DueTarget,
  PageQuery,
  ReceiverKind,
  StoredAlert,
  TargetResult,
} from './port.ts';
import type { BalanceBase } from './shares.ts';

/** The row of the alert itself, beside those of its deliveries. */
const RECORD = '';
/**
 * A delivery that is to be made is `pending`, or `queued` where it is for a kind of receiver that gateways of 0.2 do not know:
 * they would take it for a webhook that is gone.
 */
const WAITING = `state IN ('pending', 'queued')`;
const OF_ANY_VERSION = /^(command|webhook \S+|account \S+)$/;
/** So long a target rests at most after a failure: what is never taken must not keep the rest back for days. */
const REST_MS_MAX = 1_800_000;
/** Targets that have failed last, until what failed is due again. */
const RESTING = `SELECT f.target FROM @alerts f JOIN @alert_results r ON r.target = f.target
  WHERE ${WAITING} AND attempts > 0 AND due_at_ms > $1
    AND failed_at_ms > $1 - ${REST_MS_MAX} AND coalesce(delivered_at_ms, 0) <= failed_at_ms`;
/** At the time that is the first value. */
const DUE = `${WAITING} AND due_at_ms <= $1 AND leased_until_ms <= $1 AND target NOT IN (${RESTING})`;

/** Rows that are read together when names are forgotten. */
const FORGET_PAGE = 1_000;

/** Several gateways may share it. Every change of a delivery is one statement, so that none of them sees half of one. */
export class SqlAlertStore {
  readonly #sql: SqlEngine;

  constructor(sql: SqlEngine) {
    this.#sql = sql;
  }

  /**
   * The alert with a delivery for each target, or nothing where it is known; whether it is new. `leasedUntilMs`: until then its
   * deliveries are the caller's.
   */
  async raise(alert: Alert, targets: readonly string[], nowMs: number, leasedUntilMs = 0): Promise<boolean> {
    const values: Value[] = [alert.id, alert.type, alert.atMs, alertBody(alert), nowMs, leasedUntilMs];
    const rows = [RECORD, ...targets].map((target) => {
      values.push(target);
      const waiting = OF_ANY_VERSION.test(target) ? 'pending' : 'queued';
      const state = target === RECORD ? 'recorded' : waiting;
      return `($1, $${values.length}, $2, $3, $4, '${state}', 0, $5, $6)`;
    });
    const added = await this.#sql.write(
      `INSERT INTO @alerts (id, target, type, at_ms, body, state, attempts, due_at_ms, leased_until_ms)
      VALUES ${rows.join(', ')} ON CONFLICT DO NOTHING RETURNING target`,
      values,
    );
    return added.some(({ target }) => target === RECORD);
  }

  /** The deliveries of an alert that are still to be made, whoever has leased them. */
  async waitingOf(alertId: string): Promise<readonly Delivery[]> {
    const rows = await this.#sql.read(`SELECT * FROM @alerts WHERE id = $1 AND ${WAITING} ORDER BY number`, [alertId]);
    return rows.map(deliveryIn);
  }

  /**
   * Targets with a delivery that is due and that nobody has leased, those after one of them. The operator's own are first, and
   * of these and of the others who waits longest.
   */
  async dueTargets(nowMs: number, limit: number, after: DueTarget | null = null): Promise<readonly DueTarget[]> {
    const place = `CASE WHEN target LIKE 'account %' THEN 1 ELSE 0 END, MIN(due_at_ms), MIN(number)`;
    const behind = after === null ? '' : `HAVING (${place}) > ($3, $4, $5)`;
    const rows = await this.#sql.read(
      `SELECT target, MIN(due_at_ms) AS due_at_ms, MIN(number) AS number FROM @alerts WHERE ${DUE}
      GROUP BY target ${behind} ORDER BY ${place} LIMIT $2`,
      after === null
        ? [nowMs, limit]
        : [nowMs, limit, after.target.startsWith('account ') ? 1 : 0, after.dueAtMs, after.number],
    );
    return rows.map((row) => ({
      target: text(row, 'target'),
      dueAtMs: integer(row, 'due_at_ms'),
      number: integer(row, 'number'),
    }));
  }

  /**
   * Deliveries that are due, the oldest of them, for this caller alone until `leaseUntilMs`: of all, or of one target. The
   * conditions are there twice: whoever waits for the row of another finds them changed.
   */
  async lease(
    nowMs: number,
    leaseUntilMs: number,
    limit: number,
    target: string | null = null,
  ): Promise<readonly Delivery[]> {
    const values: Value[] = [nowMs, leaseUntilMs, limit];
    const due = target === null ? DUE : `${DUE} AND target = $${values.push(target)}`;
    const rows = await this.#sql.write(
      `UPDATE @alerts SET leased_until_ms = $2 WHERE number IN (
        SELECT number FROM @alerts WHERE ${due} ORDER BY at_ms, number LIMIT $3
      ) AND ${due} RETURNING *`,
      values,
    );
    return rows.map(deliveryIn);
  }

  async delivered({ alertId, target, attempts }: Delivery, nowMs: number): Promise<void> {
    await this.#sql.write(
      `UPDATE @alerts SET state = 'delivered', attempts = $3, due_at_ms = $4, error = NULL
      WHERE id = $1 AND target = $2`,
      [alertId, target, attempts + 1, nowMs],
    );
    await this.#sql.write(
      `INSERT INTO @alert_results (target, delivered_at_ms) VALUES ($1, $2)
      ON CONFLICT (target) DO UPDATE SET delivered_at_ms = excluded.delivered_at_ms`,
      [target, nowMs],
    );
  }

  /** To be tried again at `dueAtMs`, or, where that is null, never. */
  async failed(
    { alertId, target, attempts }: Delivery,
    error: string,
    dueAtMs: number | null,
    nowMs: number,
  ): Promise<void> {
    await this.#sql.write(
      `UPDATE @alerts SET state = CASE $3 WHEN 'dead' THEN 'dead' ELSE state END,
        attempts = $4, due_at_ms = $5, leased_until_ms = 0, error = $6
      WHERE id = $1 AND target = $2 AND ${WAITING}`,
      [alertId, target, dueAtMs === null ? 'dead' : 'again', attempts + 1, dueAtMs ?? nowMs, error],
    );
    await this.#sql.write(
      `INSERT INTO @alert_results (target, failed_at_ms, error) VALUES ($1, $2, $3)
      ON CONFLICT (target) DO UPDATE SET failed_at_ms = excluded.failed_at_ms, error = excluded.error`,
      [target, nowMs, error],
    );
  }

  /** Whatever waits for this target is tried no sooner than at `untilMs`. */
  async postpone(target: string, untilMs: number): Promise<void> {
    await this.#sql.write(`UPDATE @alerts SET due_at_ms = $2 WHERE target = $1 AND due_at_ms < $2 AND ${WAITING}`, [
      target,
      untilMs,
    ]);
  }

  /** By target: what became of deliveries to these. */
  async results(targets: readonly string[]): Promise<ReadonlyMap<string, TargetResult>> {
    if (targets.length === 0) return new Map();
    const rows = await this.#sql.read(`SELECT * FROM @alert_results WHERE target IN (${places(targets)})`, targets);
    return new Map(
      rows.map((row) => [
        text(row, 'target'),
        {
          deliveredAtMs: integerOrNull(row, 'delivered_at_ms'),
          failedAtMs: integerOrNull(row, 'failed_at_ms'),
          error: textOrNull(row, 'error'),
        },
      ]),
    );
  }

  /** By target: how many deliveries have not ended. */
  async waiting(): Promise<ReadonlyMap<string, number>> {
    const rows = await this.#sql.read(
      `SELECT target, COUNT(*) AS waiting FROM @alerts WHERE ${WAITING} GROUP BY target LIMIT 10000`,
    );
    return new Map(rows.map((row) => [text(row, 'target'), integer(row, 'waiting')]));
  }

  /** Newest first. */
  async alerts(query: PageQuery & { readonly type: AlertType | null }): Promise<readonly StoredAlert[]> {
    const rows = await this.#page(query, { 'target =': RECORD, 'type =': query.type });
    return rows.map((row) => ({
      number: integer(row, 'number'),
      id: text(row, 'id'),
      type: text(row, 'type') as AlertType,
      atMs: integer(row, 'at_ms'),
      body: text(row, 'body'),
    }));
  }

  /** Newest first. */
  async deliveries(
    query: PageQuery & { readonly state: DeliveryState | null; readonly alertId: string | null },
  ): Promise<readonly (Delivery & { readonly number: number })[]> {
    const wanted = { 'target <>': RECORD, 'id =': query.alertId };
    const rows = await this.#page(query, wanted, stateIs(query.state));
    return rows.map((row) => ({ ...deliveryIn(row), number: integer(row, 'number') }));
  }

  #page(query: PageQuery, wanted: Readonly<Record<string, Value>>, state = 'true'): Promise<readonly Row[]> {
    const values: Value[] = [];
    const conditions = allOf({ ...wanted, 'number <': query.before }, values);
    return this.#sql.read(
      `SELECT * FROM @alerts WHERE ${conditions} AND ${state} ORDER BY number DESC LIMIT $${values.push(query.limit)}`,
      values,
    );
  }

  async base(subject: string): Promise<BalanceBase | null> {
    const [row] = await this.#sql.read('SELECT purchased, used FROM @alert_bases WHERE subject = $1', [subject]);
    return row === undefined ? null : { bought: amount(row, 'purchased'), used: amount(row, 'used') };
  }

  async putBase(subject: string, { bought, used }: BalanceBase): Promise<void> {
    await this.#sql.write(
      `INSERT INTO @alert_bases (subject, purchased, used) VALUES ($1, $2, $3)
      ON CONFLICT (subject) DO UPDATE SET purchased = excluded.purchased, used = excluded.used`,
      [subject, String(bought), String(used)],
    );
  }

  async webhooks(accountIds: readonly string[]): Promise<readonly AccountWebhook[]> {
    if (accountIds.length === 0) return [];
    const rows = await this.#sql.read(
      `SELECT * FROM @account_webhooks WHERE account_id IN (${places(accountIds)})`,
      accountIds,
    );
    return rows.map((row) => ({
      accountId: text(row, 'account_id'),
      url: text(row, 'url'),
      sealedSecret: text(row, 'sealed_secret'),
    }));
  }

  async putWebhook({ accountId, url, sealedSecret }: AccountWebhook): Promise<void> {
    await this.#sql.write(
      `INSERT INTO @account_webhooks (account_id, url, sealed_secret) VALUES ($1, $2, $3)
      ON CONFLICT (account_id) DO UPDATE SET url = excluded.url, sealed_secret = excluded.sealed_secret`,
      [accountId, url, sealedSecret],
    );
  }

  /** Whether there was one. */
  async removeWebhook(accountId: string): Promise<boolean> {
    const sql = 'DELETE FROM @account_webhooks WHERE account_id = $1 RETURNING account_id';
    return (await this.#sql.write(sql, [accountId])).length === 1;
  }

  async receivers(accountIds: readonly string[]): Promise<readonly AccountReceiver[]> {
    if (accountIds.length === 0) return [];
    const rows = await this.#sql.read(
      `SELECT * FROM @account_receivers WHERE account_id IN (${places(accountIds)}) ORDER BY account_id, id`,
      accountIds,
    );
    return rows.map(receiverIn);
  }

  async receiver(id: string): Promise<AccountReceiver | null> {
    const [row] = await this.#sql.read('SELECT * FROM @account_receivers WHERE id = $1', [id]);
    return row === undefined ? null : receiverIn(row);
  }

  /** Nothing where the account has as many as it may have; whether it was added. */
  async addReceiver(receiver: AccountReceiver, max: number): Promise<boolean> {
    const { id, accountId, kind, shown, sealedAddress } = receiver;
    const added = await this.#sql.write(
      `INSERT INTO @account_receivers (id, account_id, kind, shown, sealed_address)
      SELECT $1, $2, $3, $4, $5 WHERE (SELECT COUNT(*) FROM @account_receivers WHERE account_id = $2) < $6
      RETURNING id`,
      [id, accountId, kind, shown, sealedAddress, max],
    );
    return added.length === 1;
  }

  /** Whether the account had it. */
  async removeReceiver(accountId: string, id: string): Promise<boolean> {
    const sql = 'DELETE FROM @account_receivers WHERE account_id = $1 AND id = $2 RETURNING id';
    return (await this.#sql.write(sql, [accountId, id])).length === 1;
  }

  /** Accounts with a webhook or another receiver, by their ids, those after one of them. */
  async accountsWithReceivers(after: string, limit: number): Promise<readonly string[]> {
    const rows = await this.#sql.read(
      `SELECT account_id FROM (SELECT account_id FROM @account_webhooks UNION SELECT account_id FROM @account_receivers) a
      WHERE account_id > $1 ORDER BY account_id LIMIT $2`,
      [after, limit],
    );
    return rows.map((row) => text(row, 'account_id'));
  }

  /** Of a target that is no more: what its deliveries failed with may name a person. */
  async forgetTarget(target: string): Promise<void> {
    await this.#sql.write('DELETE FROM @alert_results WHERE target = $1', [target]);
    await this.#sql.write('UPDATE @alerts SET error = NULL WHERE target = $1 AND error IS NOT NULL', [target]);
  }

  /** Of these keys and accounts, wherever an alert has it. */
  async forgetNames(ids: ReadonlySet<string>): Promise<void> {
    for (let after: number | null = 0; after !== null; ) {
      const rows: readonly Row[] = await this.#sql.read(
        `SELECT number, id, body FROM @alerts WHERE number > $1 AND body LIKE '%"name":"%' ORDER BY number LIMIT $2`,
        [after, FORGET_PAGE],
      );
      // All rows of an alert have the same body.
      const bodies = new Map(rows.map((row) => [text(row, 'id'), text(row, 'body')]));
      for (const [id, body] of bodies) {
        const nameless = withoutName(body, ids);
        if (nameless !== null) await this.#sql.write('UPDATE @alerts SET body = $2 WHERE id = $1', [id, nameless]);
      }
      const last = rows.at(-1);
      after = last === undefined || rows.length < FORGET_PAGE ? null : integer(last, 'number');
    }
  }

  /** Whether `owner` is the one who watches, from now until `untilMs`. */
  async watchAs(owner: string, nowMs: number, untilMs: number): Promise<boolean> {
    const rows = await this.#sql.write(
      `INSERT INTO @alert_watch (id, owner, until_ms) VALUES (1, $1, $3)
      ON CONFLICT (id) DO UPDATE SET owner = excluded.owner, until_ms = excluded.until_ms
      WHERE alert_watch.owner = $1 OR alert_watch.until_ms <= $2 RETURNING owner`,
      [owner, nowMs, untilMs],
    );
    return rows.length === 1;
  }

  async prune(untilMs: number): Promise<void> {
    await this.#sql.write(`DELETE FROM @alerts WHERE at_ms < $1 AND NOT (${WAITING})`, [untilMs]);
  }
}

function deliveryIn(row: Row): Delivery {
  const state = text(row, 'state');
  return {
    alertId: text(row, 'id'),
    target: text(row, 'target'),
    type: text(row, 'type') as AlertType,
    atMs: integer(row, 'at_ms'),
    body: text(row, 'body'),
    state: state === 'queued' ? 'pending' : (state as DeliveryState),
    attempts: integer(row, 'attempts'),
    dueAtMs: integer(row, 'due_at_ms'),
    error: textOrNull(row, 'error'),
  };
}

function receiverIn(row: Row): AccountReceiver {
  return {
    id: text(row, 'id'),
    accountId: text(row, 'account_id'),
    kind: text(row, 'kind') as ReceiverKind,
    shown: text(row, 'shown'),
    sealedAddress: text(row, 'sealed_address'),
  };
}

function stateIs(state: DeliveryState | null): string {
  if (state === null) return 'true';
  return state === 'pending' ? WAITING : `state = '${state}'`;
}

function places(values: readonly unknown[]): string {
  return values.map((_, index) => `$${index + 1}`).join(', ');
}
