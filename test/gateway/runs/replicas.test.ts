/** Runs of one gateway, seen through another on the same PostgreSQL. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { Response as Answer } from 'openai/resources/responses/responses';
import { usage } from '../../support/requests.ts';
import { ASKED, eventually, runScene, sdk, spoken, stopPostgres } from '../../support/run-scene.ts';
import { call } from '../../support/started-gateway.ts';

after(stopPostgres);

const { opening, text, closing } = spoken();

test('[R77] [F54] the events of a run are read and resumed through another replica, live, in the same bytes', async () => {
  await using scene = await runScene({ engine: 'postgres' });
  const other = await scene.another();
  const key = await scene.gateway.creditKey();
  const { id } = await sdk(key).responses.create(ASKED);
  const provider = await scene.upstream.next();
  provider.streamHead();
  for (const frame of [...opening, text('one ')]) provider.chunk(frame);
  const read = async (origin: string, after = ''): Promise<string> => {
    const response = await call(`${origin}/v1/responses/${id}?stream=true${after}`, { key: key.key });
    return (await response.text()).replaceAll(': keep-alive\n\n', '');
  };
  const here = read(key.origin);
  const there = read(other.origin);
  const seen: string[] = [];
  for await (const event of await sdk(key, other.origin).responses.retrieve(id, { stream: true })) {
    seen.push(event.type);
    // It arrives there while it is being made.
    if (event.type === 'response.output_text.delta' && event.delta === 'one ') provider.chunk(text('two '));
    if (event.type === 'response.output_text.delta' && event.delta === 'two ') {
      for (const frame of closing) provider.chunk(frame);
      provider.finish();
    }
  }
  assert.equal(seen.at(-1), 'response.completed');
  assert.equal(await there, await here);
  const from = seen.indexOf('response.output_text.delta');
  assert.equal(await read(other.origin, `&starting_after=${from}`), await read(key.origin, `&starting_after=${from}`));
  assert.deepEqual(await sdk(key, other.origin).responses.retrieve(id), await sdk(key).responses.retrieve(id));
});

test('[R76] [R78] a run is cancelled, repeated and deleted through another replica', async () => {
  await using scene = await runScene({ engine: 'postgres' });
  const other = await scene.another();
  const key = await scene.gateway.creditKey();
  const there = sdk(key, other.origin);
  const options = { headers: { 'idempotency-key': 'once' } };
  const first = await sdk(key).responses.create(ASKED, options);
  const provider = await scene.upstream.next();
  provider.streamHead();
  for (const frame of [...opening, text('one ')]) provider.chunk(frame);
  assert.deepEqual(await there.responses.create(ASKED, options), first);
  assert.equal((await there.responses.cancel(first.id)).status, 'cancelled');
  await provider.closed;
  const second = await sdk(key).responses.create(ASKED);
  const deleted = await scene.upstream.next();
  await there.responses.delete(second.id);
  await deleted.closed;
  await assert.rejects(sdk(key).responses.retrieve(second.id), /404/);
  const { credits, requests } = await usage(key);
  assert.deepEqual([credits.reserved, requests.total], [0, 1]);
});

test('[R77] readers of a run of another gateway are let go by one that drains, and go on elsewhere', async () => {
  await using scene = await runScene({ engine: 'postgres', limits: { drain: 60 } });
  const other = await scene.another();
  const key = await scene.gateway.creditKey();
  const { id } = await sdk(key).responses.create(ASKED);
  const provider = await scene.upstream.next();
  provider.streamHead();
  for (const frame of [...opening, text('one ')]) provider.chunk(frame);
  let last = -1;
  const reader = await sdk(key, other.origin).responses.retrieve(id, { stream: true });
  let stopped: Promise<void> | null = null;
  for await (const event of reader) {
    last = event.sequence_number;
    if (event.type === 'response.output_text.delta') stopped = other.stop();
  }
  await stopped;
  for (const frame of closing) provider.chunk(frame);
  provider.finish();
  const rest: string[] = [];
  for await (const event of await sdk(key).responses.retrieve(id, { stream: true, starting_after: last })) {
    rest.push(event.type);
  }
  assert.equal(rest.at(-1), 'response.completed');
  const done = await eventually(async (): Promise<Answer | null> => {
    const response = await sdk(key).responses.retrieve(id);
    return response.status === 'completed' ? response : null;
  });
  assert.equal(done.output_text, 'Hi');
});
