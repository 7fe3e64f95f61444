/**
 * Stands in front of a PostgreSQL as PgBouncer in transaction mode does, at its worst: no two transactions of a client in a row
 * run in the same session of the server, and prepared statements stay where they were made.
 */
import { once } from 'node:events';
import { type AddressInfo, createServer, connect as dial, type Socket } from 'node:net';

const SSL_REQUEST = 80_877_103;
/** What it announces as the process of every session. */
const ANNOUNCED = 4_242_424;
const QUERY = 'Q'.charCodeAt(0);
const SYNC = 'S'.charCodeAt(0);
const READY = 'Z'.charCodeAt(0);
const TERMINATE = 'X'.charCodeAt(0);
const IDLE = 'I'.charCodeAt(0);

export interface TransactionPooler extends AsyncDisposable {
  readonly port: number;
  /** How many transactions were given a session. */
  readonly transactions: number;
}

interface Session {
  readonly socket: Socket;
  /** User and database: clients of others do not get it. */
  readonly pool: string;
  /** Told of each message of the server; null while nobody has it. */
  taken: ((message: Buffer) => void) | null;
  /** Whose it is; ends with it. */
  client: Socket | null;
}

/** With so many sessions for each user and database. */
export async function startTransactionPooler(serverPort: number, size = 4): Promise<TransactionPooler> {
  const sockets = new Set<Socket>();
  const sessions: Session[] = [];
  const waiting: (() => void)[] = [];
  /** The pools of the clients that are there. */
  const pools: string[] = [];
  let transactions = 0;
  const keep = (socket: Socket): void => {
    sockets.add(socket);
    // Messages are passed on one by one: none waits for the acknowledgement of the one before.
    socket.setNoDelay(true);
    socket.on('error', () => {}).on('close', () => sockets.delete(socket));
  };

  async function newSession(startup: Buffer): Promise<Session> {
    const socket = dial(serverPort, '127.0.0.1');
    keep(socket);
    const session: Session = { socket, pool: poolOf(startup), taken: null, client: null };
    await new Promise<void>((resolve, reject) => {
      socket.once('close', () => reject(new Error('the server ended the session')));
      session.taken = (message) => {
        if (message[0] === READY) resolve();
      };
      socket.on(
        'data',
        messagesOf((message) => session.taken?.(message)),
      );
      socket.write(startup);
    });
    session.taken = null;
    socket.once('close', () => {
      sessions.splice(sessions.indexOf(session), 1);
      session.client?.destroy();
      for (const wake of waiting.splice(0)) wake();
    });
    return session;
  }

  /** One that nobody has, and not the client's last one. */
  async function take(last: Session | null, startup: Buffer): Promise<Session> {
    for (;;) {
      const own = sessions.filter(({ pool }) => pool === poolOf(startup));
      const free = own.find((session) => session.taken === null && session !== last);
      if (free !== undefined) {
        free.taken = () => {};
        return free;
      }
      if (own.length < size) sessions.push(await newSession(startup));
      else await new Promise<void>((resolve) => waiting.push(resolve));
    }
  }

  function serve(client: Socket, startup: Buffer): (message: Buffer) => Promise<void> {
    let session: Session | null = null;
    let last: Session | null = null;
    let owed = 0;
    const pool = poolOf(startup);
    pools.push(pool);
    client.on('close', () => {
      pools.splice(pools.indexOf(pool), 1);
      // What it has begun is undone, as the server does with a session that ends.
      session?.socket.destroy();
      if (pools.includes(pool)) return;
      for (const { socket, pool: own } of sessions) if (own === pool) socket.destroy();
    });
    const answered = (message: Buffer): void => {
      client.write(message);
      if (message[0] !== READY) return;
      owed -= 1;
      if (owed > 0 || message[5] !== IDLE || session === null) return;
      last = session;
      session.taken = null;
      session.client = null;
      session = null;
      for (const wake of waiting.splice(0)) wake();
    };
    return async (message) => {
      if (message[0] === TERMINATE) return;
      if (message[0] === QUERY || message[0] === SYNC) owed += 1;
      if (session === null) {
        session = await take(last, startup);
        session.taken = answered;
        session.client = client;
        transactions += 1;
      }
      session.socket.write(message);
    };
  }

  const server = createServer((client) => {
    keep(client);
    let head = Buffer.alloc(0);
    const begin = (chunk: Buffer): void => {
      head = Buffer.concat([head, chunk]);
      if (head.length < 8 || head.length < head.readInt32BE(0)) return;
      if (head.readInt32BE(4) === SSL_REQUEST) {
        head = head.subarray(8);
        client.write('N');
        return;
      }
      client.off('data', begin);
      const pass = serve(client, head);
      let order: Promise<void> = Promise.resolve();
      client.on(
        'data',
        messagesOf((message) => {
          order = order.then(() => pass(message)).catch(() => void client.destroy());
        }),
      );
      client.write(Buffer.concat([frame('R', int32(0)), frame('K', int32(ANNOUNCED), int32(1)), frame('Z', 'I')]));
    };
    client.on('data', begin);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    get transactions() {
      return transactions;
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

/** Of `name value name value`, each ended by a zero, behind the length and the version. */
function poolOf(startup: Buffer): string {
  const parts = startup.subarray(8).toString('utf8').split('\0');
  return ['user', 'database'].map((name) => parts[parts.indexOf(name) + 1]).join('\0');
}

/** Takes pieces of a stream, gives whole messages. */
function messagesOf(take: (message: Buffer) => void): (chunk: Buffer) => void {
  let rest = Buffer.alloc(0);
  return (chunk) => {
    rest = Buffer.concat([rest, chunk]);
    while (rest.length >= 5 && rest.length > rest.readInt32BE(1)) {
      const end = 1 + rest.readInt32BE(1);
      take(Buffer.from(rest.subarray(0, end)));
      rest = rest.subarray(end);
    }
  };
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}

function frame(type: string, ...parts: readonly (Buffer | string)[]): Buffer {
  const body = Buffer.concat(parts.map((part) => Buffer.from(part as Buffer)));
  return Buffer.concat([Buffer.from(type), int32(body.length + 4), body]);
}
