/**
 * Loaded before every test file of `npm test`, for what takes time in all of them, and for what they leave behind: a test that
 * failed or timed out midway may leave servers and processes open, which would keep the process of its file alive for ever. It
 * ends red instead, some time after its last test, and says what was open.
 */
import type { ChildProcess } from 'node:child_process';
import cluster from 'node:cluster';
import { subscribe } from 'node:diagnostics_channel';
import { statfsSync } from 'node:fs';
import { enableCompileCache } from 'node:module';
import { join, resolve } from 'node:path';
import { isMainThread } from 'node:worker_threads';

// Every test file is a process that loads much of the same: with it, that takes 0.3 s instead of 1.0. The runner starts the
// processes with the environment that it had before it loaded this module, so each of them enables the cache for itself;
// threads and child processes learn of it from the environment.
process.env.NODE_COMPILE_CACHE ??= join(resolve(import.meta.dirname, '../..'), 'node_modules/.cache/compile');
enableCompileCache(process.env.NODE_COMPILE_CACHE);

// Thousands of small databases are made, and each is flushed: in memory the ledger's contract takes 38 s instead of 168.
if (process.env.TMPDIR === undefined && freeBytes('/dev/shm') > 4 * 1024 ** 3) process.env.TMPDIR = '/dev/shm';

/** The hooks of a file come after this one, and may stop databases and drain gateways. */
const END_WITHIN_MS = Number(process.env.TEST_END_MS ?? '180000');

const children = new Set<ChildProcess>();

// Only in the processes of test files: not in the runner that starts them, and not in their threads and workers, which load this
// as well and should not load the runner with it.
if (process.env.NODE_TEST_CONTEXT !== undefined && isMainThread && cluster.isPrimary) {
  const { after } = await import('node:test');
  subscribe('child_process', (message) => {
    const child = (message as { process?: ChildProcess }).process;
    if (child === undefined) return;
    children.add(child);
    child.once('exit', () => children.delete(child));
  });
  process.on('exit', () => {
    for (const child of children) child.kill('SIGKILL');
  });
  after(() => {
    // It does not keep the process alive itself: where nothing is left open, it never fires.
    setTimeout(() => {
      const left = process.getActiveResourcesInfo().join(', ');
      process.stderr.write(`${process.argv[1]} does not end after its last test; open: ${left}\n`);
      process.exit(1);
    }, END_WITHIN_MS).unref();
  });
}

function freeBytes(folder: string): number {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize;
  } catch {
    return 0;
  }
}
