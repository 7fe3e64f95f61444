/** A ledger moves into PostgreSQL and back, and its keys, balances, replies and responses with it. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, describe, test } from 'node:test';
import type { KeyView } from '../../../src/admin/keys/schema.ts';
import { startPostgres } from '../../support/postgres.ts';
import { call, type StartedGateway, startedGateway } from '../../support/started-gateway.ts';

const LAUNCHER = resolve(import.meta.dirname, '../../../bin/gateway.mjs');
const folder = mkdtempSync(join(tmpdir(), 'gateway-migrate-test-'));
const server = await startPostgres();
after(async () => {
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function gateway(
  words: readonly string[],
  env: Record<string, string>,
): Promise<{ code: number; output: string }> {
  const child = spawn(process.execPath, [LAUNCHER, ...words], {
    env: { PATH: process.env.PATH, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const [code] = (await once(child, 'close')) as [number];
  return { code, output };
}

const ask = { model: 'sandbox/alpha', max_tokens: 20, messages: [{ role: 'user', content: 'Hello!' }] };

/** What must be the same on every engine. */
async function seen(on: StartedGateway, key: string, responseId: string): Promise<unknown> {
  const [replay, response, keys, accounts, operators, trail, definitions, receivers] = await Promise.all([
    call(`${on.origin}/v1/chat/completions`, { key, body: ask, headers: { 'idempotency-key': 'once' } }),
    call(`${on.origin}/v1/responses/${responseId}`, { key }),
    on.admin.listKeys(),
    on.admin.accounts.list(),
    on.admin.operators.list(),
    on.admin.auditTrail({}),
    on.admin.call('definitions', {}),
    on.admin.alerts.receivers(),
  ]);
  assert.deepEqual([replay.status, response.status], [200, 200]);
  const { findings } = await on.audit();
  assert.deepEqual(findings, []);
  return [
    await replay.json(),
    await response.json(),
    keys.map(({ base_url, origin, ...rest }: KeyView) => rest),
    accounts,
    operators,
    trail.data,
    definitions.data,
    receivers.data.map(({ target, address, last_failed_at: at }) => [target, address, at !== null]),
  ];
}

describe('gateway migrate', () => {
  test('into PostgreSQL and back: the same keys, balances, replies and responses, audited on both sides', async () => {
    const first = join(folder, 'first');
    const database = await server.createDatabase();
    // So long that no pause of this process ends it.
    const env = { DATABASE_URL: server.url(database), GATEWAY_LEASE_SECONDS: '3600' };
    mkdirSync(first);
    const embedded = await startedGateway({ dataDir: first, config: 'alerts: {}\n' });
    const { key } = await embedded.creditKey({ label: 'one', rpm_limit: 60 });
    const { key: budget } = await embedded.tokenKey();
    const ann = await embedded.admin.operators.create({ name: 'ann', role: 'viewer' });
    const provider = {
      name: 'house',
      kind: 'openai',
      base_url: 'https://house.example/v1',
      api_key: 'sk-house-0123456789',
    };
    await embedded.admin.call('createProvider', { body: provider });
    const account = await embedded.admin.accounts.create({ name: 'a company' });
    const team = await embedded.admin.accounts.create({ name: 'a team', parent: account.id });
    // Names without an address: what became of the test moves with the receiver.
    const channel = await embedded.admin.alerts.addReceiver(team.id, {
      kind: 'slack',
      address: 'https://chat.invalid/x',
    });
    assert.equal((await embedded.admin.alerts.testReceiver(team.id, channel.id)).ok, false);
    await embedded.admin.accounts.addCredit(account.id, { amount: '4' });
    await embedded.admin.accounts.addCredit(account.id, { amount: '2', expires_at: '2099-01-01' });
    const { key: ofAccount } = await embedded.admin.createKey({ mode: 'credit', account: team.id });
    for (const [origin, secret] of [
      [embedded.origin, key],
      [`${embedded.origin}/tokens`, budget],
      [embedded.origin, ofAccount],
    ] as const) {
      const answer = await call(`${origin}/v1/chat/completions`, { key: secret, body: ask });
      await answer.text();
      if (secret === budget) continue;
      await embedded.admin.money.refund(answer.headers.get('x-request-id') ?? '', {
        amount: '0.000000001',
        reason: 'x',
      });
    }
    const once = { key, body: ask, headers: { 'idempotency-key': 'once' } };
    assert.equal((await call(`${embedded.origin}/v1/chat/completions`, once)).status, 200);
    const kept = await call(`${embedded.origin}/v1/responses`, {
      key,
      body: { model: 'sandbox/alpha', input: 'Hello!' },
    });
    const { id } = (await kept.json()) as { id: string };
    const before = await seen(embedded, key, id);

    const asAnn = async ({ adminPort }: StartedGateway) => {
      const response = await call(`http://127.0.0.1:${adminPort}/admin/v1/keys`, { key: ann.token });
      assert.equal(response.status, 200, await response.text());
    };

    const running = await gateway(['migrate', '--to', 'postgres'], { ...env, GATEWAY_DATA: first });
    assert.equal(running.code, 1);
    assert.match(running.output, /a gateway is running on .*: stop it first/);
    await embedded.stop();

    const moved = await gateway(['migrate', '--to', 'postgres'], { ...env, GATEWAY_DATA: first });
    assert.equal(moved.code, 0, moved.output);
    assert.match(moved.output, /^Source: OK: every balance.*\nTarget: OK: every balance/);
    assert.match(moved.output, /Operators and the audit trail moved too, the request log did not/);
    assert.deepEqual(
      ['gateway.db', 'operators.db', 'operators.db.moved-to-postgres'].map((name) => existsSync(join(first, name))),
      [false, false, true],
    );

    // Interrupted before the source got its new name.
    renameSync(join(first, 'gateway.db.moved-to-postgres'), join(first, 'gateway.db'));
    // A gateway that was started since has made its operators anew: neither file is lost.
    const started = join(folder, 'started');
    cpSync(first, started, { recursive: true });
    cpSync(join(started, 'operators.db.moved-to-postgres'), join(started, 'operators.db'));
    const both = await gateway(['migrate', '--to', 'postgres'], { ...env, GATEWAY_DATA: started });
    assert.deepEqual([both.code, /put the one that you want to keep under that name/.test(both.output)], [1, true]);
    // An operator's token may have been revoked in the folder since.
    const changed = join(folder, 'changed');
    cpSync(first, changed, { recursive: true });
    renameSync(join(changed, 'operators.db.moved-to-postgres'), join(changed, 'operators.db'));
    const trail = new DatabaseSync(join(changed, 'operators.db'));
    trail.exec("INSERT INTO audit_trail (at_ms, action, outcome) VALUES (1, 'operators.tokens.revoke', 'done')");
    trail.close();
    const refused = await gateway(['migrate', '--to', 'postgres'], { ...env, GATEWAY_DATA: changed });
    assert.deepEqual([refused.code, /has a ledger already/.test(refused.output)], [1, true], refused.output);
    const resumed = await gateway(['migrate', '--to', 'postgres'], { ...env, GATEWAY_DATA: first });
    assert.equal(resumed.code, 0, resumed.output);
    const again = await gateway(['migrate', '--to', 'postgres'], { ...env, GATEWAY_DATA: first });
    assert.match(again.output, /it was moved before, and is now .*gateway\.db\.moved-to-postgres/);

    const shared = await startedGateway({ env });
    assert.doesNotMatch(shared.printed.join('\n'), /Two keys were created/);
    assert.deepEqual(await seen(shared, key, id), before);
    await asAnn(shared);
    const back = { ...env, GATEWAY_DATA: join(folder, 'back') };
    const busy = await gateway(['migrate', '--to', 'sqlite'], back);
    assert.equal(busy.code, 1);
    assert.match(busy.output, /Gateways are running on this database: stop them/);
    assert.deepEqual(
      readdirSync(back.GATEWAY_DATA).filter((name) => name.includes('moving')),
      [],
    );
    await shared[Symbol.asyncDispose]();

    // As if the time of the lease of the gateway that was stopped had passed.
    await server.query(database, 'UPDATE gateway.owners SET lease_until_ms = 0');
    const returned = await gateway(['migrate', '--to', 'sqlite'], back);
    assert.equal(returned.code, 0, returned.output);
    const last = await startedGateway({ dataDir: join(folder, 'back') });
    try {
      assert.deepEqual(await seen(last, key, id), before);
      await asAnn(last);
    } finally {
      await last[Symbol.asyncDispose]();
    }

    const other = join(folder, 'other');
    assert.equal((await gateway(['keys', 'create', '--mode', 'credit'], { GATEWAY_DATA: other })).code, 0);
    const taken = await gateway(['migrate', '--to', 'postgres'], { ...env, GATEWAY_DATA: other });
    assert.match(taken.output, /This database has a ledger already: a ledger moves into an empty one only/);
    assert.equal(existsSync(join(other, 'gateway.db')), true);
    const exists = await gateway(['migrate', '--to', 'sqlite'], { ...env, GATEWAY_DATA: other });
    assert.match(exists.output, /gateway\.db exists already: set GATEWAY_DATA to another folder/);
    rmSync(join(other, 'gateway.db'));
    const operators = await gateway(['migrate', '--to', 'sqlite'], { ...env, GATEWAY_DATA: other });
    assert.match(operators.output, /operators\.db exists already: set GATEWAY_DATA to another folder/);
  });

  test('what is missing is named', async () => {
    const noUrl = await gateway(['migrate', '--to', 'postgres'], { GATEWAY_DATA: join(folder, 'none') });
    assert.match(noUrl.output, /DATABASE_URL is not set/);
    const noTarget = await gateway(['migrate'], {});
    assert.deepEqual(noTarget.code, 2);
    assert.match(noTarget.output, /--to is "": expected one of postgres, sqlite/);
  });
});
