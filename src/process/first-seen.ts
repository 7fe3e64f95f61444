/** When each model was first in the catalog: what `created` says of a model whose file gives no date. */
import type { Config } from '../config/config.ts';
import type { Log } from '../core/log.ts';
import { catalogAt } from '../core/provider.ts';
import type { Documents } from '../ledger/port.ts';
import { isObject, parseJson } from '../lib/json.ts';

export const FIRST_SEEN_DOCUMENT = 'models-first-seen';
/** Models that are gone are remembered up to this many, so that one that returns keeps its date. */
const REMEMBERED_MAX = 2_000;

/** Dates the models that have none, and stores what is new. A store that fails leaves them undated until the next load. */
export async function withFirstSeen(config: Config, documents: Documents, nowMs: number, log: Log): Promise<Config> {
  const undated = [...config.catalog.models.values()].filter(({ createdS }) => createdS === 0);
  if (undated.length === 0) return config;
  const models = new Map(config.catalog.models);
  try {
    const seen = decode((await documents.getDocument(FIRST_SEEN_DOCUMENT))?.value ?? '');
    const known = seen.size;
    for (const model of undated) {
      const createdS = seen.get(model.id) ?? Math.floor(nowMs / 1_000);
      seen.set(model.id, createdS);
      models.set(model.id, { ...model, createdS });
    }
    if (seen.size > known) await documents.putDocument(FIRST_SEEN_DOCUMENT, encode(seen, models));
  } catch (err) {
    log.warn({ err }, 'the store does not say when models were first seen; they stay undated');
  }
  return { ...config, catalog: catalogAt({ ...config.catalog, models }, nowMs) };
}

function decode(text: string): Map<string, number> {
  const value = parseJson(text);
  const seen = new Map<string, number>();
  for (const [id, createdS] of Object.entries(isObject(value) ? value : {})) {
    if (typeof createdS === 'number' && Number.isSafeInteger(createdS) && createdS > 0) seen.set(id, createdS);
  }
  return seen;
}

function encode(seen: ReadonlyMap<string, number>, models: ReadonlyMap<string, unknown>): string {
  const kept = [...seen].filter(([id]) => seen.size <= REMEMBERED_MAX || models.has(id));
  return JSON.stringify(Object.fromEntries(kept));
}
