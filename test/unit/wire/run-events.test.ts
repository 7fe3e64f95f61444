/** The events of a background response as they are stored: numbered, whole, and under the id of the run. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  addToSnapshot,
  framesAfter,
  lastResponse,
  type NumberedFrames,
  RunFrames,
} from '../../../src/wire/responses/run-events.ts';
import { ResponseSnapshot } from '../../../src/wire/responses/snapshot.ts';

const IDENTITY = { id: 'resp_run', created_at: 7, background: true } as const;

function frame(event: object): string {
  return `event: e\ndata: ${JSON.stringify(event)}\n\n`;
}

function eventsOf(stored: NumberedFrames | null): readonly Record<string, unknown>[] {
  const text = stored?.frames.toString() ?? '';
  return [...text.matchAll(/^data: (.*)$/gm)].map(([, json]) => JSON.parse(json ?? '') as Record<string, unknown>);
}

test('[R77] an event whose number fits passes byte for byte, wherever its bytes are cut', () => {
  const said = `event: x\ndata:   {"delta" : "ünï 💡\\n",  "sequence_number": 3}\n\n`;
  const bytes = Buffer.from(said);
  for (let cut = 0; cut <= bytes.length; cut++) {
    const frames = new RunFrames(IDENTITY);
    const [first, second] = [frames.push(bytes.subarray(0, cut)), frames.push(bytes.subarray(cut))];
    const whole = first ?? second;
    assert.deepEqual([whole?.first, whole?.last, whole?.frames.toString()], [3, 3, said]);
  }
});

test('[R77] numbers always grow: what is missing, comes twice, or is none is given one', () => {
  const frames = new RunFrames(IDENTITY);
  const numbers = [0, 1, 1, 0, -3, 'x', null, undefined, 1e300, 2 ** 53, 5_000_000, 20];
  const stored = frames.push(Buffer.from(numbers.map((sequence_number) => frame({ a: 1, sequence_number })).join('')));
  assert.deepEqual(
    eventsOf(stored).map(({ sequence_number }) => sequence_number),
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 20],
  );
  assert.deepEqual([stored?.first, stored?.last, frames.nextNumber], [0, 20, 21]);
});

test('[R76] responses go by the id and the time of the run, and say that they are made in the background', () => {
  const frames = new RunFrames(IDENTITY);
  const provider = { id: 'resp_upstream', created_at: 1, background: false, output: [{ id: 'msg_1' }] };
  const [created, bare, lines] = [
    frame({ type: 'response.created', sequence_number: 0, response: provider }),
    frame({ response: { status: 'in_progress' } }),
    'data: {"response":\ndata: {"id":"resp_upstream"}}\n\n',
  ].map((said) => eventsOf(frames.push(Buffer.from(said)))[0]?.response);
  assert.deepEqual(created, { ...provider, ...IDENTITY });
  assert.deepEqual(bare, { ...IDENTITY, status: 'in_progress' });
  assert.deepEqual(lines, IDENTITY);
});

test('[R77] signs of life and frames that were broken off are no events', () => {
  const frames = new RunFrames(IDENTITY);
  for (const said of [
    ': keep-alive\n\n',
    'event: x\n\n',
    'data: {"delta": "broken off\n\n',
    'data: [DONE]\n\n',
    '\n\n',
  ]) {
    assert.equal(frames.push(Buffer.from(said)), null, said);
  }
  assert.equal(frames.nextNumber, 0);
});

test('[R77] the rest of some frames begins with the first event that is later', () => {
  const all = Buffer.from([2, 5, 9].map((sequence_number) => frame({ sequence_number })).join(''));
  for (const [after, left] of [
    [-1, 3],
    [2, 2],
    [4, 2],
    [5, 1],
    [9, 0],
    [99, 0],
  ] as const) {
    const rest = framesAfter(all, after);
    assert.equal(rest.toString().split('event: e').length - 1, left, String(after));
    assert.ok(all.toString().endsWith(rest.toString()));
  }
  assert.deepEqual(
    lastResponse(Buffer.from(frame({ response: { a: 1 } }) + frame({ response: { a: 2 } }) + frame({}))),
    {
      a: 2,
    },
  );
});

test('[R77] items are what events say of them, with the texts of those that were never finished, wherever they are cut', () => {
  const snapshot = new ResponseSnapshot();
  snapshot.created({ id: 'resp_1' });
  const event = (type: string, fields: object): Buffer =>
    Buffer.from(`data: ${JSON.stringify({ type, ...fields })}\n\n`);
  const done = { id: 'rs_1', type: 'reasoning', summary: [] };
  for (const frames of [
    event('response.output_item.added', { output_index: 0, item: { ...done, status: 'in_progress' } }),
    event('response.output_item.done', { output_index: 0, item: done }),
    event('response.output_item.added', { output_index: 2, item: { type: 'function_call', name: 'f', arguments: '' } }),
    event('response.output_item.added', { output_index: 1, item: { type: 'message', content: [] } }),
    event('response.output_text.delta', { output_index: 1, content_index: 0, delta: 'a "wörd"\n' }),
    event('response.function_call_arguments.delta', { output_index: 2, delta: '{"x":' }),
    event('response.output_text.delta', { output_index: 1, content_index: 0, delta: '☃' }),
  ]) {
    addToSnapshot(snapshot, frames);
  }
  assert.deepEqual(snapshot.response()?.output, [
    done,
    { type: 'message', content: [{ type: 'output_text', text: 'a "wörd"\n☃', annotations: [], logprobs: [] }] },
    { type: 'function_call', name: 'f', arguments: '{"x":' },
  ]);
});
