/** Stop sequences that the gateway looks for itself. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { GatewayError } from '../../src/core/conditions.ts';
import { StopFilter } from '../../src/wire/translate/stop-sequences.ts';
import type { TurnEvent } from '../../src/wire/translate/turn.ts';
import { events } from './answer-helpers.ts';
import { lane, MINIMAL } from './run-lane.ts';

interface Ended {
  readonly text: string;
  readonly stop: string | null;
}

/** Reads the text again for each of its characters. */
function slowly(sequences: readonly string[], text: string): Ended {
  for (let end = 1; end <= text.length; end++) {
    const ending = sequences.filter((one) => one !== '' && text.slice(0, end).endsWith(one));
    const [stop] = ending.toSorted((a, b) => b.length - a.length);
    if (stop !== undefined) return { text: text.slice(0, end - stop.length), stop };
  }
  return { text, stop: null };
}

function filtered(sequences: readonly string[], pieces: readonly string[]): Ended {
  const filter = new StopFilter(sequences);
  const deltas = pieces.map((text) => ({ type: 'text-delta', key: 0, text }) as const);
  const said: readonly TurnEvent[] = [
    { type: 'text-start', key: 0, kind: 'text' },
    ...deltas,
    { type: 'text-end', key: 0 },
  ];
  const out = said.flatMap((event) => filter.take(event));
  const finish = out.find((event) => event.type === 'finish');
  assert.equal(out.filter(({ type }) => type === 'text-end').length, 1);
  return {
    text: out.map((event) => (event.type === 'text-delta' ? event.text : '')).join(''),
    stop: finish?.stopSequence ?? null,
  };
}

test('the first one to end ends the answer, of several the longest, however the text is cut', () => {
  const text = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: 6 });
  fc.assert(
    fc.property(fc.array(text, { maxLength: 8 }), fc.array(text, { maxLength: 8 }), (sequences, pieces) => {
      assert.deepEqual(filtered(sequences, pieces), slowly(sequences, pieces.join('')));
    }),
    { numRuns: 2_000 },
  );
});

test('[F41] as many characters as an answer would be searched for are refused, in the field of the client', () => {
  const refused = (from: 'chat' | 'messages', to: 'chat' | 'responses' | 'messages', settings: object): unknown => {
    try {
      lane(from, to, { ...MINIMAL[from], ...settings });
    } catch (error) {
      assert.ok(error instanceof GatewayError);
      return error.param;
    }
    return null;
  };
  const taken = ['1', '2', '3', '4'];
  const long = 'x'.repeat(8_000);
  assert.equal(refused('messages', 'chat', { stop_sequences: [...taken, long] }), null);
  assert.equal(refused('messages', 'chat', { stop_sequences: [...taken, long, `${long}y`] }), 'stop_sequences');
  assert.equal(refused('chat', 'responses', { stop: [long, `${long}y`] }), 'stop');
  const many = Array.from({ length: 1_000 }, (_none, i) => `stop${i}`);
  assert.equal(refused('messages', 'chat', { stop_sequences: many }), null);
});

describe('a block that is open where a stop sequence is met', () => {
  const chunk = (delta: object): string =>
    `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta }] })}\n\n`;

  test('has its end', () => {
    const body = { ...MINIMAL.messages, stream: true, stop_sequences: ['1', '2', '3', '4', 'END'] };
    const stream = lane('messages', 'chat', body).stream();
    const upstream =
      chunk({ tool_calls: [{ index: 0, id: 'call_1', function: { name: 'f', arguments: '{"a":' } }] }) +
      chunk({ content: 'Well END more' });
    const step = stream.push(Buffer.from(upstream));
    assert.equal(step.state, 'complete');
    const types = events(`${step.forward}${stream.terminal()}`).map(({ type, index }) => [type, index]);
    const started = types.filter(([type]) => type === 'content_block_start').map(([, index]) => index);
    const stopped = types.filter(([type]) => type === 'content_block_stop').map(([, index]) => index);
    assert.deepEqual(started, [0, 1]);
    assert.deepEqual(stopped.toSorted(), [0, 1]);
    assert.equal(types.at(-1)?.[0], 'message_stop');
  });
});
