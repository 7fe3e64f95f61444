/**
 * Prints how many bytes the young generation of a gateway's thread has mostly, while the thread makes much that is soon garbage. On a busy
 * machine a collection may take more for a moment.
 */
import { getHeapSpaceStatistics } from 'node:v8';
import { isMainThread, parentPort } from 'node:worker_threads';
import { startThread } from '../../src/lib/task-thread.ts';
import { setV8Flags } from '../../src/process/v8-flags.ts';

const ROUNDS = 400;
const OBJECTS = 10_000;
const KEPT_ROUNDS = 10;

function youngBytes(): number {
  return getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')?.space_size ?? 0;
}

if (isMainThread) {
  setV8Flags();
  startThread('young-generation', import.meta.url).on('message', console.log);
} else {
  const sizes: number[] = [];
  const kept: object[][] = [];
  for (let round = 0; round < ROUNDS; round++) {
    kept[round % KEPT_ROUNDS] = Array.from({ length: OBJECTS }, (_, number) => ({ number }));
    sizes.push(youngBytes());
  }
  parentPort?.postMessage(sizes.sort((a, b) => a - b)[ROUNDS / 2]);
}
