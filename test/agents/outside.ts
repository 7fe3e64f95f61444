/** Stands for everything that is not on this machine: a proxy that lets nothing through and remembers who asked. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Outside extends AsyncDisposable {
  readonly proxy: string;
  /** The hosts that somebody wanted to reach. */
  readonly asked: readonly string[];
}

export async function closedOutside(): Promise<Outside> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url ?? '');
    response.writeHead(403).end();
  });
  server.on('connect', (request, socket) => {
    asked.push(request.url ?? '');
    // Who asked may be gone by then.
    socket.on('error', () => undefined);
    socket.end('HTTP/1.1 403 Forbidden\r\n\r\n');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    proxy: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}
