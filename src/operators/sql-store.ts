/** The operators' store in SQL that both engines understand: every operation is one statement. */
import { integer, integerOrNull, type Row, text, textOrNull } from '../storage/columns.ts';
import { allOf, type SqlEngine, type Value } from '../storage/sql-engine.ts';
import type {
  Actor,
  ActorVia,
  AuditOutcome,
  AuditRecord,
  AuditTrailEntry,
  AuditTrailQuery,
  ClaimOutcome,
  Credential,
  CredentialFilter,
  CredentialKind,
  FoundCredential,
  Operator,
  OperatorSetting,
  ReplyClaim,
  Role,
} from './port.ts';

const OPERATOR = 'o.id, o.name, o.role, o.account_id, o.created_at_ms, o.revoked_at_ms';
const CREDENTIAL =
  'c.id AS credential_id, c.kind, c.operator_id, c.digest, c.label, c.made_with, c.created_at_ms AS made_at_ms, c.expires_at_ms, c.ended_at_ms';

/** An import can make thousands of keys. */
const SETTINGS_AT_ONCE = 100;

export class SqlOperatorStore {
  readonly #sql: SqlEngine;

  constructor(engine: SqlEngine) {
    this.#sql = engine;
  }

  /** Oldest first. */
  async operators(): Promise<readonly Operator[]> {
    const rows = await this.#sql.read(`SELECT ${OPERATOR} FROM @operators o ORDER BY o.created_at_ms, o.id`);
    return rows.map(operatorIn);
  }

  async operator(id: string): Promise<Operator | null> {
    const [row] = await this.#sql.read(`SELECT ${OPERATOR} FROM @operators o WHERE o.id = $1`, [id]);
    return row === undefined ? null : operatorIn(row);
  }

  /** False where an operator that is not revoked has this name. */
  async createOperator({ id, name, role, accountId, createdAtMs }: Operator): Promise<boolean> {
    const rows = await this.#sql.write(
      `INSERT INTO @operators (id, name, role, account_id, created_at_ms) VALUES ($1, $2, $3, $4, $5)
      ON CONFLICT DO NOTHING RETURNING id`,
      [id, name, role, accountId, createdAtMs],
    );
    return rows.length === 1;
  }

  async changeRole(id: string, role: Role, accountId: string | null): Promise<void> {
    await this.#sql.write('UPDATE @operators SET role = $2, account_id = $3 WHERE id = $1', [id, role, accountId]);
  }

  /** Ends its credentials too. */
  async revokeOperator(id: string, atMs: number): Promise<void> {
    await this.#sql.write('UPDATE @operators SET revoked_at_ms = $2 WHERE id = $1 AND revoked_at_ms IS NULL', [
      id,
      atMs,
    ]);
    await this.endCredentials({ operatorId: id, kinds: ['token', 'sign_in', 'session'] }, atMs);
  }

  /** Of an operator that is revoked, whose name may be that of others too. Its credentials lose their labels. */
  async rename(id: string, name: string): Promise<void> {
    await this.#sql.write('UPDATE @operators SET name = $2 WHERE id = $1', [id, name]);
    await this.#sql.write('UPDATE @operator_credentials SET label = NULL WHERE operator_id = $1', [id]);
  }

  async createCredential(credential: Credential): Promise<void> {
    const { id, kind, operatorId, digest, label, madeWith, createdAtMs, expiresAtMs } = credential;
    await this.#sql.write(
      `INSERT INTO @operator_credentials (id, kind, operator_id, digest, label, made_with, created_at_ms, expires_at_ms)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
      [id, kind, operatorId, digest, label, madeWith, createdAtMs, expiresAtMs],
    );
  }

  /** Whatever its state; null where there is none, or where what it was made with has ended. */
  async findCredential(kind: CredentialKind, digest: string): Promise<FoundCredential | null> {
    const [row] = await this.#sql.read(
      `SELECT ${OPERATOR}, ${CREDENTIAL} FROM @operator_credentials c JOIN @operators o ON o.id = c.operator_id
      WHERE c.digest = $1 AND c.kind = $2 AND (c.made_with IS NULL OR EXISTS (
        SELECT 1 FROM @operator_credentials m WHERE m.id = c.made_with AND m.ended_at_ms IS NULL))`,
      [digest, kind],
    );
    return row === undefined ? null : { credential: credentialIn(row), operator: operatorIn(row) };
  }

  /** Of all kinds, newest first. */
  async credentials(operatorId: string): Promise<readonly Credential[]> {
    const rows = await this.#sql.read(
      `SELECT ${CREDENTIAL} FROM @operator_credentials c WHERE c.operator_id = $1
      ORDER BY c.created_at_ms DESC, c.id DESC`,
      [operatorId],
    );
    return rows.map(credentialIn);
  }

  /** How many were ended by this call; one that had ended before is not counted. */
  async endCredentials({ operatorId, kinds, id }: CredentialFilter, atMs: number): Promise<number> {
    const values: Value[] = [operatorId, atMs, ...kinds];
    const kindsList = kinds.map((_, index) => `$${index + 3}`).join(', ');
    if (id !== undefined) values.push(id);
    const rows = await this.#sql.write(
      `UPDATE @operator_credentials SET ended_at_ms = $2 WHERE operator_id = $1 AND ended_at_ms IS NULL
      AND kind IN (${kindsList})${id === undefined ? '' : ` AND id = $${values.length}`} RETURNING id`,
      values,
    );
    return rows.length;
  }

  /** Removes credentials that nobody can use since before `untilMs`. */
  async pruneCredentials(untilMs: number): Promise<void> {
    await this.#sql.write('DELETE FROM @operator_credentials WHERE expires_at_ms < $1 OR ended_at_ms < $1', [untilMs]);
  }

  async append(record: AuditRecord): Promise<void> {
    const { actor, from } = record;
    await this.#sql.write(
      `INSERT INTO @audit_trail (at_ms, actor_id, actor_name, actor_role, actor_account, via, action, target, outcome, reason,
        state_before, state_after, address, user_agent, request_id)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)`,
      [
        record.atMs,
        actor?.id ?? null,
        actor?.name ?? null,
        actor?.role ?? null,
        actor?.accountId ?? null,
        actor?.via ?? null,
        record.action,
        record.target,
        record.outcome,
        record.reason,
        record.before,
        record.after,
        from.address,
        from.userAgent,
        from.requestId,
      ],
    );
  }

  /** Newest first. */
  async auditTrail(query: AuditTrailQuery): Promise<readonly AuditTrailEntry[]> {
    const values: Value[] = [];
    const wanted = {
      'number <': query.before,
      'number >': query.after,
      'actor_id =': query.actorId,
      'action =': query.action,
      'target =': query.target,
      'outcome =': query.outcome,
      'at_ms >=': query.sinceMs,
      'at_ms <': query.untilMs,
    };
    // As the index of such entries says it.
    const notDone = query.outcome === undefined || query.outcome === 'done' ? '' : " AND outcome <> 'done'";
    const rows = await this.#sql.read(
      `SELECT * FROM @audit_trail WHERE ${allOf(wanted, values)}${notDone} ORDER BY number DESC LIMIT $${values.push(query.limit)}`,
      values,
    );
    return rows.map(entryIn);
  }

  /** Each field of a subject once; what was noted of it before is replaced. */
  async noteSettings(settings: readonly OperatorSetting[]): Promise<void> {
    for (let from = 0; from < settings.length; from += SETTINGS_AT_ONCE) {
      const some = settings.slice(from, from + SETTINGS_AT_ONCE);
      const rows = some.map((_, index) => `($${index * 3 + 1}, $${index * 3 + 2}, $${index * 3 + 3})`);
      await this.#sql.write(
        `INSERT INTO @operator_settings (subject, field, value) VALUES ${rows.join(', ')}
        ON CONFLICT (subject, field) DO UPDATE SET value = excluded.value`,
        some.flatMap(({ subject, field, value }) => [subject, field, value]),
      );
    }
  }

  async settingsOf(subject: string): Promise<readonly OperatorSetting[]> {
    const rows = await this.#sql.read('SELECT field, value FROM @operator_settings WHERE subject = $1', [subject]);
    return rows.map((row) => ({ subject, field: text(row, 'field'), value: text(row, 'value') }));
  }

  async claim({ name, fingerprint, atMs }: ReplyClaim): Promise<ClaimOutcome> {
    const inserted = await this.#sql.write(
      `INSERT INTO @operator_replies (name, fingerprint, at_ms) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING RETURNING name`,
      [name, fingerprint, atMs],
    );
    if (inserted.length === 1) return { kind: 'fresh' };
    const [row] = await this.#sql.read('SELECT fingerprint, reply FROM @operator_replies WHERE name = $1', [name]);
    if (row === undefined) return { kind: 'running' };
    if (text(row, 'fingerprint') !== fingerprint) return { kind: 'other_request' };
    const reply = textOrNull(row, 'reply');
    return reply === null ? { kind: 'running' } : { kind: 'replay', reply };
  }

  async keepReply(name: string, reply: string): Promise<void> {
    await this.#sql.write('UPDATE @operator_replies SET reply = $2 WHERE name = $1', [name, reply]);
  }

  async pruneClaims(untilMs: number): Promise<void> {
    await this.#sql.write('DELETE FROM @operator_replies WHERE at_ms < $1', [untilMs]);
  }

  close(): Promise<void> {
    return this.#sql.close();
  }
}

function operatorIn(row: Row): Operator {
  return {
    id: text(row, 'id'),
    name: text(row, 'name'),
    role: text(row, 'role') as Role,
    accountId: textOrNull(row, 'account_id'),
    createdAtMs: integer(row, 'created_at_ms'),
    revokedAtMs: integerOrNull(row, 'revoked_at_ms'),
  };
}

function credentialIn(row: Row): Credential {
  return {
    id: text(row, 'credential_id'),
    kind: text(row, 'kind') as CredentialKind,
    operatorId: text(row, 'operator_id'),
    digest: text(row, 'digest'),
    label: textOrNull(row, 'label'),
    madeWith: textOrNull(row, 'made_with'),
    createdAtMs: integer(row, 'made_at_ms'),
    expiresAtMs: integer(row, 'expires_at_ms'),
    endedAtMs: integerOrNull(row, 'ended_at_ms'),
  };
}

function entryIn(row: Row): AuditTrailEntry {
  return {
    number: integer(row, 'number'),
    atMs: integer(row, 'at_ms'),
    actor: actorIn(row),
    from: {
      address: textOrNull(row, 'address'),
      userAgent: textOrNull(row, 'user_agent'),
      requestId: textOrNull(row, 'request_id'),
    },
    action: text(row, 'action'),
    target: textOrNull(row, 'target'),
    outcome: text(row, 'outcome') as AuditOutcome,
    reason: textOrNull(row, 'reason'),
    before: textOrNull(row, 'state_before'),
    after: textOrNull(row, 'state_after'),
  };
}

function actorIn(row: Row): Actor | null {
  const id = textOrNull(row, 'actor_id');
  if (id === null) return null;
  return {
    id,
    name: text(row, 'actor_name'),
    role: text(row, 'actor_role') as Role,
    accountId: textOrNull(row, 'actor_account'),
    via: text(row, 'via') as ActorVia,
  };
}
