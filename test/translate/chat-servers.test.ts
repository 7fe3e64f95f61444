import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { JsonObject } from '../../src/lib/json.ts';
import { chunk, data, events, objects } from './answer-helpers.ts';
import { said } from './content.ts';
import { lane, MINIMAL, runStream, runWhole, upstreamBody } from './run-lane.ts';
import { accumulate } from './sdk.ts';

describe('chat streams of other servers', () => {
  const messages = { ...MINIMAL.messages, stream: true };
  const call = (fields: object): string => chunk({ tool_calls: [fields] });

  test('tool calls whose deltas come interleaved keep their own blocks', async () => {
    const upstream = [
      call({ index: 0, id: 'a', type: 'function', function: { name: 'f', arguments: '{"x"' } }),
      call({ index: 1, id: 'b', type: 'function', function: { name: 'g', arguments: '' } }),
      call({ index: 0, function: { arguments: ':1}' } }),
      call({ index: 1, function: { arguments: '{"y":2}' } }),
      chunk({}, 'tool_calls'),
      'data: [DONE]\n\n',
    ].join('');
    for (const from of ['messages', 'responses'] as const) {
      const run = runStream(lane(from, 'chat', { ...MINIMAL[from], stream: true }), upstream);
      const final = await accumulate(from, run.text + run.terminal);
      const inputs =
        from === 'messages'
          ? objects(final, 'content').map((block) => [block.name, block.input])
          : objects(final, 'output').map((item) => [item.name, JSON.parse(String(item.arguments))]);
      assert.deepEqual(inputs, [
        ['f', { x: 1 }],
        ['g', { y: 2 }],
      ]);
    }
  });

  test('a call that is complete is ended when the next one begins', () => {
    const upstream = [
      call({ index: 0, id: 'a', function: { name: 'f', arguments: '{"x":"}"}' } }),
      call({ index: 1, id: 'b', function: { name: 'g', arguments: '{}' } }),
      chunk({}, 'tool_calls'),
    ].join('');
    const run = runStream(lane('messages', 'chat', messages), upstream);
    const order = events(run.text + run.terminal)
      .map((event) => event.type)
      .filter((type) => type !== 'content_block_delta');
    assert.deepEqual(order, [
      'message_start',
      'content_block_start',
      'content_block_stop',
      'content_block_start',
      'content_block_stop',
      'message_delta',
      'message_stop',
    ]);
  });

  test('calls without index, with repeated or missing ids, or all under index 0 are told apart', async () => {
    const cases = [
      [
        { id: 'a', function: { name: 'f', arguments: '{"x":' } },
        { function: { arguments: '1}' } },
        { id: 'b', function: { name: 'g', arguments: '{}' } },
      ],
      [
        { index: 0, id: 'a', function: { name: 'f', arguments: '{"x":' } },
        { index: 0, id: 'a', function: { name: 'f', arguments: '1}' } },
        { index: 1, id: 'b', function: { name: 'g', arguments: '{}' } },
      ],
      [
        { index: 0, id: 'a', function: { name: 'f', arguments: '{"x":1}' } },
        { index: 0, id: 'b', function: { name: 'g', arguments: '{}' } },
      ],
      [
        { index: 0, id: 'a', function: { arguments: '{"x"' } },
        { index: 0, function: { name: 'f', arguments: ':1}' } },
        { index: 1, id: 'b', function: { name: 'g', arguments: {} } },
      ],
    ];
    for (const deltas of cases) {
      const run = runStream(lane('messages', 'chat', messages), [...deltas.map(call), chunk({}, 'stop')].join(''));
      const final = await accumulate('messages', run.text + run.terminal);
      const blocks = objects(final, 'content').map((block) => [block.id, block.name, block.input]);
      assert.deepEqual(blocks, [
        ['a', 'f', { x: 1 }],
        ['b', 'g', {}],
      ]);
      assert.equal(final.stop_reason, 'tool_use');
    }
  });

  test('thinking in parts of the content is reasoning, whole and streamed, and comes back as such', async () => {
    const thinking = (text: string): JsonObject => ({
      type: 'thinking',
      thinking: [{ type: 'text', text }],
      closed: true,
    });
    const content = [
      thinking('Let me '),
      thinking('see.'),
      { type: 'text', text: 'It is ' },
      { type: 'text', text: '42.' },
    ];
    const upstream = [
      ...content.map((part) => chunk({ content: [part] })),
      chunk({ content: '' }, 'stop'),
      data({ id: 'c1', choices: [], usage: { prompt_tokens: 5, completion_tokens: 6 } }),
      'data: [DONE]\n\n',
    ].join('');
    const whole = {
      id: 'c1',
      choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 5, completion_tokens: 6 },
    };
    for (const from of ['messages', 'responses'] as const) {
      const run = runStream(lane(from, 'chat', { ...MINIMAL[from], stream: true }), upstream);
      const { body } = runWhole(lane(from, 'chat', MINIMAL[from]), whole);
      for (const answer of [await accumulate(from, run.text + run.terminal), body]) {
        const { text, thinking: thought } = said(from, answer);
        assert.equal(text, 'It is 42.');
        // Blocks of reasoning are paragraphs of their own in a whole answer.
        assert.equal(thought.replaceAll('\n', ''), 'Let me see.');
      }
    }
    const sent = upstreamBody('chat', 'messages', {
      ...MINIMAL.chat,
      messages: [
        { role: 'user', content: 'Hi' },
        { role: 'assistant', content: [thinking('Hm.'), { type: 'text', text: 'Yes?' }] },
        { role: 'user', content: 'Go on' },
      ],
    });
    assert.doesNotMatch(JSON.stringify(sent.messages), /Hm\./);
    assert.match(JSON.stringify(sent.messages), /Yes\?/);
  });

  test('chunks without choices, before, between and behind the others, change nothing', async () => {
    const none = (more: object = {}): string => data({ id: 'c1', created: 1, model: 'up', choices: [], ...more });
    const upstream = [
      none({ prompt_filter_results: [{ prompt_index: 0 }] }),
      chunk({ role: 'assistant', content: 'It ' }),
      none({ usage: null }),
      chunk({ content: 'is.' }),
      chunk({}, 'stop'),
      none(),
      'data: [DONE]\n\n',
    ].join('');
    for (const from of ['messages', 'responses', 'chat'] as const) {
      const run = runStream(lane(from, 'chat', { ...MINIMAL[from], stream: true }), upstream);
      assert.equal(run.failure, null);
      assert.equal(said(from, await accumulate(from, run.text + run.terminal)).text, 'It is.');
    }
  });

  test('a whole answer without choices is none', () => {
    for (const from of ['messages', 'responses', 'chat'] as const) {
      assert.throws(() => runWhole(lane(from, 'chat', MINIMAL[from]), { id: 'c1', choices: [] }), /provider/i);
    }
  });

  test('[R50] a stream that gave its finish reason and ended without its terminal frame is complete', () => {
    for (const from of ['messages', 'responses', 'chat'] as const) {
      const run = runStream(
        lane(from, 'chat', { ...MINIMAL[from], stream: true }),
        chunk({ content: 'x' }) + chunk({}, 'stop'),
      );
      assert.equal(run.failure, null);
      assert.notEqual(run.terminal, null);
    }
    const cut = runStream(lane('messages', 'chat', messages), chunk({ content: 'x' }));
    assert.equal(cut.failure?.condition, 'upstream_error');
  });

  test('an error as the first event fails before anything is sent', () => {
    const run = runStream(lane('messages', 'chat', messages), data({ error: { message: 'busy', code: 429 } }));
    assert.deepEqual([run.text, run.terminal, run.failure?.condition], ['', null, 'provider_unavailable']);
  });

  test('events that are no events of the format fail', () => {
    for (const upstream of ['data: {"hello"\n\n', 'data: 17\n\n', data({ hello: 1 }), '<html></html>']) {
      const run = runStream(lane('messages', 'chat', messages), upstream);
      assert.deepEqual([run.text, run.failure?.condition], ['', 'upstream_error']);
    }
  });

  test('text in a message, beside the delta, or in its place is text', async () => {
    const choice = (fields: object): string =>
      data({ id: 'c1', created: 1, model: 'up', choices: [{ index: 0, ...fields }] });
    const streams = [
      [choice({ message: { role: 'assistant', content: 'It ' } }), choice({ message: { content: 'is.' } })],
      [choice({ delta: { role: 'assistant' } }), choice({ delta: {}, message: { content: 'It is.' } })],
      [choice({ text: 'It ' }), choice({ delta: { content: 'is.' }, text: 'is.' })],
      [choice({ delta: 'It ' }), choice({ delta: 'is.' })],
      [chunk({ content: 'It is.' }), choice({ delta: {}, message: { role: 'assistant', content: 'It is.' } })],
    ];
    for (const from of ['messages', 'responses', 'chat'] as const) {
      for (const upstream of streams) {
        const all = [...upstream, chunk({}, 'stop'), 'data: [DONE]\n\n'].join('');
        const run = runStream(lane(from, 'chat', { ...MINIMAL[from], stream: true }), all);
        assert.equal(said(from, await accumulate(from, run.text + run.terminal)).text, 'It is.');
        assert.equal(run.meter.outputBytes, 'It is.'.length);
      }
    }
  });

  test('function_call is a call like any other, whole and streamed', async () => {
    const upstream = [
      chunk({ role: 'assistant', content: null, function_call: { name: 'f', arguments: '' } }),
      chunk({ function_call: { arguments: '{"x":' } }),
      chunk({ function_call: { arguments: '1}' } }),
      chunk({}, 'function_call'),
      'data: [DONE]\n\n',
    ].join('');
    const message = { role: 'assistant', content: null, function_call: { name: 'f', arguments: '{"x":1}' } };
    const whole = { id: 'c1', choices: [{ index: 0, message, finish_reason: 'function_call' }] };
    const run = runStream(lane('messages', 'chat', messages), upstream);
    const { body } = runWhole(lane('messages', 'chat', MINIMAL.messages), whole);
    for (const answer of [await accumulate('messages', run.text + run.terminal), body]) {
      assert.deepEqual(
        objects(answer, 'content').map(({ type, name, input }) => [type, name, input]),
        [['tool_use', 'f', { x: 1 }]],
      );
      assert.equal(answer.stop_reason, 'tool_use');
    }
  });

  test('what comes after the reason to finish has an end of its own', async () => {
    const upstream = [
      chunk({ content: 'It is.' }),
      chunk({}, 'stop'),
      chunk({ content: ' Really.' }),
      'data: [DONE]\n\n',
    ].join('');
    for (const from of ['messages', 'responses', 'chat'] as const) {
      const run = runStream(lane(from, 'chat', { ...MINIMAL[from], stream: true }), upstream);
      const text = run.text + run.terminal;
      assert.equal(said(from, await accumulate(from, text)).text.replaceAll('\n', ''), 'It is. Really.');
      const types = events(text).map(({ type }) => String(type));
      const count = (wanted: RegExp): number => types.filter((type) => wanted.test(type)).length;
      assert.equal(count(/block_start|item\.added|part\.added/), count(/block_stop|item\.done|part\.done/));
    }
  });
});
