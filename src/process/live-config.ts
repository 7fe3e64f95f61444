/** The configuration in use: read at the start, and replaced while the process runs when any part of it changes. */
import type { Config, Settings } from '../config/config.ts';
import { type LoadOptions, loadConfig } from '../config/load.ts';
import { ConfigError } from '../config/problem.ts';
import type { Environment } from '../config/settings.ts';
import { watchConfig } from '../config/watch.ts';
import type { Clock } from '../core/clock.ts';
import type { StoredDefinitions } from '../core/definition.ts';
import type { Log } from '../core/log.ts';
import { type Catalog, catalogAt } from '../core/provider.ts';
import type { CatalogLease } from '../exchange/gateway.ts';
import type { Documents } from '../ledger/port.ts';
import type { Definitions } from '../operators/definitions.ts';
import { followDefinitions, readDefinitions } from './definitions.ts';
import { withFirstSeen } from './first-seen.ts';
import { storedModelLists, watchModelLists } from './model-lists.ts';

/** The last time that the config file was taken into use, or refused. */
export interface Reload {
  /** Why the file is not in use as it is now; empty where it is. */
  readonly refused: readonly string[];
  /** When what is in use was read. */
  readonly takenAtMs: number;
  /** False where there was no file then. */
  readonly found: boolean;
}

interface LiveConfigOptions {
  readonly settings: Settings;
  readonly env: Environment;
  readonly sandboxUrl: string;
  readonly documents: Documents;
  readonly definitions: Definitions;
  readonly clock: Clock;
  readonly log: Log;
  /** Something of it is new, or was refused. */
  onChange(): void;
  /** Providers or models may be new. */
  onReload(): void;
}

export interface LiveConfig {
  inUse(): Config;
  /** With the prices of this moment. */
  catalog(): Catalog;
  readonly lease: CatalogLease;
  reload(): Reload;
  /** Why what was changed since is not in use. */
  problems(): readonly string[];
  /** Takes what operators have defined into use; what keeps it from that, where something does. */
  takeDefinitions(): Promise<readonly string[]>;
  /** Takes model lists into use that were stored since. */
  takeModelLists(): Promise<void>;
  close(): Promise<void>;
}

export async function openLiveConfig(options: LiveConfigOptions): Promise<LiveConfig> {
  const { settings, env, sandboxUrl, documents, definitions, clock, log } = options;
  await using parts = new AsyncDisposableStack();
  let loading: Promise<unknown> = Promise.resolve();
  let known: StoredDefinitions | null = null;
  /** One after the other: what was loaded last is the newest. `source`: the file is not read again. */
  const load = ({ source, inUse }: Pick<LoadOptions, 'source' | 'inUse'> = {}): Promise<Config> => {
    const loaded = loading.then(async () => {
      const lists = await storedModelLists(documents, log);
      const stored = await readDefinitions(settings, definitions).catch((err: unknown) => {
        if (known === null || source !== undefined) throw err;
        log.warn({ err }, 'definitions of operators could not be read; those that are in use stay');
        return known;
      });
      known = stored;
      const now = new Date(clock.nowMs());
      const fresh = await loadConfig({ settings, env, sandboxUrl, lists, stored, source, inUse, now });
      return withFirstSeen(fresh, documents, clock.nowMs(), log);
    });
    loading = loaded.catch(() => {});
    return loaded;
  };
  const refused: Record<'config' | 'definitions', readonly string[]> = { config: [], definitions: [] };
  let revision = -1;
  let takenAtMs = clock.nowMs();
  const use = (fresh: Config): void => {
    config = fresh;
    revision = fresh.stored.revision;
    refused.definitions = [];
    options.onChange();
  };
  /** By the file as it is in use: what was written into it since may be wrong. */
  const takeDefinitions = async (): Promise<readonly string[]> => {
    try {
      use(await load({ source: config.source }));
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      if (refused.definitions.join() !== error.problems.join()) {
        for (const line of error.problems) log.error({}, `definitions of operators are not in use: ${line}`);
      }
      refused.definitions = error.problems;
      options.onChange();
      return error.problems;
    }
    log.info({ revision, models: config.catalog.models.size }, 'definitions of operators were taken into use');
    options.onReload();
    return [];
  };
  const follower = await followDefinitions({
    settings,
    definitions,
    log,
    revision: () => revision,
    take: takeDefinitions,
  });
  parts.defer(() => follower.stop());
  let config = await load();
  if (config.source.empty) {
    log.warn(
      { file: settings.configFile },
      'the config file is empty, so the defaults are in use: write {} into it where they are meant',
    );
  }
  revision = config.stored.revision;
  const watch = watchConfig({
    file: settings.configFile,
    load: () => load({ inUse: config.source }),
    inUse: () => config,
    onConfig: (fresh) => {
      if ((fresh.tls === null) !== (config.tls === null)) {
        log.warn({}, 'TLS is switched on or off at the next start; the listener stays as it is');
      }
      takenAtMs = clock.nowMs();
      use(fresh);
      log.info({ models: fresh.catalog.models.size }, 'the configuration was reloaded');
      options.onReload();
    },
    onProblems: (lines) => {
      refused.config = lines;
      options.onChange();
      for (const line of lines) log.error({}, `the new configuration is invalid, the old one stays in use: ${line}`);
    },
    execRefreshMs: settings.execRefreshMs,
  });
  parts.defer(() => watch.close());
  const lists = watchModelLists(documents, async () => {
    try {
      use(await load({ source: config.source }));
    } catch (err) {
      // A file that the configuration names is broken, which its own watch tells.
      log.debug({ err }, 'newer model lists could not be used');
    }
  });
  await lists.look();
  parts.defer(() => lists.stop());
  await follower.begin();
  const opened = parts.move();
  return {
    inUse: () => config,
    catalog: () => {
      const nowMs = clock.nowMs();
      if (nowMs >= config.catalog.pricesUntilMs) config = { ...config, catalog: catalogAt(config.catalog, nowMs) };
      return config.catalog;
    },
    lease: follower.lease,
    reload: () => ({ refused: refused.config, takenAtMs, found: config.source.found }),
    problems: () => [...refused.config, ...refused.definitions],
    takeDefinitions: async () => {
      const problems = await takeDefinitions();
      await follower.served();
      return problems;
    },
    takeModelLists: lists.look,
    close: () => opened.disposeAsync(),
  };
}
