/** What a running gateway says of itself to its operator, and does for them. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { openLog } from '../../../src/observe/log.ts';
import { startPostgres } from '../../support/postgres.ts';
import { call, startedGateway } from '../../support/started-gateway.ts';
import { GATED_SECRET, gatedUpstream } from '../../support/upstreams/gated.ts';

const upstream = await gatedUpstream();
const logged: string[] = [];
const METRICS_TOKEN = 'metrics-token-for-tests-0123456789abcdef';
const gateway = await startedGateway({
  config: upstream.config,
  env: { GATEWAY_METRICS_TOKEN: METRICS_TOKEN },
  log: openLog('debug', { write: (line: string) => logged.push(line) }),
  terminal: true,
});
after(async () => {
  await gateway[Symbol.asyncDispose]();
  await upstream[Symbol.asyncDispose]();
});
const secret = readFileSync(join(gateway.dataDir, 'admin.secret'), 'utf8').trim();
const admin = (path: string, options: Parameters<typeof call>[1] = {}): Promise<Response> =>
  call(`http://127.0.0.1:${gateway.adminPort}/admin/v1${path}`, { key: secret, ...options });

interface List<T> {
  readonly data: readonly T[];
}

async function listed<T>(path: string): Promise<readonly T[]> {
  const answer = await admin(path);
  assert.equal(answer.status, 200);
  return ((await answer.json()) as List<T>).data;
}

interface ProviderState {
  readonly name: string;
  readonly health: string;
  readonly credentials: number;
  readonly targets: readonly { readonly upstream_model: string; readonly models: string[]; readonly circuit: string }[];
}

describe('a running gateway', () => {
  test('lists its models with the source of each figure, and its providers with their health', async () => {
    const models = await listed<{ id: string; price: object; max_output_tokens: object; targets: object[] }>('/models');
    const few = models.find(({ id }) => id === 'gated/few');
    assert.deepEqual(few?.max_output_tokens, { value: 100, source: 'configured', from: 'the config file', date: null });
    assert.deepEqual(few?.targets, [
      { provider: 'gated', upstream_model: 'gated-upstream', format: 'chat', weight: 1 },
    ]);
    const providers = await listed<ProviderState>('/providers');
    const gated = providers.find(({ name }) => name === 'gated');
    assert.deepEqual([gated?.health, gated?.credentials], ['ok', 1]);
    assert.deepEqual(gated?.targets, [
      {
        upstream_model: 'gated-upstream',
        models: ['gated/one', 'gated/two', 'gated/few'],
        circuit: 'closed',
        next_probe_in_ms: 0,
        keys_with_open_circuit: 0,
        cooling_ms: 0,
        first_byte_ms: { streamed: null, whole: null },
      },
    ]);
  });

  test('shows the settings in force, and of a secret only that it is set', async () => {
    const answer = await admin('/settings');
    const text = await answer.text();
    const { data } = JSON.parse(text) as { data: readonly { name: string; value: unknown; from: string }[] };
    const shown = ['GATEWAY_METRICS_TOKEN', 'GATEWAY_DATA', 'DATABASE_URL', 'limits.drain'].map((name) => {
      const { value, from } = data.find((row) => row.name === name) ?? {};
      return [value, from];
    });
    assert.deepEqual(shown, [
      ['set', 'environment'],
      [gateway.dataDir, 'environment'],
      [null, 'default'],
      [1, 'file'],
    ]);
    for (const hidden of [METRICS_TOKEN, secret, GATED_SECRET]) assert.ok(!text.includes(hidden));
  });

  test('stops one request, which is charged for what was produced, and says who did', async () => {
    const { id, key } = await gateway.creditKey();
    const body = { model: 'gated/one', stream: true, messages: [{ role: 'user', content: 'Hello' }] };
    const asked = call(`${gateway.origin}/v1/chat/completions`, { key, body });
    const gated = await upstream.next();
    gated.begin();
    const response = await asked;
    const [running] = await listed<{ id: string; key_id: string }>('/requests/running');
    assert.equal(running?.key_id, id);
    const stopped = await admin(`/requests/running/${running?.id}`, { method: 'DELETE' });
    assert.deepEqual([stopped.status, await stopped.json()], [200, { id: running?.id, stopped: true }]);
    assert.match(await response.text(), /An operator of the gateway has stopped this request/);
    await gated.closed;
    assert.equal((await admin(`/requests/running/${running?.id}`, { method: 'DELETE' })).status, 404);
    const { used, reserved } = await gateway.admin.showKey(id);
    assert.deepEqual([used > 0, reserved], [true, 0]);
    const trail = await gateway.admin.auditTrail({ action: 'request.stop' });
    assert.deepEqual(
      trail.data.map(({ outcome, target, actor, address }) => [outcome, target, actor?.via, address]),
      [
        ['refused', running?.id, 'secret', '127.0.0.1'],
        ['done', running?.id, 'secret', '127.0.0.1'],
      ],
    );
  });

  test('runs its checks when it is asked to', async () => {
    const answer = await admin('/doctor', { body: {} });
    assert.equal(answer.status, 200);
    const report = (await answer.json()) as { store: { detail: string }; providers: { name: string }[] };
    assert.match(report.store.detail, /answers; the gateway is running/);
    assert.ok(report.providers.some(({ name }) => name === 'gated'));
    assert.equal((await admin('/doctor', { body: { probes: 'yes' } })).status, 400);
  });

  test('prints a link that signs in at a terminal, and no secret of an operator is ever logged', async () => {
    const link = /Console: (\S+) \(signs in once, within 15 minutes\)/.exec(gateway.printed.join('\n'))?.[1] ?? '';
    const { origin, hash } = new URL(link);
    assert.equal(origin, `http://127.0.0.1:${gateway.adminPort}`);
    const linked = hash.replace('#token=', '');
    const session = `${origin}/admin/v1/session`;
    const signed = await call(session, { body: { token: linked } });
    assert.equal(signed.status, 200);
    const cookie = signed.headers.getSetCookie()[0]?.split(';')[0] ?? '';
    const { csrf_token: csrf } = (await signed.json()) as { csrf_token: string };
    const { token } = await gateway.admin.operators.create({ name: 'planted', role: 'viewer' });
    const keys = `${origin}/admin/v1/keys`;
    const planted = { cookie, 'x-csrf-token': csrf };
    await call(session, { body: { token: linked } });
    await call(session, { body: `{"token":"${token}"`, headers: planted });
    await call(session, { body: { token: `${token}x` }, headers: { origin: `https://${token}.example` } });
    await call(`${keys}?token=${token}`, { key: token, headers: { 'user-agent': 'test' } });
    await call(`${keys}/${token}`, { key: token });
    await call(keys, { body: { mode: token }, headers: planted });
    await call(keys, { body: { mode: 'credit' }, headers: { cookie, 'x-csrf-token': `${csrf}x` } });
    await call(keys, { body: { mode: 'credit' }, headers: { authorization: `Basic ${token}` } });
    const secrets = [linked, token, cookie.split('=')[1] ?? '', csrf, secret];
    await call(`${keys}/${token}`, { method: 'DELETE', key: secret, headers: { 'user-agent': token } });
    const trail = JSON.stringify(await gateway.admin.auditTrail({ limit: 500 }));
    for (const text of secrets) {
      assert.ok(text.length > 30);
      assert.ok(!logged.some((line) => line.includes(text)), 'not in the log');
      assert.ok(!trail.includes(text), 'not in the audit trail');
    }
    assert.ok(logged.length > 0);
  });

  test('prints no link where its output may be a log', async () => {
    await using plain = await startedGateway();
    const text = plain.printed.join('\n');
    assert.match(text, /Console: http:\/\/127\.0\.0\.1:\d+ \(sign in with the link of: npx gateway operators link\)/);
    assert.ok(!text.includes('token=') && !text.includes('mg_l_'));
  });

  test('says the same with several workers, and stops a request at whichever of them serves it', async () => {
    await using postgres = await startPostgres();
    const env = { DATABASE_URL: postgres.url(await postgres.createDatabase()), GATEWAY_WORKERS: '2' };
    await using several = await startedGateway({ config: upstream.config, env });
    const key = readFileSync(join(several.dataDir, 'admin.secret'), 'utf8').trim();
    const api = `http://127.0.0.1:${several.adminPort}/admin/v1`;
    const providers = (await (await call(`${api}/providers`, { key })).json()) as List<ProviderState>;
    const gated = providers.data.find(({ name }) => name === 'gated');
    assert.deepEqual([gated?.health, gated?.targets.length], ['ok', 1]);
    assert.equal((await call(`${api}/requests/running/none`, { method: 'DELETE', key })).status, 404);
    const created = await several.creditKey();
    const body = { model: 'gated/one', stream: true, messages: [{ role: 'user', content: 'Hello' }] };
    const asked = call(`${several.origin}/v1/chat/completions`, { key: created.key, body });
    const waiting = await upstream.next();
    waiting.begin();
    const response = await asked;
    const running = (await (await call(`${api}/requests/running`, { key })).json()) as List<{ id: string }>;
    const path = `${api}/requests/running/${running.data[0]?.id}`;
    assert.equal((await call(path, { method: 'DELETE', key })).status, 200);
    assert.match(await response.text(), /An operator of the gateway has stopped this request/);
  });
});
