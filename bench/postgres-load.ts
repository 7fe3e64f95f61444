/**
 * One replica of a ledger on PostgreSQL, for `bench/postgres.ts`: opens the store of the checkout that it is told, and makes pairs of
 * admit and settle whenever its parent says how many.
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
const maintenance = await startMaintenance(ledger);

process.on('message', async (pairs: number) => {
  if (pairs === 0) {
    await maintenance.stop();
    await ledger.close();
    process.disconnect?.();
    return;
  }
  let left = pairs;
  const slot = async (index: number): Promise<void> => {
    for (let turn = index; left > 0; turn += options.concurrency) {
      const key = options.keys[turn % options.keys.length];
      left--;
      if (key !== undefined) await pair(ledger, key);
    }
  };
  await Promise.all(Array.from({ length: options.concurrency }, (_, index) => slot(index)));
  process.send?.('done');
});
process.send?.('ready');
