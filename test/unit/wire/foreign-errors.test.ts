/** Errors in a provider's stream in shapes that no format has. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { lane } from '../../translate/run-lane.ts';
import { type FormatName, laneFor, run, STREAMS } from './streams.ts';

const ALL: readonly FormatName[] = ['chat', 'responses', 'messages'];
const MINIMAL = {
  chat: { model: 'm', messages: [{ role: 'user', content: 'Hi' }], stream: true },
  responses: { model: 'm', input: 'Hi', stream: true },
  messages: { model: 'm', messages: [{ role: 'user', content: 'Hi' }], stream: true },
};

/** Each says `boom`, and none has anything else to say. */
const SHAPES: Readonly<Record<string, string>> = {
  'an error object': '{"error":{"message":"boom","code":500}}',
  'an error string': '{"error":"boom"}',
  'an error beside a chunk':
    '{"id":"1","choices":[{"index":0,"delta":{},"finish_reason":"error"}],"error":{"message":"boom"}}',
  'code and message': '{"code":"InternalError","message":"boom"}',
  'code and message with more': '{"request_id":"r","code":500,"message":"boom","data":null}',
  'an error by its object': '{"object":"error","message":"boom","type":"BadRequestError","param":null,"code":400}',
  'an error by its object alone': '{"object":"error","message":"boom"}',
  'an error by its type': '{"type":"error","message":"boom","status":500}',
  'an unknown type with code and message': '{"type":"server_error","code":"x","message":"boom"}',
};
const FRAMINGS: Readonly<Record<string, (json: string) => string>> = {
  'as data': (json) => `data: ${json}\n\n`,
  'as an error event': (json) => `event: error\ndata: ${json}\n\n`,
  'without SSE around it': (json) => `${json}\n\n`,
};

describe('[R67] an error in a shape that no format has', () => {
  for (const from of ALL) {
    for (const to of ALL) {
      test(`fails the stream with its message and is never forwarded: ${from} client, ${to} target`, () => {
        const stream = () => (from === to ? laneFor(from, { stream: true }) : lane(from, to, MINIMAL[from])).stream();
        const content = STREAMS[to].slice(0, 5);
        for (const [shape, json] of Object.entries(SHAPES)) {
          for (const [framing, frame] of Object.entries(FRAMINGS)) {
            const first = run(stream(), [frame(json)]);
            assert.deepEqual([first.state, first.forwarded], ['failed', ''], `${shape} ${framing}, first`);
            assert.match(first.failure?.message ?? '', /boom/, `${shape} ${framing}, first`);
            const alone = run(stream(), content).forwarded;
            const later = run(stream(), [...content, frame(json), ...STREAMS[to].slice(5)]);
            assert.deepEqual([later.state, later.forwarded], ['failed', alone], `${shape} ${framing}, later`);
            assert.match(later.failure?.message ?? '', /^The provider reported an error: boom$/);
          }
        }
      });
    }
  }

  test('in place of a whole answer is an error with its message and meaning', () => {
    for (const format of ALL) {
      for (const json of Object.values(SHAPES)) {
        if (format === 'chat' && json.includes('choices')) continue;
        assert.throws(() => laneFor(format).whole(Buffer.from(json)), /boom/);
      }
      assert.throws(() => laneFor(format).whole(Buffer.from('{"error":{"message":"slow down","code":429}}')), {
        condition: 'provider_unavailable',
      });
    }
  });

  test('is not seen in an answer that only speaks of errors', () => {
    for (const format of ALL) {
      const stream = STREAMS[format].map((frame) =>
        frame.replaceAll('Hällo', 'error, \\"code\\": 1, \\"message\\": \\"boom\\"').replaceAll('Füße', '\\"error\\"'),
      );
      assert.equal(run(laneFor(format, { stream: true }).stream(), stream).state, 'complete');
    }
  });
});
