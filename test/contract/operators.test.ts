/** What both engines of the operators' store promise; and that gateways on one database agree. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { openPostgresStore } from '../../src/ledger/postgres/store.ts';
import { openLogFile } from '../../src/ledger/sqlite/wal-file.ts';
import type { AuditRecord, AuditTrailQuery, Credential, Operator } from '../../src/operators/port.ts';
import { openPostgresEngine } from '../../src/operators/postgres.ts';
import { SqlOperatorStore } from '../../src/operators/sql-store.ts';
import { openSqliteEngine } from '../../src/operators/sqlite.ts';
import { Connection } from '../../src/storage/postgres/connection.ts';
import { startPostgres } from '../support/postgres.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const server = await startPostgres();
after(() => server.stop());
const folder = temporaryFolder('gw-operators');

let files = 0;

/** Opens the same store again, as another gateway would. */
type Opened = { open(): Promise<SqlOperatorStore> };

const ENGINES: Readonly<Record<string, () => Promise<Opened>>> = {
  SQLite: async () => {
    const file = join(folder, `operators-${files++}.db`);
    return { open: async () => new SqlOperatorStore(openSqliteEngine({ file, openLog: openLogFile })) };
  },
  PostgreSQL: async () => {
    const url = server.url(await server.createDatabase());
    await (await openPostgresStore({ url })).close();
    const options = { url, statementTimeoutMs: 120_000, lockTimeoutMs: 120_000 };
    return { open: async () => new SqlOperatorStore(await openPostgresEngine(new Connection(options))) };
  },
};

const ANN: Operator = {
  id: 'op_ann',
  name: 'ann',
  role: 'account-admin',
  accountId: 'acc_1',
  createdAtMs: 5,
  revokedAtMs: null,
};

function credential(id: string, given: Partial<Credential> = {}): Credential {
  return {
    id,
    kind: 'token',
    operatorId: 'op_ann',
    digest: `digest of ${id}`,
    label: null,
    madeWith: null,
    createdAtMs: 10,
    expiresAtMs: 100,
    endedAtMs: null,
    ...given,
  };
}

function record(action: string, given: Partial<AuditRecord> = {}): AuditRecord {
  return {
    atMs: 1,
    actor: { id: 'op_ann', name: 'ann', role: 'viewer', accountId: null, via: 'session' },
    from: { address: '127.0.0.1', userAgent: 'x', requestId: 'r' },
    action,
    target: 'key_1',
    outcome: 'done',
    reason: null,
    before: null,
    after: '{"a":1}',
    ...given,
  };
}

for (const [name, fresh] of Object.entries(ENGINES)) {
  describe(`the operators' store on ${name}`, () => {
    test('has the built-in owner, takes a name once, and again after its operator was revoked', async (t) => {
      const store = await (await fresh()).open();
      t.after(() => store.close());
      assert.deepEqual(
        (await store.operators()).map(({ id, role }) => [id, role]),
        [['owner', 'owner']],
      );
      assert.equal(await store.createOperator(ANN), true);
      assert.deepEqual(await store.operator('op_ann'), ANN);
      assert.equal(await store.createOperator({ ...ANN, id: 'op_other' }), false);
      await store.changeRole('op_ann', 'viewer', null);
      assert.deepEqual(await store.operator('op_ann'), { ...ANN, role: 'viewer', accountId: null });
      await store.revokeOperator('op_ann', 50);
      await store.revokeOperator('op_ann', 60);
      assert.equal((await store.operator('op_ann'))?.revokedAtMs, 50);
      assert.equal(await store.createOperator({ ...ANN, id: 'op_other' }), true);
      assert.equal(await store.operator('op_none'), null);
    });

    test('ends a credential once, also when two come for it at the same moment', async (t) => {
      const { open } = await fresh();
      const [store, other] = [await open(), await open()];
      t.after(() => Promise.all([store.close(), other.close()]));
      await store.createOperator(ANN);
      await store.createCredential(credential('ses_1', { kind: 'sign_in' }));
      const filter = { operatorId: 'op_ann', kinds: ['sign_in'], id: 'ses_1' } as const;
      const ended = await Promise.all([store.endCredentials(filter, 20), other.endCredentials(filter, 20)]);
      assert.deepEqual(ended.sort(), [0, 1]);
    });

    test('what one gateway revokes is over for the others, at once', async (t) => {
      const { open } = await fresh();
      const [store, other] = [await open(), await open()];
      t.after(() => Promise.all([store.close(), other.close()]));
      await store.createOperator(ANN);
      await store.createCredential(credential('tok_1', { label: 'ci' }));
      await store.createCredential(credential('ses_1', { kind: 'session', createdAtMs: 11 }));
      const found = await other.findCredential('token', 'digest of tok_1');
      assert.deepEqual(found, { credential: credential('tok_1', { label: 'ci' }), operator: ANN });
      assert.equal(await other.findCredential('session', 'digest of tok_1'), null);
      assert.deepEqual(
        (await other.credentials('op_ann')).map(({ id }) => id),
        ['ses_1', 'tok_1'],
      );
      await store.revokeOperator('op_ann', 30);
      const after = await other.findCredential('token', 'digest of tok_1');
      assert.deepEqual([after?.credential.endedAtMs, after?.operator.revokedAtMs], [30, 30]);
      await store.pruneCredentials(31);
      assert.deepEqual(await other.credentials('op_ann'), []);
    });

    test('finds a session no more once the token that it was made with has ended', async (t) => {
      const { open } = await fresh();
      const [store, other] = [await open(), await open()];
      t.after(() => Promise.all([store.close(), other.close()]));
      await store.createOperator(ANN);
      for (const id of ['tok_1', 'tok_2']) await store.createCredential(credential(id));
      await store.createCredential(credential('ses_1', { kind: 'session', madeWith: 'tok_1' }));
      await store.createCredential(credential('ses_2', { kind: 'session', madeWith: 'tok_2' }));
      await store.createCredential(credential('ses_3', { kind: 'session' }));
      await store.endCredentials({ operatorId: 'op_ann', kinds: ['token'], id: 'tok_1' }, 20);
      // One that signed in while the token was being revoked.
      await store.createCredential(credential('ses_4', { kind: 'session', madeWith: 'tok_1' }));
      const found = ['ses_1', 'ses_2', 'ses_3', 'ses_4'].map((id) =>
        other.findCredential('session', `digest of ${id}`),
      );
      const ids = (await Promise.all(found)).map((session) => session?.credential.id ?? null);
      assert.deepEqual(ids, [null, 'ses_2', 'ses_3', null]);
    });

    test('notes what operators set, the last value of each field, however many at once', async (t) => {
      const { open } = await fresh();
      const [store, other] = [await open(), await open()];
      t.after(() => Promise.all([store.close(), other.close()]));
      const setting = (subject: string, field: string, value: string) => ({ subject, field, value });
      const many = Array.from({ length: 250 }, (_, index) => setting(`key_${index}`, 'rpmLimit', String(index)));
      await store.noteSettings(many);
      await store.noteSettings([setting('key_7', 'rpmLimit', '5'), setting('key_7', 'models', '["a"]')]);
      assert.deepEqual(
        (await other.settingsOf('key_7')).toSorted((one, two) => one.field.localeCompare(two.field)),
        [setting('key_7', 'models', '["a"]'), setting('key_7', 'rpmLimit', '5')],
      );
      assert.deepEqual(await other.settingsOf('key_249'), [setting('key_249', 'rpmLimit', '249')]);
      assert.deepEqual(await other.settingsOf('key_none'), []);
    });

    test('keeps the trail in order, finds entries by what is asked, and refuses to change one', async (t) => {
      const store = await (await fresh()).open();
      t.after(() => store.close());
      await store.append(record('key.create'));
      await store.append(record('key.change', { outcome: 'refused', reason: 'no', after: null, atMs: 2 }));
      await store.append(record('session.create', { actor: null, target: null, atMs: 3 }));
      const all = await store.auditTrail({ limit: 10 });
      assert.deepEqual(
        all.map(({ number, action }) => [number, action]),
        [
          [3, 'session.create'],
          [2, 'key.change'],
          [1, 'key.create'],
        ],
      );
      assert.deepEqual(all[2], { ...record('key.create'), number: 1 });
      assert.equal(all[0]?.actor, null);
      const actions = async (query: object): Promise<string[]> =>
        (await store.auditTrail({ limit: 10, ...query })).map(({ action }) => action);
      assert.deepEqual(await actions({ before: 3, limit: 1 }), ['key.change']);
      assert.deepEqual(await actions({ actorId: 'op_ann', outcome: 'done' }), ['key.create']);
      assert.deepEqual(await actions({ target: 'key_1', action: 'key.change' }), ['key.change']);
      assert.deepEqual(await actions({ sinceMs: 2, untilMs: 3 }), ['key.change']);
    });

    test('gives a claim to one, and its answer to those who come after', async (t) => {
      const { open } = await fresh();
      const [store, other] = [await open(), await open()];
      t.after(() => Promise.all([store.close(), other.close()]));
      const claim = { name: 'n', fingerprint: 'f', atMs: 1 };
      const kinds = (await Promise.all([store.claim(claim), other.claim(claim)])).map(({ kind }) => kind);
      assert.deepEqual(kinds.sort(), ['fresh', 'running']);
      assert.deepEqual(await other.claim({ ...claim, fingerprint: 'g' }), { kind: 'other_request' });
      await store.keepReply('n', 'sealed');
      assert.deepEqual(await other.claim(claim), { kind: 'replay', reply: 'sealed' });
      await store.pruneClaims(2);
      assert.deepEqual(await other.claim(claim), { kind: 'fresh' });
    });
  });
}

describe('the audit trail in SQLite', () => {
  test('finds entries of an actor, an action, a target or an outcome by an index: nobody waits while all of it is read', async (t) => {
    const engine = openSqliteEngine({ file: join(folder, 'plans.db'), openLog: openLogFile });
    t.after(() => engine.close());
    const planOf = async (query: Omit<AuditTrailQuery, 'limit'>): Promise<string> => {
      let plan: readonly object[] = [];
      const read: typeof engine.read = async (sql, values) => {
        plan = await engine.read(`EXPLAIN QUERY PLAN ${sql}`, values);
        return [];
      };
      await new SqlOperatorStore({ ...engine, read }).auditTrail({ limit: 1_000, ...query });
      return plan.map((step) => String(Reflect.get(step, 'detail'))).join('; ');
    };
    const indexes = {
      audit_trail_by_actor: [{ actorId: 'op_ann' }, { actorId: 'op_ann', outcome: 'done' }],
      audit_trail_by_action: [{ action: 'x' }, { action: 'x', outcome: 'done' }, { action: 'x', actorId: 'op_ann' }],
      audit_trail_not_done: [{ outcome: 'refused' }, { outcome: 'unknown', before: 9 }],
      audit_trail_by_target: [
        { target: 'key_1' },
        { target: 'key_1', action: 'x', actorId: 'op_ann', outcome: 'done' },
      ],
      'INTEGER PRIMARY KEY': [{ before: 9 }, { after: 9, before: 20 }],
    } as const;
    for (const [index, queries] of Object.entries(indexes)) {
      for (const query of queries) {
        const plan = await planOf(query);
        assert.match(plan, new RegExp(`^SEARCH audit_trail USING (INDEX )?${index} \\([^;]*$`), JSON.stringify(query));
      }
    }
  });
});

describe('the operators in PostgreSQL', () => {
  test('several gateways that start at once make the tables once, and the trail refuses changes', async (t) => {
    const url = server.url(await server.createDatabase());
    await (await openPostgresStore({ url })).close();
    const options = { url, statementTimeoutMs: 120_000, lockTimeoutMs: 120_000 };
    const stores = await Promise.all(
      [1, 2, 3, 4].map(async () => new SqlOperatorStore(await openPostgresEngine(new Connection(options)))),
    );
    t.after(() => Promise.all(stores.map((store) => store.close())));
    for (const store of stores) assert.equal((await store.operators()).length, 1);
    await stores[0]?.append(record('x'));
    const connection = new Connection(options);
    t.after(() => connection.close());
    for (const sql of [
      "UPDATE gateway.audit_trail SET action = 'y'",
      'DELETE FROM gateway.audit_trail',
      'TRUNCATE gateway.audit_trail',
    ]) {
      await assert.rejects(connection.query(sql), /append-only/);
    }
  });
});
