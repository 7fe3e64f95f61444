/**
 * Compaction: the summary of a conversation is billed like the answer, and reported beside it in `usage.iterations`. The
 * upstream reports 21 tokens of input and 8 of output for the answer; at 1 and 4 USD per million that is 53,000 billionths.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { CreatedKey } from '../../../src/admin/keys/schema.ts';
import { accountWhen, auditClean } from '../../support/requests.ts';
import { ask, ClientStream, withScene } from '../../support/scripted-gateway.ts';
import { SPEECH, spoken } from '../../support/upstreams/spoken.ts';

const ANSWER = 53_000;
const EDITS = { context_management: { edits: [{ type: 'compact_20260112' }] } };
const ITERATIONS = [
  { type: 'compaction', input_tokens: 1_000, output_tokens: 100, cache_read_input_tokens: 10 },
  { type: 'message', input_tokens: 21, output_tokens: 8 },
  { type: 'advisor_message', model: 'other', input_tokens: 500, output_tokens: 500 },
];
/** 1,000 × 1 + 10 × 0.1 + 100 × 4 */
const COMPACTION = 1_401_000;

const { gateway, upstream } = await withScene({
  providers: { one: { formats: ['messages'] } },
  models: [{ id: 'tested', provider: 'one', pricing: { input: 1, output: 4, cache_read: 0.1 } }],
});

function answering(iterations: unknown): void {
  upstream.answer = (call) => {
    const whole = SPEECH.messages.whole('Hi') as { usage: object };
    if (call.body.stream !== true) {
      call.reply(200, { ...whole, usage: { ...whole.usage, iterations } });
      return;
    }
    const frames = spoken('messages', 'Hi').map((frame) =>
      frame.startsWith('event: message_delta')
        ? frame.replace('"usage":{', `"usage":{"iterations":${JSON.stringify(iterations)},`)
        : frame,
    );
    assert.ok(frames.some((frame) => frame.includes('iterations')));
    call.stream(frames);
  };
}

async function chargeOf(key: CreatedKey): Promise<number> {
  const { used } = await accountWhen(gateway, key, ({ live_holds }) => live_holds === 0);
  return Math.round(used * 1e9);
}

describe('the tokens of a compaction', () => {
  for (const stream of [false, true]) {
    test(`are charged with those of the answer, ${stream ? 'streamed' : 'whole'}`, async () => {
      const key = await gateway.creditKey();
      answering(ITERATIONS);
      const answer = await ask(key, 'messages', { stream, ...EDITS });
      assert.equal(answer.status, 200, answer.text);
      assert.equal(await chargeOf(key), ANSWER + COMPACTION);
      await auditClean(gateway);
    });
  }

  test('are charged to a client of another format, which sees them in its usage', async () => {
    const key = await gateway.tokenKey();
    answering(ITERATIONS);
    const answer = await ask(key, 'chat', {});
    const { usage } = JSON.parse(answer.text) as { usage: { total_tokens: number } };
    assert.equal(usage.total_tokens, 29 + 1_110);
    assert.equal((await gateway.admin.showKey(key.id)).used, 29 + 1_110);
  });

  test('that are no counts discredit the report, which is flagged', async () => {
    for (const iterations of [[{ type: 'compaction' }], [{ type: 'compaction', input_tokens: -1, output_tokens: 1 }]]) {
      const key = await gateway.creditKey();
      const { flagged } = await gateway.audit();
      answering(iterations);
      assert.equal((await ask(key, 'messages', EDITS)).status, 200);
      await chargeOf(key);
      assert.equal((await gateway.audit()).flagged, flagged + 1);
    }
  });

  test('change nothing where there are none, or the list is something else', async () => {
    for (const iterations of [null, [], 'all', [null, 7, { type: 'message', input_tokens: 9, output_tokens: 9 }]]) {
      const key = await gateway.creditKey();
      answering(iterations);
      assert.equal((await ask(key, 'messages', EDITS)).status, 200);
      assert.equal(await chargeOf(key), ANSWER, JSON.stringify(iterations));
    }
  });
});

test('[R13] the hold carries the run that summarises, too', async () => {
  const held = async (extra: object): Promise<number> => {
    const key = await gateway.tokenKey();
    upstream.answer = null;
    const stream = new ClientStream(key, 'messages', SPEECH.messages.request({ max_tokens: 1_000, ...extra })).read();
    const call = await upstream.next();
    const { reserved } = await gateway.admin.showKey(key.id);
    call.reply(200, SPEECH.messages.whole('Hi'));
    await stream.ended;
    await chargeOf(key);
    return reserved;
  };
  const plain = await held({ metadata: { user_id: 'x'.repeat(JSON.stringify(EDITS).length - 28) } });
  const compacting = await held(EDITS);
  assert.ok(compacting >= 2 * plain - 20 && compacting <= 2 * plain + 20, `${compacting} against ${plain}`);
});
