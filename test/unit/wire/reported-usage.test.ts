/** Usage that leaves something out: of the answer so far, or of what was reasoned. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { readChatTokens } from '../../../src/wire/chat/tokens.ts';
import { readResponsesTokens } from '../../../src/wire/responses/tokens.ts';
import { lane, MINIMAL, runStream } from '../../translate/run-lane.ts';
import { CHAT_STREAM, chatUsageChunk, laneFor, MESSAGES_STREAM, run } from './streams.ts';

const NO_CACHE = { cacheRead: 0, cacheWrite: 0, cacheWrite1h: 0 };

describe('a total that is more than input and output', () => {
  const chat = (usage: object) => readChatTokens(JSON.parse(JSON.stringify(usage)));
  const details = (reasoning: number, cached = 0) => ({
    prompt_tokens_details: { cached_tokens: cached },
    completion_tokens_details: { reasoning_tokens: reasoning },
  });

  test('[R86] output that was reasoned is charged where it is reported beside the output (xAI) or in the total alone (Gemini)', () => {
    const xai = { prompt_tokens: 10_120, completion_tokens: 1_499, total_tokens: 14_428, ...details(2_809, 128) };
    const charged = { ...NO_CACHE, input: 9_992, cacheRead: 128, output: 4_308, reasoning: 2_809 };
    assert.deepEqual(chat(xai), charged);
    const gemini = { prompt_tokens: 11, completion_tokens: 9, total_tokens: 88 };
    assert.deepEqual(chat(gemini), { ...NO_CACHE, input: 11, output: 77, reasoning: 68 });
    const responses = { input_tokens: 8, output_tokens: 10, total_tokens: 2_018 };
    const named = { ...responses, output_tokens_details: { reasoning_tokens: 2_000 } };
    assert.deepEqual(readResponsesTokens(named), { ...NO_CACHE, input: 8, output: 2_010, reasoning: 2_000 });
  });

  test('[R86] a total does not make up for an output of nothing', () => {
    const usage = { prompt_tokens: 21, completion_tokens: 0, total_tokens: 29 };
    assert.deepEqual(chat(usage), { ...NO_CACHE, input: 21, output: 0, reasoning: 0 });
    const named = { prompt_tokens: 21, completion_tokens: 0, total_tokens: 81, ...details(60) };
    assert.deepEqual(chat(named), { ...NO_CACHE, input: 21, output: 60, reasoning: 60 });
  });

  test('what was read from a cache and is not part of the input is not output', () => {
    const usage = { prompt_tokens: 1_000, completion_tokens: 50, total_tokens: 1_550, ...details(0, 500) };
    assert.deepEqual(chat(usage), { ...NO_CACHE, input: 1_000, cacheRead: 500, output: 50, reasoning: 0 });
  });

  test('a total that is the sum, less than it, missing, or not explained by what was reasoned changes nothing', () => {
    for (const total of [120, 100, undefined, null, 'many', -1, 121]) {
      const usage = { prompt_tokens: 100, completion_tokens: 20, total_tokens: total, ...details(5) };
      assert.deepEqual(chat(usage), { ...NO_CACHE, input: 100, output: 20, reasoning: 5 }, String(total));
    }
  });
});

describe('usage of a stream whose text goes on', () => {
  const early = [chatUsageChunk(), ...CHAT_STREAM.filter((frame) => !frame.includes('"choices":[]'))].join('');

  test('[R86] chat: it is not that of the whole answer', () => {
    const { meter, state } = run(laneFor('chat', { stream: true }).stream(), [early]);
    assert.equal(state, 'complete');
    assert.equal(meter.reportedFinal, false);
    assert.equal(run(laneFor('chat', { stream: true }).stream(), [CHAT_STREAM.join('')]).meter.reportedFinal, true);
  });

  test('[R86] messages: it is not that of the whole answer', () => {
    const end = MESSAGES_STREAM.findIndex((frame) => frame.includes('"message_delta"'));
    const usage = 'event: message_delta\ndata: {"type":"message_delta","delta":{},"usage":{"output_tokens":1}}\n\n';
    const silent = MESSAGES_STREAM[end]?.replace(/,"usage":\{[^}]*\}/, '') ?? '';
    const frames = [
      MESSAGES_STREAM[0],
      usage,
      ...MESSAGES_STREAM.slice(1, end),
      silent,
      ...MESSAGES_STREAM.slice(end + 1),
    ];
    const { meter, state } = run(laneFor('messages', { stream: true }).stream(), [frames.join('')]);
    assert.equal(state, 'complete');
    assert.equal(meter.reportedFinal, false);
  });

  test('[R86] translated: it is not that of the whole answer', () => {
    for (const from of ['messages', 'responses'] as const) {
      const frames = CHAT_STREAM.filter((frame) => !frame.includes('"choices":[]'));
      const opening = frames.findIndex((frame) => frame.includes('"role"')) + 1;
      const stream = [...frames.slice(0, opening), chatUsageChunk(), ...frames.slice(opening)].join('');
      const { meter } = runStream(lane(from, 'chat', { ...MINIMAL[from], stream: true }), stream);
      assert.deepEqual([meter.reportedFinal, meter.reported?.output], [false, 20], from);
    }
  });
});
