/**
 * `gateway doctor`: checks everything that a gateway needs, whether one is running or not. A running gateway does it itself,
 * and its store is never opened a second time.
 */
import { existsSync } from 'node:fs';
import { type AdminClient, type AdminConnection, NotRunningError } from '../admin/client.ts';
import { storeFile } from '../admin/data-folder.ts';
import { AdminError } from '../admin/error.ts';
import type { Config, Settings } from '../config/config.ts';
import { loadConfig } from '../config/load.ts';
import { decodeModelLists, type ModelLists, NO_LISTS } from '../config/model-lists.ts';
import type { TlsFiles } from '../config/pem.ts';
import { ConfigError } from '../config/problem.ts';
import { type Environment, SettingError } from '../config/settings.ts';
import { systemClock } from '../core/clock.ts';
import { NO_DEFINITIONS, type StoredDefinitions } from '../core/definition.ts';
import { Dispatchers } from '../provider/dispatchers.ts';
import { Transports } from '../provider/transports.ts';
import { startSandbox } from '../sandbox/server.ts';
import { StoreError } from '../storage/errors.ts';
import { checkCertificates } from './check-certificates.ts';
import { checkDataFolder, checkOpenFiles } from './check-machine.ts';
import { checkModels } from './check-models.ts';
import { type CheckContext, type CheckedProvider, checkProvider, type ServedTarget } from './check-provider.ts';
import { oneLine } from './format.ts';
import { type Check, type ModelReport, ok, type ProviderReport, problem, type Report } from './report.ts';
import { reportText } from './text.ts';

const CALL_TIMEOUT_MS = 10_000;
const HEALTH_TIMEOUT_MS = 5_000;
/** No key has this id: looking it up is a complete read of the store without a result. */
const NO_KEY_ID = 'doctor';

export interface DoctorOptions {
  readonly settings: Settings;
  readonly env: Environment;
  /** Whether to generate a token at each target, which costs money. */
  readonly probes: boolean;
  connectAdmin(): Promise<AdminConnection>;
  readonly timeoutMs?: number;
}

export async function doctor(options: DoctorOptions, json: boolean): Promise<{ text: string; exitCode: number }> {
  const report = (await reportOfGateway(options)) ?? (await checkAll(options));
  return { text: json ? `${JSON.stringify(report)}\n` : reportText(report), exitCode: report.ok ? 0 : 1 };
}

/**
 * Of the gateway that runs here: it alone knows the credentials that operators have defined, and its environment is the one
 * that counts. Null where none runs, or it cannot answer: the checks of this process say why.
 */
async function reportOfGateway({ settings, connectAdmin, probes }: DoctorOptions): Promise<Report | null> {
  if (!hasStore(settings)) return null;
  try {
    const { api, isRunning, close } = await connectAdmin();
    try {
      return isRunning ? await api.call('doctor', { body: { probes } }) : null;
    } finally {
      await close();
    }
  } catch (error) {
    if (error instanceof AdminError || error instanceof StoreError || error instanceof NotRunningError) return null;
    throw error;
  }
}

export async function checkAll(options: DoctorOptions): Promise<Report> {
  const { dataDir } = options.settings;
  const [data_folder, { store, pid, stored }] = await Promise.all([checkDataFolder(dataDir), checkStore(options)]);
  // After the check of the store, because only one process can have an embedded store open.
  const catalog = await checkConfig(options, stored);
  const open_files = checkOpenFiles(pid);
  const { adminTls, adminSelfSigned } = options.settings;
  // The gateway makes it at its first start.
  const isMade = adminTls !== null && adminSelfSigned && !existsSync(adminTls.cert);
  const files = { public: catalog.tls, admin: isMade ? null : adminTls };
  const { certificates, toDo } = await checkCertificates(files, Date.now());
  const to_do = [...catalog.toDo, ...toDo];
  if (data_folder.state === 'problem')
    to_do.push(`${data_folder.detail}: make it writable for this user, or set GATEWAY_DATA`);
  if (store.state === 'problem') to_do.push(`the store: ${store.detail}`);
  if (open_files.state === 'problem') to_do.push(`${open_files.detail}: raise the limit (ulimit -n, LimitNOFILE)`);
  const { config, providers, models } = catalog;
  return { ok: to_do.length === 0, config, data_folder, store, open_files, certificates, providers, models, to_do };
}

/** Where there is none yet, none is made to find that out. */
function hasStore({ databaseUrl, dataDir }: Settings): boolean {
  return databaseUrl !== null || existsSync(storeFile(dataDir));
}

interface CheckedStore {
  readonly store: Check;
  /** Of the gateway that runs; null where none does. */
  readonly pid: number | null;
  readonly stored: StoredDefinitions;
}

async function checkStore({ settings, connectAdmin }: DoctorOptions): Promise<CheckedStore> {
  const unknown = { pid: null, stored: NO_DEFINITIONS };
  if (!hasStore(settings)) {
    return { store: ok(`${storeFile(settings.dataDir)} will be created at the first start`), ...unknown };
  }
  try {
    const connection = await connectAdmin();
    try {
      await requireAnswer(connection.api);
      const stored = (await connection.definitions?.()) ?? NO_DEFINITIONS;
      if (!connection.isRunning) return { store: ok('can be opened; no gateway is running'), pid: null, stored };
      const { pid } = await connection.api.call('health', {}, AbortSignal.timeout(HEALTH_TIMEOUT_MS));
      return { store: ok(`answers; the gateway is running (process ${pid})`), pid, stored };
    } finally {
      await connection.close();
    }
  } catch (error) {
    if (error instanceof AdminError || error instanceof StoreError) {
      return { store: problem(oneLine(error.message)), ...unknown };
    }
    throw error;
  }
}

async function requireAnswer(api: AdminClient): Promise<void> {
  try {
    await api.call('showKey', { id: NO_KEY_ID });
  } catch (error) {
    if (!(error instanceof AdminError && error.code === 'unknown_key')) throw error;
  }
}

interface CheckedCatalog {
  readonly config: Check;
  readonly providers: readonly ProviderReport[];
  readonly models: readonly ModelReport[];
  readonly toDo: readonly string[];
  /** The files of the public listener; null where it has none, or the config file cannot be read. */
  readonly tls: TlsFiles | null;
}

async function checkConfig(options: DoctorOptions, stored: StoredDefinitions): Promise<CheckedCatalog> {
  const { settings, env } = options;
  // The sandbox of a running gateway listens on a port that no other process knows, so the check starts its own.
  const sandbox = await startSandbox();
  try {
    const lists = await newestLists(options);
    const config = await loadConfig({ settings, env, sandboxUrl: sandbox.url, lists, stored });
    return await checkCatalog(config, sandbox.url, options);
  } catch (error) {
    const problems =
      error instanceof ConfigError ? error.problems : error instanceof SettingError ? [error.message] : null;
    if (problems === null) throw error;
    const detail = `${problems.length} problem${problems.length === 1 ? '' : 's'}; a running gateway keeps its current configuration`;
    return { config: problem(detail), providers: [], models: [], toDo: problems.map(oneLine), tls: null };
  } finally {
    await sandbox.close();
  }
}

/** Providers are asked for their model lists, which are stored; what was stored before counts where that fails. */
async function newestLists({ settings, connectAdmin }: DoctorOptions): Promise<ModelLists> {
  if (!hasStore(settings)) return NO_LISTS;
  try {
    const connection = await connectAdmin();
    try {
      await connection.api.call('refreshModelLists', {});
      return decodeModelLists((await connection.api.call('modelLists', {})).document);
    } finally {
      await connection.close();
    }
  } catch (error) {
    // The checks of the store and of each provider say what is wrong with them; loading a broken file reports it.
    if (error instanceof AdminError || error instanceof StoreError || error instanceof ConfigError) return NO_LISTS;
    throw error;
  }
}

async function checkCatalog(config: Config, sandboxUrl: string, options: DoctorOptions): Promise<CheckedCatalog> {
  const { catalog } = config;
  const models = [...catalog.models.values()];
  const served = models.flatMap((model) => model.targets.map((target): ServedTarget => ({ model, target })));
  const upstream = new Transports();
  const dispatchers = new Dispatchers();
  const timeoutMs = options.timeoutMs ?? CALL_TIMEOUT_MS;
  const context: CheckContext = { upstream, dispatchers, clock: systemClock(), timeoutMs, probes: options.probes };
  try {
    const checked = new Map<string, CheckedProvider>();
    await Promise.all(
      [...catalog.providers.values()].map(async (provider) => {
        const own = served.filter(({ target }) => target.provider === provider.name);
        const simulated = provider.baseUrl.startsWith(sandboxUrl);
        checked.set(provider.name, await checkProvider(provider, own, simulated, context));
      }),
    );
    // The reports are in the order of the catalog, not of the answers.
    const providers = [...catalog.providers.keys()].flatMap((name) => checked.get(name) ?? []);
    const refused = config.stored.states.flatMap(({ kind, name, state, problem }) =>
      state === 'refused' ? [`${kind} ${name}, which an operator has defined, is not in use: ${problem}`] : [],
    );
    const checkedModels = checkModels(
      models,
      (target) => checked.get(target.provider)?.serves(target) ?? false,
      (id) => config.definedBy.model.get(id) === 'api',
    );
    return {
      config: ok(configDetail(options.settings, config)),
      providers: providers.map(({ report }) => report),
      models: checkedModels.reports,
      toDo: [...refused, ...providers.flatMap(({ toDo }) => toDo), ...checkedModels.toDo],
      tls: config.tls,
    };
  } finally {
    await Promise.all([upstream.close(), dispatchers.close()]);
  }
}

function configDetail({ configFile }: Settings, { catalog }: Config): string {
  const source = existsSync(configFile) ? configFile : `no ${configFile}`;
  return `${source}: ${catalog.providers.size} providers, ${catalog.models.size} models`;
}
