/** Reads the file on the thread that asks, also while a gateway appends to it. */
import type { DatabaseSync } from 'node:sqlite';
import { changeFailures, readFailures } from '../../failures/sqlite.ts';
import { NO_FAILURES } from '../../failures/store.ts';
import type { RequestLogReader } from '../store.ts';
import { failuresBeside, type RequestLogFile } from './file.ts';
import {
  findCaptured,
  findRequest,
  forgetRequests,
  listRequests,
  pruneRequests,
  tailRequests,
  usedBytes,
} from './queries.ts';

/** Nothing is opened before it is asked, and where there is no file yet, the next call looks again. */
export function openFileReader(log: RequestLogFile): RequestLogReader {
  const failures = failuresBeside(log.file);
  const inFile = <T>(read: (database: DatabaseSync) => T, none: T, file = log): T => {
    const database = file.existing();
    return database === null ? none : read(database);
  };
  return {
    find: async (id) => inFile((database) => findRequest(database, id), null),
    captured: async (id) => inFile((database) => findCaptured(database, id, Date.now()), null),
    list: async (query) =>
      inFile((database) => listRequests(database, query), Promise.resolve({ entries: [], next: null })),
    tail: async (position, newest) =>
      inFile((database) => tailRequests(database, position, newest), { entries: [], position: position ?? '0' }),
    forget: async (keyIds, after) =>
      inFile((database) => forgetRequests(database, keyIds, after), { removed: 0, next: null }),
    prune: async (retention, nowMs) => inFile((database) => pruneRequests(database, retention, nowMs), false),
    bytes: async () => inFile(usedBytes, 0),
    failures: async (query) =>
      inFile((database) => readFailures(database, query), Promise.resolve(NO_FAILURES), failures),
    changeFailures: async (keyIds, change) =>
      inFile((database) => changeFailures(database, keyIds, change), undefined, failures),
    close: async () => {
      log.close();
      failures.close();
    },
  };
}
