/** What goes out to clients is held before, and charged: however large the frames, however many at once. */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { cutGateway, dense, elasticRequest, FIRST_TOKENS } from '../../support/cut-gateway.ts';
import { events } from '../../support/requests.ts';
import { ClientStream, settled } from '../../support/scripted-gateway.ts';
import { FORMAT_NAMES, INPUT_TOKENS, OUTPUT_TOKENS, SPEECH, UPSTREAM_MODEL } from '../../support/upstreams/spoken.ts';
import { numbered } from '../../support/upstreams/tool-calls.ts';

const cut = await cutGateway({ streams: { hold_wait: 0.2 } });
const { gateway, provider } = cut;
after(() => cut[Symbol.asyncDispose]());

/** Of a text of `dense`, as the client has it. */
function digitsIn(seen: string): number {
  return Math.max(0, ...(seen.match(/\d{1000,}/g) ?? []).map(({ length }) => length));
}

/** As the provider reports it that has produced so much. */
function reporting(outputTokens: number, frame: string): string {
  return frame
    .replaceAll(`"completion_tokens":${OUTPUT_TOKENS}`, `"completion_tokens":${outputTokens}`)
    .replaceAll(`"output_tokens":${OUTPUT_TOKENS}`, `"output_tokens":${outputTokens}`)
    .replaceAll(`"total_tokens":${INPUT_TOKENS + OUTPUT_TOKENS}`, `"total_tokens":${INPUT_TOKENS + outputTokens}`);
}

describe('[F47] an answer in one frame that is larger than the slice of its hold', () => {
  for (const format of FORMAT_NAMES) {
    test(`[R13] ${format}: forty at once on a balance for one: what went out is charged, and no more than there is`, async () => {
      const { opening, text, closing } = SPEECH[format];
      const size = 6_000;
      const body = elasticRequest(format, UPSTREAM_MODEL);
      const input = Buffer.byteLength(JSON.stringify(body)) + 32;
      // The first slices of all of them, and what one of them needs beside.
      const budget = 40 * (input + FIRST_TOKENS) + size;
      const key = await gateway.tokenKey({ budget: String(budget) });
      provider.answer = (call) => {
        call.streamHead();
        const frames = numbered([...opening, text(dense(size)), ...closing]);
        for (const frame of frames) call.chunk(reporting(size, frame));
        call.finish();
      };
      const ends = await Promise.all(
        Array.from({ length: 40 }, () => new ClientStream(key, format, body).read().ended),
      );
      provider.answer = null;
      const sent = ends.map(({ text: seen }) => digitsIn(seen));
      const { used, reserved } = await settled(gateway, key);
      assert.equal(reserved, 0);
      assert.ok(used <= budget, `charged ${used} of ${budget}`);
      const complete = sent.filter((digits) => digits > 0);
      assert.ok(complete.length >= 1, 'at least one has its answer');
      assert.deepEqual([...new Set(complete)], [size], 'a frame goes out whole or not at all');
      const owed = complete.length * (size + INPUT_TOKENS);
      assert.ok(used >= owed, `${complete.length} answers for ${owed} went out, ${used} were charged`);
    });
  }

  test('[R13] more than 1 MiB beyond the hold ends the stream before it, whatever the balance', async () => {
    const { opening, text } = SPEECH.chat;
    const body = elasticRequest('chat', UPSTREAM_MODEL);
    const key = await gateway.tokenKey();
    const client = new ClientStream(key, 'chat', body).read();
    const call = await provider.next();
    call.streamHead();
    call.chunk(opening.join('') + text('seen'));
    await client.until(/seen/);
    call.chunk(text(dense(1_200_000)));
    const { text: seen } = await client.ended;
    assert.equal(digitsIn(seen), 0);
    assert.match(seen, /"finish_reason":"length"[\s\S]*\[DONE\]/);
    // It was produced all the same.
    assert.ok((await settled(gateway, key)).used >= FIRST_TOKENS);
  });

  test('[R13] what was produced and not sent is charged as far as the hold goes, and flagged', async () => {
    const { opening, text } = SPEECH.chat;
    const body = elasticRequest('chat', UPSTREAM_MODEL);
    const input = Buffer.byteLength(JSON.stringify(body)) + 32;
    const budget = input + FIRST_TOKENS + 100;
    const key = await gateway.tokenKey({ budget: String(budget) });
    const flagged = (await gateway.audit()).flagged;
    const client = new ClientStream(key, 'chat', body).read();
    const call = await provider.next();
    call.streamHead();
    call.chunk(opening.join('') + text(dense(7_000)));
    const { text: seen } = await client.ended;
    assert.equal(digitsIn(seen), 0);
    const { used } = await settled(gateway, key);
    assert.equal(used, budget);
    assert.equal((await gateway.audit()).flagged, flagged + 1);
  });
});

describe('a bound by bytes', () => {
  test('[R13] ends no stream: ordinary text goes on for as many tokens as the balance has', async () => {
    const { opening, text, closing } = SPEECH.chat;
    const body = elasticRequest('chat', UPSTREAM_MODEL, { stream_options: { include_usage: true } });
    const input = Buffer.byteLength(JSON.stringify(body)) + 32;
    const key = await gateway.tokenKey({ budget: String(input + FIRST_TOKENS + 100) });
    const client = new ClientStream(key, 'chat', body).read();
    const call = await provider.next();
    call.streamHead();
    call.chunk(opening.join(''));
    // Three times the bytes that the hold has tokens, and fewer tokens than it has.
    for (let sentence = 0; sentence < 64; sentence++) {
      call.chunk(text('The quick brown fox jumps over the lazy dog, and nobody minds that it does so every day. '));
    }
    call.chunk(closing.join(''));
    call.finish();
    const all = events((await client.ended).text);
    assert.equal(all.at(-1), '[DONE]');
    assert.match(JSON.stringify(all), /"finish_reason":"stop"/);
    await settled(gateway, key);
  });

  test('[R13] ends no stream for one large frame either: all of its text is counted', async () => {
    const { opening, text, closing } = SPEECH.chat;
    const body = elasticRequest('chat', UPSTREAM_MODEL);
    const input = Buffer.byteLength(JSON.stringify(body)) + 32;
    const key = await gateway.tokenKey({ budget: String(input + 7_500) });
    const client = new ClientStream(key, 'chat', body).read();
    const call = await provider.next();
    call.streamHead();
    call.chunk(opening.join(''));
    await client.until(/assistant/);
    // Nearly three times the bytes that the balance has tokens.
    const prose = 'The quick brown fox jumps over the lazy dog, and nobody minds that it does so every day. '.repeat(
      230,
    );
    call.chunk(text(prose));
    call.chunk(closing.join(''));
    call.finish();
    const seen = (await client.ended).text;
    assert.ok(seen.includes(prose), 'the frame is there whole');
    assert.match(seen, /"finish_reason":"stop"[\s\S]*\[DONE\]/);
    await settled(gateway, key);
  });
});
