/** Builds the frozen Config from settings, environment and config file. */

import { readFile, stat } from 'node:fs/promises';
import { type DefinedBy, type DefinitionKind, NO_DEFINITIONS, type StoredDefinitions } from '../core/definition.ts';
import type { Model } from '../core/model.ts';
import {
  AUDIT,
  LIMITS,
  PROVIDERS_BY_API,
  REQUEST_LOG,
  RESPONSES,
  ROUTING,
  type Routing,
  RUNS,
  SINGLE,
  STATEMENTS,
  STREAMS,
  type StatementPolicy,
  USAGE_RECORDS,
} from '../core/policy.ts';
import { catalogAt, type Provider } from '../core/provider.ts';
import { errorCode } from '../lib/error-code.ts';
import { joinPath } from '../lib/schema-errors.ts';
import { readAlerts } from './alerts.ts';
import { buildCatalog, type CatalogEntries } from './catalog.ts';
import type { Config, ConfigSource, Settings } from './config.ts';
import { addDefinitions, mergedEntries } from './definitions.ts';
import { discover, type Probe, probeModels } from './discover.ts';
import { type ModelLists, NO_LISTS } from './model-lists.ts';
import { loadNetworks } from './network.ts';
import { loadPackages } from './package.ts';
import { ConfigError, configError, type Problem } from './problem.ts';
import { sandboxModels, sandboxProviders } from './sandbox.ts';
import { FILE_BYTES_MAX, type FileConfig } from './schema.ts';
import { Secrets } from './secrets.ts';
import type { Environment } from './settings.ts';

export interface LoadOptions {
  readonly settings: Settings;
  /** For variables in the file, and for discovering providers without one. */
  readonly env: Environment;
  /** The address of the built-in sandbox; null where none is running, and then its models are left out. */
  readonly sandboxUrl: string | null;
  readonly probe?: Probe;
  /** The day whose published prices apply. */
  readonly now?: Date;
  /** What providers say of their models, as far as it is known. */
  readonly lists?: ModelLists;
  /** Instead of what the config file has. */
  readonly text?: string;
  /** What operators have defined by API. */
  readonly stored?: StoredDefinitions | undefined;
  /** Instead of reading the file again. */
  readonly source?: ConfigSource | undefined;
  /** What is in use: what its file says is not taken out of use by one that is gone, or that has no content. */
  readonly inUse?: ConfigSource | undefined;
  /** Whether a file with very many problems has all of them listed. */
  readonly allProblems?: boolean;
}

/** Throws a ConfigError that lists every problem found. */
export async function loadConfig(options: LoadOptions): Promise<Config> {
  const secrets = options.source?.secrets ?? new Secrets(options.env, options.settings.allowExec);
  try {
    return await configFrom(options, secrets);
  } catch (error) {
    throw error instanceof ConfigError ? new ConfigError(error.problems, secrets.files) : error;
  }
}

async function configFrom(options: LoadOptions, secrets: Secrets): Promise<Config> {
  const { settings, env, sandboxUrl, probe = probeModels, now = new Date(), lists = NO_LISTS } = options;
  const { stored = NO_DEFINITIONS } = options;
  const name = settings.configFile.replace(/^\.\//, '');
  const source = options.source ?? (await readSource(options, name, secrets));
  const { file } = source;
  const usdPerCredit = file.credits?.usd_per_credit ?? 1;
  const routing = routingOf(file, stored);
  const weighted = routing.order === 'weighted';
  const sandbox = (file.sandbox ?? true) && sandboxUrl !== null;

  const problems: Problem[] = [];
  const files: string[] = [];
  const providers = new Map<string, Provider>();
  const models = new Map<string, Model>();
  if (sandbox) {
    for (const provider of sandboxProviders(sandboxUrl)) providers.set(provider.name, provider);
    for (const model of sandboxModels(usdPerCredit)) models.set(model.id, model);
  }
  let found: CatalogEntries;
  const fromFile = file.providers !== undefined || file.models !== undefined;
  if (!fromFile) {
    found = await discover({
      env,
      secrets,
      probe: settings.discoverLocal ? probe : null,
      ownPort: settings.port,
      usdPerCredit,
      now,
      lists,
    });
  } else {
    const ofConnections: Problem[] = [];
    const factories = await loadPackages(file, ofConnections);
    const networks = await loadNetworks(file, env, files, ofConnections);
    problems.push(...duplicates(file, providers, models));
    found = buildCatalog(file, { usdPerCredit, weighted, now, lists, factories, networks }, problems);
    problems.push(...ofConnections);
  }
  const providersByApi = PROVIDERS_BY_API.read(file.providers_by_api);
  const ofSandbox = { provider: new Set(providers.keys()), model: new Set(models.keys()) };
  const ofFile = {
    provider: new Set(fromFile ? found.providers.map(({ name }) => name) : []),
    model: new Set(fromFile ? found.models.map(({ id }) => id) : []),
  };
  const added = await addDefinitions(stored.list, {
    file,
    found,
    isTaken: ({ kind, name }) => ofSandbox[kind].has(name) || ofFile[kind].has(name),
    allowed: providersByApi,
    env,
    secrets,
    files,
    catalog: { usdPerCredit, weighted, now, lists },
  });
  const ofApi = {
    provider: new Set(added.entries.providers.map(({ name }) => name)),
    model: new Set(added.entries.models.map(({ id }) => id)),
  };
  const merged = mergedEntries(found, added.entries);
  for (const provider of merged.providers) providers.set(provider.name, provider);
  for (const model of merged.models) models.set(model.id, model);
  const definedBy = (kind: DefinitionKind, name: string): DefinedBy => {
    if (ofApi[kind].has(name)) return 'api';
    if (ofFile[kind].has(name)) return 'file';
    return ofSandbox[kind].has(name) ? 'sandbox' : 'environment';
  };
  const limits = LIMITS.read(file.limits);
  if (limits.headersTimeoutMs > limits.bodyTimeoutMs) {
    const message = `must not be longer than limits.body_timeout (${limits.bodyTimeoutMs / 1000})`;
    problems.push({ path: 'limits.headers_timeout', message });
  }
  const tls = settings.tls ?? file.tls ?? null;
  const alerts = readAlerts(file.alerts, { env, secrets, allowExec: settings.allowExec }, problems);
  if (problems.length > 0) throw configError(name, problems);
  return freeze<Config>({
    catalog: catalogAt({ providers, models }, now.getTime()),
    definedBy: {
      provider: new Map([...providers.keys()].map((name) => [name, definedBy('provider', name)])),
      model: new Map([...models.keys()].map((id) => [id, definedBy('model', id)])),
    },
    stored: { revision: stored.revision, states: added.states },
    source,
    sandbox,
    modelLists: file.model_lists ?? true,
    tls,
    files: [...files, ...secrets.files],
    secrets,
    limits,
    usdPerCredit,
    routing,
    streams: STREAMS.read(file.streams),
    responses: RESPONSES.read(file.responses),
    runs: RUNS.read(file.runs),
    requestLog: REQUEST_LOG.read(file.request_log),
    statements: STATEMENTS.read(file.statements),
    providersByApi,
    alerts,
    ...SINGLE.read(file),
    ...USAGE_RECORDS.read(file.usage),
    ...AUDIT.read(file.audit),
  });
}

async function readSource(options: LoadOptions, name: string, secrets: Secrets): Promise<ConfigSource> {
  const refused = (message: string): ConfigError => configError(name, [{ path: '', message }]);
  const saysMore = Object.keys(options.inUse?.file ?? {}).length > 0;
  const text = options.text ?? (await readConfigText(options.settings, name));
  if (text === null) {
    if (saysMore) throw refused('does not exist any more; the configuration in use stays');
    return { file: {}, found: false, empty: false, secrets };
  }
  const file = await (await fileReader()).parseConfigFile(text, name, secrets, options.allProblems);
  if (file === null && saysMore) {
    throw refused('is empty; the configuration in use stays: write {} where the defaults are meant');
  }
  return { file: file ?? {}, found: true, empty: file === null, secrets };
}

/** What stands on statements, where no gateway runs; without any of it where the file cannot be used. */
export async function loadStatementPolicy(settings: Settings, env: Environment): Promise<StatementPolicy> {
  const name = settings.configFile.replace(/^\.\//, '');
  try {
    const text = await readConfigText(settings, name);
    if (text === null) return STATEMENTS.read();
    const { parseConfigFile } = await fileReader();
    return STATEMENTS.read((await parseConfigFile(text, name, new Secrets(env, settings.allowExec)))?.statements);
  } catch (error) {
    if (error instanceof ConfigError) return STATEMENTS.read();
    throw error;
  }
}

/** The YAML parser and the schema compiler are loaded only where there is a file. */
function fileReader(): Promise<typeof import('./file.ts')> {
  return import('./file.ts');
}

/** Null: there is no file, and none was configured. */
async function readConfigText(settings: Settings, name: string): Promise<string | null> {
  const refuse = (message: string) => configError(name, [{ path: '', message }]);
  try {
    const { size } = await stat(settings.configFile);
    if (size > FILE_BYTES_MAX) throw refuse(`is larger than ${FILE_BYTES_MAX} bytes`);
    return await readFile(settings.configFile, 'utf8');
  } catch (error) {
    const code = errorCode(error);
    if (code === null) throw error;
    if (code !== 'ENOENT') throw refuse(`cannot be read (${code})`);
    if (settings.configFileNamed) throw refuse('does not exist, but GATEWAY_CONFIG names it');
    return null;
  }
}

/** Names that are already used, by the sandbox or earlier in the file. */
function duplicates(
  file: FileConfig,
  sandboxProvidersByName: ReadonlyMap<string, Provider>,
  sandboxModelsById: ReadonlyMap<string, Model>,
): Problem[] {
  const problems: Problem[] = [];
  const ofSandbox = 'belongs to the built-in sandbox (`sandbox: false` frees it)';
  for (const name of Object.keys(file.providers ?? {})) {
    if (sandboxProvidersByName.has(name)) {
      problems.push({ path: joinPath('providers', name), message: `the name \`${name}\` ${ofSandbox}` });
    }
  }
  const firstAt = new Map<string, number>();
  for (const [index, { id, aliases = [] }] of (file.models ?? []).entries()) {
    for (const alias of aliases.filter((name) => sandboxModelsById.has(name))) {
      problems.push({ path: joinPath(joinPath('models', index), 'aliases'), message: `\`${alias}\` ${ofSandbox}` });
    }
    const path = joinPath(joinPath('models', index), 'id');
    const first = firstAt.get(id);
    if (sandboxModelsById.has(id)) problems.push({ path, message: `\`${id}\` ${ofSandbox}` });
    else if (first !== undefined) problems.push({ path, message: `\`${id}\` is already the id of models[${first}]` });
    else firstAt.set(id, index);
  }
  return problems;
}

function routingOf({ routing, models = [] }: FileConfig, { list }: StoredDefinitions): Routing {
  const all = [...models, ...list.map(({ definition }) => definition ?? {})];
  const weighted = all.some(
    ({ targets }) => Array.isArray(targets) && targets.some((target) => 'weight' in Object(target)),
  );
  const read = ROUTING.read(routing);
  return weighted && routing?.order === undefined ? { ...read, order: 'weighted' } : read;
}

/** Deeply; the maps themselves are read-only by their type. */
function freeze<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  for (const part of value instanceof Map ? value.values() : Object.values(value)) freeze(part);
  return value instanceof Map ? value : Object.freeze(value);
}
