/** The ledger of a checkout of this project, by its own code. */
import { join, resolve } from 'node:path';
import type * as LedgerModule from '../src/ledger/ledger.ts';
import type * as MaintenanceModule from '../src/ledger/maintenance.ts';
import type * as StoreModule from '../src/ledger/postgres/store.ts';

type LedgerCode = Pick<typeof LedgerModule, 'createLedger'> &
  Pick<typeof StoreModule, 'openPostgresStore'> &
  Pick<typeof MaintenanceModule, 'startMaintenance'>;

export async function ledgerOf(checkout: string): Promise<LedgerCode> {
  const from = async <M>(path: string): Promise<M> => (await import(join(resolve(checkout), 'src/ledger', path))) as M;
  const { createLedger } = await from<typeof LedgerModule>('ledger.ts');
  const { openPostgresStore } = await from<typeof StoreModule>('postgres/store.ts');
  const { startMaintenance } = await from<typeof MaintenanceModule>('maintenance.ts');
  return { createLedger, openPostgresStore, startMaintenance };
}
