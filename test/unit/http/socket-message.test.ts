/** What is made of a WebSocket message before it has taken its place in the rate limit. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { GatewayError } from '../../../src/core/conditions.ts';
import { readMessage } from '../../../src/http/socket-message.ts';

const deep = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels);
const members = (count: number): string => Array.from({ length: count }, (_none, index) => `"m${index}":0`).join(',');

describe('[F22] [F43] [R80] a message is not taken apart before it is served', () => {
  for (const [name, text] of Object.entries({
    'nested deeper than a body may be': `{"type":"response.steer","input":${deep(1_000_000)}}`,
    'nested without an end': `{"type":"response.steer","input":${'['.repeat(1_000_000)}`,
    'with more fields than a body may have': `{"type":"response.steer",${members(100_000)}}`,
  })) {
    test(`${name}: it is left to the reader of bodies as it is`, () => {
      const content = Buffer.from(text);
      assert.deepEqual(readMessage(content, true), { type: 'create', streamId: null, prepares: false, body: content });
    });
  }

  for (const name of ['stream_id', 'generate']) {
    test(`a ${name} that is too large to be one is refused`, () => {
      const message = readMessage(
        Buffer.from(`{"type":"response.create","${name}":[${'[],'.repeat(100_000)}[]]}`),
        true,
      );
      assert.ok(message.type === 'create' && message.body instanceof GatewayError);
      assert.equal(message.body.param, name);
    });
  }

  test('the longest stream_id that there may be is read however it is written', () => {
    const text = `{"type":"response.create","stream_id":"${'\\u0061'.repeat(200)}"}`;
    const message = readMessage(Buffer.from(text), true);
    assert.equal(message.type === 'create' && message.streamId, 'a'.repeat(200));
  });

  test('a steer is repeated in its answer, a large one is not', () => {
    const steer = (input: string): unknown =>
      readMessage(Buffer.from(JSON.stringify({ type: 'response.steer', previous_response_id: 'r', input })), true);
    assert.deepEqual(steer('Go on'), { type: 'steer', steer: { input: 'Go on', previous_response_id: 'r' } });
    const large = steer('x'.repeat(100_000));
    assert.deepEqual(large, { type: 'steer', steer: { input: undefined, previous_response_id: undefined } });
  });
});
