/** The batches of the embedded store: what one bad operation and a full disk leave. */
import assert from 'node:assert/strict';
import { copyFileSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { describe, test } from 'node:test';
import type { Operation, Result } from '../../src/ledger/operations.ts';
import { openDatabase } from '../../src/ledger/sqlite/database.ts';
import { openEngine as openEngineOn, openSyncStore } from '../../src/ledger/sqlite/engine.ts';
import { StoreError } from '../../src/storage/errors.ts';
import { admitRequest, ManualClock, newKey, settleRequest, usageRecord } from './fixtures.ts';

function kinds(results: readonly Result[]): readonly unknown[] {
  return results.map((result) => (result !== null && 'kind' in result ? result.kind : result));
}

export function sqliteTransactions(newFile: () => string): void {
  describe('SQLite transactions', () => {
    function openEngine(): {
      apply(batch: readonly Operation[]): readonly Result[];
      close(): void;
      database: DatabaseSync;
    } {
      const file = newFile();
      const database = openDatabase(file);
      return { ...openEngineOn(database, file, new ManualClock()), database };
    }
    const admit = (keyId: string, holdId: string, amount: bigint): Operation => ({
      op: 'admit',
      owner: 'o',
      request: admitRequest(keyId, holdId, amount),
    });
    const settle = (keyId: string, holdId: string, charge: bigint): Operation => ({
      op: 'settle',
      request: settleRequest(keyId, holdId, charge),
    });

    test('one bad operation fails alone; the others of its batch are applied, once', () => {
      const engine = openEngine();
      const key = newKey({ credit: 10n });
      const { tokens } = usageRecord();
      const brokenUsage = usageRecord({ tokens: { ...tokens, output: 0.5 } });
      const results = engine.apply([
        { op: 'registerOwner', owner: 'o', leaseMs: 1_000 },
        { op: 'createKey', request: key },
        admit(key.id, 'h1', 4n),
        admit(key.id, 'h2', -1n),
        settle(key.id, 'h1', -1n),
        // Fails late, when the hold is released and the charge is booked already.
        { op: 'settle', request: settleRequest(key.id, 'h1', 3n, { usage: brokenUsage }) },
        settle(key.id, 'h1', 3n),
        admit(key.id, 'h3', 8n),
        admit(key.id, 'h3', 7n),
      ]);
      assert.deepEqual(kinds(results).slice(2), [
        'admitted',
        'operation_failed',
        'operation_failed',
        'operation_failed',
        'settled',
        'insufficient',
        'admitted',
      ]);
      const [report] = engine.apply([{ op: 'audit' }]);
      assert.deepEqual(report, {
        ok: true,
        keys: 1,
        entries: 2,
        liveHolds: 1,
        findings: [],
        flagged: 0,
        flaggedCharges: [],
      });
      engine.close();
    });

    test('[R11] an operation that fails late gives its place in the rate limit back, also in the files', async () => {
      const file = newFile();
      const clock = new ManualClock();
      const database = openDatabase(file);
      const engine = openEngineOn(database, file, clock);
      const key = newKey({ credit: 10n, rpmLimit: 3 });
      const register: Operation = { op: 'registerOwner', owner: 'o', leaseMs: 1_000 };
      engine.apply([register, { op: 'createKey', request: key }]);
      database.exec(`CREATE TRIGGER refuse BEFORE INSERT ON claims WHEN NEW.name = 'refused'
        BEGIN SELECT RAISE(ABORT, 'refused by a test'); END`);
      const claimed = (holdId: string, name: string): Operation => ({
        op: 'admit',
        owner: 'o',
        request: admitRequest(key.id, holdId, 1n, { claim: { name, fingerprint: 'f' } }),
      });
      const batch = [
        claimed('h1', 'refused'),
        claimed('h2', 'first'),
        claimed('h3', 'refused'),
        claimed('h4', 'second'),
      ];
      const expected = ['operation_failed', 'admitted', 'operation_failed', 'admitted'];
      assert.deepEqual(kinds(engine.apply(batch)), expected);
      // What a process would find that starts after this one was killed now.
      const image = newFile();
      for (const part of ['', '-wal', '-rates']) copyFileSync(`${file}${part}`, `${image}${part}`);
      engine.close();
      const afterwards = openSyncStore({ file: image, clock });
      const results = await afterwards.apply([register, admit(key.id, 'h5', 1n), admit(key.id, 'h6', 1n)]);
      assert.deepEqual(kinds(results), [null, 'admitted', 'rate_limited']);
      await afterwards.close();
    });

    test('[F8] a full disk fails the whole batch, changes nothing, and the store recovers by itself', () => {
      const engine = openEngine();
      const key = newKey({ credit: 1_000_000n });
      engine.apply([
        { op: 'registerOwner', owner: 'o', leaseMs: 1_000 },
        { op: 'createKey', request: key },
        admit(key.id, 'before', 1n),
      ]);
      engine.database.exec('VACUUM');
      const pages = engine.database.prepare('PRAGMA page_count').get()?.page_count;
      engine.database.exec(`PRAGMA max_page_count = ${pages}`);
      const batch = Array.from({ length: 500 }, (_, i) => admit(key.id, `during-${i}`, 1n));
      assert.throws(() => engine.apply(batch), StoreError);
      const [summary] = engine.apply([{ op: 'summary', keyId: key.id }]);
      assert.ok(summary !== null && summary !== undefined && 'reserved' in summary);
      assert.deepEqual([summary.reserved, summary.liveHolds], [1n, 1]);
      engine.database.exec('PRAGMA max_page_count = 1000000');
      assert.deepEqual(new Set(kinds(engine.apply(batch))), new Set(['admitted']));
      const [report] = engine.apply([{ op: 'audit' }]);
      assert.ok(report !== null && report !== undefined && 'findings' in report);
      assert.deepEqual([report.findings, report.liveHolds], [[], 501]);
      engine.close();
    });
  });
}
