/** Runs the commands on the data itself. */
import type { AdminConnection } from '../../admin/client.ts';
import { auditView } from '../../admin/state/service.ts';
import { type CommandArguments, readArguments, UsageError } from '../../cli/arguments.ts';
import { BACKUP, INIT, MIGRATE, RESTORE, UPGRADE } from '../../cli/data-commands.ts';
import { auditText, createdText } from '../../cli/text.ts';
import type { Settings } from '../../config/config.ts';
import type { Environment } from '../../config/secrets.ts';
import { readSettings } from '../../config/settings.ts';
import type { AuditReport } from '../../ledger/port.ts';
import { type BackupReport, backupToFile, backupToStream } from './backup.ts';
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
      check: !switches.has('no-check'),
      credit: wanted(flags.credit, '5'),
      account: wanted(flags.account, 'First account'),
      operator: wanted(flags.operator, 'admin'),
      ask: asking?.ask ?? null,
      connectAdmin: () => connectAdmin(settings),
    });
    if (switches.has('json')) {
      process.stdout.write(`${JSON.stringify(report)}\n`);
      return;
    }
    const { file, providers, models, key, account, operator } = report;
    const lines = [
      `${file} was written: ${providers.length} ${providers.length === 1 ? 'provider' : 'providers'}, ${models} models.`,
      ...providers.map(({ name, credential }) => `  ${name}: credential ${credential}`),
      ...(account === null ? [] : ['', `Account ${account.id} (${account.name}) owns the credit.`]),
      ...(key === null ? [] : ['', ...createdText(key)]),
      ...(operator === null
        ? []
        : [
            '',
            `Operator ${operator.operator.name} (${operator.operator.role}), a token for the console and the admin port:`,
          ]),
      ...(operator === null
        ? []
        : ['', `  ${operator.token}`, '', `It is shown only this once, and expires at ${operator.expires_at}.`]),
      '',
      'Start it: gateway start. Check it: gateway doctor.',
    ];
    process.stdout.write(`${lines.join('\n')}\n`);
  } finally {
    asking?.close();
  }
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
function printBackup(report: BackupReport, switches: ReadonlySet<string>, removed = 0): void {
  const { file, bytes, encrypted, audit, operators, left } = report;
  const output = file === null ? process.stderr : process.stdout;
  const size = `${bytes} bytes${encrypted ? ', encrypted' : ''}`;
  const parts = operators ? '; with operators and the audit trail' : '';
  const without = left.length === 0 ? '' : `; without ${left.join(', ')}`;
  const older = removed === 0 ? '' : `; ${removed} older removed`;
  output.write(
    switches.has('json')
      ? `${JSON.stringify({ file, bytes, encrypted, operators, left, removed, audit: auditView(audit) })}\n`
      : `${file ?? 'standard output'}: ${size}; ${auditLine(audit).replace(/\.$/, '')}${parts}${without}${older}\n`,
  );
  if (!audit.ok) {
    process.stderr.write(`gateway: the audit of the copy has findings: ${audit.findings.join('; ')}\n`);
    process.exitCode = 1;
  }
}

async function runRestore({ operands: [source = ''], switches }: CommandArguments, { env }: CommandContext) {
  if (source === '-' && process.stdin.isTTY) throw new UsageError('restore: standard input is a terminal');
  const options = { settings: readSettings(env), key: readBackupKey(env), source, replace: switches.has('replace') };
  const { dataDir, takenAt, audit, movedTo, operators } = await restore(options);
  if (switches.has('json')) {
    process.stdout.write(
      `${JSON.stringify({ data: dataDir, taken_at: takenAt, moved_to: movedTo, operators, audit: auditView(audit) })}\n`,
    );
    return;
  }
  const of = takenAt === null ? '' : ` of ${takenAt}`;
  const parts = operators ? 'with operators and the audit trail' : 'it has no operators; existing ones were kept';
  process.stdout.write(`${dataDir} has the backup${of}; ${auditLine(audit)}; ${parts}\n`);
  if (movedTo !== null) process.stdout.write(`What was there before is in ${movedTo}\n`);
}

async function runMigrate({ flags, switches }: CommandArguments, { env }: CommandContext): Promise<void> {
  const { to } = flags;
  if (to !== 'postgres' && to !== 'sqlite') {
    throw new UsageError(`migrate: --to is ${JSON.stringify(to ?? '')}: expected one of postgres, sqlite`);
  }
  const settings = readSettings(env);
  const { migrateToPostgres, migrateToSqlite } = await import('./migrate.ts');
  const { before, after, source } = await (to === 'postgres' ? migrateToPostgres(settings) : migrateToSqlite(settings));
  if (switches.has('json')) {
    process.stdout.write(`${JSON.stringify({ source, before: auditView(before), after: auditView(after) })}\n`);
    return;
  }
  process.stdout.write(
    `Source: ${auditLine(before)}\nTarget: ${auditLine(after)}\nThe source is now ${source}. Operators and the audit trail moved too, the request log did not. Start gateways ${to === 'postgres' ? 'with' : 'without'} DATABASE_URL.\n`,
  );
}

async function runUpgrade({ switches }: CommandArguments, { env, release }: CommandContext): Promise<void> {
  const only = switches.has('check');
  const { engine, schema, compatibleFrom, pending, audit } = await (only ? checkUpgrade : upgrade)(readSettings(env));
  const sound = audit === null || audit.ok;
  if (!sound) process.exitCode = 1;
  const done = !only && sound;
  if (switches.has('json')) {
    process.stdout.write(
      `${JSON.stringify({ release, engine, schema, compatible_from: compatibleFrom, pending, done, audit: audit && auditView(audit) })}\n`,
    );
    return;
  }
  const store = schema === null ? 'There is no store yet' : `The store (${engine}) is at schema ${schema}`;
  const names = pending.join(', ');
  const steps =
    pending.length === 0 ? 'nothing to migrate' : only ? `the next start runs ${names}` : `pending: ${names}`;
  const lines = [versionLine(release), `${store}: ${steps}.`];
  if (audit !== null) lines.push(`A copy was brought to this release: ${auditLine(audit)}`);
  if (!only) lines.push(done ? 'The store has the schema of this release.' : 'Nothing was changed.');
  if (only && pending.length > 0)
    lines.push(
      `Take a backup first: gateway backup FILE. Releases that do not know schema ${compatibleFrom} refuse the store afterwards.`,
    );
  process.stdout.write(`${lines.join('\n')}\n`);
}

function auditLine(report: AuditReport): string {
  return auditText(auditView(report))[0] ?? '';
}
