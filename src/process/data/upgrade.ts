/** `gateway upgrade`: brings the store to this release; with `--check`, only what that would do, tried on a copy. */
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { storeFile } from '../../admin/data-folder.ts';
import type { Settings } from '../../config/config.ts';
import { createLedger } from '../../ledger/ledger.ts';
import { type Dialect, pendingMigrations, readMigrations, type StoredSchema } from '../../ledger/migrations.ts';
import type { AuditReport } from '../../ledger/port.ts';
import { copyDatabase, schemaOf, verifyCopy } from '../../ledger/sqlite/backup.ts';
import { openSyncStore } from '../../ledger/sqlite/engine.ts';
import type { OnWait } from '../../storage/postgres/migration.ts';
import { whileRunning } from './folder-lock.ts';

interface UpgradeCheck {
  readonly engine: 'sqlite' | 'postgres';
  /** Null where there is no store yet. */
  readonly schema: number | null;
  /** The schema that a release has to know to use the store once what is pending has run; null where there is no store. */
  readonly compatibleFrom: number | null;
  readonly pending: readonly string[];
  /** Of a migrated copy; null where none was made. */
  readonly audit: AuditReport | null;
}

/** Throws a `StoreVersionError` where only newer releases can use the store. Changes nothing. */
export async function checkUpgrade(settings: Settings): Promise<UpgradeCheck> {
  if (settings.databaseUrl !== null) {
    const { storedSchemaOf } = await import('../../ledger/postgres/database.ts');
    const stored = await storedSchemaOf(settings.databaseUrl);
    return { engine: 'postgres', ...outlook('postgres', stored), audit: null };
  }
  const file = storeFile(settings.dataDir);
  if (!existsSync(file)) return { engine: 'sqlite', schema: null, compatibleFrom: null, pending: [], audit: null };
  const found = outlook('sqlite', schemaOf(file));
  const folder = await mkdtemp(join(tmpdir(), 'gateway-upgrade-'));
  try {
    const copy = join(folder, 'gateway.db');
    await copyDatabase(file, copy, {});
    return { engine: 'sqlite', ...found, audit: verifyCopy(copy).report };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/**
 * Brings the store to this release without serving, for a step of its own in a rollout. Nothing to do is fine, and so are several
 * at once: one of them does it, the others wait.
 */
export async function upgrade(settings: Settings, onWait?: OnWait): Promise<UpgradeCheck> {
  const check = await checkUpgrade(settings);
  if (check.audit !== null && !check.audit.ok) return check;
  const { databaseUrl, databaseDirectUrl, dataDir } = settings;
  if (databaseUrl !== null) {
    const { openPostgresStore } = await import('../../ledger/postgres/store.ts');
    await (await openPostgresStore({ url: databaseDirectUrl ?? databaseUrl, onWait })).close();
  } else if (check.schema !== null) {
    try {
      await createLedger(openSyncStore({ file: storeFile(dataDir) })).close();
    } catch (error) {
      throw whileRunning(error, dataDir);
    }
  }
  return check;
}

function outlook(
  dialect: Dialect,
  stored: StoredSchema,
): Pick<UpgradeCheck, 'schema' | 'compatibleFrom'> & { readonly pending: readonly string[] } {
  const pending = pendingMigrations(readMigrations(dialect), stored);
  return {
    schema: stored.version,
    compatibleFrom: Math.max(stored.compatibleFrom, ...pending.map(({ compatibleFrom }) => compatibleFrom)),
    pending: pending.map(({ version, name }) => `${String(version).padStart(4, '0')}-${name}`),
  };
}
