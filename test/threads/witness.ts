/**
 * Loaded into every thread of a gateway under test: writes down which HTTP thread took which request, and ends a thread
 * when a request asks for it.
 */

import { subscribe } from 'node:diagnostics_channel';
import { appendFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { isMainThread, threadId, workerData } from 'node:worker_threads';

const file = process.env.WITNESS_FILE;
const toWriter = new BroadcastChannel('end-the-writer');

subscribe('http.server.request.start', (message) => {
  const { url } = (message as { request: IncomingMessage }).request;
  if (file !== undefined && !isMainThread) appendFileSync(file, `${threadId}\n`);
  if (url === '/end/by-error') {
    setImmediate(() => {
      throw new Error('told to break');
    });
  }
  if (url === '/end/by-exit') process.exit(3);
  if (url === '/end/writer') toWriter.postMessage('now');
});

const isWriter = !isMainThread && typeof (workerData as { file?: unknown } | null)?.file === 'string';
if (isWriter) {
  toWriter.onmessage = () => {
    throw new Error('the writer was told to break');
  };
}
toWriter.unref();
