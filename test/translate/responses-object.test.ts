import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { describe, test } from 'node:test';
import { arrayAt, isObject, type JsonObject, stringAt } from '../../src/lib/json.ts';
import { type AnswerSpec, streamedAnswer, wholeAnswer } from '../support/upstreams/answers.ts';
import { FORMATS, lane, MINIMAL, runStream, runWhole } from './run-lane.ts';
import { accumulate } from './sdk.ts';

const SPEC: AnswerSpec = {
  blocks: [
    { kind: 'thinking', pieces: ['Hm'], signature: 's' },
    { kind: 'text', pieces: ['one', 'two'] },
    { kind: 'tool', id: 'call_1', name: 'f', pieces: ['{', '}'] },
  ],
  finish: 'tool',
  tokens: { input: 5, cacheRead: 0, cacheWrite: 0, cacheWrite1h: 0, output: 6, reasoning: 1 },
};
const STREAMED = { ...MINIMAL.responses, stream: true };

const frames = (text: string): JsonObject[] =>
  text
    .split('\n')
    .filter((line) => line.startsWith('data: '))
    .map((line) => JSON.parse(line.slice('data: '.length)));

/** The field names that the official SDK's type of a response has, without those that the SDK itself adds. */
function publicFields(): readonly string[] {
  const file = createRequire(import.meta.url).resolve('openai/resources/responses/responses');
  const types = readFileSync(file.replace(/\.m?js$/, '.d.ts'), 'utf8').replace(/\/\*\*[\s\S]*?\*\//g, '');
  const body = /export interface Response \{([\s\S]*?)\n\}/.exec(types)?.[1] ?? '';
  const fields = [...body.matchAll(/^ {4}(\w+)(\??):/gm)].map((match) => match[1] ?? '');
  assert.ok(fields.length > 20);
  return fields.filter((field) => field !== 'output_text');
}

describe('a response written by the gateway', () => {
  /** Fields that cannot be null and say something of features that no target of another format has. */
  const ABSENT = new Set(['image', 'prompt_cache_diagnostics', 'prompt_cache_options', 'tool_usage']);

  for (const to of FORMATS) {
    test(`[R41] has every field of the public schema, whole and in every event, from ${to}`, () => {
      const wanted = publicFields().filter((field) => !ABSENT.has(field));
      const { body } = runWhole(lane('responses', to, MINIMAL.responses), wholeAnswer(to, SPEC));
      const run = runStream(lane('responses', to, STREAMED), streamedAnswer(to, SPEC));
      const responses = frames(run.text + run.terminal).flatMap((event) =>
        isObject(event.response) ? [event.response] : [],
      );
      assert.equal(responses.length, 3);
      for (const response of [body, ...responses]) {
        assert.deepEqual(
          wanted.filter((field) => response[field] === undefined),
          [],
        );
      }
    });

    test(`[R41] numbers every event and tells the full sequence of items, parts, deltas and ends, from ${to}`, () => {
      const run = runStream(lane('responses', to, STREAMED), streamedAnswer(to, SPEC));
      const events = frames(run.text + run.terminal);
      assert.deepEqual(
        events.map((event) => event.sequence_number),
        events.map((_event, index) => index),
      );
      assert.deepEqual(
        events.map((event) => stringAt(event, 'type')?.replace('response.', '')),
        [
          'created',
          'in_progress',
          'output_item.added',
          'reasoning_summary_part.added',
          'reasoning_summary_text.delta',
          'reasoning_summary_text.done',
          'reasoning_summary_part.done',
          'output_item.done',
          'output_item.added',
          'content_part.added',
          'output_text.delta',
          'output_text.delta',
          'output_text.done',
          'content_part.done',
          'output_item.done',
          'output_item.added',
          'function_call_arguments.delta',
          'function_call_arguments.delta',
          'function_call_arguments.done',
          'output_item.done',
          'completed',
        ],
      );
    });

    test(`[R41] gives messages an id, a status and annotations, from ${to}`, () => {
      const { body } = runWhole(lane('responses', to, MINIMAL.responses), wholeAnswer(to, SPEC));
      const message = (arrayAt(body, 'output') ?? []).filter(isObject).find((item) => item.type === 'message') ?? {};
      assert.match(String(message.id), /^msg_/);
      assert.equal(message.status, 'completed');
      assert.match(JSON.stringify(message.content), /"annotations":\[\]/);
    });
  }
});

describe('a provider whose responses are incomplete', () => {
  const event = (value: object): string => `data: ${JSON.stringify(value)}\n\n`;

  test('[R41] is written anew: events without numbers, indexes or announcements become a complete sequence', async () => {
    const upstream = [
      event({ type: 'response.created', response: { id: 'resp_1' } }),
      event({ type: 'response.output_text.delta', item_id: 'x', delta: 'Hel' }),
      event({ type: 'response.output_text.delta', item_id: 'x', delta: 'lo' }),
      event({
        type: 'response.output_item.done',
        output_index: 1,
        item: { type: 'function_call', call_id: 'call_1', name: 'f', arguments: '{"a":1}' },
      }),
      event({ type: 'response.completed', response: { id: 'resp_1', usage: { input_tokens: 1, output_tokens: 2 } } }),
    ].join('');
    const run = runStream(lane('responses', 'responses', STREAMED), upstream);
    const final = await accumulate('responses', run.text + run.terminal);
    assert.equal(final.output_text, 'Hello');
    const call = (arrayAt(final, 'output') ?? []).filter(isObject)[1];
    assert.deepEqual([call?.type, call?.call_id, call?.arguments], ['function_call', 'call_1', '{"a":1}']);
    const events = frames(run.text + run.terminal);
    assert.deepEqual(
      events.map((one) => one.sequence_number),
      events.map((_event, index) => index),
    );
  });

  test('[R41] that only sends the last event still gives the whole sequence', async () => {
    const upstream = event({ type: 'response.completed', response: wholeAnswer('responses', SPEC) });
    const run = runStream(lane('responses', 'responses', STREAMED), upstream);
    const final = await accumulate('responses', run.text + run.terminal);
    assert.equal(final.output_text, 'onetwo');
  });

  test('what the deltas told is not told again by the finished item', () => {
    const run = runStream(
      lane('chat', 'responses', { ...MINIMAL.chat, stream: true }),
      streamedAnswer('responses', SPEC),
    );
    assert.equal(run.text.match(/onetwo|"one"/g)?.length, 1);
  });
});
