/** A response whose input ends with `compaction_trigger`, as Codex asks for one: made by the gateway, unless the provider does. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { auditClean, usage, visit } from '../support/requests.ts';
import { settled, withScene } from '../support/scripted-gateway.ts';
import { SocketClient } from '../support/socket-client.ts';
import { withGateway } from '../support/started-gateway.ts';
import { spoken, UPSTREAM_MODEL } from '../support/upstreams/spoken.ts';

const gateway = await withGateway({ config: 'limits: { count_wait: 300 }' });
const INPUT = [
  { role: 'user', content: 'My colour is blue.' },
  { role: 'assistant', content: 'Noted.' },
  { type: 'compaction_trigger' },
];

interface Answer {
  readonly object: string;
  readonly status: string;
  readonly instructions: string | null;
  readonly output: readonly { readonly type: string; readonly encrypted_content: string }[];
  readonly usage: { readonly output_tokens: number };
}

describe('[R79] a compaction that a response is asked for', () => {
  for (const mode of ['credit', 'token_budget'] as const) {
    for (const model of ['sandbox/alpha', 'sandbox/beta']) {
      test(`${mode}, ${model}: is one sealed item, held and charged, and any model goes on from it`, async () => {
        const key = mode === 'credit' ? await gateway.creditKey() : await gateway.tokenKey();
        const response = await visit(key, 'responses', { body: { model, input: INPUT, instructions: 'Be brief.' } });
        const made = (await response.json()) as Answer;
        assert.equal(response.status, 200, JSON.stringify(made));
        assert.deepEqual([made.object, made.status, made.instructions], ['response', 'completed', 'Be brief.']);
        assert.deepEqual(
          made.output.map(({ type }) => type),
          ['compaction'],
        );
        assert.ok(made.usage.output_tokens > 0);
        assert.equal((await usage(key)).requests.total, 1);
        const other = model === 'sandbox/alpha' ? 'sandbox/beta' : 'sandbox/alpha';
        const input = [...made.output, { role: 'user', content: 'Which one?' }];
        const next = await visit(key, 'responses', { body: { model: other, input } });
        assert.equal(next.status, 200, await next.text());
      });
    }
  }

  test('[R76] is not made in the background', async () => {
    const key = await gateway.creditKey();
    const response = await visit(key, 'responses', {
      body: { model: 'sandbox/alpha', input: INPUT, background: true },
    });
    const { error } = (await response.json()) as { readonly error: { readonly param: string } };
    assert.deepEqual([response.status, error.param], [400, 'background']);
    assert.equal((await usage(key)).requests.total, 0);
  });

  test('streamed, with a repeat that is the same', async () => {
    const key = await gateway.creditKey();
    const sent = {
      body: { model: 'sandbox/beta', input: INPUT, stream: true },
      headers: { 'idempotency-key': 'once' },
    };
    const first = await visit(key, 'responses', sent);
    assert.match(first.headers.get('content-type') ?? '', /^text\/event-stream/);
    const text = await first.text();
    assert.deepEqual(
      [...text.matchAll(/^event: (.*)$/gm)].map(([, type]) => type),
      [
        'response.created',
        'response.in_progress',
        'response.output_item.added',
        'response.output_item.done',
        'response.completed',
      ],
    );
    const again = await visit(key, 'responses', sent);
    assert.equal(again.headers.get('idempotent-replayed'), 'true');
    assert.equal(await again.text(), text);
    assert.equal((await usage(key)).requests.total, 1);
  });

  for (const usageOf of [{}, { usage: { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 } }]) {
    test(`[R51] streamed, from a provider that reports ${JSON.stringify(usageOf)}: is charged and shown as counted`, async () => {
      const { gateway: scripted, upstream } = await withScene({
        providers: { one: { formats: ['chat'] } },
        models: [{ id: 'tested', provider: 'one' }],
      });
      const key = await scripted.creditKey();
      const sent = {
        body: { model: 'tested', input: INPUT, stream: true },
        headers: { 'idempotency-key': 'once' },
      };
      const asked = visit(key, 'responses', sent);
      const choice = { index: 0, message: { role: 'assistant', content: 'It is blue.' }, finish_reason: 'stop' };
      (await upstream.next()).reply(200, { id: 'c', model: UPSTREAM_MODEL, choices: [choice], ...usageOf });
      const response = await asked;
      const text = await response.text();
      assert.equal(response.status, 200, text);
      assert.match(text, /event: response\.completed\n.*"usage":\{"input_tokens":[1-9]/);
      const { used } = await settled(scripted, key);
      assert.ok(used > 0);
      assert.equal(await (await visit(key, 'responses', sent)).text(), text);
      assert.equal((await settled(scripted, key)).used, used);
    });
  }

  test('[R80] over a WebSocket', async () => {
    await using client = await SocketClient.open(await gateway.tokenKey());
    const { output } = await client.create(INPUT).completed();
    assert.deepEqual(
      output.map(({ type }) => type),
      ['compaction'],
    );
    await auditClean(gateway);
  });

  test('is left to a provider that has the newer operations of the format', async () => {
    const { gateway: scripted, upstream } = await withScene({
      providers: { own: { formats: ['responses'], count_tokens: true }, plain: { formats: ['responses'] } },
      models: [
        { id: 'own', provider: 'own', upstream: UPSTREAM_MODEL },
        { id: 'plain', provider: 'plain', upstream: UPSTREAM_MODEL },
      ],
    });
    const key = await scripted.creditKey();
    for (const [model, passed] of [
      ['own', true],
      ['plain', false],
    ] as const) {
      const response = visit(key, 'responses', { body: { model, input: INPUT, stream: passed } });
      const call = await upstream.next();
      assert.equal(JSON.stringify(call.body).includes('compaction_trigger'), passed);
      if (passed) call.stream(spoken('responses', 'Fine'));
      else call.reply(400, { error: { message: 'enough was seen' } });
      await (await response).text();
    }
    await settled(scripted, key);
  });
});
