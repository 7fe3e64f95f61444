/** `gateway migrate`: the ledger changes its engine, between the data folder and PostgreSQL. */
import { existsSync } from 'node:fs';
import { rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ensureDataDir, operatorsFile, storeFile } from '../../admin/data-folder.ts';
import { AdminError } from '../../admin/error.ts';
import { INSTALLATION_FILE, installationSecret, storedInstallationSecret } from '../../admin/secrets.ts';
import type { Settings } from '../../config/config.ts';
import { createLedger } from '../../ledger/ledger.ts';
import { recoverAll } from '../../ledger/maintenance.ts';
import type { AuditReport } from '../../ledger/port.ts';
import { mergeLog } from '../../ledger/sqlite/backup.ts';
import { openSyncStore } from '../../ledger/sqlite/engine.ts';
import { type MovedFromPostgres, type MovedLedger, moveToPostgres, moveToSqlite } from '../../ledger/transfer/move.ts';
import { removeDraft, syncFile, syncFolder } from '../../lib/new-file.ts';
import { secretFingerprint } from './backup.ts';
import { lockOf, whileRunning } from './folder-lock.ts';
import { operatorsFromPostgres, operatorsToPostgres } from './move-operators.ts';

export interface MigrateReport extends MovedLedger {
  /** What became of the source. */
  readonly source: string;
}

/** Reads the data folder and writes `DATABASE_URL`. The folder's database gets another name, so that nobody goes on with it. */
export async function migrateToPostgres(settings: Settings): Promise<MigrateReport> {
  const url = requireUrl(settings);
  const { dataDir } = settings;
  const file = storeFile(dataDir);
  const moved = movedName(file);
  if (!existsSync(file)) {
    const hint = existsSync(moved) ? `: it was moved before, and is now ${moved}` : ': set GATEWAY_DATA';
    throw new AdminError('refused', `${file} does not exist${hint}`);
  }
  const secret = await installationSecret(dataDir, settings.installationSecret);
  const before = await recoveredAudit(file, dataDir);
  using _lock = lockOf(dataDir);
  const stored = settings.installationSecret === null ? secret : null;
  const operators = operatorsFile(dataDir);
  requireOneFile(operators, existsSync(moved));
  const move = async () => {
    using beside = operatorsToPostgres(operators, movedName(operators));
    return await moveToPostgres(file, url, { fingerprint: secretFingerprint(secret), stored }, before, beside);
  };
  const result = await move();
  // The ledger last: as long as it has its name, the move can be begun again.
  for (const source of [operators, file]) {
    if (!existsSync(source)) continue;
    mergeLog(source);
    await rename(source, movedName(source));
    for (const suffix of ['-wal', '-shm', '-rates', '-charges']) await rm(`${source}${suffix}`, { force: true });
  }
  await syncFolder(dataDir);
  return { ...result, source: moved };
}

/** `complete`: what has the names of a move is of one that came to its end. */
function requireOneFile(operators: string, complete: boolean): void {
  const moved = movedName(operators);
  if (complete || !existsSync(moved) || !existsSync(operators)) return;
  throw new AdminError(
    'refused',
    `${moved} is of a move that was interrupted, and a gateway has been started since, which made ${operators} anew: put the one that you want to keep under that name, and the other away`,
  );
}

function movedName(file: string): string {
  return `${file}.moved-to-postgres`;
}

/** Reads `DATABASE_URL`, which stays as it is, and writes the data folder. */
export async function migrateToSqlite(settings: Settings): Promise<MigrateReport> {
  const url = requireUrl(settings);
  const { dataDir } = settings;
  await ensureDataDir(dataDir);
  const file = storeFile(dataDir);
  const operators = operatorsFile(dataDir);
  for (const target of [file, operators]) {
    if (!existsSync(target)) continue;
    throw new AdminError('refused', `${target} exists already: set GATEWAY_DATA to another folder, or move it away`);
  }
  using _lock = lockOf(dataDir);
  const draft = `${file}.moving`;
  const operatorsDraft = `${operators}.moving`;
  try {
    await removeDraft(draft);
    await removeDraft(operatorsDraft);
    await recoverPostgres(url);
    const result = await moveWithOperators(url, draft, operatorsDraft);
    await keepSecret(settings, result.storedSecret, result.fingerprint);
    for (const target of [operatorsDraft, draft]) await syncFile(target);
    await rename(operatorsDraft, operators);
    await rename(draft, file);
    await syncFolder(dataDir);
    return { before: result.before, after: result.after, source: 'the database, which is unchanged' };
  } finally {
    await removeDraft(draft);
    await removeDraft(operatorsDraft);
  }
}

async function moveWithOperators(url: string, ledger: string, operators: string): Promise<MovedFromPostgres> {
  using beside = operatorsFromPostgres(operators);
  const result = await moveToSqlite(url, ledger, beside);
  beside.commit();
  return result;
}

/** What dead processes left behind is ended first: holds do not move. */
async function recoveredAudit(file: string, dataDir: string): Promise<AuditReport> {
  try {
    const ledger = createLedger(openSyncStore({ file }));
    try {
      await recoverAll(ledger);
      const report = await ledger.audit();
      if (report.ok) return report;
      throw new AdminError('refused', `the audit of ${file} found: ${report.findings.join('; ')}`);
    } finally {
      await ledger.close();
    }
  } catch (error) {
    throw whileRunning(error, dataDir);
  }
}

async function recoverPostgres(url: string): Promise<void> {
  const { openPostgresStore } = await import('../../ledger/postgres/store.ts');
  const ledger = createLedger(await openPostgresStore({ url }));
  try {
    await recoverAll(ledger);
  } finally {
    await ledger.close();
  }
}

async function keepSecret(settings: Settings, stored: string | null, fingerprint: string | null): Promise<void> {
  const { dataDir, installationSecret: given } = settings;
  const there = given ?? (await storedInstallationSecret(dataDir));
  if (there !== null) {
    if (fingerprint === null || secretFingerprint(there) === fingerprint) return;
    const where = given === null ? join(dataDir, INSTALLATION_FILE) : 'GATEWAY_SECRET';
    throw new AdminError('refused', `${where} is not the secret that the keys of the database were made with`);
  }
  if (stored === null) {
    throw new AdminError(
      'refused',
      'the keys of the database were made with GATEWAY_SECRET: set it to the same value here',
    );
  }
  await writeFile(join(dataDir, INSTALLATION_FILE), `${stored}\n`, { mode: 0o600, flush: true });
}

/** Past a pooler, where there is a way: a move is one transaction, however long it takes. */
function requireUrl({ databaseUrl, databaseDirectUrl }: Settings): string {
  if (databaseUrl !== null) return databaseDirectUrl ?? databaseUrl;
  throw new AdminError('refused', 'DATABASE_URL is not set: it names the PostgreSQL database to move to or from');
}
