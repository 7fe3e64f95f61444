/**
 * Histograms as the rollups store them: the classes that are not empty, each as its number (1 byte) and its count (4 bytes,
 * little endian). Most rows of a rollup are of few requests, and have few classes.
 */
import type { DatabaseSync } from 'node:sqlite';
import { TIME_CLASSES } from '../tally.ts';

const PAIR_BYTES = 5;
const COUNT_MAX = 0xffff_ffff;

export function packTimes(counts: ArrayLike<number>): Uint8Array {
  const classes = Array.from(counts).flatMap((count, index) => (count > 0 ? [index] : []));
  const bytes = new Uint8Array(classes.length * PAIR_BYTES);
  const view = new DataView(bytes.buffer);
  for (const [place, index] of classes.entries()) {
    view.setUint8(place * PAIR_BYTES, index);
    view.setUint32(place * PAIR_BYTES + 1, Math.min(counts[index] ?? 0, COUNT_MAX), true);
  }
  return bytes;
}

function addPackedTimes(counts: Float64Array, bytes: Uint8Array, sign = 1): void {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let at = 0; at + PAIR_BYTES <= bytes.byteLength; at += PAIR_BYTES) {
    const index = view.getUint8(at);
    counts[index] = (counts[index] ?? 0) + sign * view.getUint32(at + 1, true);
  }
}

/** `add_times(a, b)` adds two histograms, `take_times(a, b)` takes the second from the first, `sum_times(a)` adds up those of a group; its result is a JSON array of counts. */
export function defineTimeFunctions(database: DatabaseSync): void {
  database.function('add_times', { deterministic: true }, (a, b) => {
    const counts = noCounts();
    addPackedTimes(counts, blob(a));
    addPackedTimes(counts, blob(b));
    return packTimes(counts);
  });
  database.function('take_times', { deterministic: true }, (a, b) => {
    const counts = noCounts();
    addPackedTimes(counts, blob(a));
    addPackedTimes(counts, blob(b), -1);
    return packTimes(counts);
  });
  database.aggregate('sum_times', {
    start: noCounts,
    step: (counts: Float64Array, times) => {
      addPackedTimes(counts, blob(times));
      return counts;
    },
    result: (counts: Float64Array) => JSON.stringify(Array.from(counts)),
  });
}

function noCounts(): Float64Array {
  return new Float64Array(TIME_CLASSES);
}

function blob(value: unknown): Uint8Array {
  if (!(value instanceof Uint8Array)) throw new TypeError('a histogram is not a blob');
  return value;
}
