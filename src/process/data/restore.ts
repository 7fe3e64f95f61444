/** `gateway restore`: a backup becomes the data folder. Nothing that is there is overwritten. */
import { createReadStream, createWriteStream, existsSync, statSync } from 'node:fs';
import { copyFile, mkdir, open, readdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { ensureDataDir, operatorsFile, storeFile } from '../../admin/data-folder.ts';
import { AdminError } from '../../admin/error.ts';
import { INSTALLATION_FILE, storedInstallationSecret } from '../../admin/secrets.ts';
import type { Settings } from '../../config/config.ts';
import type { AuditReport } from '../../ledger/port.ts';
import {
  checkIntegrity,
  extractFile,
  factsOfCopy,
  mergeLog,
  removeFacts,
  verifyCopy,
} from '../../ledger/sqlite/backup.ts';
import { removeDraft, syncFile, syncFolder } from '../../lib/new-file.ts';
import { endSessions } from '../../operators/sqlite.ts';
import { explained, FAILURES_PART, OPERATORS_PART, type Part, secretFingerprint } from './backup.ts';
import { lockOf } from './folder-lock.ts';
import { type BackupKey, isSealed, unseal } from './seal.ts';

interface RestoreOptions {
  readonly settings: Settings;
  readonly key: BackupKey;
  /** A path, or `-` for standard input. */
  readonly source: string;
  /** Moves what is in the data folder aside instead of refusing. */
  readonly replace: boolean;
}

interface RestoreReport {
  readonly dataDir: string;
  readonly takenAt: string | null;
  readonly audit: AuditReport;
  /** Where the former files are; null where there were none. */
  readonly movedTo: string | null;
  /** False for a backup without operators: those of the folder, if there are any, stay. */
  readonly operators: boolean;
}

const HEADER_BYTES = 32;
const DRAFT = 'gateway.db.restoring';
const OPERATORS_DRAFT = 'operators.db.restoring';
const FAILURES_DRAFT = 'requests-failures.db.restoring';

export async function restore(options: RestoreOptions): Promise<RestoreReport> {
  const { settings } = options;
  if (settings.databaseUrl !== null) {
    throw new AdminError(
      'refused',
      'DATABASE_URL is set: a backup becomes a data folder. Unset it, restore, and use "gateway migrate --to postgres"',
    );
  }
  const { dataDir } = settings;
  if (options.source !== '-' && !existsSync(options.source)) {
    throw new AdminError('refused', `${options.source} does not exist`);
  }
  if (options.source !== '-' && statSync(options.source).isDirectory()) {
    throw new AdminError('refused', `${options.source} is a folder: name the backup, which is one file`);
  }
  await ensureDataDir(dataDir);
  using _lock = lockOf(dataDir);
  const former = await formerFiles(dataDir);
  if (former.length > 0 && !options.replace) {
    throw new AdminError(
      'refused',
      `${dataDir} has ${former.join(', ')} already: set GATEWAY_DATA to another folder, or give --replace, which moves them aside`,
    );
  }
  const draft = join(dataDir, DRAFT);
  const operatorsDraft = join(dataDir, OPERATORS_DRAFT);
  const failuresDraft = join(dataDir, FAILURES_DRAFT);
  try {
    await removeDraft(draft);
    await removeDraft(operatorsDraft);
    await removeDraft(failuresDraft);
    await readInto(draft, options);
    const { report: audit } = verifyCopy(draft, options.source === '-' ? 'standard input' : options.source);
    if (!audit.ok) {
      throw new AdminError('refused', `the audit of ${options.source} found: ${audit.findings.join('; ')}`);
    }
    const facts = factsOfCopy(draft);
    const secret = await secretFor(facts, options);
    const operators = extractPart(draft, OPERATORS_PART, operatorsDraft, options);
    if (operators) {
      // One that was ended after the backup must not come back to life.
      endSessions(operatorsDraft, Date.now());
      await syncFile(operatorsDraft);
    }
    const failures = extractPart(draft, FAILURES_PART, failuresDraft, options);
    if (failures) await syncFile(failuresDraft);
    removeFacts(draft);
    await syncFile(draft);
    const goes = [
      ...former.filter((name) => operators || name.startsWith('gateway.')),
      ...(failures ? await filesOf(dataDir, /^requests-failures\.db(-wal|-shm)?$/) : []),
    ];
    const movedTo = await moveAside(dataDir, goes, secret);
    if (secret !== null) {
      await writeFile(join(dataDir, INSTALLATION_FILE), `${secret}\n`, { mode: 0o600, flush: true });
    }
    if (operators) await rename(operatorsDraft, operatorsFile(dataDir));
    if (failures) await rename(failuresDraft, join(dataDir, FAILURES_PART.name));
    await rename(draft, storeFile(dataDir));
    await syncFolder(dataDir);
    return { dataDir, takenAt: facts.taken_at ?? null, audit, movedTo, operators };
  } catch (error) {
    throw explained(error, dataDir);
  } finally {
    await removeDraft(draft);
    await removeDraft(operatorsDraft);
    await removeDraft(failuresDraft);
  }
}

/** False where the backup has none. */
function extractPart(draft: string, { name, table }: Part, target: string, { source }: RestoreOptions): boolean {
  if (!extractFile(draft, name, target)) return false;
  checkIntegrity(target, table, `${name} of ${source}`);
  return true;
}

/** The parts of the databases that a backup brings, also of those that were copied half. The lock is ours. */
function formerFiles(dataDir: string): Promise<readonly string[]> {
  return filesOf(dataDir, /^(gateway|operators)\.db(-wal|-shm|-rates|-charges|-journal)?$/);
}

async function filesOf(dataDir: string, pattern: RegExp): Promise<readonly string[]> {
  return (await readdir(dataDir)).filter((name) => pattern.test(name)).sort();
}

async function readInto(draft: string, { source, key }: RestoreOptions): Promise<void> {
  const bytes = source === '-' ? process.stdin : createReadStream(source);
  const output = createWriteStream(draft, { flags: 'wx', mode: 0o600 });
  await pipeline(bytes, output);
  if (!isSealed(await beginningOf(draft))) return;
  const sealed = `${draft}.sealed`;
  await rename(draft, sealed);
  const stream = Readable.toWeb(createReadStream(sealed)) as ReadableStream<Uint8Array>;
  const plain = await unseal(stream, key, source);
  try {
    await pipeline(plain, createWriteStream(draft, { flags: 'wx', mode: 0o600 }));
  } catch (error) {
    if (error instanceof Error && 'code' in error) throw error;
    throw new AdminError('refused', `${source} is damaged or cut short: it cannot be decrypted to its end`, {
      cause: error,
    });
  }
}

async function beginningOf(file: string): Promise<Buffer> {
  await using handle = await open(file, 'r');
  const { buffer } = await handle.read(Buffer.alloc(HEADER_BYTES), 0, HEADER_BYTES, 0);
  return buffer;
}

/**
 * The secret that has to be written beside the database; null where the right one is there. Without the right one no key
 * would work any more.
 */
async function secretFor(
  facts: Readonly<Record<string, string>>,
  { settings, source }: RestoreOptions,
): Promise<string | null> {
  const { secret_fingerprint: fingerprint, installation_secret: inside } = facts;
  const given = settings.installationSecret;
  if (given === null && inside !== undefined) return inside;
  const secret = given ?? (await storedInstallationSecret(settings.dataDir));
  if (secret === null) {
    throw new AdminError(
      'refused',
      `${source} has no installation secret, without which no key works: put ${INSTALLATION_FILE} into ${settings.dataDir}, or set GATEWAY_SECRET`,
    );
  }
  if (fingerprint === undefined || secretFingerprint(secret) === fingerprint) return null;
  const where = given === null ? join(settings.dataDir, INSTALLATION_FILE) : 'GATEWAY_SECRET';
  throw new AdminError(
    'refused',
    `${where} is not the secret that the keys in ${source} were made with: no key would work`,
  );
}

/** The former database, and the secret that another one takes the place of. Null where there is nothing to move. */
async function moveAside(dataDir: string, former: readonly string[], secret: string | null): Promise<string | null> {
  const formerSecret = await storedInstallationSecret(dataDir);
  const secretGoes = secret !== null && formerSecret !== null && formerSecret !== secret;
  if (former.length === 0 && !secretGoes) return null;
  const folder = join(dataDir, `before-restore-${new Date().toISOString().replaceAll(/[-:]/g, '')}`);
  await mkdir(folder, { mode: 0o700 });
  if (formerSecret !== null) {
    await copyFile(join(dataDir, INSTALLATION_FILE), join(folder, INSTALLATION_FILE));
  }
  for (const name of former) if (name.endsWith('.db')) mergeLog(join(dataDir, name));
  // Merging may have ended a log.
  for (const name of former) if (existsSync(join(dataDir, name))) await rename(join(dataDir, name), join(folder, name));
  return folder;
}
