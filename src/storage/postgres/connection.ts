/**
 * One connection that comes back by itself: opened when it is needed, given up when it fails, opened again after a
 * pause that grows, to the next server where there are several. A query ends within its deadline, whatever the network does.
 */
import { Socket } from 'node:net';
import { Client, type QueryConfig } from 'pg';
import { databaseAddress } from '../../core/database-url.ts';
import type { Row } from '../columns.ts';
import { StoreError } from '../errors.ts';
import { leavesConnection } from './error-mapping.ts';
import { Flight, type Prepared } from './flight.ts';
import { onFirstServer, type Server } from './servers.ts';
import { beginSession, type Session } from './session.ts';

export type Query = (text: string, values?: readonly unknown[], name?: string) => Promise<readonly Row[]>;
/** As `Query`, for what nobody needs the answer of: it is waited for with the commit. */
export type Send = (text: string, values?: readonly unknown[], name?: string) => void;

export interface ConnectionOptions {
  readonly url: string;
  /** The server ends a statement after this long; this side gives up a little later. */
  readonly statementTimeoutMs: number;
  readonly lockTimeoutMs: number;
  /** What the server shows of it. */
  readonly name?: string;
  /** Rows are looked up by their keys alone: in the order of an index, whatever the statistics of a table say. */
  readonly looksUp?: boolean;
  /** It is closed when nobody has used it for so long; the next query opens another. Only where one query runs at a time. */
  readonly idleMs?: number;
}

interface Wire {
  /** The process that the other side announced; the types of the driver do not know it. */
  readonly client: Client & { readonly processID?: number | null };
  readonly socket: Socket;
  readonly prepared: Prepared;
}

interface Opened extends Wire {
  readonly session: Session;
}

/** What an answer may need on its way, beyond the server's own time-out; not more than that one. */
const ANSWER_MARGIN_MS = 3_000;
const PAUSE_MS_MIN = 50;
const PAUSE_MS_MAX = 2_000;

export class Connection {
  readonly #options: ConnectionOptions;
  #opening: Promise<Opened> | null = null;
  #opened: Opened | null = null;
  /** Of the connection that is made, or was made last. */
  #socket: Socket | null = null;
  /** Until then the connection is taken: by a transaction, or by a query that has not been sent. */
  #turn: Promise<unknown> = Promise.resolve();
  #failures = 0;
  #retryAtMs = 0;
  #idle: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(options: ConnectionOptions) {
    this.#options = options;
  }

  /** Makes the connection, in as long as the URL gives it. Queries make it as well, but wait no longer than for an answer. */
  async open(): Promise<void> {
    await this.#open();
  }

  /**
   * Fails with the driver's own error. A statement with a `name` is prepared once per connection, where that lasts. It goes after
   * the transaction that is running, and what comes later goes after it. Behind a pooler each is a transaction, for the sake of
   * its settings.
   */
  async query(text: string, values: readonly unknown[] = [], name?: string): Promise<readonly Row[]> {
    const sent = this.#turn.then(async () => {
      const opened = this.#opened ?? (await this.#openInTime());
      return opened.session.perTransaction === null ? { answer: this.#run(opened, text, values, name) } : null;
    });
    this.#turn = sent.catch(() => undefined);
    const alone = await sent;
    return alone === null ? this.transaction('', (query) => query(text, values, name)) : alone.answer;
  }

  /**
   * One at a time on this connection. Undone when `work` fails. BEGIN travels with the first queries of `work`, and COMMIT with
   * what it only sends. What has a name and is asked in one turn of the event loop is one flight. `limitMs`: for each answer;
   * null: however long it takes.
   */
  transaction<T>(
    mode: string,
    work: (query: Query, send: Send) => Promise<T>,
    limitMs: number | null = this.#limitMs,
  ): Promise<T> {
    const run = this.#turn.then(async () => {
      const opened = this.#opened ?? (await this.#openInTime());
      const { perTransaction, prepares } = opened.session;
      let flight: Flight | null = null;
      const depart = (): void => {
        if (flight !== null) opened.client.query(flight);
        flight = null;
      };
      const query: Query = (text, values = [], name) => {
        const preparedName = prepares ? name : undefined;
        if (preparedName === undefined) {
          depart();
          return this.#run(opened, text, values, undefined, limitMs);
        }
        if (flight === null) {
          flight = this.#flight(opened, limitMs);
          process.nextTick(depart);
        }
        return flight.ask(text, values, preparedName);
      };
      const sent: Promise<unknown>[] = [];
      const send: Send = (text, values, name) => {
        const answer = query(text, values, name);
        // Whoever waits for the commit hears of it.
        answer.catch(() => undefined);
        sent.push(answer);
      };
      if (perTransaction === null) send(`BEGIN ${mode}`, [], `begin ${mode}`);
      else send(`BEGIN ${mode}; ${perTransaction}`);
      try {
        const value = await work(query, send);
        send('COMMIT', [], 'commit');
        await Promise.all(sent);
        return value;
      } catch (error) {
        if (this.#opened === opened) await query('ROLLBACK');
        throw error;
      }
    });
    this.#turn = run.catch(() => undefined);
    return run;
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#turn;
    clearTimeout(this.#idle);
    const opened = this.#opened;
    this.#opened = null;
    if (opened === null) {
      // Nobody waits for it any longer.
      this.#socket?.destroy();
      await this.#opening?.catch(() => undefined);
      return;
    }
    await end(opened);
  }

  /** At once: what is under way fails, and whatever the server still has to say is never read. */
  destroy(): void {
    this.#closed = true;
    this.#socket?.destroy();
  }

  /** The server's own limit, and what the answer may need on its way. */
  get #limitMs(): number {
    const { statementTimeoutMs } = this.#options;
    return statementTimeoutMs + Math.min(statementTimeoutMs, ANSWER_MARGIN_MS);
  }

  async #run(
    wire: Wire,
    text: string,
    values: readonly unknown[],
    name: string | undefined,
    limitMs: number | null = this.#limitMs,
  ): Promise<readonly Row[]> {
    const watch = this.#watch(wire, limitMs);
    // What is asked in one turn of the event loop travels together.
    wire.socket.cork();
    process.nextTick(() => wire.socket.uncork());
    try {
      const config: QueryConfig = { text, values: [...values] };
      if (name !== undefined) config.name = name;
      const { rows } = await wire.client.query<Row>(config);
      return rows;
    } catch (error) {
      throw watch.explain(error);
    } finally {
      watch.end();
    }
  }

  #flight(wire: Wire, limitMs: number | null): Flight {
    const watch = this.#watch(wire, limitMs);
    return new Flight(wire.prepared, watch.explain, watch.end);
  }

  /** Until `end` the other side has to answer in time, or it is given up. `explain`: what a failure is called, and its end of the connection. */
  #watch(wire: Wire, limitMs: number | null): { explain: (error: unknown) => unknown; end: () => void } {
    let late = false;
    const giveUp = (): void => {
      late = true;
      wire.socket.destroy();
    };
    const timer = limitMs === null ? undefined : setTimeout(giveUp, limitMs);
    clearTimeout(this.#idle);
    return {
      explain: (error) => {
        if (late || !leavesConnection(error)) this.#giveUp(wire);
        return late ? new StoreError(`the database gave no answer within ${limitMs} ms`, { cause: error }) : error;
      },
      end: () => {
        clearTimeout(timer);
        const { idleMs } = this.#options;
        if (idleMs !== undefined) this.#idle = setTimeout(() => this.#leave(wire), idleMs).unref();
      },
    };
  }

  #leave(wire: Wire): void {
    if (this.#opened?.client !== wire.client) return;
    this.#opened = null;
    void end(wire);
  }

  /** Whoever waits for it longer than for an answer gives up; it goes on being made, for those who come later. */
  #openInTime(): Promise<Opened> {
    const limitMs = this.#limitMs;
    return new Promise((resolve, reject) => {
      const giveUp = (): void => reject(new StoreError(`no connection to the database within ${limitMs} ms`));
      // One that was made while the process was held up is taken.
      const timer = setTimeout(() => setImmediate(giveUp), limitMs);
      void this.#open()
        .then(resolve, reject)
        .finally(() => clearTimeout(timer));
    });
  }

  #open(): Promise<Opened> {
    if (this.#closed) return Promise.reject(new StoreError('the store is closed'));
    if (this.#opened !== null) return Promise.resolve(this.#opened);
    const pauseMs = this.#retryAtMs - performance.now();
    if (this.#opening === null && pauseMs > 0) {
      return Promise.reject(
        new StoreError(`the database cannot be reached; the next try is in ${Math.ceil(pauseMs)} ms`),
      );
    }
    this.#opening ??= this.#connect().finally(() => {
      this.#opening = null;
    });
    return this.#opening;
  }

  async #connect(): Promise<Opened> {
    try {
      const opened = await onFirstServer(this.#options.url, (server) => this.#connectTo(server));
      this.#failures = 0;
      this.#opened = opened;
      return opened;
    } catch (error) {
      this.#failures++;
      this.#retryAtMs = performance.now() + Math.min(PAUSE_MS_MAX, PAUSE_MS_MIN * 2 ** Math.min(this.#failures, 10));
      throw error;
    }
  }

  async #connectTo({ url, address }: Server): Promise<Opened> {
    if (this.#closed) throw new StoreError('the store is closed');
    const wanted = databaseAddress(this.#options.url);
    const socket = socketTo(address);
    this.#socket = socket;
    const client: Wire['client'] = new Client({
      connectionString: url,
      application_name: this.#options.name ?? 'model-gateway',
      connectionTimeoutMillis: wanted.connectTimeoutMs,
      keepAlive: true,
      stream: () => socket,
      pipeline: true,
    });
    const wire: Wire = { client, socket, prepared: new Map() };
    client.on('error', () => this.#giveUp(wire));
    client.on('end', () => this.#giveUp(wire));
    // A server that takes connections and then hangs must not keep the others waiting for longer than one that takes none.
    const limitMs = Math.min(this.#limitMs, wanted.connectTimeoutMs);
    try {
      await client.connect();
      const query = (text: string, name?: string): Promise<readonly Row[]> =>
        this.#run(wire, text, [], name, limitMs).catch((error: unknown) => {
          if (!(error instanceof StoreError)) throw error;
          // As where no connection is made at all, so that the same is said about it.
          throw new Error(`timeout: it took the connection and gave no answer within ${limitMs} ms`, { cause: error });
        });
      return { ...wire, session: await beginSession(query, client.processID ?? null, wanted, this.#options) };
    } catch (error) {
      socket.destroy();
      throw error;
    }
  }

  #giveUp(wire: Wire): void {
    if (this.#opened?.client === wire.client) this.#opened = null;
    wire.socket.destroy();
  }
}

/** One that connects to this address, whatever the name of the host leads to. */
function socketTo(address: string | null): Socket {
  const socket = new Socket();
  if (address === null) return socket;
  const connect = socket.connect.bind(socket);
  socket.connect = ((port: number) => connect(port, address)) as Socket['connect'];
  return socket;
}

async function end({ client, socket }: Wire): Promise<void> {
  const timer = setTimeout(() => socket.destroy(), ANSWER_MARGIN_MS);
  await client.end().catch(() => undefined);
  clearTimeout(timer);
}
