/** The audit trail, changes that are sent again, and changes that cross each other. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, test } from 'node:test';
import { operatorsFile } from '../../../src/admin/data-folder.ts';
import { findCommand, readArguments } from '../../../src/cli/arguments.ts';
import { COMMANDS } from '../../../src/cli/commands.ts';
import { appFixture } from '../../support/admin-app.ts';
import { testOperators } from '../../support/admin-fixture.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const NEW_KEY = { mode: 'credit', credit: '1', label: 'a' };

describe('the audit trail', () => {
  test('says who changed what, from what to what, and from where; without the text of a key', async (t) => {
    const { send, token, service } = await appFixture(t);
    const authorization = `Bearer ${await token('operator')}`;
    const headers = { authorization, 'user-agent': 'curl/8' };
    const made = await send('POST', '/keys', { body: NEW_KEY, headers });
    const changed = await send('PATCH', `/keys/${made.body.id}`, { body: { label: 'b', rpm_limit: 5 }, headers });
    await send('PATCH', `/keys/${made.body.id}`, { body: { budget: 5 }, headers });
    const { data } = await service.auditTrail({ target: String(made.body.id) });
    const [refused, change, creation] = data;
    assert.deepEqual(change, {
      number: change?.number,
      at: '2026-01-15T12:00:00.000Z',
      actor: { id: change?.actor?.id, name: 'operator 0', role: 'operator', via: 'token' },
      action: 'key.change',
      target: made.body.id,
      outcome: 'done',
      reason: null,
      before: { label: 'a', rpm_limit: null, version: 1 },
      after: { label: 'b', rpm_limit: 5, version: 2 },
      address: '127.0.0.1',
      user_agent: 'curl/8',
      request_id: changed.headers['x-request-id'],
    });
    assert.deepEqual([refused?.outcome, refused?.before, refused?.after], ['refused', null, null]);
    assert.match(refused?.reason ?? '', /is a credit key: it has no budget/);
    assert.deepEqual([creation?.before, Reflect.get(Object(creation?.after), 'label')], [null, 'a']);
    assert.ok(!JSON.stringify(data).includes(String(made.body.key)));
  });

  test('never shows a secret that was sent in the place of an id, of a value, or of the name of a program', async (t) => {
    const { send, service } = await appFixture(t);
    const secrets = [
      'mg_c_short123',
      'sk-proj-abcdefghij',
      'AKIAIOSFODNN7EXAMPLE',
      'ghp_16C7e42F292c6912E7710c838347Ae178B4a',
      'AIzaSyA-1234567890abcdefghijklmnopqrstuv',
      'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U',
      '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
    ];
    for (const secret of secrets) {
      await send('DELETE', `/keys/${secret}`, { headers: { 'user-agent': `script/1 (${secret})` } });
      await send('POST', '/keys', { body: { ...NEW_KEY, [secret]: 1 } });
    }
    const { data } = await service.auditTrail({ outcome: 'refused' });
    assert.equal(data.length, 2 * secrets.length);
    const shown = JSON.stringify(data);
    for (const secret of secrets) {
      const [longest = ''] = (secret.match(/[A-Za-z0-9]+/g) ?? []).sort((a, b) => b.length - a.length);
      assert.ok(!shown.includes(longest), secret);
    }
  });

  test('shows the ids, models and programs that an entry is about', async (t) => {
    const { send, service } = await appFixture(t);
    const agent = 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/153.0.0.0';
    const target = 'key_0123456789abcdef0123';
    const model = 'anthropic/claude-3-5-haiku-20241022';
    await send('PATCH', `/keys/${target}`, { body: { label: 'b' }, headers: { 'user-agent': agent } });
    await send('POST', '/keys', { body: { ...NEW_KEY, [model]: 1 } });
    const { data } = await service.auditTrail({ outcome: 'refused' });
    const [create, change] = data;
    assert.equal(change?.target, target);
    assert.equal(change.user_agent, agent);
    assert.ok(create?.reason?.includes(model), create?.reason ?? '');
  });

  test('is read in pages, and by actor, action, outcome and time', async (t) => {
    const { send, service, clock } = await appFixture(t);
    for (let number = 0; number < 5; number++) {
      await service.createKey(NEW_KEY);
      clock.atMs += 60_000;
    }
    await assert.rejects(service.revokeKey('key_none'));
    const seen: number[] = [];
    let cursor: unknown = null;
    do {
      const next = cursor === null ? '' : `&cursor=${cursor}`;
      const { body } = await send('GET', `/audit-trail?limit=2${next}`);
      const { data, next_cursor } = body as unknown as { data: { number: number }[]; next_cursor: string | null };
      seen.push(...data.map(({ number }) => number));
      cursor = next_cursor;
    } while (cursor !== null);
    assert.deepEqual(seen, [6, 5, 4, 3, 2, 1]);
    const count = async (query: string): Promise<unknown> =>
      ((await send('GET', `/audit-trail?${query}`)).body.data as object[] | undefined)?.length;
    assert.equal(await count('action=key.create'), 5);
    assert.equal(await count('outcome=refused'), 1);
    assert.equal(await count('actor=nobody'), 0);
    assert.equal(await count('since=2026-01-15T12:02:00Z&until=2026-01-15T12:04:00Z'), 2);
    for (const wrong of ['limit=0', 'limit=501', 'cursor=x', 'outcome=maybe', 'since=soon', 'colour=red']) {
      const { status, body } = await send('GET', `/audit-trail?${wrong}`);
      assert.deepEqual([status, body.error.code], [400, 'invalid_input'], wrong);
    }
  });

  test('leaves out only the field that is too long: what else was changed is told, and that the long one was', async (t) => {
    const { send, operators } = await appFixture(t);
    const account = (await send('POST', '/accounts', { body: { name: 'acme' } })).body.id;
    const { body } = await send('POST', '/keys', { body: { mode: 'credit', account, cap: '5' } });
    const id = String(body.id);
    const models = (letter: string): object => ({
      models: Array.from({ length: 120 }, (_, index) => `${letter.repeat(190)}${index}/*`),
    });
    await send('PATCH', `/keys/${id}`, { body: { cap: '100000', ...models('a') } });
    await send('PATCH', `/keys/${id}`, { body: models('b') });
    const from = { address: null, userAgent: null, requestId: null };
    const old = { before: '{"cap":"5","version":1}', after: '{"too_large":23000}' };
    const entry = { actor: null, from, action: 'key.change', target: id, outcome: 'done', reason: null } as const;
    await operators.record({ ...entry, ...old });
    const { data } = (await send('GET', `/keys/${id}/history`)).body as unknown as {
      data: { changes: readonly { field: string; from: string | null; to: string | null }[] }[];
    };
    const [ofOldRelease, second, first] = data.map(({ changes }) =>
      changes.map(({ field, from, to }) => [field, from, to?.replace(/sha256 [0-9a-f]{16}\)$/, 'digest)') ?? null]),
    );
    assert.deepEqual(first, [
      ['models', null, '(23651 characters, digest)'],
      ['cap', '{"amount":5,"period":"month","used":0}', '{"amount":100000,"period":"month","used":0}'],
    ]);
    const long = /^\((\d+) characters, sha256 [0-9a-f]{16}\)$/;
    const [change] = data[1]?.changes ?? [];
    assert.equal(change?.field, 'models');
    assert.match(change.from ?? '', long);
    assert.match(change.to ?? '', long);
    assert.notEqual(change.from, change.to);
    assert.equal(second?.length, 1);
    assert.deepEqual(ofOldRelease, [
      ['cap', '5', 'unknown'],
      ['too_large', null, '23000'],
    ]);
  });

  test('tells what was booked once as once in a history, however often it was sent', async (t) => {
    const { send } = await appFixture(t);
    const id = String((await send('POST', '/accounts', { body: { name: 'acme' } })).body.id);
    for (const entry_id of ['may', 'may', 'june', 'may']) {
      assert.equal((await send('POST', `/accounts/${id}/credit`, { body: { amount: '5', entry_id } })).status, 200);
    }
    const { data } = (await send('GET', `/accounts/${id}/history`)).body as unknown as {
      data: { action: string; amount: number | null }[];
    };
    assert.deepEqual(
      data.map(({ action, amount }) => [action, amount]),
      [
        ['account.credit', 5],
        ['account.credit', 5],
        ['account.create', null],
      ],
    );
  });

  test('cannot be changed or shortened, not even in the file', async (t) => {
    const folder = temporaryFolder();
    const operators = testOperators(folder, { nowMs: () => 1 });
    t.after(() => operators.close());
    const from = { address: null, userAgent: null, requestId: null };
    await operators.record({
      actor: null,
      from,
      action: 'x',
      target: null,
      outcome: 'done',
      reason: null,
      before: null,
      after: null,
    });
    const database = new DatabaseSync(operatorsFile(folder));
    t.after(() => database.close());
    assert.throws(() => database.exec("UPDATE audit_trail SET action = 'y'"), /the audit trail is append-only/);
    assert.throws(() => database.exec('DELETE FROM audit_trail'), /the audit trail is append-only/);
    assert.equal((await operators.auditTrail({ limit: 9 })).length, 1);
  });

  test('that cannot be written leaves the change as it is, and somebody is told', async (t) => {
    const failed: unknown[] = [];
    const fixture = await appFixture(t, { onTrailFailure: (_error, { action }) => failed.push(action) });
    fixture.operators.record = async () => {
      throw new Error('disk full');
    };
    const { status, body } = await fixture.send('POST', '/keys', { body: NEW_KEY });
    assert.deepEqual([status, failed], [201, ['key.create']]);
    assert.equal((await fixture.service.showKey(String(body.id))).label, 'a');
  });
});

describe('an Idempotency-Key', () => {
  test('[F38] makes a change once, however often it is sent; the answer comes back, the secret in it too', async (t) => {
    const { send, service } = await appFixture(t);
    const headers = { 'idempotency-key': 'order-7' };
    const first = await send('POST', '/keys', { body: NEW_KEY, headers });
    const again = await send('POST', '/keys', { body: NEW_KEY, headers });
    assert.deepEqual([again.status, again.body], [201, first.body]);
    assert.deepEqual([first.headers['idempotent-replayed'], again.headers['idempotent-replayed']], [undefined, 'true']);
    assert.equal(again.headers.etag, '"1"');
    assert.equal((await service.listKeys()).length, 1);
    assert.equal((await service.auditTrail({ action: 'key.create' })).data.length, 1);
  });

  test('belongs to one operator and one request', async (t) => {
    const { send, service, token } = await appFixture(t);
    const headers = { 'idempotency-key': 'k' };
    const made = await send('POST', '/keys', { body: NEW_KEY, headers });
    for (const [path, body] of [
      ['/keys', { ...NEW_KEY, label: 'b' }],
      [`/keys/${made.body.id}/credit`, { amount: 1 }],
    ] as const) {
      const other = await send('POST', path, { body, headers });
      assert.deepEqual([other.status, other.body.error.code], [409, 'refused']);
      assert.match(other.body.error.message, /was sent before with another request/);
    }
    const authorization = `Bearer ${await token('operator')}`;
    assert.equal((await send('POST', '/keys', { body: NEW_KEY, headers: { ...headers, authorization } })).status, 201);
    assert.equal((await service.listKeys()).length, 2);
    for (const wrong of ['', 'a b', 'x'.repeat(256)]) {
      const answer = await send('POST', '/keys', { body: NEW_KEY, headers: { 'idempotency-key': wrong } });
      assert.equal(answer.status, 400);
    }
  });

  test('of a request that is still running, or whose end is unknown, is not started again', async (t) => {
    const begun = Promise.withResolvers<void>();
    const end = Promise.withResolvers<void>();
    const { send } = await appFixture(t, {
      refreshModelLists: async () => {
        begun.resolve();
        await end.promise;
        throw Object.assign(new Error('gone'), { name: 'StoreError' });
      },
    });
    const headers = { 'idempotency-key': 'k' };
    const running = send('POST', '/model-lists', { headers });
    await begun.promise;
    assert.equal((await send('POST', '/model-lists', { headers })).status, 409);
    end.resolve();
    assert.equal((await running).status, 503);
    const after = await send('POST', '/model-lists', { headers });
    assert.equal(after.status, 409);
    assert.match(after.body.error.message, /running, or its result is unknown/);
  });

  test('is stored as a digest, and the answer so that only who knows the key can read it', async (t) => {
    const folder = temporaryFolder();
    const operators = testOperators(folder, { nowMs: () => 1 });
    t.after(() => operators.close());
    assert.deepEqual(await operators.claim('owner', 'my-key', 'f'), { kind: 'fresh' });
    await operators.keepReply('owner', 'my-key', { status: 201, headers: {}, body: 'mg_c_secret' });
    const database = new DatabaseSync(join(folder, 'operators.db'));
    t.after(() => database.close());
    const rows = JSON.stringify(database.prepare('SELECT * FROM operator_replies').all());
    assert.ok(!rows.includes('my-key') && !rows.includes('mg_c_secret'));
    const replay = await operators.claim('owner', 'my-key', 'f');
    assert.equal(replay.kind === 'replay' && replay.reply.body, 'mg_c_secret');
  });
});

describe('If-Match', () => {
  test('lets a change through only where nobody has changed the key meanwhile', async (t) => {
    const { send, service } = await appFixture(t);
    const made = await send('POST', '/keys', { body: NEW_KEY });
    const path = `/keys/${made.body.id}`;
    const { headers } = await send('GET', path);
    assert.equal(headers.etag, '"1"');
    const change = (tag: string, body: object) => send('PATCH', path, { body, headers: { 'if-match': tag } });
    const changed = await change('"1"', { label: 'mine' });
    assert.deepEqual([changed.status, changed.headers.etag], [200, '"2"']);
    const late = await change('"1"', { label: 'theirs' });
    assert.deepEqual([late.status, late.body.error.code], [412, 'precondition_failed']);
    assert.match(late.body.error.message, /it is at version 2; read it again/);
    assert.equal((await change('*', { label: 'any' })).status, 200);
    assert.equal((await change('1', { label: 'x' })).status, 400);
    assert.equal((await send('DELETE', path, { headers: { 'if-match': '"1"' } })).status, 412);
    assert.equal((await service.showKey(String(made.body.id))).label, 'any');
    assert.equal((await send('DELETE', path, { headers: { 'if-match': '"3"' } })).status, 200);
  });

  test('[F38] of changes that race, one is made and the others are told; the audit trail has all of them', async (t) => {
    const { send, service } = await appFixture(t);
    const made = await send('POST', '/keys', { body: NEW_KEY });
    const path = `/keys/${made.body.id}`;
    const labels = Array.from({ length: 8 }, (_, index) => `label ${index}`);
    const answers = await Promise.all(
      labels.map((label) => send('PATCH', path, { body: { label }, headers: { 'if-match': '"1"' } })),
    );
    const won = answers.filter(({ status }) => status === 200);
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, ...Array<number>(7).fill(412)]);
    assert.equal((await service.showKey(String(made.body.id))).label, won[0]?.body.label);
    const { data } = await service.auditTrail({ action: 'key.change' });
    assert.deepEqual(data.map(({ outcome }) => outcome).sort(), ['done', ...Array<string>(7).fill('refused')]);
  });

  test('lets a change of an account through only where nobody has changed it meanwhile', async (t) => {
    const { send, service } = await appFixture(t);
    const made = await send('POST', '/accounts', { body: { name: 'Acme' } });
    const path = `/accounts/${made.body.id}`;
    assert.deepEqual([made.headers.etag, (await send('GET', path)).headers.etag, made.body.version], ['"1"', '"1"', 1]);
    const change = (tag: string, body: object) => send('PATCH', path, { body, headers: { 'if-match': tag } });
    assert.deepEqual([(await change('"1"', { name: 'mine' })).headers.etag], ['"2"']);
    const late = await change('"1"', { name: 'theirs' });
    assert.equal(late.status, 412);
    assert.match(
      late.body.error.message,
      /account acct_\w+ has been changed meanwhile: it is at version 2; read it again/,
    );
    assert.equal((await change('2', { name: 'x' })).status, 400);
    const { name, version } = await service.accounts.show(String(made.body.id));
    assert.deepEqual([name, version], ['mine', 2]);
  });

  test('is refused where it would be ignored', async (t) => {
    const { send, service } = await appFixture(t);
    const { id } = await service.accounts.create({ name: 'Acme' });
    const refused = await send('POST', `/accounts/${id}/credit`, {
      body: { amount: '5' },
      headers: { 'if-match': '"1"' },
    });
    assert.equal(refused.status, 400);
    assert.match(refused.body.error.message, /takes no If-Match/);
    assert.equal((await service.accounts.show(id)).balance, 0);
  });

  test('is --if-version on the command line', async (t) => {
    const { service } = await appFixture(t);
    const run = async (...line: string[]) => {
      const command = findCommand(COMMANDS, line);
      return (await command.run(service, readArguments(command, line))).text;
    };
    const key = await service.createKey(NEW_KEY);
    const account = await service.accounts.create({ name: 'Acme' });
    await run('keys', 'update', key.id, '--label', 'one', '--if-version', '1');
    await assert.rejects(run('keys', 'update', key.id, '--label', 'two', '--if-version', '1'), /it is at version 2/);
    await run('accounts', 'update', account.id, '--name', 'one', '--if-version', '1');
    await assert.rejects(run('accounts', 'update', account.id, '--name', 'two', '--if-version', '1'), /version 2/);
    await assert.rejects(run('keys', 'update', key.id, '--label', 'x', '--if-version', 'new'), /must be the version/);
    assert.equal((await service.showKey(key.id)).label, 'one');
  });
});
