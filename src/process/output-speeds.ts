/** Keeps what is known of the targets' speeds in the store, for the next start and for every gateway on it. */
import type { Log } from '../core/log.ts';
import type { Documents } from '../ledger/port.ts';
import { isObject, type Json, numberAt, parseJson } from '../lib/json.ts';
import type { OutputSpeeds, StoredSpeeds } from '../routing/output-speeds.ts';

const DOCUMENT = 'output-speeds';
const SAVE_INTERVAL_MS = 60_000;

interface KeptSpeeds {
  /** Saves what has been learned since the last time. */
  stop(): Promise<void>;
}

/** What cannot be read or saved is left to the next time: without it, holds are larger for a while. */
export async function keepOutputSpeeds(speeds: OutputSpeeds, documents: Documents, log: Log): Promise<KeptSpeeds> {
  const merge = async (): Promise<void> => {
    const stored = await documents.getDocument(DOCUMENT);
    if (stored !== null) speeds.merge(readSpeeds(stored.value));
  };
  const save = async (): Promise<void> => {
    if (!speeds.takeChanged()) return;
    await merge();
    await documents.putDocument(DOCUMENT, JSON.stringify(speeds.toStored()));
  };
  const attempt = (step: () => Promise<void>): Promise<void> =>
    step().catch((err: unknown) => log.warn({ err }, 'the speeds of the targets were not kept in the store'));
  await attempt(merge);
  const timer = setInterval(() => void attempt(save), SAVE_INTERVAL_MS).unref();
  return {
    stop: () => {
      clearInterval(timer);
      return attempt(save);
    },
  };
}

function readSpeeds(text: string): Record<string, StoredSpeeds> {
  const stored = parseJson(text);
  const read: Record<string, StoredSpeeds> = {};
  if (!isObject(stored)) return read;
  for (const [name, value] of Object.entries(stored)) {
    if (!isObject(value)) continue;
    read[name] = { count: numberAt(value, 'count') ?? 0, total: numbers(value.total), hidden: numbers(value.hidden) };
  }
  return read;
}

function numbers(value: Json | undefined): readonly number[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === 'number') : [];
}
