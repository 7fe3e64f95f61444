/** JSON mode for messages targets, whose format has none: an instruction, and a check of the answer. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { GatewayError } from '../../src/core/conditions.ts';
import type { JsonObject } from '../../src/lib/json.ts';
import { type AnswerSpec, streamedAnswer, wholeAnswer } from '../support/upstreams/answers.ts';
import { TOKENS } from './answer-helpers.ts';
import { expected, said } from './content.ts';
import { lane, MINIMAL, runStream, runWhole, upstreamBody } from './run-lane.ts';
import { accumulate } from './sdk.ts';

const ASKED = {
  chat: { ...MINIMAL.chat, response_format: { type: 'json_object' } },
  responses: { ...MINIMAL.responses, text: { format: { type: 'json_object' } } },
} as const satisfies Record<string, JsonObject>;

const text = (...pieces: string[]): AnswerSpec => ({
  blocks: [{ kind: 'text', pieces }],
  finish: 'stop',
  tokens: TOKENS,
});

for (const from of ['chat', 'responses'] as const) {
  describe(`a JSON object asked for by a ${from} client of a messages target`, () => {
    const streamed = (spec: AnswerSpec) =>
      runStream(lane(from, 'messages', { ...ASKED[from], stream: true }), streamedAnswer('messages', spec));

    test('is asked for in the system prompt, behind what is there', () => {
      const { system, output_config } = upstreamBody(from, 'messages', ASKED[from]);
      assert.match(String(system), /single valid JSON object/);
      assert.equal(output_config, undefined);
      const own =
        from === 'chat'
          ? {
              messages: [
                { role: 'system', content: 'Be brief.' },
                { role: 'user', content: 'Hi' },
              ],
            }
          : { instructions: 'Be brief.' };
      const both = upstreamBody(from, 'messages', { ...ASKED[from], ...own }).system;
      assert.match(JSON.stringify(both), /Be brief\..*single valid JSON object/);
    });

    test('reaches the client without the text and the fence around it, whole and streamed, however it is cut', async () => {
      for (const spec of [
        text('{"a":', ' {"b": "}"}}'),
        text('Here you are:\n```json\n{"a":', ' {"b": "}"}}\n```', ' Anything else?'),
        text('Here', ' {', '"a": {"b": "}', '"}', '}', ' {"c":1}'),
      ]) {
        const json = '{"a": {"b": "}"}}';
        const whole = runWhole(lane(from, 'messages', ASKED[from]), wholeAnswer('messages', spec)).body;
        assert.equal(said(from, whole).text, json);
        const run = streamed(spec);
        assert.equal(said(from, await accumulate(from, run.text + run.terminal)).text, json);
      }
    });

    test('is missed where the answer has none, is broken, or is something else', () => {
      for (const spec of [text('I cannot do that.'), text('{"a": 1,}'), text('{"a": 1'), text('[1, 2]')]) {
        assert.throws(
          () => runWhole(lane(from, 'messages', ASKED[from]), wholeAnswer('messages', spec)),
          (error) =>
            error instanceof GatewayError && error.condition === 'upstream_error' && /JSON object/.test(error.message),
        );
        const { terminal, failure } = streamed(spec);
        assert.deepEqual([terminal, failure?.condition], [null, 'upstream_error']);
      }
    });

    test('is not missed where the answer was cut off at its limit, or calls a tool', () => {
      const cut: AnswerSpec = { ...text('{"a": [1, 2'), finish: 'length' };
      assert.notEqual(streamed(cut).terminal, null);
      const tools =
        from === 'chat' ? [{ type: 'function', function: { name: 'f' } }] : [{ type: 'function', name: 'f' }];
      const calling: AnswerSpec = {
        blocks: [{ kind: 'tool', id: 'call_1', name: 'f', pieces: ['{}'] }],
        finish: 'tool',
        tokens: TOKENS,
      };
      const whole = runWhole(lane(from, 'messages', { ...ASKED[from], tools }), wholeAnswer('messages', calling)).body;
      assert.deepEqual(said(from, whole).tools, expected(from, calling).tools);
    });
  });
}

describe('an input with nothing in it', () => {
  for (const to of ['chat', 'messages'] as const) {
    test(`is refused by the name that a responses client knows it by, for a ${to} target`, () => {
      for (const input of to === 'chat' ? [[]] : [[], '', [{ role: 'user', content: '' }]]) {
        assert.throws(() => lane('responses', to, { ...MINIMAL.responses, input }), { param: 'input' });
      }
    });
  }

  test('is not missed where the instructions are the prompt', () => {
    const { messages } = upstreamBody('responses', 'messages', { model: 'm', input: [], instructions: 'Say hi.' });
    assert.deepEqual(messages, [{ role: 'user', content: 'Say hi.' }]);
  });
});
