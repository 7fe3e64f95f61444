import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { GatewayError } from '../../src/core/conditions.ts';
import { arrayAt, isObject, type JsonObject } from '../../src/lib/json.ts';
import { streamedAnswer, wholeAnswer } from '../support/upstreams/answers.ts';
import { CROSSINGS, DIRECTIONS, lane, MINIMAL, runStream, runWhole, upstreamBody } from './run-lane.ts';
import { accumulate } from './sdk.ts';

const TOKENS = { input: 5, cacheRead: 0, cacheWrite: 0, cacheWrite1h: 0, output: 6, reasoning: 0 };
const data = (value: object): string => `data: ${JSON.stringify(value)}\n\n`;
const chunk = (delta: object, finish: string | null = null): string =>
  data({ id: 'c1', created: 1, model: 'up', choices: [{ index: 0, delta, finish_reason: finish }] });
const events = (text: string): JsonObject[] =>
  text
    .split('\n')
    .filter((line) => line.startsWith('data: {'))
    .map((line) => JSON.parse(line.slice('data: '.length)));
const objects = (value: JsonObject, name: string): JsonObject[] => (arrayAt(value, name) ?? []).filter(isObject);

describe('tools of a Codex client on a target of another format', () => {
  const body = {
    ...MINIMAL.responses,
    stream: true,
    tools: [
      { type: 'namespace', name: 'fs', description: 'Files.', tools: [{ type: 'function', name: 'read' }] },
      { type: 'custom', name: 'apply_patch', format: { type: 'grammar', syntax: 'lark', definition: 'x' } },
      { type: 'tool_search', execution: 'client', parameters: { type: 'object' } },
    ],
  };
  const patch = '*** Begin "Patch"\n\t\\ é 👋\n*** End';
  const wrapped = JSON.stringify({ input: patch });
  const blocks = [
    { kind: 'tool', id: 'call_1', name: 'fs__read', pieces: ['{"path"', ':"a"}'] },
    { kind: 'tool', id: 'call_2', name: 'apply_patch', pieces: wrapped.match(/[\s\S]{1,5}/g) ?? [] },
    { kind: 'tool', id: 'call_3', name: 'tool_search', pieces: ['{"query":"x"}'] },
  ] as const;
  const spec = { blocks, finish: 'tool', tokens: TOKENS } as const;

  for (const to of ['chat', 'messages'] as const) {
    test(`[R43] get their calls back as what they are, from ${to}`, async () => {
      const run = runStream(lane('responses', to, body), streamedAnswer(to, spec));
      const final = await accumulate('responses', run.text + run.terminal);
      const whole = runWhole(lane('responses', to, body), wholeAnswer(to, spec)).body;
      for (const answer of [final, whole]) {
        const [read, applied, searched] = objects(answer, 'output');
        assert.deepEqual(
          [read?.type, read?.namespace, read?.name, read?.arguments],
          ['function_call', 'fs', 'read', '{"path":"a"}'],
        );
        assert.deepEqual([applied?.type, applied?.name, applied?.input], ['custom_tool_call', 'apply_patch', patch]);
        assert.deepEqual(
          [searched?.type, searched?.call_id, searched?.arguments],
          ['tool_search_call', 'call_3', { query: 'x' }],
        );
      }
      const deltas = events(run.text).filter((event) => event.type === 'response.custom_tool_call_input.delta');
      assert.ok(deltas.length > 3, 'the input flows as it comes');
      assert.equal(deltas.map((event) => event.delta).join(''), patch);
    });
  }
});

describe('signed thinking', () => {
  const thinking = {
    blocks: [
      { kind: 'thinking', pieces: ['First, ', 'then.'], signature: 'provider-signed' },
      { kind: 'redacted', data: 'provider-hidden' },
      { kind: 'text', pieces: ['Done.'] },
      { kind: 'tool', id: 'call_1', name: 'f', pieces: ['{}'] },
    ],
    finish: 'tool',
    tokens: TOKENS,
  } as const;

  test('[R43] of a messages target comes back to it through a responses client, whole or streamed', async () => {
    const run = runStream(
      lane('responses', 'messages', { ...MINIMAL.responses, stream: true }),
      streamedAnswer('messages', thinking),
    );
    const final = await accumulate('responses', run.text + run.terminal);
    const whole = runWhole(lane('responses', 'messages', MINIMAL.responses), wholeAnswer('messages', thinking)).body;
    for (const answer of [final, whole]) {
      const input = [...objects(answer, 'output'), { type: 'function_call_output', call_id: 'call_1', output: 'ok' }];
      const sent = upstreamBody('responses', 'messages', { model: 'm', input, reasoning: { effort: 'low' } });
      const [assistant] = objects(sent, 'messages');
      assert.deepEqual(objects(assistant ?? {}, 'content'), [
        { type: 'thinking', thinking: 'First, then.', signature: 'provider-signed' },
        { type: 'redacted_thinking', data: 'provider-hidden' },
        { type: 'text', text: 'Done.' },
        { type: 'tool_use', id: 'call_1', name: 'f', input: {} },
      ]);
      assert.deepEqual(sent.thinking, { type: 'enabled', budget_tokens: 2048 });
    }
  });

  test('[R43] of a responses target comes back to it through a messages client, whole or streamed', async () => {
    const run = runStream(
      lane('messages', 'responses', { ...MINIMAL.messages, stream: true }),
      streamedAnswer('responses', thinking),
    );
    const final = await accumulate('messages', run.text + run.terminal);
    const whole = runWhole(lane('messages', 'responses', MINIMAL.messages), wholeAnswer('responses', thinking)).body;
    for (const answer of [final, whole]) {
      assert.deepEqual(
        objects(answer, 'content').map((block) => block.type),
        ['thinking', 'redacted_thinking', 'text', 'tool_use'],
      );
      const messages = [
        { role: 'assistant', content: answer.content },
        { role: 'user', content: 'x' },
      ] as unknown as JsonObject[];
      const sent = upstreamBody('messages', 'responses', { model: 'm', max_tokens: 9, messages });
      assert.deepEqual(objects(sent, 'input').slice(0, 2), [
        {
          type: 'reasoning',
          id: 'rs_up0',
          summary: [{ type: 'summary_text', text: 'First, then.' }],
          encrypted_content: 'provider-signed',
        },
        { type: 'reasoning', id: 'rs_up1', summary: [], encrypted_content: 'provider-hidden' },
      ]);
    }
  });

  test('[R43] of one provider is never sent to another, and the conversation goes on without it', () => {
    const whole = runWhole(lane('messages', 'responses', MINIMAL.messages), wholeAnswer('responses', thinking)).body;
    const messages = [
      { role: 'assistant', content: whole.content },
      { role: 'user', content: 'x' },
    ] as unknown as JsonObject[];
    const sent = upstreamBody('messages', 'chat', { model: 'm', max_tokens: 9, messages });
    assert.doesNotMatch(JSON.stringify(sent), /provider-|mgt1|First/);
    assert.match(JSON.stringify(sent), /Done\./);
  });
});

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
    const order = events(run.text)
      .map((event) => event.type)
      .filter((type) => type !== 'content_block_delta');
    assert.deepEqual(order, [
      'message_start',
      'content_block_start',
      'content_block_stop',
      'content_block_start',
      'content_block_stop',
      'message_delta',
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
});

describe('usage', () => {
  test('[R39] of a chat stream reaches only clients that asked for it, in the terminal part', () => {
    const spec = { blocks: [{ kind: 'text', pieces: ['x'] }], finish: 'stop', tokens: TOKENS } as const;
    const silent = runStream(
      lane('chat', 'messages', { ...MINIMAL.chat, stream: true }),
      streamedAnswer('messages', spec),
    );
    assert.equal(silent.terminal, 'data: [DONE]\n\n');
    const asked = lane('chat', 'messages', { ...MINIMAL.chat, stream: true, stream_options: { include_usage: true } });
    const [usage] = events(runStream(asked, streamedAnswer('messages', spec)).terminal ?? '');
    assert.deepEqual([usage?.choices, isObject(usage?.usage) && usage.usage.total_tokens], [[], 11]);
  });

  test('[R51] only the terminal part tells the client that the answer is complete', () => {
    const spec = { blocks: [{ kind: 'text', pieces: ['x'] }], finish: 'stop', tokens: TOKENS } as const;
    const marks = { chat: '[DONE]', responses: 'response.completed', messages: 'message_stop' };
    for (const [from, to] of CROSSINGS) {
      const run = runStream(lane(from, to, { ...MINIMAL[from], stream: true }), streamedAnswer(to, spec));
      assert.ok(!run.text.includes(marks[from]));
      assert.ok(run.terminal?.includes(marks[from]));
    }
  });

  test('of message_start is what the provider told by then, or what is likely', () => {
    const start = (run: { text: string }): unknown => {
      const message = events(run.text)[0]?.message;
      return isObject(message) && isObject(message.usage) ? message.usage.input_tokens : undefined;
    };
    const body = { ...MINIMAL.messages, stream: true };
    assert.equal(start(runStream(lane('messages', 'chat', body), chunk({ content: 'x' }) + chunk({}, 'stop'))), 7);
    const spec = { blocks: [], finish: 'stop', tokens: TOKENS } as const;
    assert.equal(start(runStream(lane('messages', 'messages', body), streamedAnswer('messages', spec))), 5);
  });

  test('that is nonsense is not reported', () => {
    const usage = { prompt_tokens: -1, completion_tokens: 2, total_tokens: 1 };
    const upstream = chunk({ content: 'x' }) + chunk({}, 'stop') + data({ choices: [], usage });
    const { meter } = runStream(lane('messages', 'chat', { ...MINIMAL.messages, stream: true }), upstream);
    assert.deepEqual(meter, { reported: null, reportedFinal: false, outputBytes: 1 });
  });

  test('of a messages stream that is cut after its start is known, but not final', () => {
    const spec = {
      blocks: [{ kind: 'text', pieces: ['one'] }],
      finish: 'stop',
      tokens: TOKENS,
      errorAfterFrames: 4,
    } as const;
    const { meter } = runStream(
      lane('chat', 'messages', { ...MINIMAL.chat, stream: true }),
      streamedAnswer('messages', spec),
    );
    assert.deepEqual([meter.reported?.input, meter.reportedFinal, meter.outputBytes], [5, false, 3]);
  });
});

describe('citations', () => {
  const citation = {
    type: 'web_search_result_location',
    url: 'https://example.com',
    title: 'Example',
    cited_text: 'x',
    encrypted_index: 'e',
  };
  const answer = {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    content: [{ type: 'text', text: 'It is so.', citations: [citation] }],
    stop_reason: 'end_turn',
    usage: { input_tokens: 1, output_tokens: 1 },
  };

  test('of a messages answer are annotations of the other formats', () => {
    const place = { url: 'https://example.com', title: 'Example', start_index: 0, end_index: 9 };
    const chat = runWhole(lane('chat', 'messages', MINIMAL.chat), answer).body;
    assert.deepEqual(objects(chat, 'choices')[0]?.message, {
      role: 'assistant',
      content: 'It is so.',
      refusal: null,
      annotations: [{ type: 'url_citation', url_citation: place }],
    });
    const [message] = objects(runWhole(lane('responses', 'messages', MINIMAL.responses), answer).body, 'output');
    assert.deepEqual(objects(message ?? {}, 'content')[0]?.annotations, [{ type: 'url_citation', ...place }]);
  });

  test('of a chat answer are citations of a messages answer', () => {
    const message = {
      role: 'assistant',
      content: 'It is so.',
      annotations: [
        {
          type: 'url_citation',
          url_citation: { url: 'https://example.com', title: 'Example', start_index: 3, end_index: 5 },
        },
      ],
    };
    const chat = { id: 'c', choices: [{ index: 0, message, finish_reason: 'stop' }] };
    const [block] = objects(runWhole(lane('messages', 'chat', MINIMAL.messages), chat).body, 'content');
    const [first] = objects(block ?? {}, 'citations');
    assert.deepEqual([first?.url, first?.cited_text], ['https://example.com', 'is']);
  });
});

describe('refusals', () => {
  test('of a messages target tell their explanation to clients of the other formats', () => {
    const answer = {
      id: 'msg_1',
      content: [],
      stop_reason: 'refusal',
      stop_details: { type: 'refusal', category: 'bio', explanation: 'Not this.' },
      usage: { input_tokens: 1, output_tokens: 1 },
    };
    const [choice] = objects(runWhole(lane('chat', 'messages', MINIMAL.chat), answer).body, 'choices');
    assert.deepEqual(
      [choice?.finish_reason, isObject(choice?.message) && choice.message.refusal],
      ['stop', 'Not this.'],
    );
    const response = runWhole(lane('responses', 'messages', MINIMAL.responses), answer).body;
    assert.match(JSON.stringify(response.output), /"type":"refusal","refusal":"Not this\."/);
  });
});

describe('log probabilities', () => {
  const logprobs = [{ token: 'x', logprob: -0.1, bytes: [120], top_logprobs: [] }];

  test('pass between chat and responses', () => {
    const chat = {
      id: 'c',
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: 'x' },
          logprobs: { content: logprobs },
          finish_reason: 'stop',
        },
      ],
    };
    const [item] = objects(runWhole(lane('responses', 'chat', MINIMAL.responses), chat).body, 'output');
    assert.deepEqual(objects(item ?? {}, 'content')[0]?.logprobs, logprobs);
    const content = [{ type: 'output_text', text: 'x', annotations: [], logprobs }];
    const response = {
      id: 'r',
      object: 'response',
      status: 'completed',
      output: [{ type: 'message', id: 'm', role: 'assistant', content }],
    };
    const [choice] = objects(runWhole(lane('chat', 'responses', MINIMAL.chat), response).body, 'choices');
    assert.deepEqual(choice?.logprobs, { content: logprobs, refusal: null });
  });
});

describe('whole answers that are none', () => {
  test('are an upstream error, and a reported error says what it says', () => {
    for (const [from, to] of CROSSINGS) {
      for (const answer of ['<html></html>', '{"hello":1}', '[]', 'null']) {
        assert.throws(
          () => lane(from, to, MINIMAL[from]).whole(Buffer.from(answer)),
          (error) => error instanceof GatewayError && error.condition === 'upstream_error',
        );
      }
      assert.throws(
        () =>
          lane(from, to, MINIMAL[from]).whole(Buffer.from('{"error":{"message":"It broke.","type":"server_error"}}')),
        (error) => error instanceof GatewayError && /It broke/.test(error.message),
      );
    }
  });
});

describe('stop sequences on a target without a field for them', () => {
  const spec = {
    blocks: [{ kind: 'text', pieces: ['one EN', 'D-E', 'ND two', ' END three'] }],
    finish: 'stop',
    tokens: TOKENS,
  } as const;

  test('[R43] end the stream before the first of them, and the answer is complete', async () => {
    const body = { ...MINIMAL.messages, stream: true, stop_sequences: ['two', 'END th'] };
    const run = runStream(lane('messages', 'responses', body), streamedAnswer('responses', spec));
    const final = await accumulate('messages', run.text + run.terminal);
    assert.deepEqual(
      objects(final, 'content').map((block) => block.text),
      ['one END-END '],
    );
    assert.deepEqual([final.stop_reason, final.stop_sequence], ['stop_sequence', 'two']);
    assert.equal(run.meter.reported, null);
  });

  test('[R43] end a whole answer in the same place, billed as the provider reported it', () => {
    const whole = runWhole(
      lane('chat', 'responses', { ...MINIMAL.chat, stop: 'END th' }),
      wholeAnswer('responses', spec),
    );
    const [choice] = objects(whole.body, 'choices');
    assert.deepEqual(isObject(choice?.message) && choice.message.content, 'one END-END two ');
    assert.equal(choice?.finish_reason, 'stop');
    assert.deepEqual(whole.meter.reported, TOKENS);
  });

  test('that do not come change nothing, however the text is cut', () => {
    const body = { ...MINIMAL.chat, stream: true };
    const text = (stop: readonly string[]): string =>
      events(runStream(lane('chat', 'responses', { ...body, stop }), streamedAnswer('responses', spec)).text)
        .map((event) => JSON.stringify(event.choices).match(/"content":"([^"]*)"/)?.[1] ?? '')
        .join('');
    assert.equal(text(['END-END?', 'ENDE', 'three!']), text([]));
  });
});

describe('an answer that is cut short', () => {
  const tokens = { ...TOKENS, output: 3 };
  const blocks = {
    text: { kind: 'text', pieces: ['one', ' two', ' three'] },
    thinking: { kind: 'thinking', pieces: ['one', ' two', ' three'], signature: 's' },
    tool: { kind: 'tool', id: 'call_1', name: 'f', pieces: ['{"a"', ':"one two"', '}'] },
  } as const;

  for (const [from, to] of DIRECTIONS) {
    test(`ends as at the length limit, whatever it was saying, for a ${from} client of a ${to} target`, async () => {
      for (const block of Object.values(blocks)) {
        const stream = lane(from, to, { ...MINIMAL[from], stream: true }).stream();
        const upstream = streamedAnswer(to, { blocks: [block], finish: 'stop', tokens: TOKENS });
        const seen = stream.push(Buffer.from(upstream.slice(0, upstream.indexOf('two') + 'two"}}\n'.length)));
        const whole = stream.push(
          Buffer.from(`${upstream.slice(upstream.indexOf('two') + 'two"}}\n'.length).split('\n\n')[0]}\n\n`),
        );
        const cut = stream.cutShort?.(tokens);
        assert.equal(cut?.state, 'complete');
        const text = [seen, whole, cut].map((step) => step?.forward?.toString() ?? '').join('');
        const final = await accumulate(from, text + stream.terminal());
        assert.match(JSON.stringify(final), /max_tokens|"length"|max_output_tokens/);
        if (from !== 'chat') assert.match(JSON.stringify(final), /two/);
        if (from === 'messages') {
          const types = events(text).map((event) => event.type);
          assert.deepEqual(types.slice(-2), ['content_block_stop', 'message_delta']);
        }
      }
    });
  }
});
