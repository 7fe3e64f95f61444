/** Whole gateways on one PostgreSQL: they share everything but their folders. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { after, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { startPostgres } from '../support/postgres.ts';
import { call, startedGateway } from '../support/started-gateway.ts';

const server = await startPostgres();
after(() => server.stop());
const LAUNCHER = new URL('../../bin/gateway.mjs', import.meta.url).pathname;

function chat(origin: string, key: string): Promise<Response> {
  return fetch(`${origin}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'sandbox/alpha', max_tokens: 20, messages: [{ role: 'user', content: 'Hello!' }] }),
  });
}

describe('gateways with DATABASE_URL', () => {
  test('started at once on an empty database, one prints the first keys, and all serve them', async () => {
    const env = { DATABASE_URL: server.url(await server.createDatabase()) };
    const gateways = await Promise.all([
      startedGateway({ env }),
      startedGateway({ env }),
      startedGateway({ env: { ...env, GATEWAY_WORKERS: '2' } }),
    ]);
    const printed = gateways.filter((gateway) => gateway.printed.join('\n').includes('Two keys were created'));
    assert.equal(printed.length, 1);
    const key = /mg_c_\w{40}/.exec(printed[0]?.printed.join('\n') ?? '')?.[0] ?? '';
    for (const { origin } of gateways) {
      const response = await chat(origin, key);
      assert.equal(response.status, 200);
      await response.text();
    }
    for (const gateway of gateways) {
      assert.deepEqual((await gateway.audit()).findings, []);
      await gateway[Symbol.asyncDispose]();
    }
  });

  test('[R11] [F27] a limit counts over all of them, and a key revoked through one is refused by the other', async () => {
    const env = { DATABASE_URL: server.url(await server.createDatabase()) };
    await using one = await startedGateway({ env });
    await using two = await startedGateway({ env });
    const { id, key } = await one.creditKey({ credit: '5', rpm_limit: 3 });
    const statuses = [];
    for (let i = 0; i < 6; i++) {
      const response = await chat(i % 2 === 0 ? one.origin : two.origin, key);
      await response.text();
      statuses.push(response.status);
    }
    assert.deepEqual(statuses, [200, 200, 200, 429, 429, 429]);
    await one.admin.changeKey(id, { status: 'revoked' });
    assert.equal((await chat(two.origin, key)).status, 401);
  });

  test('[R64] a conversation that one has begun goes on at another, and is gone for all when it is deleted', async () => {
    const env = { DATABASE_URL: server.url(await server.createDatabase()) };
    await using one = await startedGateway({ env });
    await using two = await startedGateway({ env: { ...env, GATEWAY_WORKERS: '2' } });
    const { key } = await one.creditKey();
    const say = async (origin: string, input: string, previous?: string): Promise<{ id: string; store: boolean }> => {
      const body = { model: 'sandbox/alpha', input, previous_response_id: previous ?? null };
      const response = await call(`${origin}/v1/responses`, { key, body });
      assert.equal(response.status, 200);
      return (await response.json()) as { id: string; store: boolean };
    };
    const first = await say(one.origin, 'Hello');
    const second = await say(two.origin, 'Again', first.id);
    const third = await say(one.origin, 'And again', second.id);
    assert.deepEqual([first.store, second.store, third.store], [true, true, true]);
    for (const { id } of [first, second, third]) {
      assert.equal((await call(`${two.origin}/v1/responses/${id}`, { key })).status, 200);
    }
    assert.equal((await call(`${two.origin}/v1/responses/${first.id}`, { key, method: 'DELETE' })).status, 200);
    assert.equal((await call(`${one.origin}/v1/responses/${first.id}`, { key })).status, 404);
    const broken = { model: 'sandbox/alpha', input: 'x', previous_response_id: third.id };
    assert.equal((await call(`${one.origin}/v1/responses`, { key, body: broken })).status, 400);
    assert.deepEqual((await one.audit()).findings, []);
  });

  test('commands open the database themselves where no gateway runs, and need no data folder', async () => {
    const DATABASE_URL = server.url(await server.createDatabase());
    const run = async (...line: string[]): Promise<string> => {
      const env = { PATH: process.env.PATH, DATABASE_URL, GATEWAY_DATA: '/nowhere/at-all' };
      const { stdout } = await promisify(execFile)(process.execPath, [LAUNCHER, ...line], { env });
      return stdout;
    };
    const created: unknown = JSON.parse(await run('keys', 'create', '--mode', 'credit', '--credit', '5', '--json'));
    assert.ok(typeof created === 'object' && created !== null && 'key' in created && typeof created.key === 'string');
    assert.match(await run('audit'), /./);
    await using gateway = await startedGateway({ env: { DATABASE_URL } });
    const response = await chat(gateway.origin, created.key);
    assert.equal(response.status, 200);
    await response.text();
  });
});
