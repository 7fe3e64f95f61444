/** The request log of several gateways on one PostgreSQL, and of several workers: one log, whoever is asked. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { CreatedKey } from '../../../src/admin/keys/schema.ts';
import type { CommandArguments } from '../../../src/cli/arguments.ts';
import { readSettings } from '../../../src/config/settings.ts';
import { listRequests, showRequest } from '../../../src/process/requests.ts';
import { adminFetch } from '../../support/admin-fetch.ts';
import { startPostgres } from '../../support/postgres.ts';
import { bodyOf } from '../../support/requests.ts';
import { call, startedGateway } from '../../support/started-gateway.ts';

const server = await startPostgres();
after(() => server.stop());

async function chat(key: CreatedKey, origin: string): Promise<string> {
  const body = bodyOf('chat', 'Hello', { max_tokens: 5 });
  const response = await call(`${origin}/v1/chat/completions`, { key: key.key, body });
  assert.equal(response.status, 200);
  await response.text();
  return response.headers.get('x-request-id') ?? '';
}

test('every gateway and every worker writes to it, and every one of them can be asked', async () => {
  const DATABASE_URL = server.url(await server.createDatabase());
  await using one = await startedGateway({ env: { DATABASE_URL } });
  await using two = await startedGateway({ env: { DATABASE_URL, GATEWAY_WORKERS: '2' } });
  const key = await one.creditKey();
  const ids: string[] = [];
  for (let i = 0; i < 6; i++) ids.push(await chat(key, i % 2 === 0 ? one.origin : two.origin));
  const settings = readSettings({ DATABASE_URL });
  const connectAdmin = async () => ({ api: one.admin, isRunning: true, close: async () => {} });
  const flags = { key: key.id };
  const given: CommandArguments = { operands: [], flags, switches: new Set(['json']) };
  let seen: string[] = [];
  for (const untilMs = Date.now() + 120_000; seen.length < ids.length && Date.now() < untilMs; await delay(100)) {
    let printed = '';
    const print = (text: string): void => {
      printed += text;
    };
    await listRequests(settings, given, print, new AbortController().signal, connectAdmin);
    seen = (JSON.parse(printed) as { data: { id: string }[] }).data.map(({ id }) => id);
  }
  assert.deepEqual(seen.toSorted(), ids.toSorted());
  const story = await showRequest(settings, { operands: [ids[1] ?? ''], flags: {}, switches: new Set() });
  assert.match(story, /200, answered/);
  for (const { dataDir } of [one, two]) {
    const answer = await adminFetch(dataDir)(`/requests/${ids[0]}`);
    assert.equal(answer.status, 200);
  }
  assert.deepEqual(await two.admin.runningRequests(), []);
});
