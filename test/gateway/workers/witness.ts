/**
 * Loaded into every thread of a gateway under test: writes down which worker took which request, and ends a thread
 * when a request asks for it.
 */

import { subscribe } from 'node:diagnostics_channel';
import { appendFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { isMainThread, threadId, workerData } from 'node:worker_threads';

const file = process.env.WITNESS_FILE;
const toWriter = new BroadcastChannel('end-the-writer');

subscribe('net.server.socket', (message) => {
  const { socket } = message as { socket: Socket };
  socket.on('data', (chunk: Buffer) => {
    const url = /^[A-Z]+ (\S+) HTTP\/1\.1\r\n/.exec(chunk.toString('latin1'))?.[1];
    if (url !== undefined) onRequest(url);
  });
});

function onRequest(url: string): void {
  if (file !== undefined && !isMainThread) appendFileSync(file, `${threadId}\n`);
  if (url === '/end/by-error') {
    setImmediate(() => {
      throw new Error('told to break');
    });
  }
  if (url === '/end/by-exit') process.exit(3);
  if (url === '/end/writer') toWriter.postMessage('now');
}

const isWriter = !isMainThread && typeof (workerData as { file?: unknown } | null)?.file === 'string';
if (isWriter) {
  toWriter.onmessage = () => {
    throw new Error('the writer was told to break');
  };
}
toWriter.unref();
