/** Prints how many bytes the young generation of a gateway's thread has at most, while the thread makes much that is soon garbage. */
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
  let most = 0;
  const kept: object[][] = [];
  for (let round = 0; round < ROUNDS; round++) {
    kept[round % KEPT_ROUNDS] = Array.from({ length: OBJECTS }, (_, number) => ({ number }));
    most = Math.max(most, youngBytes());
  }
  parentPort?.postMessage(most);
}
