/** The embedded store with the threads that it starts, and in a process of its own that is killed. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createLedger } from '../../src/ledger/ledger.ts';
import { recoverAll, startMaintenance } from '../../src/ledger/maintenance.ts';
import { openSyncStore } from '../../src/ledger/sqlite/engine.ts';
import { openInProcessStore } from '../../src/ledger/sqlite/in-process-store.ts';
import { StoreError } from '../../src/storage/errors.ts';
import { admitRequest, ManualClock, newKey, settleRequest, usageRecord } from './fixtures.ts';

export function sqliteKilled(newFile: () => string): void {
  describe('SQLite with its own threads', () => {
    test('serves from start to close, recovers at the next start, and keeps replies', async (t) => {
      const file = newFile();
      const ledger = createLedger(openInProcessStore({ file }));
      t.after(() => ledger.close());
      const maintenance = await startMaintenance(ledger);
      const key = await ledger.createKey(newKey({ credit: 1_000n }));
      const body = Buffer.from('a part of a larger buffer').subarray(2, 6);
      await Promise.all(
        Array.from({ length: 100 }, async (_, i) => {
          const claim = { name: `c${i}`, fingerprint: 'f' };
          await ledger.admit(admitRequest(key.id, `h${i}`, 5n, { claim }));
          const reply = { status: 200, contentType: 'text/plain', body };
          await ledger.settle(settleRequest(key.id, `h${i}`, 3n, { usage: usageRecord(), reply }));
        }),
      );
      await assert.rejects(ledger.admit(admitRequest(key.id, 'bad', -1n)), StoreError);
      await ledger.admit(admitRequest(key.id, 'left behind', 5n));
      await maintenance.stop();
      await ledger.close();
      await assert.rejects(ledger.ping(), StoreError);

      const second = createLedger(openInProcessStore({ file }));
      t.after(() => second.close());
      const again = await startMaintenance(second);
      const summary = await second.summary(key.id);
      assert.deepEqual([summary?.used, summary?.reserved, summary?.requests], [300n, 0n, 100]);
      const claim = { name: 'c7', fingerprint: 'f' };
      const replay = await second.admit(admitRequest(key.id, 'h-again', 5n, { claim }));
      assert.equal(replay.kind === 'replay' && Buffer.from(replay.reply.body).toString(), 'part');
      assert.deepEqual((await second.audit()).findings, []);
      await again.stop();
    });

    test('[F1] [F2] [F3] [F4] kill -9 in the middle of work: after the next start the books add up', async (t) => {
      const file = newFile();
      const program = fileURLToPath(new URL('../support/busy-process.ts', import.meta.url));
      const child = spawn(process.execPath, [program, file], { stdio: ['ignore', 'pipe', 'inherit'] });
      t.after(() => child.kill('SIGKILL'));
      const gone = once(child, 'exit');
      const acknowledged: string[] = [];
      for await (const line of createInterface({ input: child.stdout })) {
        acknowledged.push(line);
        if (acknowledged.length === 400) child.kill('SIGKILL');
      }
      // Its output ends a moment before its lock on the file does.
      await gone;
      const clock = new ManualClock(new Date().toISOString());
      const ledger = createLedger(openSyncStore({ file, clock }));
      assert.deepEqual((await ledger.audit()).findings, []);
      await recoverAll(ledger);
      const report = await ledger.audit();
      assert.deepEqual([report.findings, report.liveHolds], [[], 0]);
      // Each line is a settlement that the process saw committed: charged once, and a repeat of the call gets its reply.
      for (const holdId of acknowledged) {
        const claim = { name: holdId, fingerprint: 'f' };
        const repeat = await ledger.admit(admitRequest('busy', `${holdId}-again`, 5n, { claim }));
        assert.equal(repeat.kind === 'replay' && Buffer.from(repeat.reply.body).toString(), holdId);
        const outcome = await ledger.settle(settleRequest('busy', holdId, 1n));
        assert.deepEqual(outcome, { kind: 'already_settled', charged: 3n });
      }
      // Some holds were marked and not settled when the process died: they were charged by their mark.
      assert.ok(report.flagged >= 1);
      await ledger.close();
    });
  });
}
