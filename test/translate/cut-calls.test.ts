/** Calls of tools that were cut off at the output limit, in every format. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import type { Format } from '../../src/core/endpoints.ts';
import { type JsonObject, objectAt } from '../../src/lib/json.ts';
import { type AnswerSpec, type Block, streamedAnswer, wholeAnswer } from '../support/upstreams/answers.ts';
import { events, objects, TOKENS } from './answer-helpers.ts';
import { DIRECTIONS, lane, MINIMAL, runStream, runWhole } from './run-lane.ts';
import { accumulate } from './sdk.ts';

const ARGUMENTS = '{"path":"a \\"b\\"","lines":[1,{"to":null}]}';
const WHOLE_CALL: Block = { kind: 'tool', id: 'call_1', name: 'read', pieces: ['{"path":', '"x"}'] };
const call = (pieces: readonly string[], id = 'call_2'): Block => ({ kind: 'tool', id, name: 'write', pieces });
const cutAfter = (block: Block): AnswerSpec => ({ blocks: [WHOLE_CALL, block], finish: 'length', tokens: TOKENS });

/** A call as a client finds it: its name, its arguments as they were written, and its status where the format has one. */
type Seen = readonly [name: unknown, input: unknown, status?: unknown];

function callsOf(format: Format, body: JsonObject): readonly Seen[] {
  if (format === 'messages') {
    return objects(body, 'content').flatMap((block) =>
      block.type === 'tool_use' ? [[block.name, JSON.stringify(block.input)]] : [],
    );
  }
  if (format === 'responses') {
    return objects(body, 'output').map((item) => [item.name, item.arguments ?? item.input, item.status]);
  }
  const message = objectAt(objects(body, 'choices')[0] ?? {}, 'message') ?? {};
  return objects(message, 'tool_calls').map((one) => {
    const { name, arguments: input } = objectAt(one, 'function') ?? {};
    return [name, input];
  });
}

function endOf(format: Format, body: JsonObject): unknown {
  if (format === 'messages') return body.stop_reason;
  return format === 'chat' ? objects(body, 'choices')[0]?.finish_reason : body.status;
}

const CUT_END = { chat: 'length', messages: 'max_tokens', responses: 'incomplete' } as const;
const COMPLETE: Readonly<Record<Format, Seen>> = {
  chat: ['read', '{"path":"x"}'],
  messages: ['read', '{"path":"x"}'],
  responses: ['read', '{"path":"x"}', 'completed'],
};

function cutCall(format: Format, written: string): readonly Seen[] {
  if (format === 'messages') return [];
  return format === 'chat' ? [['write', written]] : [['write', written, 'incomplete']];
}

/** The arguments of each block of a messages stream, as they were sent. */
function partialJson(text: string): readonly string[] {
  const blocks = new Map<unknown, string>();
  for (const event of events(text)) {
    if (event.type === 'content_block_start') blocks.set(event.index, '');
    const piece = objectAt(event, 'delta')?.partial_json;
    if (typeof piece === 'string') blocks.set(event.index, (blocks.get(event.index) ?? '') + piece);
  }
  return [...blocks.values()];
}

for (const [from, to] of DIRECTIONS) {
  describe(`a call that was cut off, for a ${from} client of a ${to} target`, () => {
    const running = (): ReturnType<typeof lane> => lane(from, to, { ...MINIMAL[from], stream: true });

    test('[R88] is never shown with other arguments, whole', () => {
      fc.assert(
        fc.property(fc.nat({ max: ARGUMENTS.length - 1 }), (length) => {
          const written = ARGUMENTS.slice(0, length);
          const { body } = runWhole(running(), wholeAnswer(to, cutAfter(call([written]))));
          // A whole message shows nothing of what was written.
          const shown = to === 'messages' ? '' : written;
          assert.deepEqual(callsOf(from, body), [COMPLETE[from], ...cutCall(from, shown)]);
          assert.equal(endOf(from, body), CUT_END[from]);
        }),
      );
    });

    test('[R88] is never shown with other arguments, streamed', async () => {
      await fc.assert(
        fc.asyncProperty(fc.nat({ max: ARGUMENTS.length - 1 }), async (length) => {
          const written = ARGUMENTS.slice(0, length);
          const pieces = written.match(/.{1,5}/g) ?? [];
          const { text, terminal } = runStream(running(), streamedAnswer(to, cutAfter(call(pieces))));
          const body = await accumulate(from, text + terminal);
          assert.equal(endOf(from, body), CUT_END[from]);
          if (from === 'messages') {
            assert.deepEqual(partialJson(text), ['{"path":"x"}', ...(written === '' ? [] : [written])]);
          } else {
            assert.deepEqual(callsOf(from, body), [COMPLETE[from], ...cutCall(from, written)]);
          }
        }),
      );
    });

    test('a call that is complete stays one, although the answer was cut off behind it', async () => {
      const spec = cutAfter(call([ARGUMENTS]));
      const { text, terminal } = runStream(running(), streamedAnswer(to, spec));
      for (const body of [runWhole(running(), wholeAnswer(to, spec)).body, await accumulate(from, text + terminal)]) {
        const status = from === 'responses' ? ['completed'] : [];
        assert.deepEqual(callsOf(from, body), [COMPLETE[from], ['write', ARGUMENTS, ...status]]);
      }
    });

    test('a call without arguments is one of none, where nothing was cut off', async () => {
      for (const blocks of [[call([])], [call([]), WHOLE_CALL]] as const) {
        for (const finish of ['tool', ...(blocks.length > 1 ? (['length'] as const) : [])] as const) {
          const spec = { blocks, finish, tokens: TOKENS };
          const { text, terminal } = runStream(running(), streamedAnswer(to, spec));
          for (const body of [runWhole(running(), wholeAnswer(to, spec)).body, await accumulate(from, text + terminal)])
            assert.deepEqual(callsOf(from, body)[0]?.slice(0, 2), ['write', '{}']);
        }
      }
    });
  });
}

describe('a call of free text that was cut off', () => {
  const custom = { type: 'custom', name: 'write' };
  const CUSTOM = { ...MINIMAL.responses, stream: true, tools: [custom] };

  for (const to of ['chat', 'messages'] as const) {
    test(`[R88] says so and holds what was written, where a ${to} target knows it as a function`, async () => {
      for (const [written, text] of [
        ['', ''],
        ['{"inp', ''],
        ['{"input": "one \\', 'one '],
        ['{"input": "one"', 'one'],
      ] as const) {
        const spec = cutAfter(call([written]));
        const run = runStream(lane('responses', to, CUSTOM), streamedAnswer(to, spec));
        const streamed = await accumulate('responses', run.text + run.terminal);
        assert.deepEqual(callsOf('responses', streamed)[1], ['write', text, 'incomplete']);
        if (to === 'messages') continue;
        const { body } = runWhole(lane('responses', to, CUSTOM), wholeAnswer(to, spec));
        assert.deepEqual(callsOf('responses', body)[1], ['write', text, 'incomplete']);
      }
    });
  }

  test('[R88] says so where it is free text at the target too', async () => {
    const spec = cutAfter({ kind: 'tool', id: 'call_2', name: 'write', pieces: ['one', ' two'], custom: true });
    const run = runStream(lane('responses', 'responses', CUSTOM), streamedAnswer('responses', spec));
    const streamed = await accumulate('responses', run.text + run.terminal);
    assert.deepEqual(callsOf('responses', streamed)[1], ['write', 'one two', 'incomplete']);
  });
});

describe('arguments that are no object', () => {
  const whole = (written: string): readonly Seen[] => {
    const spec: AnswerSpec = { blocks: [call([written])], finish: 'tool', tokens: TOKENS };
    return callsOf('messages', runWhole(lane('messages', 'chat', MINIMAL.messages), wholeAnswer('chat', spec)).body);
  };

  test('[R88] are carried as text to a messages client, not as an empty object', () => {
    assert.deepEqual(whole('{"a":oops}'), [['write', '{"arguments":"{\\"a\\":oops}"}']]);
    assert.deepEqual(whole('[1]'), [['write', '{"arguments":[1]}']]);
    assert.deepEqual(whole('null'), [['write', '{}']]);
  });

  test('[R88] of a call that broke off although its provider says otherwise end the answer as at its limit', () => {
    const spec: AnswerSpec = { blocks: [call(['{"a":'])], finish: 'tool', tokens: TOKENS };
    const { body } = runWhole(lane('messages', 'chat', MINIMAL.messages), wholeAnswer('chat', spec));
    assert.deepEqual([callsOf('messages', body), endOf('messages', body)], [[], 'max_tokens']);
  });
});
