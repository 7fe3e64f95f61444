/** What bounds a background response, and what ends it from this side; what bad input gets. */
import assert from 'node:assert/strict';
import { request } from 'node:http';
import { after, describe, test } from 'node:test';
import type OpenAI from 'openai';
import type { Response as Answer } from 'openai/resources/responses/responses';
import type { CreatedKey } from '../../../src/admin/keys/schema.ts';
import { errorReply, usage } from '../../support/requests.ts';
import { ASKED, eventually, runScene, sdk, spoken, stopPostgres } from '../../support/run-scene.ts';
import { scriptedGateway } from '../../support/scripted-gateway.ts';
import { call, startedGateway } from '../../support/started-gateway.ts';
import { INPUT_TOKENS, OUTPUT_TOKENS } from '../../support/upstreams/spoken.ts';

after(stopPostgres);

const COST = (INPUT_TOKENS * 1 + OUTPUT_TOKENS * 4) / 1e6;
const { opening, text, closing } = spoken();

async function ended(client: OpenAI, id: string): Promise<Answer> {
  return eventually(async () => {
    const response = await client.responses.retrieve(id);
    return response.status === 'in_progress' ? null : response;
  });
}

async function stream(key: CreatedKey, id: string, query = ''): Promise<string> {
  return (await call(`${key.origin}/v1/responses/${id}?stream=true${query}`, { key: key.key })).text();
}

async function failedBy(client: OpenAI, id: string, message: RegExp): Promise<void> {
  const response = await ended(client, id);
  assert.equal(response.status, 'failed');
  assert.equal(response.error?.code, 'server_error');
  assert.match(response.error?.message ?? '', message);
}

describe('a run that reaches a limit is failed, with its name, charged as produced with a usage record', () => {
  for (const [name, options, limit] of [
    ['runs.total', { settings: { runs: { total: 1 } } }, /runs\.total, 1 s/],
    ['the idle limit', { timeouts: { idle: 0.5 } }, /idle time-out/],
  ] as const) {
    test(`[R76] ${name}`, async () => {
      await using scene = await runScene(options);
      const key = await scene.gateway.creditKey();
      const { id } = await sdk(key).responses.create(ASKED);
      const provider = await scene.upstream.next();
      provider.streamHead();
      for (const frame of [...opening, text('produced ')]) provider.chunk(frame);
      await failedBy(sdk(key), id, limit);
      await provider.closed;
      const { credits, requests } = await usage(key);
      assert.ok(credits.used > 0);
      assert.deepEqual([credits.reserved, requests.total], [0, 1]);
      assert.match(await stream(key, id), /event: response\.failed\n[^\n]*\n\n$/, 'readers see the end');
    });
  }

  test('[R76] before the provider has accepted: not charged', async () => {
    await using scene = await runScene({ settings: { runs: { total: 0.5 } } });
    const key = await scene.gateway.creditKey();
    const { id } = await sdk(key).responses.create(ASKED);
    await failedBy(sdk(key), id, /runs\.total/);
    assert.deepEqual([(await usage(key)).credits.used, (await usage(key)).credits.reserved], [0, 0]);
  });

  test('[R76] runs.event_bytes', async () => {
    await using scene = await runScene({ settings: { runs: { event_bytes: 65_536 } } });
    const key = await scene.gateway.creditKey();
    const { id } = await sdk(key).responses.create(ASKED);
    const provider = await scene.upstream.next();
    provider.streamHead();
    for (const frame of opening) provider.chunk(frame);
    for (let count = 0; count < 400; count++) provider.chunk(text('a word or two '));
    await failedBy(sdk(key), id, /runs\.event_bytes, 65536 bytes/);
    assert.ok((await usage(key)).credits.used > 0);
  });

  test('[R77] [F54] at a drain runs may finish until its deadline, then they end as at a limit', async () => {
    await using scene = await runScene({ limits: { drain: 1 }, engine: 'postgres' });
    const other = await scene.another();
    const key = await scene.gateway.creditKey();
    const client = sdk(key, other.origin);
    const [first, second] = [await client.responses.create(ASKED), await client.responses.create(ASKED)];
    const calls = [await scene.upstream.next(), await scene.upstream.next()];
    for (const provider of calls) {
      provider.streamHead();
      for (const frame of [...opening, text('produced ')]) provider.chunk(frame);
    }
    const stopped = other.stop();
    const [finishes] = calls;
    for (const frame of closing) finishes?.chunk(frame);
    await stopped;
    const here = sdk(key);
    const states = await Promise.all([first, second].map(({ id }) => ended(here, id)));
    assert.deepEqual(states.map(({ status }) => status).sort(), ['completed', 'failed']);
    const failed = states.find(({ status }) => status === 'failed');
    assert.equal(failed?.error?.code, 'server_error');
    assert.match(failed?.error?.message ?? '', /shutting down/);
    const { credits, requests } = await usage(key);
    assert.deepEqual([credits.reserved, requests.total], [0, 2]);
  });
});

test('[R76] a response that repeats more of its request than may be stored is refused before it begins', async () => {
  await using scene = await runScene({ settings: { responses: { record_bytes: 4_096 } } });
  const key = await scene.gateway.creditKey();
  const long = 'x'.repeat(5_000);
  for (const extra of [{ instructions: long }, { prompt_cache_key: long }, { safety_identifier: long }]) {
    const body = { ...ASKED, ...extra };
    const error = await errorReply(await call(`${key.origin}/v1/responses`, { key: key.key, body }), 'A');
    assert.deepEqual([error.status, error.param], [400, 'background']);
    assert.match(error.message, /4096 bytes/);
  }
  assert.equal((await usage(key)).credits.reserved, 0);
  await sdk(key).responses.create(ASKED);
  (await scene.upstream.next()).reset();
});

test('[R77] streams are closed at streams.total without a terminal event, and the run goes on', async () => {
  await using scene = await runScene({ streams: { total: 1 } });
  const key = await scene.gateway.creditKey();
  const client = sdk(key);
  const creating = await client.responses.create({ ...ASKED, stream: true });
  const provider = await scene.upstream.next();
  provider.streamHead();
  for (const frame of [...opening, text('one ')]) provider.chunk(frame);
  const types: string[] = [];
  let last = 0;
  let id = '';
  for await (const event of creating) {
    types.push(event.type);
    last = event.sequence_number;
    if (event.type === 'response.created') id = event.response.id;
  }
  assert.equal(types.at(-1), 'response.output_text.delta');
  assert.doesNotMatch(await stream(key, id), /response\.(completed|failed|cancelled|incomplete)"/);
  for (const frame of closing) provider.chunk(frame);
  provider.finish();
  assert.equal((await ended(client, id)).status, 'completed');
  assert.match(await stream(key, id, `&starting_after=${last}`), /"type":"response\.completed"/);
  assert.equal((await usage(key)).credits.used, COST);
});

for (const format of ['chat', 'messages'] as const) {
  test(`[R76] a model whose provider speaks ${format} does the same`, async () => {
    await using scene = await runScene({ format });
    const key = await scene.gateway.creditKey();
    const client = sdk(key);
    const { id } = await client.responses.create(ASKED);
    const provider = await scene.upstream.next();
    const said = spoken(format);
    provider.streamHead();
    for (const frame of [...said.opening, said.text('one '), said.text('two')]) provider.chunk(frame);
    const reader = await client.responses.retrieve(id, { stream: true, starting_after: 0 });
    for (const frame of said.closing) provider.chunk(frame);
    provider.finish();
    let streamed = '';
    for await (const event of reader) {
      if (event.type === 'response.output_text.delta') streamed += event.delta;
      if (event.type === 'response.completed') assert.equal(event.response.id, id);
    }
    assert.equal(streamed, 'one two');
    const done = await ended(client, id);
    assert.deepEqual([done.status, done.background, done.output_text], ['completed', true, 'one two']);
    assert.equal((await usage(key)).credits.used, COST);
  });
}

describe('bad input', () => {
  test('[R76] background needs a stored response', async () => {
    await using scene = await runScene();
    const key = await scene.gateway.creditKey();
    const post = (extra: object) =>
      call(`${key.origin}/v1/responses`, { key: key.key, body: { model: 'tested', input: 'Hi', ...extra } });
    const both = await errorReply(await post({ background: true, store: false }), 'A');
    assert.deepEqual([both.status, both.param], [400, 'background']);
    assert.match(both.message, /background.*store: false/);
    const wrong = await errorReply(await post({ background: 'yes' }), 'A');
    assert.deepEqual([wrong.status, wrong.param], [400, 'background']);
    await using off = await startedGateway({ config: 'responses: { store: false }' });
    const { key: secret, origin } = await off.creditKey();
    const body = { model: 'sandbox/alpha', input: 'Hi', background: true };
    const refused = await errorReply(await call(`${origin}/v1/responses`, { key: secret, body }), 'A');
    assert.deepEqual([refused.status, refused.param], [400, 'background']);
    assert.equal(scene.upstream.calls, 0);
  });

  test('[R77] [R78] of reading and cancelling: unknown and foreign ids, numbers that are none, a response that was no run', async () => {
    await using scene = await runScene();
    const [mine, other] = [await scene.gateway.creditKey(), await scene.gateway.creditKey()];
    const { id } = await sdk(mine).responses.create(ASKED);
    const path = (name: string, tail = '') => `${mine.origin}/v1/responses/${name}${tail}`;
    for (const [key, url, method, status] of [
      [other, path(id), 'GET', 404],
      [other, path(id, '?stream=true'), 'GET', 404],
      [other, path(id, '/cancel'), 'POST', 404],
      [other, path(id), 'DELETE', 404],
      [mine, path('resp_none', '?stream=true'), 'GET', 404],
      [mine, path('resp_none', '/cancel'), 'POST', 404],
      [mine, path(id, '?stream=true&starting_after=-1'), 'GET', 400],
      [mine, path(id, '?stream=true&starting_after=x'), 'GET', 400],
      [mine, path(id, '?stream=maybe'), 'GET', 400],
    ] as const) {
      const error = await errorReply(await call(url, { method, key: key.key }), 'A');
      assert.equal(error.status, status, `${method} ${url}`);
    }
    (await scene.upstream.next()).stream([...opening, text('Hi'), ...closing]);
    await ended(sdk(mine), id);
    const answered = sdk(mine).responses.create({ model: 'tested', input: 'Hello', stream: true });
    (await scene.upstream.next()).stream([...opening, text('Hi'), ...closing]);
    let plain = '';
    for await (const event of await answered) if (event.type === 'response.completed') plain = event.response.id;
    for (const [url, method] of [
      [path(plain, '?stream=true'), 'GET'],
      [path(plain, '/cancel'), 'POST'],
    ] as const) {
      const error = await errorReply(await call(url, { method, key: mine.key }), 'A');
      assert.deepEqual([error.status, error.code], [400, 'invalid_request']);
    }
  });
});

describe('many and large', () => {
  test('[R76] [F12] forty at once on a balance for one: one runs, and nothing is overspent', async () => {
    await using scene = await runScene({ settings: { holds: 'full' } });
    const key = await scene.gateway.creditKey({ credit: '0.04', runs_limit: 'none' });
    const results = await Promise.allSettled(Array.from({ length: 40 }, () => sdk(key).responses.create(ASKED)));
    const begun = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value.id] : []));
    assert.equal(begun.length, 1);
    (await scene.upstream.next()).stream([...opening, text('Hi'), ...closing]);
    assert.equal(scene.upstream.calls, 1);
    assert.equal((await ended(sdk(key), begun[0] ?? '')).status, 'completed');
    const { credits } = await usage(key);
    assert.deepEqual([credits.used, credits.reserved], [COST, 0]);
  });

  test('[R72] [R76] a run counts as a parallel request until it ends', async () => {
    await using scene = await runScene();
    const key = await scene.gateway.creditKey({ parallel_limit: 1 });
    const { id } = await sdk(key).responses.create(ASKED);
    await assert.rejects(sdk(key).responses.create({ model: 'tested', input: 'Hi' }), /parallel requests is reached/);
    await sdk(key).responses.cancel(id);
    const answered = sdk(key).responses.create({ model: 'tested', input: 'Hi', stream: true });
    (await scene.upstream.next()).reset();
    (await scene.upstream.next()).stream([...opening, text('Hi'), ...closing]);
    for await (const _ of await answered);
  });

  test('[R77] frames of a megabyte and thousands of tiny ones come to every reader as they were', async () => {
    await using scene = await runScene({ settings: { holds: 'full' } });
    const key = await scene.gateway.creditKey({ credit: '100' });
    const { id } = await sdk(key).responses.create(ASKED);
    const provider = await scene.upstream.next();
    const large = 'x'.repeat(1_000_000);
    const tiny = Array.from({ length: 20_000 }, (_, index) => `${index} `);
    provider.streamHead();
    for (const frame of opening) provider.chunk(frame);
    for (const piece of [large, ...tiny]) provider.chunk(text(piece));
    for (const frame of closing) provider.chunk(frame);
    provider.finish();
    let streamed = '';
    let number = -1;
    for await (const event of await sdk(key).responses.retrieve(id, { stream: true })) {
      assert.ok(event.sequence_number > number);
      number = event.sequence_number;
      if (event.type === 'response.output_text.delta') streamed += event.delta;
    }
    assert.equal(streamed, [large, ...tiny].join(''));
    assert.equal((await ended(sdk(key), id)).status, 'completed');
  });

  test('[R77] a reader that never reads is let go at streams.total, and keeps nobody waiting', async () => {
    await using scene = await runScene({ streams: { total: 2 } });
    const key = await scene.gateway.creditKey({ credit: '100' });
    const { id } = await sdk(key).responses.create(ASKED);
    const provider = await scene.upstream.next();
    provider.streamHead();
    for (const frame of opening) provider.chunk(frame);
    const closed = new Promise<void>((resolve) => {
      const lazy = request(`${key.origin}/v1/responses/${id}?stream=true`, {
        agent: false,
        headers: { authorization: `Bearer ${key.key}` },
      });
      lazy.on('response', (response) => {
        response.pause();
        response.on('error', () => {});
        // Read only when the run has long ended: what was buffered, and then the end.
        void ended(sdk(key), id).then(() => response.resume());
        response.on('close', resolve);
      });
      lazy.on('error', () => resolve());
      lazy.end();
    });
    for (let count = 0; count < 300; count++) provider.chunk(text('y'.repeat(20_000)));
    for (const frame of closing) provider.chunk(frame);
    provider.finish();
    assert.equal((await ended(sdk(key), id)).status, 'completed');
    await closed;
  });
});

describe('races', () => {
  for (const [name, act] of [
    ['cancel', (client: OpenAI, id: string) => client.responses.cancel(id)],
    ['DELETE', (client: OpenAI, id: string) => client.responses.delete(id)],
  ] as const) {
    test(`[R76] [R78] ${name} racing the end: one end, one charge`, async () => {
      await using scene = await runScene();
      for (let round = 0; round < 10; round++) {
        const key = await scene.gateway.creditKey();
        const client = sdk(key);
        const { id } = await client.responses.create(ASKED);
        const provider = await scene.upstream.next();
        provider.streamHead();
        for (const frame of [...opening, text('Hi')]) provider.chunk(frame);
        const raced = [act(client, id), act(client, id).catch(() => null)];
        if (round % 2 === 0) for (const frame of closing) provider.chunk(frame);
        await Promise.all(raced);
        const { credits, requests } = await usage(key);
        assert.deepEqual([credits.reserved, requests.total <= 1], [0, true]);
        if (name === 'cancel') {
          const { status } = await client.responses.retrieve(id);
          assert.ok(status === 'completed' || status === 'cancelled', String(status));
          if (status === 'completed') assert.equal(credits.used, COST);
        }
        provider.reset();
      }
    });
  }
});

test('[R31] [R76] a run goes to the next provider where the first one fails before its first event, however long that was silent', async () => {
  await using scripted = await scriptedGateway({
    servers: 2,
    routing: { max_attempts: 2 },
    streams: { headers_wait: 0.05, keep_alive: 0.05 },
  });
  const key = await scripted.gateway.creditKey();
  const { id } = await sdk(key).responses.create(ASKED);
  const first = await scripted.first.next();
  first.streamHead();
  // Long enough for signs of life, which a client that waits would have got.
  await new Promise((resolve) => setTimeout(resolve, 300));
  first.reset();
  (await scripted.second.next()).stream([...opening, text('Hi'), ...closing]);
  assert.equal((await ended(sdk(key), id)).status, 'completed');
  assert.equal((await usage(key)).credits.used, COST);
});

test('[R76] an operator who stops a run ends it as at a limit', async () => {
  await using scene = await runScene();
  const key = await scene.gateway.creditKey();
  const { id } = await sdk(key).responses.create(ASKED);
  const provider = await scene.upstream.next();
  provider.streamHead();
  for (const frame of [...opening, text('produced ')]) provider.chunk(frame);
  for await (const event of await sdk(key).responses.retrieve(id, { stream: true })) {
    if (event.type === 'response.output_text.delta') break;
  }
  const [running] = await scene.gateway.admin.runningRequests();
  await scene.gateway.admin.call('stopRequest', { id: running?.id ?? '' });
  await failedBy(sdk(key), id, /operator/);
  const { credits, requests } = await usage(key);
  assert.ok(credits.used > 0);
  assert.deepEqual([credits.reserved, requests.total], [0, 1]);
});
