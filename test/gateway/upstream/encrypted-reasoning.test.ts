/** What a provider is asked to store, and what becomes of reasoning that only it can read. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { CreatedKey } from '../../../src/admin/keys/schema.ts';
import { ask, type ScriptedGateway, scriptedGateway, settled } from '../../support/scripted-gateway.ts';
import { call } from '../../support/started-gateway.ts';
import type { ScriptedCall } from '../../support/upstreams/scripted.ts';
import { SPEECH } from '../../support/upstreams/spoken.ts';

const ENCRYPTED = `gAAAA${'x'.repeat(100_000)}`;
const REASONS = { reasoning: { effort: 'low' } };

let fixture: ScriptedGateway;
before(async () => {
  fixture = await scriptedGateway({ servers: 2, routing: { max_attempts: 2 } });
});
after(() => fixture[Symbol.asyncDispose]());

interface Whole {
  readonly id: string;
  readonly output: readonly { readonly id: string; readonly [name: string]: unknown }[];
}

function reasoning(turn: number): { readonly id: string; readonly type: string; readonly encrypted_content: string } {
  return { id: `rs_${turn}`, type: 'reasoning', summary: [], encrypted_content: ENCRYPTED } as never;
}

/** The response of one turn: reasoning, then a message. */
function answer(turn: number): object {
  const message = { id: `msg_${turn}`, type: 'message', role: 'assistant', status: 'completed', content: [] };
  const whole = SPEECH.responses.whole('Hi') as Whole;
  return { ...whole, id: `resp_${turn}`, output: [reasoning(turn), message] };
}

function reply(to: ScriptedCall, turn: number): void {
  if (to.body.stream !== true) {
    to.reply(200, answer(turn));
    return;
  }
  const event = (type: string, sequence_number: number, fields: object): string =>
    `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number, ...fields })}\n\n`;
  const open = { ...answer(turn), status: 'in_progress', output: [], usage: null };
  to.stream([
    event('response.created', 0, { response: open }),
    event('response.output_item.added', 1, { output_index: 0, item: reasoning(turn) }),
    event('response.output_item.done', 2, { output_index: 0, item: reasoning(turn) }),
    event('response.completed', 3, { response: answer(turn) }),
  ]);
}

let turns = 0;

/** One turn with the first provider: what it was sent, and what the client got. */
async function take(key: CreatedKey, extra: object): Promise<{ id: string; sent: ScriptedCall['body']; text: string }> {
  const turn = ++turns;
  const asked = ask(key, 'responses', extra);
  const arrived = await fixture.first.next();
  reply(arrived, turn);
  const { status, text } = await asked;
  assert.equal(status, 200, text.slice(0, 500));
  return { id: `resp_${turn}`, sent: arrived.body, text };
}

for (const stream of [false, true]) {
  describe(`[R65] ${stream ? 'streamed' : 'whole'}`, () => {
    test('the provider is asked for encrypted reasoning, which comes back to it and is hidden from the client', async () => {
      const key = await fixture.gateway.tokenKey();
      const first = await take(key, { ...REASONS, stream, include: ['message.output_text.logprobs'] });
      assert.equal(first.sent.store, false);
      assert.deepEqual(first.sent.include, ['message.output_text.logprobs', 'reasoning.encrypted_content']);
      assert.doesNotMatch(first.text, /gAAAA/);
      assert.doesNotMatch(first.text, /encrypted_content/);
      assert.match(first.text, /"store":true/);
      const second = await take(key, { ...REASONS, stream, previous_response_id: first.id, input: 'And now?' });
      const [user, sentReasoning, message, last] = second.sent.input as readonly Record<string, unknown>[];
      assert.deepEqual(user, { type: 'message', role: 'user', content: 'Hello' });
      assert.equal(sentReasoning?.encrypted_content, ENCRYPTED);
      assert.equal(message?.type, 'message');
      assert.deepEqual(last, { type: 'message', role: 'user', content: 'And now?' });
      assert.equal('previous_response_id' in second.sent, false);
      // A client that keeps the conversation itself sends reasoning back as it saw it.
      const hidden = { id: `rs_${turns}`, type: 'reasoning', summary: [] };
      const third = await take(key, { ...REASONS, stream, input: [hidden, { role: 'user', content: 'x' }] });
      assert.equal((third.sent.input as readonly Record<string, unknown>[])[0]?.encrypted_content, ENCRYPTED);
      const got = await call(`${key.origin}/v1/responses/${first.id}`, { key: key.key });
      assert.equal('encrypted_content' in (((await got.json()) as Whole).output[0] ?? {}), false);
      await settled(fixture.gateway, key);
    });

    test('a client that asks for it sees it, and it is not asked for where nothing is kept or nothing reasons', async () => {
      const key = await fixture.gateway.tokenKey();
      const include = ['reasoning.encrypted_content'];
      const shown = await take(key, { ...REASONS, stream, include });
      assert.deepEqual(shown.sent.include, include);
      assert.match(shown.text, /"encrypted_content":"gAAAA/);
      const got = await call(`${key.origin}/v1/responses/${shown.id}`, { key: key.key });
      assert.equal(((await got.json()) as Whole).output[0]?.encrypted_content, ENCRYPTED);
      assert.equal('include' in (await take(key, { ...REASONS, stream, store: false })).sent, false);
      assert.equal('include' in (await take(key, { stream })).sent, false);
      await settled(fixture.gateway, key);
    });

    test('[R64] after a failover another provider gets the conversation without reasoning that it cannot read', async () => {
      const key = await fixture.gateway.tokenKey();
      const first = await take(key, { ...REASONS, stream });
      const asked = ask(key, 'responses', { ...REASONS, stream, previous_response_id: first.id });
      const failing = await fixture.first.next();
      assert.match(JSON.stringify(failing.body), /gAAAA/);
      failing.reply(500, { error: { message: 'down' } });
      const second = await fixture.second.next();
      const items = second.body.input as readonly Record<string, unknown>[];
      assert.deepEqual(
        items.map(({ type }) => type),
        ['message', 'message', 'message'],
      );
      reply(second, ++turns);
      assert.equal((await asked).status, 200);
      await settled(fixture.gateway, key);
    });
  });
}

test('[R65] a provider that may store is sent what the client said, and nothing is asked for', async () => {
  const storing = await scriptedGateway({ provider: { store_responses: true } });
  try {
    const key = await storing.gateway.tokenKey();
    for (const extra of [{}, { store: true }, { store: false }]) {
      const asked = ask(key, 'responses', { ...REASONS, ...extra });
      const arrived = await storing.first.next();
      const { store, include } = arrived.body;
      assert.deepEqual([store, include], ['store' in extra ? extra.store : undefined, undefined]);
      arrived.reply(200, answer(++turns));
      assert.equal((await asked).status, 200);
    }
    const chat = ask(key, 'chat', { store: true });
    const arrived = await storing.first.next();
    assert.equal(arrived.body.store, true);
    arrived.reply(200, SPEECH.chat.whole('Hi'));
    await chat;
    await settled(storing.gateway, key);
  } finally {
    await storing[Symbol.asyncDispose]();
  }
});

test('[R64] a provider that gives every response the same id: it is not said to be kept where it could not be', async () => {
  const key = await fixture.gateway.tokenKey();
  const same = async (extra: object): Promise<string> => {
    const asked = ask(key, 'responses', extra);
    (await fixture.first.next()).reply(200, SPEECH.responses.whole('Hi'));
    return (await asked).text;
  };
  assert.match(await same({}), /"store":true/);
  assert.match(await same({ previous_response_id: 'resp_1' }), /"store":false/);
  assert.match(await same({ previous_response_id: 'resp_1' }), /"store":false/);
  await settled(fixture.gateway, key);
});
