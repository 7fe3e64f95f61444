/** The `gateway` command: starts the gateway, or runs one of the operator's commands. */
import { existsSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { AdminClient, type AdminConnection, NotRunningError, socketTransport } from './admin/client.ts';
import { consoleOrigin } from './admin/console-address.ts';
import { ensureDataDir, storeFile } from './admin/data-folder.ts';
import { AdminError } from './admin/error.ts';
import { publicOrigin } from './admin/public-origin.ts';
import { Requests } from './admin/requests/requests.ts';
import { installationSecret } from './admin/secrets.ts';
import { AdminService, type AdminServiceOptions, COMMAND } from './admin/service.ts';
import { requirePrivateFolder, socketPath } from './admin/socket.ts';
import { Alerts } from './alerts/alerts.ts';
import { type CommandArguments, type CommandShape, findCommand, readArguments, UsageError } from './cli/arguments.ts';
import {
  ALL_COMMANDS,
  CHECK_CONFIG,
  COMMANDS,
  DOCTOR,
  FLAG_OF_FIELD,
  helpText,
  LIST_REQUESTS,
  MODELS,
  SHOW_REQUEST,
  START,
  TOP,
} from './cli/commands.ts';
import { COMPLETION, completionScript } from './cli/completion.ts';
import { DATA_COMMANDS } from './cli/data-commands.ts';
import { helpOf } from './cli/help.ts';
import { IMPORTERS } from './cli/importer-shapes.ts';
import type { Output } from './cli/output.ts';
import type { Settings } from './config/config.ts';
import { ConfigError } from './config/problem.ts';
import { readSettings, SettingError } from './config/settings.ts';
import { systemClock } from './core/clock.ts';
import { NO_LOG } from './core/log.ts';
import { Audits } from './ledger/audits.ts';
import { createLedger } from './ledger/ledger.ts';
import { recoverAll } from './ledger/maintenance.ts';
import { openSyncStore } from './ledger/sqlite/engine.ts';
import { errorCode } from './lib/error-code.ts';
import { readVersion } from './lib/version.ts';
import { type OpenedStore, openShared } from './process/open-store.ts';
import { openOperatorData } from './process/operators.ts';
import { StoreError, StoreLockedError } from './storage/errors.ts';

const EXIT_FAILED = 1;
const EXIT_USAGE = 2;
/** A running gateway answers at once, unless its machine is busy. */
const ANSWER_MS = 30_000;
/** How long a gateway may lock the store without answering on its socket: while it starts, recovers or stops. */
const CONNECT_MS = 5_000;
const RETRY_PAUSE_MS = 100;

/**
 * Never exits by itself: the process ends when everything is written and closed, so that what it prints is never cut
 * off.
 */
export async function main(line: readonly string[]): Promise<void> {
  // The reader of the output may stop early (`| head`), which is not a failure.
  process.stdout.on('error', (error: Error & { code?: string }) => {
    if (error.code !== 'EPIPE') throw error;
  });
  // What this process creates (store, log, secrets, socket) is for its own user only.
  process.umask(0o077);
  try {
    await run(line);
  } catch (error) {
    for (const text of errorLines(error)) warn(text);
    process.exitCode = isUsage(error) ? EXIT_USAGE : EXIT_FAILED;
  }
}

async function run(line: readonly string[]): Promise<void> {
  const [first] = line;
  // What follows `--` is no flag.
  const flags = line.slice(0, [...line, '--'].indexOf('--'));
  if (first === undefined || first === 'help' || flags.includes('--help') || flags.includes('-h')) {
    const wanted = first === 'help' ? line.slice(1) : line;
    process.stdout.write(helpOf(ALL_COMMANDS, wanted) ?? helpText());
    if (first === undefined) process.exitCode = EXIT_USAGE;
    return;
  }
  if (first === '--version' || first === '-v') {
    const { versionLine } = await import('./process/data/version.ts');
    process.stdout.write(`${versionLine(readVersion())}\n`);
    return;
  }
  const shape = findCommand(ALL_COMMANDS, line);
  // The commands on the data read their arguments themselves.
  if (DATA_COMMANDS.includes(shape)) {
    const { runDataCommand } = await import('./process/data/commands.ts');
    const connect = (settings: Settings) => connectAdmin(settings, true);
    return runDataCommand(line, { env: process.env, release: readVersion(), connectAdmin: connect });
  }
  await runCommand(shape, readArguments(shape, line));
}

function print({ text, warning, exitCode = 0 }: Pick<Output, 'text'> & Partial<Output>): void {
  process.stdout.write(text);
  if (warning) warn(warning);
  process.exitCode = exitCode;
}

function warn(text: string): void {
  process.stderr.write(`gateway: ${text}\n`);
}

async function runCommand(shape: CommandShape, given: CommandArguments): Promise<void> {
  const { operands, flags, switches } = given;
  const env = process.env;
  const asJson = switches.has('json');
  if (shape === COMPLETION) return print({ text: completionScript(ALL_COMMANDS, operands[0] ?? '') });
  if (IMPORTERS.includes(shape)) {
    const { runImporter } = await import('./cli/importers.ts');
    return print(await runImporter(shape.words, given));
  }
  const settings = readSettings(env, shape === START ? { workers: flags.workers } : {});
  const connect = () => connectAdmin(settings, false);
  switch (shape) {
    case START: {
      const { start } = await import('./process/start.ts');
      return start(settings, env);
    }
    case DOCTOR: {
      const { doctor } = await import('./doctor/doctor.ts');
      const probes = !switches.has('no-probe');
      return print(await doctor({ settings, env, probes, connectAdmin: connect }, asJson));
    }
    case MODELS: {
      const { listModelSources } = await import('./process/model-sources.ts');
      return print({ text: await listModelSources({ settings, env, connectAdmin: connect }, asJson) });
    }
    case CHECK_CONFIG: {
      const { checkConfigFile } = await import('./process/config-check.ts');
      return print(await checkConfigFile(operands[0] ?? '', settings, env, asJson));
    }
    case SHOW_REQUEST:
    case LIST_REQUESTS:
    case TOP:
      return runRequests(shape, given, settings);
  }
  const command = findCommand(COMMANDS, shape.words);
  const connection = await connectAdmin(settings, command.createsData ?? false);
  try {
    print(await command.run(connection.api, given));
  } finally {
    await connection.close();
  }
}

async function runRequests(command: CommandShape, given: CommandArguments, settings: Settings): Promise<void> {
  const { listRequests, showRequest, top } = await import('./process/requests.ts');
  const write = (text: string): void => void process.stdout.write(text);
  const stopped = new AbortController();
  process.once('SIGINT', () => stopped.abort());
  process.stdout.once('error', () => stopped.abort());
  if (command === SHOW_REQUEST) write(await showRequest(settings, given, () => connectAdmin(settings, false)));
  else if (command === LIST_REQUESTS)
    await listRequests(settings, given, write, stopped.signal, () => connectAdmin(settings, false));
  else {
    const client = new AdminClient(socketTransport(socketPath(settings.dataDir)));
    await top(client, given, write, process.stdout.isTTY === true, stopped.signal);
  }
}

/** Connects to the running gateway where one answers, and otherwise opens the store itself, with its lock. */
async function connectAdmin(settings: Settings, createsData: boolean): Promise<AdminConnection> {
  const { dataDir } = settings;
  // PostgreSQL needs no data folder; a gateway that is running here is only a shortcut.
  if (settings.databaseUrl !== null && !existsSync(dataDir)) return openLocal(settings);
  if (createsData) await ensureDataDir(dataDir);
  else if (!existsSync(dataDir)) {
    throw new AdminError(
      'unavailable',
      `the data folder ${dataDir} does not exist: set GATEWAY_DATA, or create it with "gateway start" or "gateway keys create"`,
    );
  }
  const path = socketPath(dataDir);
  requirePrivateFolder(path, dataDir);
  const client = new AdminClient(socketTransport(path));
  const untilMs = performance.now() + CONNECT_MS;
  for (;;) {
    try {
      await client.call('health', {}, AbortSignal.timeout(ANSWER_MS));
      return { api: client, isRunning: true, close: async () => {} };
    } catch (error) {
      if (!(error instanceof NotRunningError)) throw error;
    }
    try {
      return await openLocal(settings);
    } catch (error) {
      if (!(error instanceof StoreLockedError)) throw error;
      if (performance.now() < untilMs) {
        await delay(RETRY_PAUSE_MS);
        continue;
      }
      throw new AdminError(
        'unavailable',
        `${storeFile(dataDir)} is in use by a process that does not answer on ${path}: a gateway that is starting or stopping; try again`,
        { cause: error },
      );
    }
  }
}

async function openLocal(settings: Settings): Promise<AdminConnection> {
  const { databaseUrl } = settings;
  const { ledger, installationSecret: secret } =
    databaseUrl === null ? await openEmbedded(settings) : await openShared(databaseUrl, settings, warn);
  const clock = systemClock();
  const data = openOperatorData(settings, secret, clock);
  // What was raised and delivered can be read; only a gateway watches and delivers.
  const alerts = new Alerts({
    store: data.alertStore,
    ledger,
    trail: data.operators,
    policy: () => null,
    providers: async () => [],
    installationSecret: secret,
    log: NO_LOG,
    nowMs: () => clock.nowMs(),
  });
  const definitions = async () => {
    const { readDefinitions } = await import('./process/definitions.ts');
    return readDefinitions(settings, data.definitions);
  };
  const { openRequestLogReader } = await import('./process/request-log.ts');
  const requestLog = await openRequestLogReader(settings);
  // What dead processes left behind is recovered before the audit. In a shared store gateways do that, who know since when it answers.
  const recovering = {
    ...ledger,
    audit: async () => {
      if (!ledger.shared) await recoverAll(ledger);
      return ledger.audit();
    },
  };
  const options: AdminServiceOptions = {
    operators: data.operators,
    alerts,
    console: () => ({ origin: consoleOrigin(settings), fingerprint: null }),
    onTrailFailure: (error) => {
      process.stderr.write(`gateway: the audit trail could not be written: ${errorLines(error).join(' ')}\n`);
    },
    ledger: recovering,
    audits: new Audits({ ledger: recovering, alerts, everyMs: () => null, log: NO_LOG, nowMs: () => clock.nowMs() }),
    installationSecret: secret,
    clock,
    gatewayOrigin: settings.publicUrl ?? publicOrigin(settings.host, settings.port, settings.tls !== null),
    known: null,
    statements: async () => {
      const { loadStatementPolicy } = await import('./config/load.ts');
      return loadStatementPolicy(settings, process.env);
    },
    requests: new Requests(requestLog, async () => []),
    refreshModelLists: async () => {
      const { refreshModelLists } = await import('./process/model-lists.ts');
      return refreshModelLists({ settings, env: process.env, documents: ledger, definitions, freshMs: 0 });
    },
  };
  const { inProcessTransport } = await import('./admin/http/in-process.ts');
  return {
    api: new AdminClient(inProcessTransport(new AdminService(options), COMMAND)),
    isRunning: false,
    definitions,
    close: async () => {
      await data.close();
      await requestLog.close();
      await ledger.close();
    },
  };
}

async function openEmbedded({
  dataDir,
  installationSecret: given,
}: Settings): Promise<Pick<OpenedStore, 'ledger' | 'installationSecret'>> {
  const secret = await installationSecret(dataDir, given);
  return { ledger: createLedger(openSyncStore({ file: storeFile(dataDir) })), installationSecret: secret };
}

function errorLines(error: unknown): readonly string[] {
  if (error instanceof ConfigError) return error.problems;
  if (error instanceof AdminError) {
    const flag = error.field === null ? undefined : FLAG_OF_FIELD[error.field];
    const prefix = `${error.field} `;
    return [
      flag !== undefined && error.message.startsWith(prefix)
        ? `${flag} ${error.message.slice(prefix.length)}`
        : error.message,
    ];
  }
  if (error instanceof NotRunningError) return [`${error.message}: start one with "gateway start"`];
  if (error instanceof UsageError || error instanceof SettingError || error instanceof StoreError)
    return [error.message];
  const address = addressLine(error);
  if (address !== null) return [address];
  // An unexpected error: the stack helps to find it.
  return [error instanceof Error ? (error.stack ?? error.message) : String(error)];
}

/** What is wrong with an address that the settings name; null where the error is about something else. */
function addressLine(error: unknown): string | null {
  const { address, port, hostname } = error as { address?: string; port?: number; hostname?: string };
  switch (errorCode(error)) {
    case 'EADDRINUSE':
      return `${address}:${port} is in use: set GATEWAY_PORT or GATEWAY_ADMIN_PORT to a free port, or stop the other process`;
    case 'EACCES':
      if (port === undefined) return null;
      return `${address}:${port} may not be used by this user: set GATEWAY_PORT and GATEWAY_ADMIN_PORT to ports from 1024 up`;
    case 'EADDRNOTAVAIL':
      return `${hostSetting(address)} is "${address}": must be an address of this machine (0.0.0.0 listens everywhere)`;
    case 'ENOTFOUND':
    case 'EAI_AGAIN': {
      const { GATEWAY_HOST, GATEWAY_ADMIN_HOST } = process.env;
      if (hostname === undefined || (hostname !== GATEWAY_HOST && hostname !== GATEWAY_ADMIN_HOST)) return null;
      return `${hostSetting(hostname)} is "${hostname}": must be an IP address or a host name that can be looked up (0.0.0.0 listens everywhere)`;
    }
    default:
      return null;
  }
}

/** The public listener is opened first: with the same address for both, it is the one that failed. */
function hostSetting(address: string | undefined): string {
  const { GATEWAY_HOST, GATEWAY_ADMIN_HOST } = process.env;
  return address === GATEWAY_ADMIN_HOST && address !== GATEWAY_HOST ? 'GATEWAY_ADMIN_HOST' : 'GATEWAY_HOST';
}

function isUsage(error: unknown): boolean {
  return (
    error instanceof UsageError ||
    error instanceof SettingError ||
    (error instanceof AdminError && error.code === 'invalid_input')
  );
}
