/** The reader of the file: through a thread of its own in a gateway, at once in a command. */

import { once } from 'node:events';
import type { DatabaseSync } from 'node:sqlite';
import { Worker } from 'node:worker_threads';
import { workerFile } from '../../../lib/worker-file.ts';
import type { RequestEntry } from '../entry.ts';
import type { CapturedContent, RequestLogReader, RequestPage, RequestQuery, RequestTail, Retention } from '../store.ts';
import { RequestLogFile } from './file.ts';
import { findCaptured, findRequest, listRequests, pruneRequests, tailRequests, usedBytes } from './queries.ts';
import type { ThreadAnswer, ThreadTask } from './thread.ts';

/** The thread starts when it is first asked, and never keeps the process alive. */
export class SqliteRequestReader implements RequestLogReader {
  readonly #file: string;
  #worker: Worker | null = null;
  #waiting: PromiseWithResolvers<unknown>[] = [];

  constructor(file: string) {
    this.#file = file;
  }

  async find(id: string): Promise<RequestEntry | null> {
    return (await this.#ask({ op: 'find', id })) as RequestEntry | null;
  }

  async captured(id: string): Promise<CapturedContent | null> {
    return (await this.#ask({ op: 'captured', id })) as CapturedContent | null;
  }

  async list(query: RequestQuery): Promise<RequestPage> {
    return (await this.#ask({ op: 'list', query })) as RequestPage;
  }

  async tail(position: string | null, newest?: number): Promise<RequestTail> {
    return (await this.#ask({ op: 'tail', position, newest })) as RequestTail;
  }

  async prune(retention: Retention, nowMs: number): Promise<boolean> {
    return (await this.#ask({ op: 'prune', retention, nowMs })) as boolean;
  }

  async bytes(): Promise<number> {
    return (await this.#ask({ op: 'bytes' })) as number;
  }

  async close(): Promise<void> {
    const worker = this.#worker;
    if (worker === null) return;
    const exited = once(worker, 'exit').catch(() => {});
    worker.ref();
    worker.postMessage(null);
    await exited;
  }

  #ask(task: ThreadTask): Promise<unknown> {
    this.#worker ??= this.#start();
    const asked = Promise.withResolvers<unknown>();
    this.#waiting.push(asked);
    this.#worker.ref();
    this.#worker.postMessage(task);
    return asked.promise;
  }

  #start(): Worker {
    const worker = new Worker(workerFile('thread', import.meta.url), { workerData: { file: this.#file } });
    worker.on('message', (answer: ThreadAnswer) => {
      const asked = this.#waiting.shift();
      if (this.#waiting.length === 0) worker.unref();
      if ('failed' in answer) asked?.reject(new Error(answer.failed));
      else asked?.resolve(answer.value);
    });
    let reason = '';
    worker.on('error', (error: Error) => {
      reason = `: ${error.message}`;
    });
    worker.on('exit', () => {
      if (this.#worker === worker) this.#worker = null;
      const waiting = this.#waiting;
      this.#waiting = [];
      for (const asked of waiting) asked.reject(new Error(`the thread of the request log has stopped${reason}`));
    });
    return worker;
  }
}

/**
 * For a command: the file is read where it is, also while a gateway appends to it. Nothing is opened before it is asked, and
 * where there is no file yet, the next call looks again.
 */
export function openFileReader(file: string): RequestLogReader {
  const log = new RequestLogFile(file);
  return {
    find: async (id) => inFile(log, (database) => findRequest(database, id), null),
    captured: async (id) => inFile(log, (database) => findCaptured(database, id, Date.now()), null),
    list: async (query) => inFile(log, (database) => listRequests(database, query), NO_PAGE),
    tail: async (position, newest) =>
      inFile(log, (database) => tailRequests(database, position, newest), { entries: [], position: position ?? '0' }),
    prune: async (retention, nowMs) => inFile(log, (database) => pruneRequests(database, retention, nowMs), false),
    bytes: async () => inFile(log, usedBytes, 0),
    close: async () => log.close(),
  };
}

const NO_PAGE: RequestPage = { entries: [], next: null };

function inFile<T>(log: RequestLogFile, read: (database: DatabaseSync) => T, none: T): T {
  const database = log.existing();
  return database === null ? none : read(database);
}
