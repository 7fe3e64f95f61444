/** Asks providers for their model lists, and keeps the answers in the store for every gateway on it. */
import type { Config, Settings } from '../config/config.ts';
import { loadConfig } from '../config/load.ts';
import { type ListedModels, readModelList } from '../config/model-list.ts';
import {
  decodeModelLists,
  encodeModelLists,
  listAddress,
  listKey,
  listRequestOf,
  MODEL_LISTS_DOCUMENT,
  type ModelList,
  type ModelLists,
  mergeModelLists,
  NO_LISTS,
} from '../config/model-lists.ts';
import type { Environment } from '../config/settings.ts';
import { NO_DEFINITIONS, type StoredDefinitions } from '../core/definition.ts';
import type { Log } from '../core/log.ts';
import type { Provider } from '../core/provider.ts';
import { HOUR_MS } from '../core/time.ts';
import type { Documents } from '../ledger/port.ts';
import { modelListOf } from '../provider/adapters.ts';
import { fetchModelList } from '../provider/fetch-model-list.ts';

/** For one provider, from the request to the last byte of its list. */
const ASK_TIMEOUT_MS = 10_000;
/** How long a list is new enough for another gateway that starts on the same store. */
export const FRESH_MS = HOUR_MS;
/** How often a gateway looks whether another one has stored newer lists. */
const LOOK_INTERVAL_MS = 10_000;

export interface RefreshOptions {
  readonly settings: Settings;
  readonly env: Environment;
  readonly documents: Documents;
  /** What operators have defined by API; nothing without it. */
  definitions?(): Promise<StoredDefinitions>;
  /** Lists that are younger are not asked for again. */
  readonly freshMs: number;
  readonly nowMs?: () => number;
  readonly timeoutMs?: number;
  /** Gives up what is under way. */
  readonly signal?: AbortSignal;
}

/** What came of asking each provider. */
export interface RefreshReport {
  readonly asked: readonly { readonly provider: string; readonly models: number }[];
  readonly failed: readonly { readonly provider: string; readonly reason: string }[];
}

/**
 * Asks every provider whose list would be used, and stores the answers. A list that is slow, too large or broken is part of
 * the report; what was known of that provider stays.
 */
export async function refreshModelLists(options: RefreshOptions): Promise<RefreshReport> {
  const { settings, env, documents, freshMs, nowMs = Date.now } = options;
  const known = decodeModelLists((await documents.getDocument(MODEL_LISTS_DOCUMENT))?.value ?? null);
  const stored = (await options.definitions?.()) ?? NO_DEFINITIONS;
  const config = await loadConfig({ settings, env, sandboxUrl: null, lists: known, stored });
  const isFresh = (provider: Provider): boolean => {
    const askedAtMs = known.get(listKey(provider))?.askedAtMs;
    // A list from the future was asked for by a clock that was ahead.
    return askedAtMs !== undefined && nowMs() >= askedAtMs && nowMs() - askedAtMs < freshMs;
  };
  const due = providersToAsk(config).filter((provider) => !isFresh(provider));
  if (due.length === 0) return { asked: [], failed: [] };
  const answers = await askAll(due, options, nowMs);
  const lists = new Map<string, ModelList>();
  const asked: { provider: string; models: number }[] = [];
  const failed: { provider: string; reason: string }[] = [];
  for (const { provider, answer } of answers) {
    if ('kind' in answer) failed.push({ provider: provider.name, reason: answer.reason });
    else {
      lists.set(listKey(provider), { askedAtMs: nowMs(), models: answer });
      asked.push({ provider: provider.name, models: answer.size });
    }
  }
  if (lists.size > 0) {
    // Another gateway may have stored lists meanwhile.
    const stored = decodeModelLists((await documents.getDocument(MODEL_LISTS_DOCUMENT))?.value ?? null);
    await documents.putDocument(MODEL_LISTS_DOCUMENT, encodeModelLists(mergeModelLists(stored, lists)));
  }
  return { asked, failed };
}

/** Those that serve a model whose figures the file leaves open. Deployments of Azure and packages have no such list. */
function providersToAsk({ catalog, modelLists }: Config): Provider[] {
  if (!modelLists) return [];
  const open = new Set<string>();
  for (const { sources, targets } of catalog.models.values()) {
    if (Object.values(sources).every(({ kind }) => kind === 'configured')) continue;
    for (const { provider } of targets) open.add(provider);
  }
  return [...catalog.providers.values()].filter(
    (provider) => open.has(provider.name) && modelListOf(provider, null)?.listsTargets === true,
  );
}

/** `unreachable`: nobody answered. `refused`: the credential is not accepted. `unusable`: an answer without a list. */
interface NoList {
  readonly kind: 'unreachable' | 'refused' | 'unusable';
  readonly reason: string;
}

interface Answer {
  readonly provider: Provider;
  readonly answer: ListedModels | NoList;
}

/** One call to each that costs nothing, and tries its address and its credential. */
export async function askAll(
  providers: readonly Provider[],
  { timeoutMs = ASK_TIMEOUT_MS, signal }: Pick<RefreshOptions, 'timeoutMs' | 'signal'> = {},
  nowMs: () => number = Date.now,
): Promise<Answer[]> {
  const { Dispatchers } = await import('../provider/dispatchers.ts');
  const dispatchers = new Dispatchers();
  const giveUp = (): void => void dispatchers.close();
  signal?.addEventListener('abort', giveUp);
  const unusable = (reason: string): NoList => ({ kind: 'unusable', reason });
  const ask = async (provider: Provider): Promise<ListedModels | NoList> => {
    const apiKey = provider.apiKeys[0] ?? null;
    const usual = modelListOf(provider, apiKey);
    if (usual === null) return unusable('it has no model list');
    if (signal?.aborted) return unusable('the gateway closes');
    const request = listRequestOf(provider);
    const { network, timeouts } = provider;
    const dispatcher = dispatchers.of(network, Math.min(timeoutMs, timeouts.connectMs));
    const answer = await fetchModelList(listAddress(usual.destination, request, apiKey), dispatcher, timeoutMs, nowMs);
    if (answer.kind === 'unreachable') return { kind: 'unreachable', reason: answer.reason };
    const { status } = answer;
    const reason = `it answered with status ${status}`;
    if (status === 401 || status === 403) return { kind: 'refused', reason };
    if (status !== 200) return unusable(reason);
    return readModelList(answer.body, request.prices) ?? unusable('its answer is not a list of models, or too long');
  };
  try {
    return await Promise.all(providers.map(async (provider) => ({ provider, answer: await ask(provider) })));
  } finally {
    signal?.removeEventListener('abort', giveUp);
    await dispatchers.close();
  }
}

/** What the store has; nothing where it cannot be read, because limits are known from elsewhere too. */
export async function storedModelLists(documents: Documents, log: Log): Promise<ModelLists> {
  try {
    return decodeModelLists((await documents.getDocument(MODEL_LISTS_DOCUMENT))?.value ?? null);
  } catch (err) {
    log.warn({ err }, 'the model lists of providers could not be read from the store; published limits are used');
    return NO_LISTS;
  }
}

/** Refreshes the lists and logs what came of it; never rejects. Whether there are newer ones now. */
export async function refreshInBackground(options: RefreshOptions, log: Log): Promise<boolean> {
  try {
    const { asked, failed } = await refreshModelLists(options);
    if (options.signal?.aborted) return false;
    for (const { provider, reason } of failed) {
      log.warn({ provider, reason }, 'a provider did not give its model list; the last one stays in use');
    }
    if (asked.length > 0) log.info({ asked }, 'providers gave their model lists');
    return asked.length > 0;
  } catch (err) {
    log.warn({ err }, 'the model lists of providers could not be stored; the last ones stay in use');
    return false;
  }
}

export interface ModelListKeeper {
  /** Asks for what is not fresh: what a changed configuration has added, for example. Never rejects. */
  ask(): void;
  /** Gives up what is under way. */
  close(): Promise<void>;
}

/** Calls `onNewer` after lists have come in. At most one round is under way; calls during it lead to one more. */
export function keepModelLists(
  options: Omit<RefreshOptions, 'signal'>,
  log: Log,
  onNewer: () => Promise<void>,
): ModelListKeeper {
  const closing = new AbortController();
  let round: Promise<void> | null = null;
  let again = false;
  const run = async (): Promise<void> => {
    do {
      again = false;
      if (await refreshInBackground({ ...options, signal: closing.signal }, log)) await onNewer();
    } while (again && !closing.signal.aborted);
    round = null;
  };
  return {
    ask: () => {
      if (closing.signal.aborted) return;
      if (round === null) round = run();
      else again = true;
    },
    close: async () => {
      closing.abort();
      await round;
    },
  };
}

/** Tells when another gateway, or a command, has stored newer lists. */
export function watchModelLists(
  documents: Documents,
  onChange: () => Promise<void>,
  intervalMs = LOOK_INTERVAL_MS,
): { look(): Promise<void>; stop(): void } {
  let stopped = false;
  let seen: string | null | undefined;
  let timer: NodeJS.Timeout | undefined;
  const look = async (): Promise<void> => {
    let value: string | null;
    try {
      value = (await documents.getDocument(MODEL_LISTS_DOCUMENT))?.value ?? null;
    } catch {
      // The next look finds out.
      return;
    }
    const changed = seen !== undefined && value !== seen;
    seen = value;
    if (changed && !stopped) await onChange();
  };
  const again = async (): Promise<void> => {
    await look();
    if (!stopped) timer = setTimeout(again, intervalMs).unref();
  };
  timer = setTimeout(again, intervalMs).unref();
  return {
    look,
    stop: () => {
      stopped = true;
      clearTimeout(timer);
    },
  };
}
