/** Runs the commands on the data itself. */
import type { AdminConnection } from '../../admin/client.ts';
import { auditView } from '../../admin/state/service.ts';
import { type CommandArguments, readArguments, UsageError } from '../../cli/arguments.ts';
import { BACKUP, INIT, MIGRATE, RESTORE, UPGRADE } from '../../cli/data-commands.ts';
import { json, lines, type Output } from '../../cli/output.ts';
import { auditText, createdText } from '../../cli/text.ts';
import type { Settings } from '../../config/config.ts';
import type { Environment } from '../../config/secrets.ts';
import { readSettings } from '../../config/settings.ts';
import type { AuditReport } from '../../ledger/port.ts';
import { type BackupReport, backupToFile, backupToStream } from './backup.ts';
import type { InitReport } from './init.ts';
import { restore } from './restore.ts';
import { readSchedule, runSchedule } from './schedule.ts';
import { readBackupKey } from './seal.ts';
import { checkUpgrade, upgrade } from './upgrade.ts';
import { versionLine } from './version.ts';

export interface CommandContext {
  readonly env: Environment;
  readonly release: string;
  /** Creates the data folder where there is none. */
  connectAdmin(settings: Settings): Promise<AdminConnection>;
}

export async function runDataCommand(line: readonly string[], context: CommandContext): Promise<void> {
  switch (line[0]) {
    case 'backup':
      return runBackup(readArguments(BACKUP, line), context);
    case 'init':
      return runInit(readArguments(INIT, line), context);
    case 'migrate':
      return runMigrate(readArguments(MIGRATE, line), context);
    case 'upgrade':
      return runUpgrade(readArguments(UPGRADE, line), context);
    case 'restore':
      return runRestore(readArguments(RESTORE, line), context);
  }
}

async function runInit({ flags, switches }: CommandArguments, { env, connectAdmin }: CommandContext): Promise<void> {
  const settings = readSettings(env);
  const { init, NONE, terminal } = await import('./init.ts');
  const wanted = (flag: string | undefined, usual: string): string | null => (flag === NONE ? null : (flag ?? usual));
  const asking = switches.has('yes') || switches.has('json') || !process.stdin.isTTY ? null : terminal();
  try {
    const report = await init({
      settings,
      env,
      providers: flags.providers === undefined ? null : flags.providers.split(','),
      baseUrl: flags['base-url'] ?? null,
      price: flags.price ?? null,
      check: !switches.has('no-check'),
      secretFiles: secretFiles(flags.secrets),
      credit: wanted(flags.credit, '5'),
      account: wanted(flags.account, 'First account'),
      operator: wanted(flags.operator, 'admin'),
      ask: asking?.ask ?? null,
      connectAdmin: () => connectAdmin(settings),
    });
    print(switches.has('json') ? json(report) : lines(initText(report)));
  } finally {
    asking?.close();
  }
}

function secretFiles(where: string = 'files'): boolean {
  if (where === 'files' || where === 'variables') return where === 'files';
  throw new UsageError(`init: --secrets is ${JSON.stringify(where)}: expected one of files, variables`);
}

function initText({ file, providers, secrets, models, key, account, operator }: InitReport): readonly string[] {
  return [
    `${file} was written: ${providers.length} ${providers.length === 1 ? 'provider' : 'providers'}, ${models} models.`,
    ...providers.map(({ name, credential }) => `  ${name}: credential ${credential}`),
    ...secrets.map(
      ({ provider, file: own }) =>
        `  ${provider}: its credential is read from ${own}; another one there is used at once`,
    ),
    ...(account === null ? [] : ['', `Account ${account.id} (${account.name}) owns the credit.`]),
    ...(key === null ? [] : ['', ...createdText(key)]),
    ...(operator === null
      ? []
      : [
          '',
          `Operator ${operator.operator.name} (${operator.operator.role}), a token for the console and the admin port:`,
          '',
          `  ${operator.token}`,
          '',
          `It is shown only this once, and expires at ${operator.expires_at}.`,
        ]),
    '',
    'Start it: gateway start. Check it: gateway doctor.',
  ];
}

async function runBackup({ operands: [target = ''], flags, switches }: CommandArguments, context: CommandContext) {
  const { env, release } = context;
  const options = { settings: readSettings(env), key: readBackupKey(env), release };
  if (flags.every !== undefined) {
    if (target === '-') throw new UsageError('backup: --every needs a folder');
    const stop = new AbortController();
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());
    const events = {
      done: (report: BackupReport, removed: number) => printBackup(report, switches, removed),
      failed: (error: unknown) => {
        process.stderr.write(
          `gateway: no backup was taken: ${error instanceof Error ? error.message : String(error)}\n`,
        );
      },
    };
    await runSchedule(options, target, readSchedule(flags.every, flags.keep), events, stop.signal);
    return;
  }
  if (flags.keep !== undefined) throw new UsageError('backup: --keep needs --every');
  if (target === '-') {
    if (process.stdout.isTTY) throw new UsageError('backup: standard output is a terminal: redirect it to a file');
    printBackup(await backupToStream(options, process.stdout), switches);
  } else printBackup(await backupToFile(options, target), switches);
}

/** Of a backup to standard output, the report goes to standard error. */
function printBackup(taken: BackupReport, switches: ReadonlySet<string>, removed = 0): void {
  const { file, bytes, encrypted, audit, operators, left } = taken;
  const size = `${bytes} bytes${encrypted ? ', encrypted' : ''}`;
  const parts = operators ? '; with operators and the audit trail' : '';
  const without = left.length === 0 ? '' : `; without ${left.join(', ')}`;
  const older = removed === 0 ? '' : `; ${removed} older removed`;
  const text = `${file ?? 'standard output'}: ${size}; ${auditLine(audit).replace(/\.$/, '')}${parts}${without}${older}`;
  const report = { file, bytes, encrypted, operators, left, removed, audit: auditView(audit) };
  print(switches.has('json') ? json(report) : lines([text]), file === null ? process.stderr : process.stdout);
  if (!audit.ok) {
    process.stderr.write(`gateway: the audit of the copy has findings: ${audit.findings.join('; ')}\n`);
    process.exitCode = 1;
  }
}

async function runRestore({ operands: [source = ''], switches }: CommandArguments, { env }: CommandContext) {
  if (source === '-' && process.stdin.isTTY) throw new UsageError('restore: standard input is a terminal');
  const options = { settings: readSettings(env), key: readBackupKey(env), source, replace: switches.has('replace') };
  const { dataDir, takenAt, audit, movedTo, operators } = await restore(options);
  const report = { data: dataDir, taken_at: takenAt, moved_to: movedTo, operators, audit: auditView(audit) };
  const of = takenAt === null ? '' : ` of ${takenAt}`;
  const parts = operators ? 'with operators and the audit trail' : 'it has no operators; existing ones were kept';
  const texts = [`${dataDir} has the backup${of}; ${auditLine(audit)}; ${parts}`];
  if (movedTo !== null) texts.push(`What was there before is in ${movedTo}`);
  print(switches.has('json') ? json(report) : lines(texts));
}

async function runMigrate({ flags, switches }: CommandArguments, { env }: CommandContext): Promise<void> {
  const { to } = flags;
  if (to !== 'postgres' && to !== 'sqlite') {
    throw new UsageError(`migrate: --to is ${JSON.stringify(to ?? '')}: expected one of postgres, sqlite`);
  }
  const settings = readSettings(env);
  const { migrateToPostgres, migrateToSqlite } = await import('./migrate.ts');
  const { before, after, source } = await (to === 'postgres' ? migrateToPostgres(settings) : migrateToSqlite(settings));
  const texts = [
    `Source: ${auditLine(before)}`,
    `Target: ${auditLine(after)}`,
    `The source is now ${source}. Operators and the audit trail moved too, the request log did not. Start gateways ${to === 'postgres' ? 'with' : 'without'} DATABASE_URL.`,
  ];
  const report = { source, before: auditView(before), after: auditView(after) };
  print(switches.has('json') ? json(report) : lines(texts));
}

async function runUpgrade({ switches }: CommandArguments, { env, release }: CommandContext): Promise<void> {
  const only = switches.has('check');
  const settings = readSettings(env);
  const onWait = (message: string): void => void process.stderr.write(`gateway: ${message}\n`);
  const { engine, schema, compatibleFrom, pending, audit } = await (only
    ? checkUpgrade(settings)
    : upgrade(settings, onWait));
  const sound = audit === null || audit.ok;
  if (!sound) process.exitCode = 1;
  const done = !only && sound;
  if (switches.has('json')) {
    const found = { release, engine, schema, compatible_from: compatibleFrom, pending };
    print(json({ ...found, done, audit: audit && auditView(audit) }));
    return;
  }
  const store = schema === null ? 'There is no store yet' : `The store (${engine}) is at schema ${schema}`;
  const names = pending.join(', ');
  const steps =
    pending.length === 0 ? 'nothing to migrate' : only ? `the next start runs ${names}` : `pending: ${names}`;
  const texts = [versionLine(release), `${store}: ${steps}.`];
  if (audit !== null) texts.push(`A copy was brought to this release: ${auditLine(audit)}`);
  if (!only) texts.push(done ? 'The store has the schema of this release.' : 'Nothing was changed.');
  if (only && pending.length > 0)
    texts.push(
      `Take a backup first: gateway backup FILE. Releases that do not know schema ${compatibleFrom} refuse the store afterwards.`,
    );
  print(lines(texts));
}

function print({ text }: Output, output: NodeJS.WritableStream = process.stdout): void {
  output.write(text);
}

function auditLine(report: AuditReport): string {
  return auditText(auditView(report))[0] ?? '';
}
