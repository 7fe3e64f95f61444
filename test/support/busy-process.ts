/** Works on the ledger without end, to be killed: prints the hold of each settlement that it saw committed. */

import { createLedger } from '../../src/ledger/ledger.ts';
import { startMaintenance } from '../../src/ledger/maintenance.ts';
import { openInProcessStore } from '../../src/ledger/sqlite/in-process-store.ts';
import { admitRequest, newKey, settleRequest, usageRecord } from '../contract/fixtures.ts';

const [file = ''] = process.argv.slice(2);
const ledger = createLedger(openInProcessStore({ file, checkpointPages: 500 }));
await startMaintenance(ledger);
const { tokens } = usageRecord();
await ledger.createKey(newKey({ id: 'busy', credit: 10n ** 12n }));
// Always one that is marked and never settled.
await ledger.admit(admitRequest('busy', 'endless', 5n));
ledger.mark({ holdId: 'endless', keyId: 'busy', charge: 2n, tokens });
await ledger.ping();

async function work(worker: number): Promise<never> {
  for (let i = 0; ; i++) {
    const holdId = `${worker}-${i}`;
    await ledger.admit(admitRequest('busy', holdId, 5n, { claim: { name: holdId, fingerprint: 'f' } }));
    ledger.mark({ holdId, keyId: 'busy', charge: 2n, tokens });
    if (i % 7 === 0) await ledger.void(holdId, 'busy');
    else {
      const reply = { status: 200, contentType: 'text/plain', body: Buffer.from(holdId) };
      await ledger.settle(settleRequest('busy', holdId, 3n, { usage: usageRecord(), reply }));
      process.stdout.write(`${holdId}\n`);
    }
  }
}

await Promise.all(Array.from({ length: 16 }, (_, worker) => work(worker)));
