/** The log's own thread: searches, pruning, and writing the write-ahead log back, while the serving threads append. */
import { parentPort, workerData } from 'node:worker_threads';
import type { RequestQuery, Retention } from '../store.ts';
import { RequestLogFile } from './file.ts';
import { findCaptured, findRequest, listRequests, pruneRequests, tailRequests, usedBytes } from './queries.ts';

export type ThreadTask =
  | { readonly op: 'find'; readonly id: string }
  | { readonly op: 'captured'; readonly id: string }
  | { readonly op: 'list'; readonly query: RequestQuery }
  | { readonly op: 'tail'; readonly position: string | null; readonly newest?: number | undefined }
  | { readonly op: 'prune'; readonly retention: Retention; readonly nowMs: number }
  | { readonly op: 'bytes' };

export type ThreadAnswer = { readonly value: unknown } | { readonly failed: string };

if (parentPort !== null) {
  const port = parentPort;
  const { file } = workerData as { readonly file: string };
  // Here somebody else's commit can be waited for, and the disk as well.
  const log = new RequestLogFile(file, 'PRAGMA busy_timeout = 2000; PRAGMA synchronous = NORMAL');

  const perform = (task: ThreadTask): unknown => {
    const database = log.opened();
    switch (task.op) {
      case 'find':
        return findRequest(database, task.id);
      case 'captured':
        return findCaptured(database, task.id, Date.now());
      case 'list':
        return listRequests(database, task.query);
      case 'tail':
        return tailRequests(database, task.position, task.newest);
      case 'bytes':
        return usedBytes(database);
      case 'prune': {
        const more = pruneRequests(database, task.retention, task.nowMs);
        if (!more) database.exec('PRAGMA wal_checkpoint(PASSIVE)');
        return more;
      }
    }
  };

  port.on('message', (task: ThreadTask | null) => {
    if (task === null) {
      log.close();
      port.close();
      return;
    }
    try {
      port.postMessage({ value: perform(task) } satisfies ThreadAnswer);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      // A search leaves the file where it is: most of it may still be found. What cannot be pruned would grow for ever.
      const moved = task.op === 'prune' ? log.putAside(error) : null;
      const told = moved === null ? reason : `${reason}; the file was moved to ${moved}, and a new one is begun`;
      port.postMessage({ failed: told } satisfies ThreadAnswer);
    }
  });
}
