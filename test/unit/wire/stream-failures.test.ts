import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { FORMATS } from '../../../src/wire/formats.ts';
import { chatUsageChunk, type FormatName, laneFor, run, STREAMS } from './streams.ts';

const ALL: FormatName[] = ['chat', 'responses', 'messages'];

function failureOf(format: FormatName, chunks: readonly string[]) {
  const result = run(laneFor(format, { stream: true }).stream(), chunks);
  assert.equal(result.state, 'failed');
  assert.equal(result.terminal, null);
  return { condition: result.failure?.condition, message: result.failure?.message, forwarded: result.forwarded };
}

for (const format of ALL) {
  describe(format, () => {
    test('[F17] a page, a JSON error or nothing in position of a stream fails before a byte is sent', () => {
      for (const body of [
        '<html>\n\n<body>503</body></html>',
        'nonsense',
        '',
        '\n\n',
        ': only comments\n\n',
        'data: [DONE]\n\n',
      ]) {
        assert.deepEqual(
          { ...failureOf(format, [body]), message: '' },
          { condition: 'upstream_error', message: '', forwarded: '' },
        );
      }
      const told = failureOf(format, ['{"error":{"message":"no such model abc","type":"x"}}']);
      assert.match(told.message ?? '', /no such model abc/);
      assert.equal(failureOf(format, ['{"error":{"message":"slow","code":"429"}}']).condition, 'provider_unavailable');
    });

    test('an error as first event keeps its meaning, and comments before it are not sent', () => {
      const frame = (error: object) => `: hi\n\ndata: ${JSON.stringify({ type: 'error', error })}\n\n`;
      const busy = failureOf(format, [frame({ type: 'overloaded_error', message: 'Overloaded' })]);
      assert.deepEqual([busy.condition, busy.forwarded], ['provider_unavailable', '']);
      const long = failureOf(format, [
        frame({ type: 'invalid_request_error', message: 'prompt is too long: 9 tokens > 8 maximum' }),
      ]);
      assert.deepEqual(
        [long.condition, long.message],
        ['context_length_exceeded', 'prompt is too long: 9 tokens > 8 maximum'],
      );
      const other = failureOf(format, [frame({ type: 'api_error', message: 'key sk-abcdefgh12345678901234 is bad' })]);
      assert.equal(other.condition, 'upstream_error');
      assert.doesNotMatch(other.message ?? '', /sk-abc/);
    });

    test('[R50] an error after content fails the stream, is not forwarded and not counted as output', () => {
      const begin = STREAMS[format].slice(0, 2);
      const before = run(laneFor(format, { stream: true }).stream(), begin).meter.outputBytes;
      const error = `event: error\ndata: {"type":"error","error":{"type":"api_error","message":"context length","content":"x"}}\n\n`;
      const result = run(laneFor(format, { stream: true }).stream(), [...begin, error]);
      assert.equal(result.failure?.condition, 'upstream_error');
      assert.equal(result.meter.outputBytes, before);
      assert.doesNotMatch(result.forwarded, /api_error/);
    });

    test('[F17] data that is no JSON, or cut off, fails', () => {
      const begin = STREAMS[format].slice(0, 2);
      for (const data of ['data: nonsense\n\n', 'data: {"id":"1","cho\n\n', 'data: {"id":']) {
        assert.equal(failureOf(format, [...begin, data]).condition, 'upstream_error');
      }
    });
  });
}

test('response.failed carries its reason', () => {
  const frame = `event: response.failed\ndata: {"type":"response.failed","sequence_number":1,"response":{"status":"failed","error":{"code":"rate_limit_exceeded","message":"slow down"}}}\n\n`;
  assert.equal(failureOf('responses', [STREAMS.responses[0] ?? '', frame]).condition, 'provider_unavailable');
});

test('[F18] usage that is nonsense counts as not reported', () => {
  for (const bad of [-1, 1.5, 2 ** 53, '7', null, {}, Number.MAX_VALUE]) {
    const usage = { prompt_tokens: 5, completion_tokens: bad, total_tokens: 5 };
    const { meter, state } = run(laneFor('chat', { stream: true }).stream(), [
      ...STREAMS.chat.slice(0, -2),
      chatUsageChunk(usage),
      'data: [DONE]\n\n',
    ]);
    assert.equal(state, 'complete');
    assert.equal(meter.reported, null);
    assert.equal(meter.reportedFinal, false);
    assert.ok(meter.outputBytes > 0);
    const messages = STREAMS.messages.join('').replace('"output_tokens":33', `"output_tokens":${JSON.stringify(bad)}`);
    const told = run(laneFor('messages', { stream: true }).stream(), [messages]).meter;
    assert.equal(told.reportedFinal, false);
    if (bad !== null) assert.equal(told.reported, null);
    const responses = STREAMS.responses.join('').replace('"output_tokens":9', `"output_tokens":${JSON.stringify(bad)}`);
    assert.equal(run(laneFor('responses', { stream: true }).stream(), [responses]).meter.reported, null);
  }
});

describe('[R46] in-band failures', () => {
  const failure = {
    code: 'upstream_error',
    type: 'api_error',
    typeB: 'api_error',
    message: 'It broke.',
    requestId: 'req_1',
  };

  test('chat: an error object and no [DONE]', () => {
    const text = FORMATS.chat.failureFrames(failure).toString();
    assert.deepEqual(JSON.parse(text.slice('data: '.length)), {
      error: { message: 'It broke.', type: 'api_error', code: 'upstream_error', param: null, request_id: 'req_1' },
    });
    assert.ok(text.endsWith('}\n\n'));
  });

  test('responses: response.failed, in sequence, with error.code', () => {
    const position = { nextSequence: 12, response: () => ({ id: 'resp_9', created_at: 5, output: [] }) };
    const text = FORMATS.responses.failureFrames({ ...failure, position, publicModel: 'm' }).toString();
    const [name, data = ''] = text.trimEnd().split('\n');
    assert.equal(name, 'event: response.failed');
    const event = JSON.parse(data.slice('data: '.length));
    assert.equal(event.type, 'response.failed');
    assert.equal(event.sequence_number, 12);
    assert.equal(event.response.id, 'resp_9');
    assert.equal(event.response.status, 'failed');
    assert.equal(event.response.error.code, 'upstream_error');
  });

  test('messages: an error event with the Format B envelope', () => {
    const text = FORMATS.messages.failureFrames(failure).toString();
    const [name, data = ''] = text.trimEnd().split('\n');
    assert.equal(name, 'event: error');
    assert.deepEqual(JSON.parse(data.slice('data: '.length)), {
      type: 'error',
      error: { type: 'api_error', message: 'It broke.', code: 'upstream_error', request_id: 'req_1' },
      request_id: 'req_1',
    });
  });
});
