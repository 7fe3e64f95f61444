import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { FrameSplitter, joinedData } from '../../../src/wire/sse.ts';

interface Seen {
  readonly bytes: string;
  readonly event: string;
  readonly data: string | null;
}

function split(chunks: readonly Buffer[]): Seen[] {
  const splitter = new FrameSplitter();
  const seen: Seen[] = [];
  const drain = (): void => {
    while (splitter.next()) {
      seen.push({
        bytes: splitter.bytes.toString('utf8', splitter.start, splitter.end),
        event: splitter.text.slice(splitter.eventStart, splitter.eventEnd),
        data: splitter.dataLines === 0 ? null : joinedData(splitter),
      });
    }
  };
  for (const chunk of chunks) {
    splitter.feed(chunk);
    drain();
  }
  splitter.close();
  drain();
  return seen;
}

describe('FrameSplitter', () => {
  test('[F19] understands line ends of every kind, comments, fields without a space, several data lines', () => {
    const text = 'event: a\ndata: 1\n\n: note\n\ndata:x\r\ndata: y\r\ndata\r\n\r\nid: 7\rdata: z\r\rdata: end';
    assert.deepEqual(split([Buffer.from(text)]), [
      { bytes: 'event: a\ndata: 1\n\n', event: 'a', data: '1' },
      { bytes: ': note\n\n', event: '', data: null },
      { bytes: 'data:x\r\ndata: y\r\ndata\r\n\r\n', event: '', data: 'x\ny\n' },
      { bytes: 'id: 7\rdata: z\r\r', event: '', data: 'z' },
      { bytes: 'data: end\n\n', event: '', data: 'end' },
    ]);
  });

  test('[F19] the frames do not depend on where the bytes are cut', () => {
    const piece = fc.constantFrom(
      'data: é',
      'data',
      'event: x',
      ':',
      'junk',
      '\n',
      '\r',
      '\r\n',
      '\n\n',
      '\r\n\r\n',
      ' ',
      '😀',
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), fc.array(fc.nat(), { maxLength: 8 }), (pieces, points) => {
        const bytes = Buffer.from(pieces.join(''));
        const cuts = [0, ...points.map((point) => point % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
        const chunks = cuts.slice(1).map((end, i) => bytes.subarray(cuts[i], end));
        const whole = split([bytes]);
        assert.deepEqual(split(chunks), whole);
        assert.deepEqual(split(Array.from(bytes, (_, i) => bytes.subarray(i, i + 1))), whole);
        assert.ok(
          whole
            .map((frame) => frame.bytes)
            .join('')
            .startsWith(bytes.toString()),
        );
      }),
      { numRuns: 500 },
    );
  });

  test('complete frames are looked at in place', () => {
    const chunk = Buffer.from('data: 1\n\ndata: 2\n\n');
    const splitter = new FrameSplitter();
    splitter.feed(chunk);
    assert.equal(splitter.bytes, chunk);
    while (splitter.next());
    assert.equal(splitter.partialLength, 0);
    assert.equal(splitter.consumed, chunk.length);
  });
});
