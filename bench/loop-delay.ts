/**
 * Preloaded into peers that run on Node: on SIGUSR2 it writes the 99th percentile of the event loop's delay since the
 * last time, in milliseconds, to the file that BENCH_LOOP_DELAY_FILE names.
 */
import { writeFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { isMainThread } from 'node:worker_threads';

const RESOLUTION_MS = 10;
const file = process.env.BENCH_LOOP_DELAY_FILE;

if (isMainThread && file) {
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  delay.enable();
  process.on('SIGUSR2', () => {
    // The histogram holds the whole interval between two looks; what goes beyond the resolution is delay.
    writeFileSync(file, String(Math.max(0, delay.percentile(99) / 1e6 - RESOLUTION_MS)));
    delay.reset();
  });
}
