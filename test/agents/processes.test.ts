/** What tries other people's programs does not leave them behind. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { test } from 'node:test';

const MODULE = new URL('processes.ts', import.meta.url).href;
/** Starts a group of two processes, which share its output, and says so. */
const PROGRAM = `
  const { startGroup, endGroupsOnSignals } = await import('${MODULE}');
  endGroupsOnSignals((signal) => console.log('ended by ' + signal));
  const child = startGroup('sh', ['-c', 'sleep 900 & sleep 900'], { stdio: ['ignore', 'inherit', 'ignore'] });
  child.once('spawn', () => console.log('started'));
`;

test('a signal that ends the run ends every group of processes that it has started', async () => {
  const run = spawn(process.execPath, ['--input-type=module', '--eval', PROGRAM], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const lines = createInterface({ input: run.stdout })[Symbol.asyncIterator]();
  assert.equal((await lines.next()).value, 'started');
  // Its output is closed when the last process that has it is gone.
  const closed = once(run, 'close');
  run.kill('SIGTERM');
  assert.equal((await lines.next()).value, 'ended by SIGTERM');
  assert.deepEqual(await closed, [128 + 15, null]);
});
