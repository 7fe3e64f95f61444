/**
 * One replica of a ledger on PostgreSQL, for `bench/postgres.ts`: opens the store of the checkout that it is told, and makes pairs of
 * admit and settle whenever its parent says how many. It adds them to the rollups when it is told to, and not every ten seconds as a
 * gateway does.
 */
import { ledgerOf } from './ledger-of.ts';
import { pair } from './pair.ts';

/** From the parent: where, whose, and how. */
export interface LoadOptions {
  readonly checkout: string;
  readonly url: string;
  readonly keys: readonly { readonly id: string; readonly version: number }[];
  readonly concurrency: number;
}

const options = JSON.parse(process.argv[2] ?? '') as LoadOptions;
const { createLedger, openPostgresStore, startMaintenance } = await ledgerOf(options.checkout);
const ledger = createLedger(await openPostgresStore({ url: options.url }));
const NEVER_MS = 2 ** 31 - 1;
const maintenance = await startMaintenance(ledger, { rollUpIntervalMs: NEVER_MS });

/** From the parent: so many pairs, or what reports need of them, or the end. */
export type LoadCommand = number | 'roll up' | 'end';

process.on('message', async (command: LoadCommand) => {
  if (command === 'end') {
    await maintenance.stop();
    await ledger.close();
    process.disconnect?.();
    return;
  }
  if (command === 'roll up') while ((await ledger.rollUp()).more);
  else await makePairs(command);
  process.send?.('done');
});

async function makePairs(pairs: number): Promise<void> {
  let left = pairs;
  const slot = async (index: number): Promise<void> => {
    for (let turn = index; left > 0; turn += options.concurrency) {
      const key = options.keys[turn % options.keys.length];
      left--;
      if (key !== undefined) await pair(ledger, key);
    }
  };
  await Promise.all(Array.from({ length: options.concurrency }, (_, index) => slot(index)));
}
process.send?.('ready');
