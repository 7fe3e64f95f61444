/** Which books a gateway keeps: PostgreSQL where `DATABASE_URL` names one, otherwise the embedded store in the data folder. */
import { setTimeout as delay } from 'node:timers/promises';
import type { MessagePort } from 'node:worker_threads';
import { storeFile } from './admin/data-folder.ts';
import { installationSecret } from './admin/secrets.ts';
import type { Settings } from './config/config.ts';
import { StoreLockedError } from './ledger/errors.ts';
import { openSqliteStore, type SqliteStore } from './ledger/sqlite/store.ts';
import type { Store } from './ledger/store.ts';

const LOCK_WAIT_MS = 2_000;
const LOCK_PAUSE_MS = 50;

export interface Books {
  readonly store: Store;
  readonly installationSecret: string;
  /** What another thread opens its own store with; null where it needs nothing from this one. */
  connect(): MessagePort | null;
  /** Whether it falls to this process to make the first keys, where there are none. */
  claimFirstStart(): Promise<boolean>;
}

export async function openBooks(settings: Settings, onBroken: (why: Error) => void): Promise<Books> {
  const { dataDir, databaseUrl } = settings;
  if (databaseUrl !== null) return openShared(databaseUrl, settings.installationSecret);
  const secret = await installationSecret(dataDir, settings.installationSecret);
  const store = await openUnlocked(storeFile(dataDir), onBroken);
  return { store, installationSecret: secret, connect: store.connect, claimFirstStart: async () => true };
}

/** Any number of processes may have these open at once. */
export async function openShared(databaseUrl: string, given: string | null): Promise<Books> {
  const { openPostgresStore } = await import('./ledger/postgres/store.ts');
  const store = await openPostgresStore({ url: databaseUrl });
  try {
    const secret = await store.sharedSecret(given);
    return { store, installationSecret: secret, connect: () => null, claimFirstStart: store.claimFirstStart };
  } catch (error) {
    await store.close();
    throw error;
  }
}

/** An operator's command may hold the lock for a moment; another gateway holds it for good. */
async function openUnlocked(file: string, onBroken: (why: Error) => void): Promise<SqliteStore> {
  for (const untilMs = performance.now() + LOCK_WAIT_MS; ; await delay(LOCK_PAUSE_MS)) {
    try {
      return await openSqliteStore({ file, onBroken });
    } catch (error) {
      if (!(error instanceof StoreLockedError) || performance.now() > untilMs) throw error;
    }
  }
}
