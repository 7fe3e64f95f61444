/**
 * A change of what operators define counts everywhere when the call that made it returns. Each serving process on PostgreSQL
 * says once a second by which revision it serves, which entitles it to serve by that revision for a few seconds more; whoever
 * changes something waits until every process has the change, or has lost its entitlement. A request costs one comparison.
 *
 * No clock is compared with another: a process counts from the moment at which it began to ask, and whoever waits for one
 * counts from the moment at which it saw the last beat.
 */
import { randomUUID } from 'node:crypto';
import { lookup } from 'node:dns/promises';
import { existsSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { operatorsFile } from '../admin/data-folder.ts';
import { AdminError } from '../admin/error.ts';
import type { Settings } from '../config/config.ts';
import { NOT_PUBLIC } from '../config/definitions.ts';
import { type LoadOptions, loadConfig } from '../config/load.ts';
import { type DefinitionState, NO_DEFINITIONS, type StoredDefinitions } from '../core/definition.ts';
import type { Log } from '../core/log.ts';
import type { Provider } from '../core/provider.ts';
import { isPublic, withoutBrackets } from '../core/public-address.ts';
import { type CatalogLease, storeFailed } from '../exchange/gateway.ts';
import type { DefinitionReader, Definitions } from '../operators/definitions.ts';

const BEAT_MS = 1_000;
/** How long a process may serve by what it has, from the moment at which it asked. */
const LEASE_MS = 5_000;
/** Two clocks that count seconds may count a little differently. */
const DRIFT_MS = 500;
const POLL_MS = 50;
/** For processes that live and cannot take a change. */
const WAIT_MS_MAX = 20_000;

/** Where nobody has administered the gateway there is no file, and none is made to find that out. */
export async function readDefinitions(settings: Settings, definitions: Definitions): Promise<StoredDefinitions> {
  if (settings.databaseUrl === null && !existsSync(operatorsFile(settings.dataDir))) return NO_DEFINITIONS;
  return definitions.all();
}

/** The one process of an embedded store is told of every change. */
const ALONE: CatalogLease = { held: () => true, renew: async () => {} };

export interface DefinitionFollower {
  readonly lease: CatalogLease;
  /** Something is served by from now on; looks for changes, also later on. */
  begin(): Promise<void>;
  /** Tells the others what is served by now. */
  served(): Promise<void>;
  stop(): Promise<void>;
}

const nothing = async (): Promise<void> => {};
const OF_ONE_PROCESS: DefinitionFollower = { lease: ALONE, begin: nothing, served: nothing, stop: nothing };

interface FollowOptions {
  readonly settings: Settings;
  readonly definitions: Pick<Definitions, 'beat' | 'forgetReader'>;
  readonly log: Log;
  /** What this process serves by. */
  revision(): number;
  /** Takes what is stored into use; what keeps it from that, where something does: what was in use stays then. */
  take(): Promise<readonly string[]>;
  readonly beatMs?: number;
}

/** Before anything is loaded: whoever changes something from then on waits for this process. */
export async function followDefinitions(options: FollowOptions): Promise<DefinitionFollower> {
  if (options.settings.databaseUrl === null) return OF_ONE_PROCESS;
  const { definitions, log, beatMs = BEAT_MS } = options;
  const id = randomUUID();
  let beats = 0;
  let untilMs = 0;
  let problems: readonly string[] = [];
  let renewing: Promise<void> | null = null;
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;

  const held = (): boolean => performance.now() < untilMs;
  const beat = async (): Promise<number> => {
    const askedAtMs = performance.now();
    beats += 1;
    const revision = options.revision();
    const newest = await definitions.beat({ id, revision, beat: beats });
    // Whoever makes a change that cannot be taken is told so, and does not rely on it.
    if (revision >= newest || problems.length > 0) untilMs = askedAtMs + LEASE_MS;
    return newest;
  };
  const renew = async (): Promise<void> => {
    if (options.revision() >= (await beat())) return;
    problems = await options.take();
    await beat();
  };
  const shared = (): Promise<void> => {
    renewing ??= renew().finally(() => {
      renewing = null;
    });
    return renewing;
  };
  const again = async (): Promise<void> => {
    await shared().catch((err: unknown) => log.warn({ err }, 'definitions of operators could not be looked up'));
    if (!stopped) timer = setTimeout(again, beatMs).unref();
  };
  await definitions.beat({ id, revision: -1, beat: 0 });
  return {
    lease: {
      held,
      renew: async () => {
        await shared().catch(storeFailed);
        // It may have been under way for too long already.
        if (!held()) await shared().catch(storeFailed);
        if (!held()) storeFailed(new Error('the definitions of operators were not read in time'));
      },
    },
    begin: async () => {
      await shared();
      timer = setTimeout(again, beatMs).unref();
    },
    served: shared,
    stop: async () => {
      stopped = true;
      clearTimeout(timer);
      await renewing?.catch(() => {});
      await definitions.forgetReader({ id, beat: beats }).catch(() => {});
    },
  };
}

/** Resolves when no process serves by an older revision any more. */
export async function servedEverywhere(
  definitions: Pick<Definitions, 'readersBefore' | 'forgetReader'>,
  revision: number,
  { leaseMs = LEASE_MS, driftMs = DRIFT_MS, waitMs = WAIT_MS_MAX } = {},
): Promise<void> {
  const seen = new Map<string, { readonly beat: number; readonly sinceMs: number }>();
  const startMs = performance.now();
  for (;;) {
    const behind = await definitions.readersBefore(revision);
    const nowMs = performance.now();
    const alive: DefinitionReader[] = [];
    for (const reader of behind) {
      const known = seen.get(reader.id);
      if (known === undefined || known.beat !== reader.beat) seen.set(reader.id, { beat: reader.beat, sinceMs: nowMs });
      else if (nowMs - known.sinceMs > leaseMs + driftMs) {
        // It has died, or stands still: when it goes on, it asks before it serves.
        await definitions.forgetReader(reader);
        continue;
      }
      alive.push(reader);
    }
    if (alive.length === 0) return;
    if (nowMs - startMs > waitMs) {
      throw new AdminError(
        'unavailable',
        `the change is saved, but ${alive.length} other ${alive.length === 1 ? 'process does' : 'processes do'} not have it yet: their logs say why; they take it as soon as they can`,
      );
    }
    await delay(POLL_MS);
  }
}

/** By the config file as it is now; also where the names in addresses lead to at present. */
export async function checkDefinitions(options: LoadOptions): Promise<readonly DefinitionState[]> {
  const { catalog, stored } = await loadConfig(options);
  return Promise.all(
    stored.states.map(async (one) => {
      const provider = one.kind === 'provider' && one.state === 'in_use' ? catalog.providers.get(one.name) : undefined;
      if (provider === undefined || !(await leadsInside(provider))) return one;
      return { ...one, state: 'refused', problem: `base_url: ${NOT_PUBLIC}` };
    }),
  );
}

/** A name that leads nowhere yet is judged when a connection is made, as every name is. */
async function leadsInside({ network, baseUrl }: Provider): Promise<boolean> {
  if (!network.publicOnly || network.proxy !== null) return false;
  const found = await lookup(withoutBrackets(new URL(baseUrl).hostname), { all: true }).catch(() => []);
  return found.some((address) => !isPublic(address));
}
