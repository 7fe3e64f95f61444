/** What is left of the books on SQLite when the power fails, at any flush of the disk. */
import assert from 'node:assert/strict';
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { createLedger } from '../../../../src/ledger/ledger.ts';
import { recoverAll, startMaintenance } from '../../../../src/ledger/maintenance.ts';
import { openSyncStore } from '../../../../src/ledger/sqlite/engine.ts';
import { openInProcessStore } from '../../../../src/ledger/sqlite/in-process-store.ts';
import { type LogFile, openLogFile } from '../../../../src/ledger/sqlite/wal-file.ts';
import { admitRequest, newKey, settleRequest, usageRecord } from '../../../contract/fixtures.ts';
import { temporaryFolder } from '../../../support/temporary-folder.ts';

const folder = temporaryFolder('gateway-serving');
let files = 0;
const newFile = () => join(folder, `ledger-${files++}.db`);

test('[F4] a loss of power at any flush: every charge that was told is there, and the books add up', async () => {
  const file = newFile();
  const told: string[] = [];
  /** What the disk had after each flush, and what was told while that was all it had. */
  const images: { readonly file: string; told: readonly string[] }[] = [];
  const log = (databaseFile: string): LogFile => {
    const real = openLogFile(databaseFile);
    return {
      flushed: async () => {
        // What is written after the flush has begun is lost with the power.
        const image = newFile();
        for (const part of ['', '-wal']) copyFileSync(`${file}${part}`, `${image}${part}`);
        await real.flushed();
        const before = images.at(-1);
        if (before !== undefined) before.told = [...told];
        images.push({ file: image, told: [] });
      },
      close: () => real.close(),
    };
  };
  const ledger = createLedger(openInProcessStore({ file, log, checkpointPages: 150 }));
  const maintenance = await startMaintenance(ledger);
  const key = await ledger.createKey(newKey({ credit: 10n ** 9n }));
  await Promise.all(
    Array.from({ length: 8 }, async (_, worker) => {
      for (let i = 0; i < 25; i++) {
        const holdId = `${worker}-${i}`;
        await ledger.admit(admitRequest(key.id, holdId, 5n));
        if (i % 5 === 0) ledger.mark({ holdId, keyId: key.id, charge: 2n, tokens: usageRecord().tokens });
        await ledger.settle(settleRequest(key.id, holdId, 3n, { usage: usageRecord() }));
        told.push(holdId);
      }
    }),
  );
  await maintenance.stop();
  await ledger.close();

  assert.ok(images.length > 20);
  for (const image of images) {
    const afterwards = createLedger(openSyncStore({ file: image.file }));
    await recoverAll(afterwards);
    assert.deepEqual((await afterwards.audit()).findings, []);
    for (const holdId of image.told) {
      const outcome = await afterwards.settle(settleRequest(key.id, holdId, 1n));
      assert.deepEqual(outcome, { kind: 'already_settled', charged: 3n });
    }
    await afterwards.close();
  }
});
