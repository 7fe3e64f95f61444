/** Responses that are made in the background: created, read at every stage, resumed, cancelled, and paid for once. */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import OpenAI from 'openai';
import type { Response as Answer, ResponseStreamEvent } from 'openai/resources/responses/responses';
import type { CreatedKey } from '../../../src/admin/keys/schema.ts';
import { usage } from '../../support/requests.ts';
import { ASKED, eventually, type RunScene, runScene, sdk, spoken, stopPostgres } from '../../support/run-scene.ts';
import { call } from '../../support/started-gateway.ts';
import { INPUT_TOKENS, OUTPUT_TOKENS } from '../../support/upstreams/spoken.ts';

after(stopPostgres);

/** In credits: 1 and 4 for a million tokens. */
const COST = (INPUT_TOKENS * 1 + OUTPUT_TOKENS * 4) / 1e6;

async function ended(client: OpenAI, id: string): Promise<Omit<Answer, 'output_text'>> {
  return eventually(async () => {
    const response = await client.responses.retrieve(id);
    return response.status === 'in_progress' || response.status === 'queued' ? null : bare(response);
  });
}

/** Without what the package adds to some of them. */
function bare({ output_text: _, ...response }: Answer): Omit<Answer, 'output_text'> {
  return response;
}

/** The exact bytes of the events of a run. */
async function eventsOf(key: CreatedKey, id: string, query = '', origin = key.origin): Promise<string> {
  const response = await call(`${origin}/v1/responses/${id}?stream=true${query}`, { key: key.key });
  const text = await response.text();
  assert.equal(response.status, 200, text);
  return text.replaceAll(': keep-alive\n\n', '');
}

const numbersIn = (text: string): number[] =>
  [...text.matchAll(/"sequence_number":(\d+)/g)].map(([, number]) => Number(number));

async function charged(key: CreatedKey) {
  const { credits, requests } = await usage(key);
  return { used: credits.used, reserved: credits.reserved, requests: requests.total };
}

for (const engine of ['sqlite', 'postgres'] as const) {
  describe(`a run on ${engine}`, () => {
    test('[R76] [R77] is answered at once, shown at every stage, charged once, and logged under the creating request', async () => {
      await using scene = await runScene({ engine });
      const key = await scene.gateway.creditKey();
      const client = sdk(key);
      const { data: begun, response: head } = await client.responses.create(ASKED).withResponse();
      assert.equal(begun.status, 'in_progress');
      assert.equal(begun.background, true);
      const provider = await scene.upstream.next();
      assert.equal(provider.body.stream, true);
      assert.equal('background' in provider.body, false, 'background is never sent upstream');
      assert.equal((await client.responses.retrieve(begun.id)).status, 'in_progress');
      const { opening, text, closing } = spoken();
      provider.stream([...opening, text('Hi'), ...closing]);
      const done = await ended(client, begun.id);
      assert.equal(done.status, 'completed');
      assert.deepEqual([done.id, done.background, done.model], [begun.id, true, 'tested']);
      assert.deepEqual(await charged(key), { used: COST, reserved: 0, requests: 1 });
      const logged = await eventually(async () => {
        const { data } = await scene.gateway.admin.call('listRequests', {
          query: { key: key.id, format: 'responses' },
        });
        return data.length === 0 ? null : data;
      });
      assert.deepEqual(
        logged.map(({ id, charged: amount }) => [id, Number(amount) / 1e9]),
        [[head.headers.get('x-request-id'), COST]],
      );
      const followed = await client.responses.create({
        model: 'tested',
        input: 'Again',
        previous_response_id: begun.id,
        background: true,
      });
      (await scene.upstream.next()).stream([...opening, text('Hi'), ...closing]);
      assert.equal((await ended(client, followed.id)).previous_response_id, begun.id);
    });

    test('[R77] its events can be taken up anywhere, the same bytes for every reader, also after the client has gone', async () => {
      await using scene = await runScene({ engine });
      const key = await scene.gateway.creditKey();
      const client = sdk(key);
      const stream = await client.responses.create({ ...ASKED, stream: true });
      const provider = await scene.upstream.next();
      const { opening, text, closing } = spoken();
      provider.streamHead();
      for (const frame of [...opening, text('one '), text('two ')]) provider.chunk(frame);
      const seen: ResponseStreamEvent[] = [];
      let id = '';
      for await (const event of stream) {
        seen.push(event);
        if (event.type === 'response.created') id = event.response.id;
        // The connection is cut in the middle.
        if (event.type === 'response.output_text.delta' && event.delta === 'two ') break;
      }
      const resumed = client.responses.retrieve(id, {
        stream: true,
        starting_after: seen.at(-1)?.sequence_number ?? 0,
      });
      const first = eventsOf(key, id);
      provider.chunk(text('three'));
      for (const frame of closing) provider.chunk(frame);
      provider.finish();
      const rest: ResponseStreamEvent[] = [];
      for await (const event of await resumed) rest.push(event);
      assert.equal(rest[0]?.type, 'response.output_text.delta');
      assert.equal(rest.at(-1)?.type, 'response.completed');
      const whole = await first;
      const again = await eventsOf(key, id);
      assert.equal(again, whole, 'the first reader and a later one see the same bytes');
      const numbers = numbersIn(whole);
      assert.deepEqual(
        [...seen, ...rest].map((event) => event.sequence_number),
        numbers,
        'nothing is missing and nothing comes twice',
      );
      for (const number of numbers) {
        const tail = await eventsOf(key, id, `&starting_after=${number}`);
        assert.ok(whole.endsWith(tail));
        assert.deepEqual(
          numbersIn(tail),
          numbers.filter((each) => each > number),
        );
      }
      assert.equal(await eventsOf(key, id, '&starting_after=999999'), '', 'beyond the end it ends at once');
      assert.equal((await charged(key)).used, COST);
    });

    test('[R78] is cancelled, also twice, and what was produced is charged with a usage record', async () => {
      await using scene = await runScene({ engine });
      const key = await scene.gateway.creditKey();
      const client = sdk(key);
      const { id } = await client.responses.create(ASKED);
      const provider = await scene.upstream.next();
      const { opening, text } = spoken();
      provider.streamHead();
      for (const frame of [...opening, text('produced ')]) provider.chunk(frame);
      const reader = await client.responses.retrieve(id, { stream: true, starting_after: 0 });
      let cancelled: Answer | null = null;
      const events: string[] = [];
      for await (const event of reader) {
        events.push(event.type);
        if (event.type === 'response.output_text.delta') cancelled = await client.responses.cancel(id);
      }
      assert.equal(cancelled?.status, 'cancelled');
      assert.equal(events.at(-1), 'response.cancelled', 'every reader sees the end');
      await provider.closed;
      const { used, reserved, requests } = await charged(key);
      assert.ok(used > 0 && used < COST * 10, String(used));
      assert.deepEqual([reserved, requests], [0, 1]);
      const { total } = await scene.gateway.admin.usage({ key: key.id });
      assert.deepEqual([total.requests, total.cancelled, total.broken, total.error_rate], [0, 1, 0, 0]);
      assert.ok(total.output_tokens > 0);
      assert.deepEqual(await client.responses.cancel(id), cancelled, 'twice is no mistake');
      assert.deepEqual(bare(await client.responses.retrieve(id)), cancelled && bare(cancelled));
      assert.equal((await charged(key)).used, used);
      const next = { ...ASKED, previous_response_id: id };
      await assert.rejects(client.responses.create(next), /was cancelled and cannot be continued/);
    });

    test('[R79] its input items are listed at every stage, with those of what it continues, and only for its key', async () => {
      await using scene = await runScene({ engine });
      const [key, stranger] = [await scene.gateway.creditKey(), await scene.gateway.creditKey()];
      const client = sdk(key);
      const items = async (id: string): Promise<unknown[]> =>
        (await client.responses.inputItems.list(id, { order: 'asc' })).data;
      const { opening, text, closing } = spoken();
      const first = await client.responses.create(ASKED);
      const live = await items(first.id);
      assert.deepEqual(
        live.map((item) => (item as { content: object }).content),
        [[{ type: 'input_text', text: 'Hello' }]],
      );
      await assert.rejects(sdk(stranger).responses.inputItems.list(first.id), OpenAI.NotFoundError);
      (await scene.upstream.next()).stream([...opening, text('Hi'), ...closing]);
      await ended(client, first.id);
      assert.deepEqual(await items(first.id), live, 'the same when it is complete');
      const second = await client.responses.create({ ...ASKED, input: 'Go on.', previous_response_id: first.id });
      const all = await items(second.id);
      assert.deepEqual([all.length, all[0]], [3, live[0]]);
      await client.responses.cancel(second.id);
      assert.deepEqual(await items(second.id), all, 'the same when it was cancelled');
    });

    test('[R76] is deleted while it lives: cancelled first, and gone', async () => {
      await using scene = await runScene({ engine });
      const key = await scene.gateway.creditKey();
      const client = sdk(key);
      const { id } = await client.responses.create(ASKED);
      const provider = await scene.upstream.next();
      const next = { ...ASKED, previous_response_id: id };
      await assert.rejects(client.responses.create(next), /is still in progress/);
      await client.responses.delete(id);
      await provider.closed;
      await assert.rejects(client.responses.retrieve(id), OpenAI.NotFoundError);
      assert.deepEqual((await charged(key)).reserved, 0);
    });

    test('[R76] a repeat with the same Idempotency-Key gets the run as it is, never a 409', async () => {
      await using scene = await runScene({ engine });
      const key = await scene.gateway.creditKey();
      const client = sdk(key);
      const options = { headers: { 'idempotency-key': 'once' } };
      const { opening, text, closing } = spoken();
      const first = await client.responses.create(ASKED, options);
      const provider = await scene.upstream.next();
      assert.deepEqual(await client.responses.create(ASKED, options), first, 'while it runs');
      provider.stream([...opening, text('Hi'), ...closing]);
      const done = await ended(client, first.id);
      assert.deepEqual(bare(await client.responses.create(ASKED, options)), done, 'after its end');
      assert.equal(scene.upstream.calls, 1);
      const streaming = { ...ASKED, stream: true } as const;
      await assert.rejects(client.responses.create(streaming, options), OpenAI.ConflictError);
      const again = { headers: { 'idempotency-key': 'streamed' } };
      const stream = await client.responses.create(streaming, again);
      (await scene.upstream.next()).stream([...opening, text('Hi'), ...closing]);
      const types: string[] = [];
      for await (const event of stream) types.push(event.type);
      const repeated: string[] = [];
      for await (const event of await client.responses.create(streaming, again)) repeated.push(event.type);
      assert.deepEqual(repeated, types, 'its events from the start');
      assert.equal((await charged(key)).used, COST * 2);
      // What the provider refuses is not charged; the run is there all the same, and the repeat shows it.
      const refused = { headers: { 'idempotency-key': 'refused' } };
      const failing = await client.responses.create(ASKED, refused);
      (await scene.upstream.next()).reply(500, { error: { message: 'no' } });
      const failed = await ended(client, failing.id);
      assert.equal(failed.status, 'failed');
      assert.deepEqual(bare(await client.responses.create(ASKED, refused)), failed);
      assert.equal((await charged(key)).used, COST * 2);
    });

    test('[R76] as many at a time as runs_limit says, of the key and of its account', async () => {
      await using scene = await runScene({ engine });
      const { id: org } = await scene.gateway.admin.accounts.create({ name: 'org', runs_limit: 3 });
      await scene.gateway.admin.accounts.addCredit(org, { amount: '5' });
      const keys = [await scene.gateway.creditKey({ runs_limit: 2 })];
      for (const limit of [2, 5]) {
        keys.push(await scene.gateway.admin.createKey({ mode: 'credit', account: org, runs_limit: limit }));
      }
      const [alone, one, two] = keys as [CreatedKey, CreatedKey, CreatedKey];
      const attempt = async (key: CreatedKey): Promise<string> => {
        try {
          return (await sdk(key).responses.create(ASKED)).id;
        } catch (error) {
          assert.ok(error instanceof OpenAI.RateLimitError, String(error));
          assert.equal(error.code, 'rate_limit_exceeded');
          return '';
        }
      };
      for (const [key, most] of [
        [alone, 2],
        [one, 2],
        [two, 1],
      ] as const) {
        const ids = await Promise.all(Array.from({ length: 5 }, () => attempt(key)));
        assert.equal(ids.filter((id) => id !== '').length, most);
        if (key !== alone) continue;
        const [live] = ids.filter((id) => id !== '');
        await sdk(key).responses.cancel(live ?? '');
        assert.notEqual(await attempt(key), '', 'an end makes room');
      }
      for (const key of keys) {
        for (const { id } of await running(scene, key))
          await sdk(key).responses.cancel(`resp_${id.slice('req_'.length)}`);
      }
    });
  });
}

async function running(scene: RunScene, key: CreatedKey) {
  const requests = await scene.gateway.admin.runningRequests();
  return requests.filter(({ key_id }) => key_id === key.id);
}
