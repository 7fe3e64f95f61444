/** Elastic holds: a stream holds a slice and extends it; where the balance ends, the stream ends as at its length limit. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { type StartedGateway, startedGateway } from '../../support/started-gateway.ts';

let gateway: StartedGateway;
before(async () => {
  gateway = await startedGateway();
});
after(async () => {
  assert.deepEqual((await gateway.audit()).findings, []);
  await gateway[Symbol.asyncDispose]();
});

/** 16,000 tokens of output cost 0.064 credits, so a full hold would need more than this. */
const CREDIT = '0.03';

async function openai(): Promise<{ client: OpenAI; id: string }> {
  const key = await gateway.creditKey({ credit: CREDIT });
  return { client: new OpenAI({ apiKey: key.key, baseURL: key.base_url, maxRetries: 0 }), id: key.id };
}

async function used(id: string): Promise<number> {
  const view = await gateway.admin.showKey(id);
  assert.equal(view.reserved, 0);
  return view.used;
}

describe('elastic holds', () => {
  test('[R13] a stream that the balance carries completes, though its worst case is not affordable', async () => {
    const { client, id } = await openai();
    const answer = await client.chat.completions
      .stream({
        model: 'sandbox/alpha',
        max_tokens: 16_000,
        messages: [{ role: 'user', content: '[[tokens=1200]]' }],
        stream_options: { include_usage: true },
      })
      .finalChatCompletion();
    assert.equal(answer.choices[0]?.finish_reason, 'stop');
    assert.equal(answer.usage?.completion_tokens, 1_200);
    assert.equal(Math.round((await used(id)) * 1e6), 1_200 * 4 + (answer.usage?.prompt_tokens ?? 0));
  });

  test('whole answers keep the full hold', async () => {
    const { client } = await openai();
    await assert.rejects(
      client.chat.completions.create({
        model: 'sandbox/alpha',
        max_tokens: 16_000,
        messages: [{ role: 'user', content: 'x' }],
      }),
      (error) => error instanceof OpenAI.APIError && error.code === 'insufficient_credit',
    );
  });

  test('chat: where the balance cannot carry more, the stream ends at length and the charge stays within the balance', async () => {
    const { client, id } = await openai();
    const answer = await client.chat.completions
      .stream({
        model: 'sandbox/alpha',
        max_tokens: 16_000,
        messages: [{ role: 'user', content: '[[tokens=16000]]' }],
        stream_options: { include_usage: true },
      })
      .finalChatCompletion();
    assert.equal(answer.choices[0]?.finish_reason, 'length');
    assert.ok((answer.usage?.completion_tokens ?? 0) < 16_000);
    assert.ok((await used(id)) <= Number(CREDIT));
  });

  test('responses: ends as incomplete', async () => {
    const { client, id } = await openai();
    const answer = await client.responses
      .stream({ model: 'sandbox/alpha', max_output_tokens: 16_000, input: '[[tokens=16000]]' })
      .finalResponse();
    assert.equal(answer.status, 'incomplete');
    assert.equal(answer.incomplete_details?.reason, 'max_output_tokens');
    assert.ok((await used(id)) <= Number(CREDIT));
  });

  test('messages: ends with max_tokens, its blocks closed', async () => {
    const key = await gateway.creditKey({ credit: CREDIT });
    const client = new Anthropic({ apiKey: key.key, authToken: null, baseURL: key.origin, maxRetries: 0 });
    const message = await client.messages
      .stream({ model: 'sandbox/beta', max_tokens: 16_000, messages: [{ role: 'user', content: '[[tokens=16000]]' }] })
      .finalMessage();
    assert.equal(message.stop_reason, 'max_tokens');
    assert.equal(message.content[0]?.type, 'text');
    assert.ok((await used(key.id)) <= Number(CREDIT));
  });

  test('agents in parallel share a balance that could not hold two worst cases', async () => {
    const { client, id } = await openai();
    const answers = await Promise.all(
      Array.from({ length: 3 }, () =>
        client.chat.completions
          .stream({
            model: 'sandbox/alpha',
            max_tokens: 16_000,
            messages: [{ role: 'user', content: '[[tokens=200]]' }],
          })
          .finalChatCompletion(),
      ),
    );
    for (const answer of answers) assert.equal(answer.choices[0]?.finish_reason, 'stop');
    assert.ok((await used(id)) > 0);
  });
});

test('[R13] with `holds: full` the same stream is refused for its worst case', async () => {
  await using full = await startedGateway({ config: 'holds: full\n' });
  const key = await full.creditKey({ credit: CREDIT });
  const client = new OpenAI({ apiKey: key.key, baseURL: key.base_url, maxRetries: 0 });
  await assert.rejects(
    client.chat.completions.create({
      model: 'sandbox/alpha',
      max_tokens: 16_000,
      stream: true,
      messages: [{ role: 'user', content: 'x' }],
    }),
    (error) => error instanceof OpenAI.APIError && error.code === 'insufficient_credit',
  );
});
