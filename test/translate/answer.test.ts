import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { GatewayError } from '../../src/core/conditions.ts';
import { isObject } from '../../src/lib/json.ts';
import { streamedAnswer } from '../support/upstreams/answers.ts';
import { chunk, data, events, objects, TOKENS } from './answer-helpers.ts';
import { CROSSINGS, lane, MINIMAL, runStream, runWhole } from './run-lane.ts';

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

describe("whole answers that are not of the target's format", () => {
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
