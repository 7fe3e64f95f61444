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

/** What a process appends to, and reads beside that. */
export interface OpenRequestLog {
  readonly appender: RequestLogAppender;
  readonly reader: RequestLogReader;
  close(): Promise<void>;
}

/** For a process that serves. Nothing is opened before there is something to write, or somebody asks. */
export async function openRequestLog(settings: Settings, log: Log): Promise<OpenRequestLog> {
  const appender = await openAppender(settings, log);
  const reader = await gatewayReader(settings);
  return {
    appender,
    reader,
    close: async () => {
      await appender.close();
      await reader.close();
    },
  };
}

async function openAppender({ databaseUrl, dataDir }: Settings, log: Log): Promise<RequestLogAppender> {
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

async function gatewayReader({ databaseUrl, dataDir }: Settings): Promise<RequestLogReader> {
  if (databaseUrl === null) return new SqliteRequestReader(requestLogFile(dataDir));
  const { PostgresRequestReader } = await import('../observe/request-log/postgres/reader.ts');
  return new PostgresRequestReader(databaseUrl);
}

/** One per gateway, until it is closed: keeps the log within its bounds. */
export function keepRequestLog(
  { databaseUrl, dataDir }: Settings,
  reader: RequestLogReader,
  log: Log,
  policy: () => RequestLogPolicy,
): { close(): Promise<void> } {
  const file = databaseUrl === null ? requestLogFile(dataDir) : null;
  const stopped = new AbortController();
  const pruned = prune(reader, file, policy, log, stopped.signal);
  return {
    close: () => {
      stopped.abort();
      return pruned;
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
