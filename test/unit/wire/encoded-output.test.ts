/** Sound and images of streams that end before anybody has reported them. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Meter } from '../../../src/wire/lane.ts';
import { completeResponse, laneFor, UPSTREAM_MODEL } from './streams.ts';

const chunk = (delta: object, finish: string | null = null, more: object = {}): string =>
  `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: UPSTREAM_MODEL, choices: [{ index: 0, delta, finish_reason: finish }], ...more })}\n\n`;
const OPENING = chunk({ role: 'assistant', content: '' });
const SECOND = 'A'.repeat(64_000);
const sound = (data: string): string => chunk({ audio: { id: 'a', data } });
const image = (name: string): object => ({
  type: 'image_url',
  image_url: { url: `data:image/png;base64,${name.repeat(1_000)}` },
});

function meterOf(frames: readonly string[]): Meter {
  const stream = laneFor('chat', { stream: true }).stream();
  for (const frame of [OPENING, ...frames]) assert.equal(stream.push(Buffer.from(frame)).failure, null);
  return stream.meter();
}

describe('[F48] what is no text and nobody has reported', () => {
  test('a second of sound is twenty tokens, in however many frames it comes', () => {
    for (const pieces of [1, 2, 20, 500]) {
      const { outputBytes, encoded } = meterOf(
        Array.from({ length: pieces }, () => sound(SECOND.slice(0, 64_000 / pieces))),
      );
      assert.deepEqual([outputBytes, encoded], [0, { audio: 20, image: 0 }], `${pieces}`);
    }
  });

  test('frames of silence are like each other, and count each', () => {
    for (const more of [{}, { transcript: 'ah ' }]) {
      const frames = Array.from({ length: 400 }, () => chunk({ audio: { ...more, data: 'A'.repeat(320) } }));
      assert.deepEqual(meterOf(frames).encoded, { audio: 40, image: 0 });
    }
  });

  test('a transcript beside it is text', () => {
    const { outputBytes, encoded } = meterOf([sound(SECOND), chunk({ audio: { transcript: 'Hello there' } })]);
    assert.deepEqual([outputBytes, encoded], [11, { audio: 20, image: 0 }]);
  });

  test('a frame of sound that flows in pieces counts with all of them', () => {
    const frame = Buffer.from(sound('A'.repeat(6_400_000)));
    const stream = laneFor('chat', { stream: true }).stream();
    stream.push(Buffer.from(OPENING));
    for (let start = 0; start < frame.length; start += 65_536) stream.push(frame.subarray(start, start + 65_536));
    const counted = stream.meter().encoded?.audio ?? 0;
    assert.ok(Math.abs(counted - 2_000) <= 20, `${counted} tokens`);
  });

  test('an image counts once, also where a server sends it again', () => {
    const { encoded } = meterOf([
      chunk({ images: [image('A')] }),
      chunk({ images: [image('A'), image('BB')] }),
      chunk({ images: [{ type: 'image_url', image_url: `data:image/png;base64,${'C'.repeat(5_000)}` }] }),
    ]);
    assert.deepEqual(encoded, { audio: 0, image: 3 * 1_290 });
  });

  test('large images count each, and once, however the network has cut their frames', () => {
    const large = (seed: number) => {
      const data = Array.from({ length: 40_000 }, (_, index) => ((index * seed) % 1_000_003).toString(36)).join('');
      return { type: 'image_url', image_url: { url: `data:image/png;base64,${'A'.repeat(2_000)}${data}` } };
    };
    const frames = [[large(7_919)], [large(104_729)], [large(7_919)], [large(15_485_863), large(32_452_843)]];
    for (const piece of [65_536, 10_007]) {
      const stream = laneFor('chat', { stream: true }).stream();
      stream.push(Buffer.from(OPENING));
      for (const images of frames) {
        const frame = Buffer.from(chunk({ images }));
        for (let start = 0; start < frame.length; start += piece) stream.push(frame.subarray(start, start + piece));
      }
      const { outputBytes, encoded } = stream.meter();
      assert.deepEqual([outputBytes, encoded], [0, { audio: 0, image: 4 * 1_290 }], `${piece}`);
    }
  });

  test('where no image is, none counts', () => {
    const images = [{ image_url: null }, { image_url: {} }, { image_url: { url: '' } }, { type: 'image_url' }];
    assert.equal(meterOf([chunk({ images }), chunk({ images: [] }), chunk({ images: null })]).encoded, undefined);
  });

  test('a report that sound comes after is not of the whole answer', () => {
    const usage = { prompt_tokens: 8, completion_tokens: 54, total_tokens: 62 };
    const reported = [chunk({}, 'stop', { usage })];
    assert.equal(meterOf([sound(SECOND), ...reported]).reportedFinal, true);
    assert.equal(meterOf([...reported, sound(SECOND)]).reportedFinal, false);
  });

  test('an address that a model cites is no image of it', () => {
    const cited = [{ type: 'url_citation', url_citation: { url: 'https://a.example/b.png' } }];
    assert.equal(meterOf([chunk({ content: 'Hi', annotations: cited })]).encoded, undefined);
  });

  test('of the responses format, too', () => {
    const event = (type: string, value: object) => `event: ${type}\ndata: ${JSON.stringify({ type, ...value })}\n\n`;
    const stream = laneFor('responses', { stream: true }).stream();
    stream.push(
      Buffer.from(event('response.created', { sequence_number: 0, response: completeResponse('in_progress') })),
    );
    for (const type of ['response.audio.delta', 'response.output_audio.delta']) {
      stream.push(Buffer.from(event(type, { sequence_number: 1, delta: SECOND })));
    }
    assert.deepEqual(stream.meter().encoded, { audio: 40, image: 0 });
  });
});
