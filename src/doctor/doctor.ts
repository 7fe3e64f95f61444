/**
 * `gateway doctor`: looks at everything that a gateway needs, from here and by itself, whether one runs or not. The
 * store is asked through the running gateway where there is one, and never opened beside it.
 */
import { existsSync } from 'node:fs';
import { Agent } from 'undici';
import { type AdminApi, AdminError } from '../admin/api.ts';
import { AdminClient } from '../admin/client.ts';
import { storeFile } from '../admin/data-folder.ts';
import type { Config, Settings } from '../config/config.ts';
import { loadConfig } from '../config/load.ts';
import { decodeModelLists, type ModelLists, NO_LISTS } from '../config/model-lists.ts';
import { ConfigError } from '../config/problem.ts';
import { type Environment, SettingError } from '../config/settings.ts';
import { systemClock } from '../core/clock.ts';
import { StoreError } from '../ledger/errors.ts';
import { Transports } from '../provider/transports.ts';
import { startSandbox } from '../sandbox/server.ts';
import { examineFolder, examineOpenFiles } from './examine-machine.ts';
import { examineModels } from './examine-models.ts';
import { type Examined, examineProvider, type Served, type Tools } from './examine-provider.ts';
import { attention, type Check, type ModelReport, ok, type ProviderReport, type Report } from './report.ts';
import { reportText } from './text.ts';
import { oneLine } from './words.ts';

const CALL_TIMEOUT_MS = 10_000;
const HEALTH_TIMEOUT_MS = 5_000;
/** No key has this id: looking for it takes the whole way to the store and back. */
const NO_KEY_ID = 'doctor';

export interface DoctorOptions {
  readonly settings: Settings;
  readonly env: Environment;
  /** Whether to generate a token at each target, which costs money. */
  readonly probes: boolean;
  /** The operator's operations: of the running gateway, or else on the store itself. */
  reach(): Promise<{ readonly api: AdminApi; close(): Promise<void> }>;
  readonly timeoutMs?: number;
}

export async function doctor(options: DoctorOptions, json: boolean): Promise<{ text: string; exitCode: number }> {
  const report = await examine(options);
  return { text: json ? `${JSON.stringify(report)}\n` : reportText(report), exitCode: report.ok ? 0 : 1 };
}

export async function examine(options: DoctorOptions): Promise<Report> {
  const { dataDir } = options.settings;
  const [data_folder, { store, pid }] = await Promise.all([examineFolder(dataDir), examineStore(options)]);
  // Not at once with the check of the store, which only one process can have open.
  const catalog = await examineConfig(options);
  const open_files = examineOpenFiles(pid);
  const to_do = [...catalog.toDo];
  if (data_folder.state === 'attention') to_do.push(`${data_folder.detail}: give it to this user, or set GATEWAY_DATA`);
  if (store.state === 'attention') to_do.push(`the store: ${store.detail}`);
  if (open_files.state === 'attention') to_do.push(`${open_files.detail}: raise the limit (ulimit -n, LimitNOFILE)`);
  const { config, providers, models } = catalog;
  return { ok: to_do.length === 0, config, data_folder, store, open_files, providers, models, to_do };
}

async function examineStore({ settings, reach }: DoctorOptions): Promise<{ store: Check; pid: number | null }> {
  const { dataDir, databaseUrl } = settings;
  if (databaseUrl === null && !existsSync(storeFile(dataDir))) {
    return { store: ok(`${storeFile(dataDir)} is made at the first start`), pid: null };
  }
  try {
    const reached = await reach();
    try {
      await answers(reached.api);
      if (!(reached.api instanceof AdminClient)) return { store: ok('opens; no gateway runs'), pid: null };
      const { pid } = await reached.api.health(HEALTH_TIMEOUT_MS);
      return { store: ok(`answers; the gateway runs (process ${pid})`), pid };
    } finally {
      await reached.close();
    }
  } catch (error) {
    if (error instanceof AdminError || error instanceof StoreError) {
      return { store: attention(oneLine(error.message)), pid: null };
    }
    throw error;
  }
}

async function answers(api: AdminApi): Promise<void> {
  try {
    await api.showKey(NO_KEY_ID);
  } catch (error) {
    if (!(error instanceof AdminError && error.code === 'unknown_key')) throw error;
  }
}

interface ExaminedCatalog {
  readonly config: Check;
  readonly providers: readonly ProviderReport[];
  readonly models: readonly ModelReport[];
  readonly toDo: readonly string[];
}

async function examineConfig(options: DoctorOptions): Promise<ExaminedCatalog> {
  const { settings, env } = options;
  // The sandbox of a running gateway listens on a port that nobody else knows, so the check has one of its own.
  const sandbox = await startSandbox();
  try {
    const config = await loadConfig({ settings, env, sandboxUrl: sandbox.url, lists: await newestLists(options) });
    return await examineCatalog(config, sandbox.url, options);
  } catch (error) {
    const problems =
      error instanceof ConfigError ? error.problems : error instanceof SettingError ? [error.message] : null;
    if (problems === null) throw error;
    const detail = `${problems.length} problem${problems.length === 1 ? '' : 's'}; a running gateway goes on with what it has`;
    return { config: attention(detail), providers: [], models: [], toDo: problems.map(oneLine) };
  } finally {
    await sandbox.close();
  }
}

/** Providers are asked for their model lists, which are stored; what was stored before counts where that fails. */
async function newestLists({ settings, reach }: DoctorOptions): Promise<ModelLists> {
  if (settings.databaseUrl === null && !existsSync(storeFile(settings.dataDir))) return NO_LISTS;
  try {
    const reached = await reach();
    try {
      await reached.api.refreshModelLists();
      return decodeModelLists((await reached.api.modelLists()).document);
    } finally {
      await reached.close();
    }
  } catch (error) {
    // The checks of the store and of each provider tell what is wrong with them; a broken file is told by loading it.
    if (error instanceof AdminError || error instanceof StoreError || error instanceof ConfigError) return NO_LISTS;
    throw error;
  }
}

async function examineCatalog(config: Config, sandboxUrl: string, options: DoctorOptions): Promise<ExaminedCatalog> {
  const { catalog } = config;
  const models = [...catalog.models.values()];
  const served = models.flatMap((model) => model.targets.map((target): Served => ({ model, target })));
  const upstream = new Transports();
  const dispatcher = new Agent({ allowH2: false });
  const timeoutMs = options.timeoutMs ?? CALL_TIMEOUT_MS;
  const tools: Tools = { upstream, dispatcher, clock: systemClock(), timeoutMs, probes: options.probes };
  try {
    const examined = new Map<string, Examined>();
    await Promise.all(
      [...catalog.providers.values()].map(async (provider) => {
        const own = served.filter(({ target }) => target.provider === provider.name);
        const simulated = provider.baseUrl.startsWith(sandboxUrl);
        examined.set(provider.name, await examineProvider(provider, own, simulated, tools));
      }),
    );
    // In the order of the catalog, whoever was first to answer.
    const providers = [...catalog.providers.keys()].flatMap((name) => examined.get(name) ?? []);
    const judged = examineModels(models, (target) => examined.get(target.provider)?.serves(target) ?? false);
    return {
      config: ok(configDetail(options.settings, config)),
      providers: providers.map(({ report }) => report),
      models: judged.reports,
      toDo: [...providers.flatMap(({ toDo }) => toDo), ...judged.toDo],
    };
  } finally {
    await Promise.all([upstream.close(), dispatcher.destroy()]);
  }
}

function configDetail({ configFile }: Settings, { catalog }: Config): string {
  const source = existsSync(configFile) ? configFile : `no ${configFile}`;
  return `${source}: ${catalog.providers.size} providers, ${catalog.models.size} models`;
}
