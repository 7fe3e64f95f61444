/** What operators define counts on every replica, and in every worker, when the call that changed it returns. */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { startPostgres } from '../support/postgres.ts';
import { call, startedGateway } from '../support/started-gateway.ts';
import { recordingUpstream } from '../support/upstreams/recording.ts';

const server = await startPostgres();
after(() => server.stop());
const upstream = await recordingUpstream();
after(() => upstream[Symbol.asyncDispose]());

const CONFIG = 'providers_by_api: { allow_private: true }\n';
/** So many requests that each of two workers gets some of them. */
const REQUESTS = 12;

async function answers(origin: string, key: string): Promise<ReadonlySet<number>> {
  const body = { model: 'm', max_tokens: 20, messages: [{ role: 'user', content: 'Hello' }] };
  const statuses = new Set<number>();
  for (let i = 0; i < REQUESTS; i++) {
    // A connection of its own may lead to another worker.
    const headers = { connection: 'close' };
    const response = await call(`${origin}/v1/chat/completions`, { key, body, headers });
    await response.text();
    statuses.add(response.status);
  }
  return statuses;
}

describe('a change of what operators define', () => {
  test('is in force on every replica and in every worker when the call returns', async () => {
    const env = { DATABASE_URL: server.url(await server.createDatabase()) };
    await using one = await startedGateway({ env, config: CONFIG });
    await using two = await startedGateway({ env, config: CONFIG });
    await using workers = await startedGateway({ env: { ...env, GATEWAY_WORKERS: '2' }, config: CONFIG });
    const { id, key } = await one.creditKey();
    const all = [one, two, workers];
    const provider = { name: 'house', kind: 'openai', base_url: upstream.url, api_key: 'sk-first-0123456789' };
    await two.admin.call('createProvider', { body: provider });
    const pricing = { input: 10, output: 20 };
    await workers.admin.call('createModel', { body: { id: 'm', provider: 'house', pricing } });
    for (const { origin } of all) assert.deepEqual([...(await answers(origin, key))], [200]);
    const spent = async (): Promise<number> => Number((await one.admin.showKey(id)).used);
    const before = await spent();

    await one.admin.call('setPrice', { id: 'm', body: { markup: 2 } });
    await one.admin.call('changeProvider', { name: 'house', body: { api_key: 'sk-second-0123456789' } });
    upstream.credentials.length = 0;
    for (const { origin } of all) assert.deepEqual([...(await answers(origin, key))], [200]);
    assert.equal(Math.round(((await spent()) - before) / before), 2);
    assert.deepEqual([...new Set(upstream.credentials)], ['Bearer sk-second-0123456789']);

    await two.admin.call('removeModel', { id: 'm' });
    for (const { origin } of all) assert.deepEqual([...(await answers(origin, key))], [404]);
    for (const gateway of all) assert.deepEqual((await gateway.audit()).findings, []);
  });
});
