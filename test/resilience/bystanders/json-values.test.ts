/** Bodies and answers of very many tiny values: they are refused before they are built, and nobody else waits for a body. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { Bystander } from '../../support/bystander.ts';
import { configFileIn } from '../../support/gateway-environment.ts';
import { gatewayProcess } from '../../support/gateway-process.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const BODY_BYTES = 32 * 1_024 * 1_024;
const AT_ONCE = 3;
/** A body of the same size that is one long text is read, parsed and refused for its model: it is what others wait for anyway. */
const FACTOR_MAX = 5;
const SHORT_MS = 50;

function filled(head: string, unit: string, tail: string): Buffer {
  const count = Math.floor((BODY_BYTES - head.length - tail.length) / unit.length);
  return Buffer.from(`${head}${unit.repeat(count)}${tail}`);
}

const CONTROL = filled('{"model":"unknown","messages":[{"role":"user","content":"', 'a', '"}]}');
const ATTACKS: Readonly<Record<string, Buffer>> = {
  objects: filled('{"model":"unknown","messages":[', '{},', '{}]}'),
  numbers: filled('{"model":"unknown","messages":[', '1,', '1]}'),
  members: filled('{"model":"unknown","x":{', '"a":1,', '"a":1}}'),
};

test('[F43] a body of millions of values is a 400, a heap of 512 MB is enough, and others do not wait for it', async (t) => {
  const dataDir = temporaryFolder();
  writeFileSync(configFileIn(dataDir), 'holds: full\n');
  const gateway = await gatewayProcess(dataDir, { NODE_OPTIONS: '--max-old-space-size=512' });
  t.after(() => gateway.kill('SIGKILL'));
  const key = await gateway.admin.createKey({ mode: 'credit', credit: '5' });
  const headers = { authorization: `Bearer ${key.key}`, 'content-type': 'application/json' };
  const bystander = new Bystander(() => fetch(`${gateway.origin}/v1/models`, { headers }));
  const send = async (body: Buffer<ArrayBuffer>, expected: RegExp): Promise<void> => {
    const response = await fetch(`${gateway.origin}/v1/chat/completions`, { method: 'POST', headers, body });
    const text = await response.text();
    assert.match(`${response.status} ${text}`, expected);
  };
  const waitFor = (body: Buffer, expected: RegExp): Promise<number> =>
    bystander.waitDuring(() =>
      Promise.all(Array.from({ length: AT_ONCE }, () => send(body as Buffer<ArrayBuffer>, expected))),
    );
  const unknown = /^404 .*model_not_found/;
  const tooMany = /^400 .*more than 100000 JSON values.*invalid_request/;
  await waitFor(CONTROL, unknown);
  const controlMs = Math.max(await waitFor(CONTROL, unknown), SHORT_MS);
  for (const [name, body] of Object.entries(ATTACKS)) {
    const waitedMs = await waitFor(body, tooMany);
    t.diagnostic(`${name}: a bystander waited ${waitedMs.toFixed(0)} ms, with the control ${controlMs.toFixed(0)} ms`);
    assert.ok(waitedMs < FACTOR_MAX * controlMs, `${name}: ${waitedMs} ms, control ${controlMs} ms`);
  }
  assert.deepEqual((await gateway.admin.audit()).findings, []);
});

/** What a provider answers, by the model that it is asked for. */
const ANSWERS: Readonly<Record<string, { readonly type: string; readonly body: Buffer }>> = {
  whole: {
    type: 'application/json',
    body: filled('{"choices":[{"index":0,"message":{"content":"a"}}],"x":[', '{},', '{}]}'),
  },
  streamed: {
    type: 'text/event-stream',
    body: Buffer.from(`data: {"choices":[],"x":[${'{},'.repeat(5_000_000)}{}]}\n\n`),
  },
};

test('[F33] an answer of millions of values is a 502, a heap of 512 MB is enough', async (t) => {
  const provider = createServer(async (request, response) => {
    let asked = '';
    for await (const chunk of request) asked += chunk;
    const answer = ANSWERS[(JSON.parse(asked) as { model: string }).model];
    response.writeHead(200, { 'content-type': answer?.type }).end(answer?.body);
  });
  await once(provider.listen(0, '127.0.0.1'), 'listening');
  t.after(() => provider.close());
  const base_url = `http://127.0.0.1:${(provider.address() as AddressInfo).port}/v1`;
  const model = { context_window: 100_000, max_output_tokens: 1_000, visible_output: true };
  const models = Object.keys(ANSWERS).map((id) => ({
    ...model,
    id,
    targets: [{ provider: 'broken', model: id }],
    pricing: { input: 1, output: 10 },
  }));
  const providers = { broken: { kind: 'openai', base_url, api_key: 'k', formats: ['chat'], circuit_breaker: false } };
  const dataDir = temporaryFolder();
  writeFileSync(configFileIn(dataDir), JSON.stringify({ holds: 'full', providers, models }));
  const gateway = await gatewayProcess(dataDir, { NODE_OPTIONS: '--max-old-space-size=512' });
  t.after(() => gateway.kill('SIGKILL'));
  const key = await gateway.admin.createKey({ mode: 'credit', credit: '5' });
  const headers = { authorization: `Bearer ${key.key}`, 'content-type': 'application/json' };
  const ask = async (path: string, body: object): Promise<void> => {
    const response = await fetch(`${gateway.origin}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    assert.match(`${response.status} ${await response.text()}`, /^502 .*more than 2000000 JSON values/);
  };
  const messages = [{ role: 'user', content: 'hi' }];
  for (const id of Object.keys(ANSWERS)) {
    const stream = id === 'streamed';
    // Passed on, and translated; two at once.
    await Promise.all(
      [1, 2].flatMap(() => [
        ask('/v1/chat/completions', { model: id, stream, messages }),
        ask('/v1/messages', { model: id, stream, messages, max_tokens: 10 }),
      ]),
    );
  }
  const { used, reserved } = await gateway.admin.showKey(key.id);
  assert.deepEqual([Number(used), Number(reserved)], [0, 0]);
  assert.deepEqual((await gateway.admin.audit()).findings, []);
});
