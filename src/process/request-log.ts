/** The request log of a process: where its threads append, who reads it, and who keeps it within its bounds. */
import { stat } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import type { Settings } from '../config/config.ts';
import type { Log } from '../core/log.ts';
import type { RequestLogPolicy } from '../core/policy.ts';
import { SqliteAppender } from '../observe/request-log/sqlite/appender.ts';
import { RequestLogFile, requestLogFile } from '../observe/request-log/sqlite/file.ts';
import { openFileReader } from '../observe/request-log/sqlite/file-reader.ts';
import { SqliteRequestReader } from '../observe/request-log/sqlite/reader.ts';
import type { RequestLogAppender, RequestLogReader } from '../observe/request-log/store.ts';

const PRUNE_MS = 10 * 60_000;
/** A file is also pruned when much was written to it; a database does not tell. */
const PRUNE_DATABASE_MS = 60_000;
const LOOK_MS = 10_000;
/** What the write-ahead log may have before it is written back between two times of pruning. */
const WAL_BYTES_MAX = 8 * 1024 ** 2;
/** Between two steps, so that appending comes first. */
const PAUSE_MS = 20;

/** For one serving thread. Nothing is opened before there is something to write. */
export async function openRequestLogAppender(settings: Settings, log: Log): Promise<RequestLogAppender> {
  const { databaseUrl, dataDir } = settings;
  if (databaseUrl !== null) {
    const { PostgresAppender } = await import('../observe/request-log/postgres/appender.ts');
    return new PostgresAppender(databaseUrl);
  }
  return new SqliteAppender(requestLogFile(dataDir), (file) =>
    log.error({ file }, 'the request log was damaged: it was moved aside and a new one was started'),
  );
}

/** For a command, while a gateway runs or not. Nothing is opened before it is first asked. */
export async function openRequestLogReader(settings: Settings): Promise<RequestLogReader> {
  return settings.databaseUrl === null
    ? openFileReader(new RequestLogFile(requestLogFile(settings.dataDir)))
    : gatewayReader(settings);
}

/** For a gateway: beside the threads that serve. Nothing is opened before it is first asked. */
async function gatewayReader(settings: Settings): Promise<RequestLogReader> {
  if (settings.databaseUrl === null) return new SqliteRequestReader(requestLogFile(settings.dataDir));
  const { PostgresRequestReader } = await import('../observe/request-log/postgres/reader.ts');
  return new PostgresRequestReader(settings.databaseUrl);
}

/** A reader that is opened when it is first used. */
export class LateRequestLogReader {
  readonly #settings: Settings;
  #opened: Promise<RequestLogReader> | null = null;

  constructor(settings: Settings) {
    this.#settings = settings;
  }

  get(): Promise<RequestLogReader> {
    this.#opened ??= gatewayReader(this.#settings);
    return this.#opened;
  }

  async close(): Promise<void> {
    await (await this.#opened)?.close();
  }
}

export interface RequestLogKeeper {
  readonly reader: RequestLogReader;
  close(): Promise<void>;
}

/** One per process: reads for the operator, and prunes. */
export async function keepRequestLog(
  settings: Settings,
  log: Log,
  policy: () => RequestLogPolicy,
): Promise<RequestLogKeeper> {
  const { databaseUrl, dataDir } = settings;
  const file = databaseUrl === null ? requestLogFile(dataDir) : null;
  const reader = await gatewayReader(settings);
  const stopped = new AbortController();
  const pruned = prune(reader, file, policy, log, stopped.signal);
  return {
    reader,
    close: async () => {
      stopped.abort();
      await pruned;
      await reader.close();
    },
  };
}

/** Until it is stopped; never rejects. */
async function prune(
  reader: RequestLogReader,
  file: string | null,
  policy: () => RequestLogPolicy,
  log: Log,
  signal: AbortSignal,
): Promise<void> {
  let dueAt = performance.now() + LOOK_MS;
  while (await paused(LOOK_MS, signal)) {
    try {
      const large = file !== null && (await sizeOf(`${file}-wal`)) > WAL_BYTES_MAX;
      // A log that was never written is not made here either.
      const due = performance.now() >= dueAt && (file === null || (await sizeOf(file)) > 0);
      if (!large && !due) continue;
      dueAt = performance.now() + (file === null ? PRUNE_DATABASE_MS : PRUNE_MS);
      while (!signal.aborted && (await reader.prune(policy(), Date.now()))) await paused(PAUSE_MS, signal);
    } catch (err) {
      log.warn({ err }, 'the request log could not be pruned; this is tried again');
    }
  }
}

async function sizeOf(file: string): Promise<number> {
  const found = await stat(file).catch(() => null);
  return found?.size ?? 0;
}

/** False when it was stopped. */
async function paused(ms: number, signal: AbortSignal): Promise<boolean> {
  await delay(ms, undefined, { signal, ref: false }).catch(() => {});
  return !signal.aborted;
}
