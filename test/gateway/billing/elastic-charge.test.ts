/** What an elastic hold carries, and that what the client has seen is charged in full as far as the balance goes. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { CreatedKey } from '../../../src/admin/keys/schema.ts';
import { settled, streamed, withScene } from '../../support/scripted-gateway.ts';
import { SPEECH, UPSTREAM_MODEL } from '../../support/upstreams/spoken.ts';

const INPUT_TOKENS = 21;
const { opening, text } = SPEECH.chat;

const { gateway, upstream: provider } = await withScene({
  providers: { one: { formats: ['chat'] } },
  models: [{ id: 'tested', provider: 'one', visible_output: true }],
  settings: { holds: 'elastic', routing: { max_attempts: 1 } },
});

/** The end of a chat stream that reports this much output. */
function closing(outputTokens: number): string {
  const chunk = (fields: object): string =>
    `data: ${JSON.stringify({ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: UPSTREAM_MODEL, ...fields })}\n\n`;
  const usage = {
    prompt_tokens: INPUT_TOKENS,
    completion_tokens: outputTokens,
    total_tokens: INPUT_TOKENS + outputTokens,
  };
  return [
    chunk({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }),
    chunk({ choices: [], usage }),
    'data: [DONE]\n\n',
  ].join('');
}

/** The most that the input of a request with these extra fields can count for: its bytes, and what providers add. */
function inputHigh(extra: object): number {
  return JSON.stringify(SPEECH.chat.request({ stream: true, ...extra })).length + 32;
}

async function flagged(): Promise<number> {
  return (await gateway.audit()).flagged;
}

describe('an elastic hold', () => {
  test('[R13] [R14] that carries the whole output limit is not extended, and nothing is cut short', async () => {
    const extra = { max_tokens: 300 };
    const key = await gateway.tokenKey({ budget: String(inputHigh(extra) + 300) });
    const client = streamed(key, 'chat', extra);
    const call = await provider.next();
    call.streamHead();
    call.chunk(opening.join('') + text('a'.repeat(600)));
    await client.until(/a{600}/);
    call.chunk(text('b'.repeat(600)) + closing(300));
    call.finish();
    const { text: seen } = await client.ended;
    assert.match(seen, /b{600}/);
    assert.match(seen, /"finish_reason":"stop"/);
    assert.match(seen, SPEECH.chat.terminal);
    assert.equal((await settled(gateway, key)).used, INPUT_TOKENS + 300);
  });

  test('[R14] where the balance carries less than a slice, the output limit shrinks to what it carries', async () => {
    const key = await gateway.tokenKey({ budget: String(inputHigh({}) + 300) });
    const client = streamed(key, 'chat');
    const call = await provider.next();
    assert.equal(call.body.max_completion_tokens ?? call.body.max_tokens, 300);
    call.streamHead();
    call.chunk(opening.join('') + text('a'.repeat(1_200)));
    await client.until(/a{1200}/);
    call.chunk(closing(300));
    call.finish();
    assert.match((await client.ended).text, /"finish_reason":"stop"/);
    assert.equal((await settled(gateway, key)).used, INPUT_TOKENS + 300);
  });

  test('[R13] a stream that comes as one burst is charged in full where the balance carries it', async () => {
    const before = await flagged();
    const key = await gateway.tokenKey();
    const client = streamed(key, 'chat');
    const call = await provider.next();
    call.streamHead();
    call.chunk(opening.join('') + text('a'.repeat(20_000)) + closing(5_000));
    call.finish();
    assert.match((await client.ended).text, SPEECH.chat.terminal);
    assert.equal((await settled(gateway, key)).used, INPUT_TOKENS + 5_000);
    assert.equal(await flagged(), before);
  });

  test('[R13] [R86] a report beyond the worst case cannot be: counted here instead, and flagged', async () => {
    const before = await flagged();
    const key = await gateway.tokenKey();
    const client = streamed(key, 'chat');
    const call = await provider.next();
    call.streamHead();
    call.chunk(opening.join('') + text('a') + closing(500_000));
    call.finish();
    assert.match((await client.ended).text, SPEECH.chat.terminal);
    const { used } = await settled(gateway, key);
    assert.ok(used > 0 && used < inputHigh({}), `charged ${used}`);
    assert.equal(await flagged(), before + 1);
  });

  test('[R49] a client that goes away after a burst is charged for what it has seen', async () => {
    const key: CreatedKey = await gateway.tokenKey();
    const client = streamed(key, 'chat');
    const call = await provider.next();
    call.streamHead();
    // 20,000 bytes that every tokenizer reads as 5,000 tokens.
    call.chunk(opening.join('') + text(' and'.repeat(5_000)));
    await client.until(/( and){5000}/);
    client.close();
    await call.closed;
    const { used, requests } = await settled(gateway, key);
    assert.equal(requests, 0);
    assert.ok(used >= 5_000 && used < 5_000 + inputHigh({}), `charged ${used}`);
  });
});
