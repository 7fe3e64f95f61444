/** Bytes in pieces of whatever size cost about as much memory as they have bytes. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { ByteCollector } from '../../../src/lib/byte-collector.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

function usedBytes(): number {
  collectGarbage();
  collectGarbage();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

describe('collected bytes', () => {
  test('are those that were added, in their order', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 3_000 }), { maxLength: 20 }), (pieces) => {
        const collector = new ByteCollector();
        for (const piece of pieces) collector.add(Buffer.from(piece));
        const expected = Buffer.concat(pieces);
        assert.equal(collector.length, expected.length);
        assert.deepEqual(collector.whole(), expected);
      }),
      { seed: 31 },
    );
  });

  test('of one piece are that piece, not a copy', () => {
    const collector = new ByteCollector();
    const piece = Buffer.from('whole');
    collector.add(piece);
    assert.equal(collector.whole(), piece);
  });

  test('[F31] a million pieces of one byte take a few MB', () => {
    const chunk = Buffer.alloc(64 * 1_024, 0x61);
    const before = usedBytes();
    const collector = new ByteCollector();
    for (let at = 0; at < 1_000_000; at++) collector.add(chunk.subarray(at % chunk.length, (at % chunk.length) + 1));
    const taken = usedBytes() - before;
    assert.equal(collector.length, 1_000_000);
    assert.ok(taken < 8_000_000, `${taken} bytes`);
  });
});
