/** The ledger in PostgreSQL, shared by any number of gateways. */
import type { Clock } from '../../core/clock.ts';
import { usageReport } from '../../reports/postgres/report.ts';
import { rollUp } from '../../reports/postgres/rollup.ts';
import { integer } from '../../storage/columns.ts';
import { Connection, type Query } from '../../storage/postgres/connection.ts';
import { isConflict, isOperationFailure, openingError, servingError } from '../../storage/postgres/error-mapping.ts';
import type { OnWait } from '../../storage/postgres/migration.ts';
import { type BooksOperation, workOf } from '../books/perform.ts';
import type { Operation, OperationOf, Outcome, Result } from '../operations.ts';
import type { Store } from '../store.ts';
import { applyBatch } from './apply-batch.ts';
import { PostgresBooks, performIn } from './books.ts';
import { claimFirstStart, migrate, sharedSecret } from './database.ts';
import { isKeyless, performKeyless } from './keyless.ts';
import { LedgerClock } from './ledger-clock.ts';
import { duePayers, prune, recover } from './maintenance.ts';
import { isKeyed, type KeyedOperation } from './needs.ts';
import { Payers } from './payers.ts';
import { onReportConnection } from './report-connection.ts';
import { isResponseOperation, performOnResponses } from './responses.ts';
import { StuckRows } from './stuck-rows.ts';

export interface PostgresStoreOptions {
  readonly url: string;
  /** For tests; otherwise time is the database's. */
  readonly clock?: Clock;
  /** How long a batch may take, and wait for a key that another transaction has locked. */
  readonly timeoutMs?: number;
  readonly lockTimeoutMs?: number;
  /** How long a report waits before it asks whether the server answers anything, and for that answer. */
  readonly answerTimeoutMs?: number;
  readonly onWait?: OnWait | undefined;
}

export interface PostgresStore extends Store {
  /** For the operator's operations, on connections of their own. */
  readonly background: Store;
  /** The secret that all gateways on this database share. */
  sharedSecret(given: string | null): Promise<string>;
  /** True for exactly one of all gateways that ever start on this database. */
  claimFirstStart(): Promise<boolean>;
}

type AdminOperation = BooksOperation | OperationOf<'usageReport'>;
type SingleOperation = Exclude<Operation, KeyedOperation>;

/** What the server shows of the connection that requests wait for. */
const HOT_NAME = 'model-gateway requests';
const HOT_TIMEOUT_MS = 10_000;
const REPORTS: ReadonlySet<Operation['op']> = new Set<Operation['op']>([
  'audit',
  'listKeys',
  'keyIds',
  'usageReport',
  'findCharge',
  'statement',
]);
const ONE_MOMENT = 'ISOLATION LEVEL REPEATABLE READ READ ONLY';
const LOCK_TIMEOUT_MS = 5_000;
const ANSWER_TIMEOUT_MS = 5_000;
const CONFLICT_TRIES = 3;

export async function openPostgresStore(options: PostgresStoreOptions): Promise<PostgresStore> {
  const { url } = options;
  const statementTimeoutMs = options.timeoutMs ?? HOT_TIMEOUT_MS;
  const lockTimeoutMs = options.lockTimeoutMs ?? LOCK_TIMEOUT_MS;
  const answerTimeoutMs = options.answerTimeoutMs ?? ANSWER_TIMEOUT_MS;
  const hot = new Connection({ url, statementTimeoutMs, lockTimeoutMs, looksUp: true, name: HOT_NAME });
  const background = new Connection({ url, statementTimeoutMs, lockTimeoutMs });
  const clock = new LedgerClock(options.clock ?? null);
  let serverVersion: number;
  try {
    await hot.open();
    serverVersion = await migrate(hot, options.onWait);
  } catch (error) {
    await hot.close();
    throw openingError(url, error);
  }

  const storage = { connection: hot, clock, payers: new Payers(), stuck: new StuckRows(), serverVersion };

  async function apply(batch: readonly Operation[]): Promise<readonly Result[]> {
    const results: Result[] = [];
    let keyed: KeyedOperation[] = [];
    let places: number[] = [];
    const send = async (): Promise<void> => {
      const outcomes = await applyBatch(storage, keyed);
      for (const [at, place] of places.entries()) results[place] = outcomes[at] ?? null;
      keyed = [];
      places = [];
    };
    try {
      const early = new Map<number, Promise<Result>>();
      for (const [place, operation] of batch.entries()) {
        if (isKeyless(operation)) {
          // Sent at once, before the keyed ones that wait; nobody waits for its answer.
          const answer = single(operation);
          answer.catch(() => undefined);
          early.set(place, answer);
          continue;
        }
        if (isKeyed(operation)) {
          keyed.push(operation);
          places.push(place);
          continue;
        }
        // In their order: what comes after an operation of another kind sees what it did.
        await send();
        results[place] = await single(operation);
      }
      await send();
      for (const [place, answer] of early) results[place] = await answer;
      return results;
    } catch (error) {
      throw servingError(url, error);
    }
  }

  async function single(operation: SingleOperation): Promise<Result> {
    for (let tries = 1; ; tries++) {
      try {
        if (isKeyless(operation)) return await performKeyless(hot, clock, operation);
        if (operation.op === 'recover') {
          const recovered = await recover(storage, operation.limit);
          for (const payerId of await duePayers(background, clock, operation.limit)) {
            await transact(background, '', (query, books) => performIn(query, books.expireOf(payerId)));
          }
          return recovered;
        }
        if (operation.op === 'prune') return await prune(background, clock, operation.limit, operation.usageKeepMs);
        if (operation.op === 'rollUp') return await rollUp(background, operation.limit);
        if (isResponseOperation(operation)) return await performOnResponses(background, clock, operation);
        return await admin(operation);
      } catch (error) {
        if (isConflict(error) && tries < CONFLICT_TRIES) continue;
        if (!isOperationFailure(error)) throw error;
        return { kind: 'operation_failed', message: error instanceof Error ? error.message : String(error) };
      }
    }
  }

  async function admin(operation: AdminOperation): Promise<Outcome> {
    const work = (query: Query, books: PostgresBooks): Promise<Outcome> =>
      operation.op === 'usageReport' ? usageReport(query, operation.query) : performIn(query, workOf(books, operation));
    if (!REPORTS.has(operation.op)) return transact(background, '', work);
    // In a transaction of its own: nobody waits for the report.
    const closedMs =
      operation.op === 'statement'
        ? await transact(background, '', (query, books) => performIn(query, books.closeTime(operation.id)))
        : 0;
    const outcome = await onReportConnection({ url, lockTimeoutMs, answerTimeoutMs }, (reports) =>
      transact(reports, ONE_MOMENT, work),
    );
    // What is booked between the two may be in the time that was not over for the first.
    return outcome !== null && 'closing' in outcome ? { ...outcome, nowMs: closedMs } : outcome;
  }

  function transact<T>(
    connection: Connection,
    mode: string,
    work: (query: Query, books: PostgresBooks) => Promise<T>,
  ): Promise<T> {
    return connection.transaction(mode, async (query) => {
      const [row] = await query('SELECT gateway.ledger_ms($1, $2) AS now_ms', clock.values());
      const nowMs = row === undefined ? 0 : integer(row, 'now_ms');
      clock.saw(nowMs);
      return work(query, new PostgresBooks(nowMs));
    });
  }

  return {
    apply,
    shared: true,
    // Both take every operation; which connection serves it depends on the operation alone.
    background: { apply, close: async () => undefined },
    sharedSecret: (given) => opening(() => sharedSecret(hot, given)),
    claimFirstStart: () => opening(() => claimFirstStart(hot)),
    close: async () => {
      await Promise.all([hot.close(), background.close()]);
    },
  };

  async function opening<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw openingError(url, error);
    }
  }
}
