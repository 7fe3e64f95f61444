/** The log's own thread: searches, pruning, and writing the write-ahead log back, while the serving threads append. */
import { parentPort, workerData } from 'node:worker_threads';
import type { RequestLogReader } from '../store.ts';
import { RequestLogFile } from './file.ts';
import { openFileReader } from './file-reader.ts';

export type ThreadTask = { readonly op: Exclude<keyof RequestLogReader, 'close'>; readonly given: readonly unknown[] };
export type ThreadAnswer = { readonly value: unknown } | { readonly failed: string };

if (parentPort !== null) {
  const port = parentPort;
  const { file } = workerData as { readonly file: string };
  // Here somebody else's commit can be waited for, and the disk as well.
  const log = new RequestLogFile(file, 'PRAGMA busy_timeout = 2000; PRAGMA synchronous = NORMAL');
  const reader = openFileReader(log);

  port.on('message', async (task: ThreadTask | null) => {
    if (task === null) {
      await reader.close();
      port.close();
      return;
    }
    const { op, given } = task;
    try {
      port.postMessage({ value: await Reflect.apply(reader[op], reader, given) } satisfies ThreadAnswer);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      // A search leaves the file where it is: most of it may still be found. What cannot be pruned would grow for ever.
      const moved = op === 'prune' ? log.putAside(error) : null;
      const told = moved === null ? reason : `${reason}; the file was moved to ${moved}, and a new one is begun`;
      port.postMessage({ failed: told } satisfies ThreadAnswer);
    }
  });
}
