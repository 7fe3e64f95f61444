/** What a target would refuse with a 400 is not sent to it, and nothing of it is lost silently. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { transformJSONSchema } from '@anthropic-ai/sdk/lib/transform-json-schema';
import fc from 'fast-check';
import { enforcedSchema, isStrictSchema } from '../../src/wire/translate/strict-schema.ts';
import type { SamplingStyle, TurnEvent } from '../../src/wire/translate/turn.ts';
import { WholeCharacters } from '../../src/wire/translate/whole-characters.ts';
import { streamedAnswer, wholeAnswer } from '../support/upstreams/answers.ts';
import { TOKENS } from './answer-helpers.ts';
import { expected, said } from './content.ts';
import { lane, MINIMAL, runStream, runWhole, upstreamBody } from './run-lane.ts';
import { accumulate } from './sdk.ts';

describe('stop sequences that the target does not take', () => {
  const text = { kind: 'text', pieces: ['One.', '\n', '\nTwo.'] } as const;
  const spec = { blocks: [text], finish: 'stop', tokens: TOKENS } as const;

  test('are applied by the gateway, whole and streamed', async () => {
    const request = { ...MINIMAL.chat, stop: ['\n\n', 'END'] };
    assert.deepEqual(upstreamBody('chat', 'messages', request).stop_sequences, ['END']);
    const { body } = runWhole(lane('chat', 'messages', request), wholeAnswer('messages', spec));
    assert.equal(said('chat', body).text, 'One.');
    const run = runStream(lane('chat', 'messages', { ...request, stream: true }), streamedAnswer('messages', spec));
    assert.equal(said('chat', await accumulate('chat', run.text + run.terminal)).text, 'One.');
  });

  test('are the fifth and later ones for a chat target', () => {
    const request = { ...MINIMAL.messages, stop_sequences: ['a1', 'a2', 'a3', 'a4', 'Two'] };
    assert.deepEqual(upstreamBody('messages', 'chat', request).stop, ['a1', 'a2', 'a3', 'a4']);
    const { body } = runWhole(lane('messages', 'chat', request), wholeAnswer('chat', spec));
    assert.deepEqual(
      [said('messages', body).text, body.stop_reason, body.stop_sequence],
      ['One.\n\n', 'stop_sequence', 'Two'],
    );
  });

  test('an empty list of them is not sent', () => {
    assert.equal('stop' in upstreamBody('messages', 'chat', { ...MINIMAL.messages, stop_sequences: [] }), false);
  });
});

describe('sampling settings of a chat client of a messages target', () => {
  const sent = (sampling: SamplingStyle, settings: object) => {
    const running = lane('chat', 'messages', { ...MINIMAL.chat, ...settings }, { sampling });
    const { temperature, top_p } = upstreamBody('chat', 'messages', { ...MINIMAL.chat, ...settings }, { sampling });
    return [temperature, top_p, running.warnings.length];
  };

  test('are all sent to a model that takes them', () => {
    assert.deepEqual(sent('all', { temperature: 0.2, top_p: 0.9 }), [0.2, 0.9, 0]);
  });

  test('are one of the two for a model that takes one: the one that is not at its default', () => {
    assert.deepEqual(sent('one', { temperature: 0.2, top_p: 0.9 }), [0.2, undefined, 1]);
    assert.deepEqual(sent('one', { temperature: 1, top_p: 0.9 }), [undefined, 0.9, 0]);
    assert.deepEqual(sent('one', { temperature: 0.2, top_p: 1 }), [0.2, undefined, 0]);
    assert.deepEqual(sent('one', { top_p: 0.9 }), [undefined, 0.9, 0]);
  });

  test('are left out, with a warning, for a model that takes none', () => {
    assert.deepEqual(sent('none', { temperature: 0.2, top_p: 0.9 }), [undefined, undefined, 2]);
    assert.deepEqual(sent('none', { temperature: 1, top_p: 1 }), [undefined, undefined, 0]);
  });

  test('a summary that a responses client asks for is asked for', () => {
    const request = { ...MINIMAL.responses, reasoning: { effort: 'high', summary: 'auto' } };
    const { thinking } = upstreamBody('responses', 'messages', request, { thinking: 'adaptive' });
    assert.deepEqual(thinking, { type: 'adaptive', display: 'summarized' });
  });
});

describe('a schema that a messages target enforces', () => {
  const leaf = fc.constantFrom(
    { type: 'string', minLength: 1, description: 'A name.' },
    { type: 'string', format: 'email' },
    { type: 'string', format: 'colour' },
    { type: 'integer', minimum: 0, maximum: 9 },
    { type: 'boolean' },
    { enum: ['a', 'b', null] },
    { const: 1 },
  );
  const { schema } = fc.letrec<{ schema: object }>((tie) => ({
    schema: fc.oneof(
      { maxDepth: 3 },
      leaf,
      fc.record({ type: fc.constant('array'), items: tie('schema'), minItems: fc.constantFrom(0, 1, 2) }),
      fc.record({ anyOf: fc.array(tie('schema'), { minLength: 1, maxLength: 2 }) }),
      fc.record({
        type: fc.constant('object'),
        properties: fc.record({ one: tie('schema'), two: tie('schema') }),
        required: fc.constantFrom(['one'], ['one', 'two']),
      }),
    ),
  }));

  test("is the one that Anthropic's own SDK makes of it", () => {
    fc.assert(
      fc.property(schema, (value) => {
        const plain = JSON.parse(JSON.stringify(value));
        assert.deepEqual(enforcedSchema(plain, new Set()), transformJSONSchema(plain));
      }),
    );
  });

  test('says what it cannot hold in the description, and names it', () => {
    const moved = new Set<string>();
    const map = { type: 'object', additionalProperties: { type: 'string' }, description: 'Labels.' };
    assert.deepEqual(enforcedSchema(map, moved), {
      type: 'object',
      additionalProperties: false,
      description: 'Labels.\n\n{additionalProperties: {"type":"string"}}',
    });
    assert.deepEqual([...moved], ['additionalProperties']);
  });

  test('is asked for as strict of an OpenAI target only where that takes it', () => {
    const closed = {
      type: 'object',
      properties: { a: { type: 'string' } },
      required: ['a'],
      additionalProperties: false,
    };
    assert.equal(isStrictSchema(closed), true);
    assert.equal(isStrictSchema({ ...closed, required: [] }), false);
    assert.equal(isStrictSchema({ ...closed, additionalProperties: true }), false);
    assert.equal(isStrictSchema({ ...closed, allOf: [] }), false);
    assert.equal(isStrictSchema({ ...closed, properties: { a: { not: {} } } }), false);
  });
});

describe('characters that are cut in two', () => {
  const delta = (text: string, key = 0): TurnEvent => ({ type: 'text-delta', key, text });
  const texts = (events: readonly TurnEvent[], key: number): string[] =>
    events.flatMap((event) => (event.type === 'text-delta' && event.key === key ? [event.text] : []));

  test('are whole in every event, in their order, with nothing lost', () => {
    const units = fc
      .array(fc.constantFrom('a', '👋', '\ud83d\udc68', 'é'), { maxLength: 6 })
      .map((all) => all.join(''));
    fc.assert(
      fc.property(units, units, fc.array(fc.boolean(), { maxLength: 24 }), (first, second, order) => {
        const queues = [first.split(''), second.split('')];
        const whole = new WholeCharacters();
        const out: TurnEvent[] = [];
        const next = (key: number): void => {
          const unit = queues[key]?.shift();
          if (unit !== undefined) out.push(...whole.take(delta(unit, key)));
        };
        // Only one block is inside a character at a time, as providers write them.
        for (const isFirst of order) {
          const key = isFirst ? 0 : 1;
          next(key);
          if (/^[\udc00-\udfff]/.test(queues[key]?.[0] ?? '')) next(key);
        }
        for (const key of [0, 1]) while (queues[key]?.length) next(key);
        out.push(...whole.take({ type: 'text-end', key: 0 }), ...whole.take({ type: 'text-end', key: 1 }));
        assert.equal(texts(out, 0).join(''), first);
        assert.equal(texts(out, 1).join(''), second);
        assert.ok([...texts(out, 0), ...texts(out, 1)].every((text) => text.isWellFormed()));
      }),
    );
  });

  test('a half that nothing completes is kept', () => {
    const whole = new WholeCharacters();
    assert.deepEqual(whole.take(delta('a\ud83d')), [delta('a')]);
    const out = whole.take({ type: 'text-end', key: 0 });
    assert.deepEqual(
      out.map(({ type }) => type),
      ['text-delta', 'text-end'],
    );
    assert.equal(texts(out, 0)[0], '\ud83d');
  });

  test('log probabilities stay with their text', () => {
    const whole = new WholeCharacters();
    assert.deepEqual(whole.take({ type: 'text-delta', key: 0, text: '\ud83d', logprobs: [1] }), []);
    assert.deepEqual(whole.take({ type: 'text-delta', key: 0, text: '\udc4b!', logprobs: [2] }), [
      { type: 'text-delta', key: 0, text: '👋!', logprobs: [1, 2] },
    ]);
  });

  test('reach the SDKs of all formats as they were said', async () => {
    const spec = {
      blocks: [{ kind: 'text', pieces: ['Hi ', '\ud83d', '\udc4b'] }],
      finish: 'stop',
      tokens: TOKENS,
    } as const;
    for (const [from, to] of [
      ['chat', 'messages'],
      ['responses', 'chat'],
      ['messages', 'responses'],
    ] as const) {
      const run = runStream(lane(from, to, { ...MINIMAL[from], stream: true }), streamedAnswer(to, spec));
      assert.deepEqual(said(from, await accumulate(from, run.text + run.terminal)), expected(from, spec));
      assert.doesNotMatch(run.text, /\\ud[89ab]/);
    }
  });
});
