/**
 * Loaded into every process of a gateway under test: writes down which worker took which request, and ends a worker when a
 * request asks for it.
 */
import cluster from 'node:cluster';
import { subscribe } from 'node:diagnostics_channel';
import { appendFileSync } from 'node:fs';
import type { Socket } from 'node:net';

const file = process.env.WITNESS_FILE;

subscribe('net.server.socket', (message) => {
  const { socket } = message as { socket: Socket };
  socket.on('data', (chunk: Buffer) => {
    const url = /^[A-Z]+ (\S+) HTTP\/1\.1\r\n/.exec(chunk.toString('latin1'))?.[1];
    if (url !== undefined) onRequest(url);
  });
});

function onRequest(url: string): void {
  if (file !== undefined && cluster.isWorker) appendFileSync(file, `${process.pid}\n`);
  if (url === '/end/by-error') {
    setImmediate(() => {
      throw new Error('told to break');
    });
  }
  if (url === '/end/by-exit') process.exit(3);
  if (url === '/end/by-kill') process.kill(process.pid, 'SIGKILL');
}
