/** The log's own thread: searches, pruning, and writing the write-ahead log back, while the serving threads append. */
import { parentPort, workerData } from 'node:worker_threads';
import type { RequestQuery, Retention } from '../store.ts';
import { openRequestLogFile } from './file.ts';
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
  const database = openRequestLogFile(file);
  // Here somebody else's commit can be waited for, and the disk as well.
  database.exec('PRAGMA busy_timeout = 2000; PRAGMA synchronous = NORMAL');

  const perform = (task: ThreadTask): unknown => {
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
      database.close();
      port.close();
      return;
    }
    try {
      port.postMessage({ value: perform(task) } satisfies ThreadAnswer);
    } catch (error) {
      port.postMessage({ failed: error instanceof Error ? error.message : String(error) } satisfies ThreadAnswer);
    }
  });
}
