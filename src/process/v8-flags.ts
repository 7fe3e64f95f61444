import { setFlagsFromString } from 'node:v8';

/**
 * To be called when everything is loaded: code that was compiled and kept without a flag is compiled again with it. V8 leaves the jobs of
 * its middle compiler to a background thread to free, which comes to that late on a busy machine; until then hundreds of them have their
 * memory, and malloc does not give it back. Freed at once: 203 MB after 30,000 requests where it was 228.
 *
 * A heap that is collected may grow by this much, whatever the rate of allocation. V8 gives a program that allocates little a tenth, and
 * one with 42 MB that is busy six tenths: a gateway of 200 slow streams marked its whole heap every five seconds. 56 -> 47 us of CPU per
 * chunk of a paced stream.
 *
 * The launcher's size of the young generation is that of the serving thread, which has it by now. V8 would prefer it to the limits of
 * threads that start later (`lib/task-thread.ts`).
 */
export function setV8Flags(): void {
  setFlagsFromString('--no-maglev-destroy-on-background');
  setFlagsFromString('--heap-growing-percent=60');
  setFlagsFromString('--max-semi-space-size=0');
}
