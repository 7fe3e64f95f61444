import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { Flushes } from '../../../../src/ledger/sqlite/wal-file.ts';
import { pending } from '../../../support/pending.ts';
import { flushing, SlowDisk } from '../../../support/slow-disk.ts';

describe('Flushes', () => {
  test('one at a time; who comes while one runs waits for the next, together with all others', async () => {
    const disk = new SlowDisk();
    const flushes = new Flushes(() => disk.flushed());
    const first = flushes.flushed();
    await turn();
    const second = [flushes.flushed(), flushes.flushed()];
    assert.equal(await pending(Promise.all(second)), true);
    assert.equal(disk.flushes, 1);
    disk.end();
    await first;
    assert.equal(await pending(Promise.all(second)), true);
    assert.equal(disk.flushes, 1);
    disk.end();
    await Promise.all(second);
  });

  test('a failure is told to those who waited for that flush, not to the next ones', async () => {
    const disk = new SlowDisk();
    const flushes = new Flushes(() => disk.flushed());
    const first = flushes.flushed();
    await turn();
    const second = flushes.flushed();
    disk.end(new Error('EIO'));
    await assert.rejects(first, /EIO/);
    await flushing(disk, second);
  });
});
