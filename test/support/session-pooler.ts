/**
 * Stands in front of a PostgreSQL as PgBouncer in session mode does: it reads how each session begins, and ends one whose
 * startup has parameters that it does not know. Everything else passes.
 */
import { once } from 'node:events';
import { type AddressInfo, createServer, connect as dial, type Socket } from 'node:net';

/** What PgBouncer takes without further settings. */
const KNOWN = new Set([
  'user',
  'database',
  'replication',
  'application_name',
  'client_encoding',
  'datestyle',
  'timezone',
  'standard_conforming_strings',
]);
const SSL_REQUEST = 80_877_103;

export interface SessionPooler extends AsyncDisposable {
  readonly port: number;
  /** Why sessions were refused. */
  readonly refused: readonly string[];
}

export async function startSessionPooler(serverPort: number): Promise<SessionPooler> {
  const refused: string[] = [];
  const sockets = new Set<Socket>();
  const keep = (socket: Socket): void => {
    sockets.add(socket);
    socket.on('error', () => {}).on('close', () => sockets.delete(socket));
  };
  const server = createServer((client) => {
    keep(client);
    let head = Buffer.alloc(0);
    const read = (chunk: Buffer): void => {
      head = Buffer.concat([head, chunk]);
      if (head.length < 8 || head.length < head.readInt32BE(0)) return;
      if (head.readInt32BE(4) === SSL_REQUEST) {
        head = head.subarray(8);
        client.write('N');
        return;
      }
      client.off('data', read);
      const unknown = unknownParameter(head.subarray(8, head.readInt32BE(0)).toString('utf8'));
      if (unknown !== null) {
        refused.push(unknown);
        client.end(fatal(`unsupported startup parameter: ${unknown}`));
        return;
      }
      const upstream = dial(serverPort, '127.0.0.1');
      keep(upstream);
      upstream.write(head);
      client.pipe(upstream).pipe(client);
    };
    client.on('data', read);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    refused,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

/** Of `name value name value`, each ended by a zero. */
function unknownParameter(text: string): string | null {
  const parts = text.split('\0');
  const names = parts.filter((name, index) => index % 2 === 0 && name !== '');
  return names.find((name) => !KNOWN.has(name.toLowerCase())) ?? null;
}

function fatal(message: string): Buffer {
  const fields = Buffer.from(`SFATAL\0VFATAL\0C08P01\0M${message}\0\0`);
  const length = Buffer.alloc(4);
  length.writeInt32BE(fields.length + 4);
  return Buffer.concat([Buffer.from('E'), length, fields]);
}
