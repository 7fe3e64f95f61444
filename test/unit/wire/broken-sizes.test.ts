/** [F33] What a provider says of sizes and places is never taken at its word: neither memory nor time follow from it alone. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Format } from '../../../src/core/endpoints.ts';
import { ANSWER_VALUES_MAX } from '../../../src/wire/json/answer-values.ts';
import type { Lane } from '../../../src/wire/lane.ts';
import { ANSWER_PARTS_MAX } from '../../../src/wire/translate/answer-parts.ts';
import { DIRECTIONS, FORMATS, lane, MINIMAL, runStream } from '../../translate/run-lane.ts';
import { completeResponse, laneFor, run, STREAMS } from './streams.ts';

type Stream = (place: (index: number) => number) => readonly object[];

const item = (type: string, id: string, more: object) => ({ id, type, status: 'in_progress', ...more });

/** Streams whose events say where their content belongs. */
const PLACED: Readonly<Record<Format, Stream>> = {
  chat: (place) => [
    { choices: [{ index: 0, delta: { role: 'assistant', content: 'said' } }] },
    ...[0, 1].map((index) => {
      const call = { id: `c${index}`, type: 'function', function: { name: 'f', arguments: '{"a":' } };
      return { choices: [{ index: 0, delta: { tool_calls: [{ index: place(index), ...call }] } }] };
    }),
    ...[0, 1].map((index) => {
      const delta = { tool_calls: [{ index: place(index), function: { arguments: '1}' } }] };
      return { choices: [{ index: 0, delta }] };
    }),
    { choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }] },
  ],
  responses: (place) => [
    { type: 'response.created', response: completeResponse('in_progress') },
    { type: 'response.output_item.added', output_index: place(0), item: item('reasoning', 'r', { summary: [] }) },
    ...[0, 1].map((index) => ({
      type: 'response.reasoning_summary_text.delta',
      output_index: place(0),
      summary_index: place(index),
      delta: `thought ${index}`,
    })),
    ...[0, 1].map((index) => ({
      type: 'response.reasoning_text.delta',
      output_index: place(0),
      content_index: place(index),
      delta: `in full ${index}`,
    })),
    { type: 'response.output_item.added', output_index: place(1), item: item('message', 'm', { content: [] }) },
    ...[0, 1].map((index) => ({
      type: 'response.output_text.delta',
      output_index: place(1),
      content_index: place(index),
      delta: `said ${index}`,
    })),
    { type: 'response.completed', response: completeResponse('completed') },
  ],
  messages: (place) => [
    { type: 'message_start', message: { id: 'm', content: [], usage: { input_tokens: 1, output_tokens: 1 } } },
    ...['text', 'tool_use'].flatMap((type, index) => [
      { type: 'content_block_start', index: place(index), content_block: { type, id: 't', name: 'f', text: '' } },
      {
        type: 'content_block_delta',
        index: place(index),
        delta: type === 'text' ? { text: 'said' } : { partial_json: '{"a":1}' },
      },
      { type: 'content_block_stop', index: place(index) },
    ]),
    { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 3 } },
    { type: 'message_stop' },
  ],
};

const frames = (events: readonly object[]): string =>
  events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('');
const near = (index: number): number => index;
/** No list can have it: what is put there is lost, and below it a list would be as long as the index. */
const far = (index: number): number => 7_000_000_000 + index;

describe('[F33] an index that no list can have', () => {
  for (const [from, to] of DIRECTIONS) {
    test(`${to} for a ${from} client: a stream reads as with indexes that count from 0`, () => {
      const read = (place: typeof near) =>
        runStream(lane(from, to, { ...MINIMAL[from], stream: true }), frames(PLACED[to](place)));
      const expected = read(near);
      assert.equal(expected.failure, null);
      assert.match(expected.text, /said/);
      assert.deepEqual(read(far), expected);
    });
  }

  test('in a response that passes: a failure repeats the parts in their order, and no more than were sent', () => {
    const stream = laneFor('responses', { stream: true }).stream();
    const created = { type: 'response.created', sequence_number: 0, response: completeResponse('in_progress') };
    const delta = (kind: string, part: object, text: string) => ({
      type: `response.${kind}.delta`,
      output_index: far(0),
      ...part,
      delta: text,
    });
    const events = [
      created,
      { type: 'response.output_item.added', output_index: far(0), item: item('message', 'm', { content: [] }) },
      delta('output_text', { content_index: far(1) }, 'second'),
      delta('output_text', { content_index: 2 }, 'first'),
      delta('reasoning_summary_text', { summary_index: far(0) }, 'thought'),
    ];
    run(stream, [frames(events)]);
    const output = stream.position?.()?.response().output as { content: unknown[]; summary: unknown[] }[] | undefined;
    const seen = output?.[0];
    assert.deepEqual(
      seen?.content.map((part) => (part as { text: string }).text),
      ['first', 'second'],
    );
    assert.deepEqual(seen?.summary, [{ type: 'summary_text', text: 'thought' }]);
  });
});

/** JSON with so many values; the outermost object and the list are two of them. */
function valuesIn(count: number, head = '{', tail = '}'): string {
  return `${head}"x":[${'{},'.repeat(count - 3)}{}]${tail}`;
}

const ANSWER: Readonly<Record<Format, object>> = {
  chat: { choices: [{ index: 0, message: { role: 'assistant', content: 'said' }, finish_reason: 'stop' }] },
  responses: completeResponse('completed', {
    output: [item('message', 'm', { role: 'assistant', content: [{ type: 'output_text', text: 'said' }] })],
  }),
  messages: { type: 'message', role: 'assistant', content: [{ type: 'text', text: 'said' }], stop_reason: 'end_turn' },
};
const TOO_MANY = { condition: 'upstream_error', message: /more than 2000000 JSON values/ };

function lanesOf(format: Format): readonly (readonly [string, Lane])[] {
  const translated = FORMATS.map((from) => [`for ${from}`, lane(from, format, MINIMAL[from])] as const);
  return [['passing', laneFor(format)], ...translated];
}

describe('[F33] more JSON values than memory has room for', () => {
  for (const format of FORMATS) {
    test(`${format}: a whole answer is no answer, and one that has as many as are allowed is`, () => {
      const open = JSON.stringify(ANSWER[format]).slice(0, -1);
      for (const [way, { whole }] of lanesOf(format)) {
        const few = whole(Buffer.from(valuesIn(ANSWER_VALUES_MAX - 200, `${open},`)));
        assert.match(
          few.body.toString('utf8', 0, 100_000) + few.body.toString('utf8', few.body.length - 1_000),
          /said/,
          way,
        );
        assert.throws(() => whole(Buffer.from(valuesIn(ANSWER_VALUES_MAX + 1, `${open},`))), TOO_MANY, way);
      }
    });

    test(`${format}: an event breaks the stream, and so does text in the place of one`, () => {
      const many = valuesIn(ANSWER_VALUES_MAX + 1, '{"type":"response.completed",');
      const opening = STREAMS[format].slice(0, 2).join('');
      const streams = {
        'the first event': `data: ${many}\n\n`,
        'a later event': `${opening}data: ${many}\n\n`,
        'an event of several lines': `${opening}data: ${many.replace(':[', ':[\ndata: ')}\n\n`,
        'no event': `${many}\n\n`,
      };
      for (const [way, { stream }] of lanesOf(format)) {
        for (const [what, text] of Object.entries(streams)) {
          const { state, failure } = run(stream(), [text]);
          assert.equal(state, 'failed', `${way}, ${what}`);
          assert.equal(failure?.condition, TOO_MANY.condition, `${way}, ${what}`);
          assert.match(failure?.message ?? '', TOO_MANY.message, `${way}, ${what}`);
        }
      }
    });
  }
});

describe('[F33] more parts than an answer has', () => {
  const entries = (count: number, entry: object): readonly object[] => Array.from({ length: count }, () => entry);
  const LISTS: Readonly<Record<Format, (count: number) => readonly object[]>> = {
    chat: (count) =>
      [
        { tool_calls: entries(count, { type: 'function', function: { name: 'f', arguments: '{}' } }) },
        { content: 'said', annotations: entries(count, { type: 'url_citation' }) },
        { content: entries(count, { type: 'text', text: 'said' }) },
      ].map((message) => ({ choices: [{ index: 0, message, finish_reason: 'stop' }] })),
    responses: (count) =>
      [
        entries(count, { type: 'web_search_call' }),
        [{ type: 'message', content: entries(count, { type: 'output_text', text: 'said' }) }],
        [{ type: 'message', content: [{ type: 'output_text', text: 'said', annotations: entries(count, {}) }] }],
        [{ type: 'reasoning', summary: entries(count, { type: 'summary_text', text: 'thought' }) }],
      ].map((output) => completeResponse('completed', { output })),
    messages: (count) =>
      [
        entries(count, { type: 'text', text: 'said' }),
        [{ type: 'text', text: 'said', citations: entries(count, {}) }],
      ].map((content) => ({ type: 'message', role: 'assistant', content, stop_reason: 'end_turn' })),
  };

  for (const [from, to] of DIRECTIONS) {
    test(`${to} for a ${from} client: an invalid answer, and one with as many as are allowed is read`, () => {
      const { whole } = lane(from, to, MINIMAL[from]);
      const read = (answer: object) => whole(Buffer.from(JSON.stringify(answer)));
      for (const answer of LISTS[to](ANSWER_PARTS_MAX)) assert.ok(read(answer).body.length > 0);
      for (const answer of LISTS[to](ANSWER_PARTS_MAX + 1)) {
        assert.throws(() => read(answer), { condition: 'upstream_error', message: /more than 10000 parts/ });
      }
    });
  }

  test('a stream that begins one part after the other is broken off', () => {
    const begun: Readonly<Record<Format, (index: number) => object>> = {
      chat: (index) => ({ choices: [{ index: 0, delta: { tool_calls: [{ index, function: { name: 'f' } }] } }] }),
      responses: (index) => ({ type: 'response.output_item.added', output_index: index, item: { type: 'x' } }),
      messages: (index) => ({ type: 'content_block_start', index, content_block: { type: 'text' } }),
    };
    for (const format of FORMATS) {
      const events = (count: number) => frames(Array.from({ length: count }, (_, index) => begun[format](index)));
      const pushed = (count: number) =>
        lane('chat', format, MINIMAL.chat)
          .stream()
          .push(Buffer.from(events(count)));
      assert.notEqual(pushed(ANSWER_PARTS_MAX).state, 'failed', format);
      assert.match(pushed(ANSWER_PARTS_MAX + 1).failure?.message ?? '', /more than 10000 parts/, format);
    }
  });
});
