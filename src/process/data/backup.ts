/** `gateway backup`: a verified copy of the embedded store, while the gateway runs. */
import { hash, randomBytes } from 'node:crypto';
import { createReadStream, createWriteStream, existsSync, statSync } from 'node:fs';
import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { Readable, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { operatorsFile, storeFile } from '../../admin/data-folder.ts';
import { AdminError } from '../../admin/error.ts';
import { storedInstallationSecret } from '../../admin/secrets.ts';
import type { Settings } from '../../config/config.ts';
import type { AuditReport } from '../../ledger/port.ts';
import { checkIntegrity, copyDatabase, copySnapshot, embedFile, verifyCopy } from '../../ledger/sqlite/backup.ts';
import { errorCode } from '../../lib/error-code.ts';
import { publishFile, removeDraft, syncFile, syncFolder } from '../../lib/new-file.ts';
import { failuresFile } from '../../observe/failures/sqlite.ts';
import { requestLogFile } from '../../observe/request-log/sqlite/file.ts';
import { sqliteCode } from '../../storage/sqlite.ts';
import { type BackupKey, seal } from './seal.ts';

export interface BackupOptions {
  readonly settings: Settings;
  readonly key: BackupKey;
  readonly release: string;
}

export interface BackupReport {
  /** Null for standard output. */
  readonly file: string | null;
  readonly bytes: number;
  readonly encrypted: boolean;
  readonly audit: AuditReport;
  /** Whether operators, their tokens and the audit trail are inside: a gateway that nobody administered has none. */
  readonly operators: boolean;
  /** Databases of the data folder that are not inside. */
  readonly left: readonly string[];
}

/** A database beside the ledger's: its name inside a backup, and a table that every one of its kind has. */
export interface Part {
  readonly name: string;
  readonly table: string;
}

export const OPERATORS_PART: Part = { name: 'operators.db', table: 'audit_trail' };
/** How many requests failed, which reports say for as long as they go back. */
export const FAILURES_PART: Part = { name: 'requests-failures.db', table: 'request_log_failures' };
/** Records of requests expire by themselves, can be many times the size of the ledger, and no balance depends on them. */
const LEFT: readonly string[] = ['requests.db'];

type VerifiedBackup = Pick<BackupReport, 'audit' | 'operators' | 'left'>;

/** The digest by which a secret is recognised without being stored. */
export function secretFingerprint(secret: string): string {
  return hash('sha256', `installation:${secret}`, 'hex');
}

/** Writes the backup to a file that does not exist yet. It appears when it is complete and verified. */
export async function backupToFile(options: BackupOptions, file: string): Promise<BackupReport> {
  const folder = dirname(file);
  const taken = (): AdminError => new AdminError('refused', `${file} exists already: name another file, or remove it`);
  if (existsSync(file)) throw taken();
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) {
    throw new AdminError('refused', `${folder} is not a folder: create it first`);
  }
  const draft = join(folder, `.${basename(file)}.${randomBytes(4).toString('hex')}.part`);
  const sealed = `${draft}.sealed`;
  try {
    const verified = await verifiedCopy(options, draft);
    const { key } = options;
    if (key !== null) await writeSealed(draft, key, createWriteStream(sealed, { flags: 'wx', mode: 0o600 }));
    const complete = key === null ? draft : sealed;
    await syncFile(complete);
    if (!(await publishFile(complete, file))) throw taken();
    await syncFolder(folder);
    return { file, bytes: statSync(file).size, encrypted: key !== null, ...verified };
  } catch (error) {
    throw explained(error, folder);
  } finally {
    await removeDraft(draft);
  }
}

/** The copy is made and verified in the system's temporary folder, and then written. */
export async function backupToStream(options: BackupOptions, output: Writable): Promise<BackupReport> {
  const folder = await mkdtemp(join(tmpdir(), 'gateway-backup-'));
  const draft = join(folder, 'gateway.db');
  try {
    const verified = await verifiedCopy(options, draft);
    const { size } = statSync(draft);
    if (options.key === null) await pipeline(createReadStream(draft), output, { end: false });
    else await writeSealed(draft, options.key, output, false);
    return { file: null, bytes: size, encrypted: options.key !== null, ...verified };
  } catch (error) {
    throw explained(error, folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function verifiedCopy({ settings, key, release }: BackupOptions, draft: string): Promise<VerifiedBackup> {
  if (settings.databaseUrl !== null) {
    throw new AdminError(
      'refused',
      'the ledger is in PostgreSQL (DATABASE_URL), which is backed up by its own tools: see docs/run/operations.md#backups',
    );
  }
  const source = storeFile(settings.dataDir);
  if (!existsSync(source)) {
    throw new AdminError('unavailable', `${source} does not exist: set GATEWAY_DATA to the data folder`);
  }
  const secret = settings.installationSecret ?? (await storedInstallationSecret(settings.dataDir));
  await (await open(draft, 'wx', 0o600)).close();
  await copyDatabase(source, draft, {
    taken_at: new Date().toISOString(),
    release,
    ...(secret === null ? {} : { secret_fingerprint: secretFingerprint(secret) }),
    // Whoever has it and the digests in the same file can try keys: only where the file is encrypted.
    ...(secret === null || key === null ? {} : { installation_secret: secret }),
  });
  // After the ledger, so that the trail names every change that the copy of the ledger has.
  const operators = await embedPart(operatorsFile(settings.dataDir), draft, OPERATORS_PART);
  // No balance depends on these: where they cannot be copied, there is a backup all the same, which says so.
  const failures = await embedPart(failuresFile(requestLogFile(settings.dataDir)), draft, FAILURES_PART).catch(
    () => false,
  );
  const left = [...LEFT, ...(failures ? [] : [FAILURES_PART.name])].filter((name) =>
    existsSync(join(settings.dataDir, name)),
  );
  return { audit: verifyCopy(draft).report, operators, left };
}

/** False where there is none. */
async function embedPart(source: string, draft: string, { name, table }: Part): Promise<boolean> {
  if (!existsSync(source)) return false;
  const copy = `${draft}.part`;
  try {
    await (await open(copy, 'wx', 0o600)).close();
    await copySnapshot(source, copy);
    checkIntegrity(copy, table);
    embedFile(draft, name, copy);
    return true;
  } finally {
    await removeDraft(copy);
  }
}

async function writeSealed(file: string, key: NonNullable<BackupKey>, output: Writable, end = true): Promise<void> {
  const plain = Readable.toWeb(createReadStream(file)) as ReadableStream<Uint8Array>;
  await pipeline(await seal(plain, key), output, { end });
}

const SQLITE_IOERR = 10;
const SQLITE_FULL = 13;

/** What the operator can do about it. */
export function explained(error: unknown, folder: string): unknown {
  const full = errorCode(error) === 'ENOSPC' || errorCode(error) === 'EDQUOT' || sqliteCode(error) === SQLITE_FULL;
  if (full) return new AdminError('unavailable', `no room for the backup in ${folder}: nothing was left there`);
  if (sqliteCode(error) === SQLITE_IOERR || errorCode(error) === 'EFBIG') {
    const message = `the backup could not be read or written to its end (${folder}): nothing was left there`;
    return new AdminError('unavailable', message, { cause: error });
  }
  if (errorCode(error) === 'EACCES' || errorCode(error) === 'EROFS') {
    return new AdminError('unavailable', `${folder} cannot be written (${errorCode(error)})`, { cause: error });
  }
  return error;
}
