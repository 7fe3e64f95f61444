/** What is left of the books on SQLite when the power fails, at any flush of the disk. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
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

const PARTS = ['', '-wal', '-charges'];

/** What a machine may find after a loss of power: at least what was flushed, and perhaps what was written after it. */
interface Image {
  readonly file: string;
  /** What was told while the disk had no more than this. */
  told: readonly string[];
}

test('[F4] a loss of power at any flush: every charge that was told is there, and the books add up', async () => {
  const file = newFile();
  const told: string[] = [];
  const images: Image[] = [];
  /** By the part of the store. */
  let onDisk = new Map<string, Buffer>();
  const partsNow = (parts: readonly string[]) =>
    new Map(parts.filter((part) => existsSync(file + part)).map((part) => [part, readFileSync(file + part)]));
  const addImage = (contents: ReadonlyMap<string, Buffer>): void => {
    const image = newFile();
    for (const [part, bytes] of contents) writeFileSync(image + part, bytes);
    images.push({ file: image, told: [...told] });
  };
  const flushes = { commits: 0, charges: 0 };
  const log = (path: string): LogFile => {
    const real = openLogFile(path);
    const ofCharges = path.endsWith('-charges');
    return {
      flushed: async () => {
        flushes[ofCharges ? 'charges' : 'commits']++;
        // What is written after the flush has begun is lost with the power, or it is not.
        const flushed = partsNow(ofCharges ? ['-charges'] : ['', '-wal']);
        const before = images.slice(-2);
        addImage(new Map([...onDisk, ...flushed]));
        addImage(partsNow(PARTS));
        await real.flushed();
        onDisk = new Map([...onDisk, ...flushed]);
        for (const image of before) image.told = [...told];
      },
      close: () => real.close(),
    };
  };
  const ledger = createLedger(openInProcessStore({ file, log, checkpointPages: 150 }));
  onDisk = partsNow(PARTS);
  const maintenance = await startMaintenance(ledger);
  const key = await ledger.createKey(newKey({ credit: 10n ** 9n }));
  const charge = async (holdId: string): Promise<void> => {
    await ledger.settle(settleRequest(key.id, holdId, 3n, { usage: usageRecord() }));
    told.push(holdId);
  };
  await Promise.all(
    Array.from({ length: 8 }, async (_, worker) => {
      for (let i = 0; i < 25; i++) {
        const holdId = `${worker}-${i}`;
        await ledger.admit(admitRequest(key.id, holdId, 5n));
        if (i % 5 === 0) ledger.mark({ holdId, keyId: key.id, charge: 2n, tokens: usageRecord().tokens });
        if (i % 8 === worker) await ledger.addCredit(key.id, `more ${holdId}`, 1n, null);
        await charge(holdId);
      }
    }),
  );
  // Behind each other, with nothing to commit besides: these are the journal's, however the others have met.
  for (let i = 0; i < 10; i++) {
    await ledger.admit(admitRequest(key.id, `alone-${i}`, 5n));
    await charge(`alone-${i}`);
  }
  await maintenance.stop();
  await ledger.close();

  assert.ok(flushes.commits > 4 && flushes.charges > 4, JSON.stringify(flushes));
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
