/** The ledger in PostgreSQL, shared by any number of gateways. */
import type { Clock } from '../../core/clock.ts';
import { usageReport } from '../../reports/postgres/report.ts';
import { rollUp } from '../../reports/postgres/rollup.ts';
import { integer } from '../../storage/columns.ts';
import type { Operation, Outcome, Result } from '../operations.ts';
import type { Store } from '../store.ts';
import { performOnAccounts } from './accounts.ts';
import { applyHot } from './apply-batch.ts';
import { audit } from './audit.ts';
import { Connection } from './connection.ts';
import { claimFirstStart, migrate, sharedSecret } from './database.ts';
import { getDocument, putDocument } from './documents.ts';
import { type HotOperation, isHot } from './encode.ts';
import { isConflict, isOperationFailure, openingError, servingError } from './error-mapping.ts';
import { keyIds, listKeys } from './key-list.ts';
import {
  addCredit,
  addSecret,
  changeKey,
  createKey,
  createKeys,
  expiringKeys,
  getKey,
  revokeSecret,
  type Work,
} from './keys.ts';
import { LedgerClock } from './ledger-clock.ts';
import { prune, recover } from './maintenance.ts';
import { correct, findCharge, openPromotions, refund } from './money.ts';
import { onReportConnection } from './report-connection.ts';
import { isResponseOperation, performOnResponses, type ResponseOperation } from './responses.ts';
import { closeTime, statement } from './statement.ts';

export interface PostgresStoreOptions {
  readonly url: string;
  /** For tests; otherwise time is the database's. */
  readonly clock?: Clock;
  /** How long a batch may take, and wait for a key that another transaction has locked. */
  readonly timeoutMs?: number;
  readonly lockTimeoutMs?: number;
  /** How long a report waits before it asks whether the server answers anything, and for that answer. */
  readonly answerTimeoutMs?: number;
}

export interface PostgresStore extends Store {
  /** For the operator's operations, on connections of their own. */
  readonly background: Store;
  /** The secret that all gateways on this database share. */
  sharedSecret(given: string | null): Promise<string>;
  /** True for exactly one of all gateways that ever start on this database. */
  claimFirstStart(): Promise<boolean>;
}

type AdminOperation = Exclude<Operation, HotOperation | ResponseOperation | { op: 'recover' | 'prune' | 'rollUp' }>;

/** What goes before a statement, in a transaction of its own: nobody waits for the report. */
interface CloseTime {
  readonly op: 'closeTime';
  readonly id: string;
}

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
  const hot = new Connection({ url, statementTimeoutMs, lockTimeoutMs });
  const background = new Connection({ url, statementTimeoutMs, lockTimeoutMs });
  const clock = new LedgerClock(options.clock ?? null);
  try {
    await hot.open();
    await migrate(hot);
  } catch (error) {
    await hot.close();
    throw openingError(url, error);
  }

  async function apply(batch: readonly Operation[]): Promise<readonly Result[]> {
    const results: Result[] = [];
    let waiting: (readonly [number, HotOperation])[] = [];
    try {
      for (const [index, operation] of batch.entries()) {
        if (isHot(operation)) {
          waiting.push([index, operation]);
          continue;
        }
        // In their order: what comes after an operation of another kind sees what it did.
        await applyHot(hot, clock, waiting, results);
        waiting = [];
        results[index] = await single(operation);
      }
      await applyHot(hot, clock, waiting, results);
      return results;
    } catch (error) {
      throw servingError(url, error);
    }
  }

  async function single(operation: Exclude<Operation, HotOperation>): Promise<Result> {
    for (let tries = 1; ; tries++) {
      try {
        if (operation.op === 'recover') return await recover(hot, clock, operation.limit);
        if (operation.op === 'prune') return await prune(hot, clock, operation.limit, operation.usageKeepMs);
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
    if (!REPORTS.has(operation.op)) return transact(background, '', operation);
    if (operation.op === 'statement') await transact(background, '', { op: 'closeTime', id: operation.id });
    return onReportConnection({ url, lockTimeoutMs, answerTimeoutMs }, (reports) =>
      transact(reports, ONE_MOMENT, operation),
    );
  }

  function transact(connection: Connection, mode: string, operation: AdminOperation | CloseTime): Promise<Outcome> {
    return connection.transaction(mode, async (query) => {
      const [row] = await query('SELECT gateway.ledger_ms($1, $2) AS now_ms', clock.values());
      const nowMs = row === undefined ? 0 : integer(row, 'now_ms');
      clock.saw(nowMs);
      return perform({ query, nowMs }, operation);
    });
  }

  return {
    apply,
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

function perform(work: Work, operation: AdminOperation | CloseTime): Promise<Outcome> {
  switch (operation.op) {
    case 'createKey':
      return createKey(work, operation.request);
    case 'createKeys':
      return createKeys(work, operation.requests);
    case 'listKeys':
      return listKeys(work, operation.query);
    case 'keyIds':
      return keyIds(work, operation.accountId, operation.below);
    case 'getKey':
      return getKey(work, operation.keyId);
    case 'changeKey':
      return changeKey(work, operation.keyId, operation.change);
    case 'addSecret':
      return addSecret(work, operation.keyId, operation.digest, operation.prefix);
    case 'revokeSecret':
      return revokeSecret(work, operation.keyId, operation.prefix);
    case 'addCredit':
      return addCredit(work, operation.keyId, operation);
    case 'createAccount':
    case 'changeAccount':
    case 'moveAccount':
    case 'moveKey':
    case 'joinAccount':
    case 'addAccountCredit':
    case 'getAccount':
    case 'listAccounts':
      return performOnAccounts(work, operation);
    case 'expiringKeys':
      return expiringKeys(work, operation.after, operation.untilMs, operation.limit);
    case 'correct':
      return correct(work, operation.request);
    case 'findCharge':
      return findCharge(work, operation.requestId);
    case 'refund':
      return refund(work, operation.request);
    case 'promotions':
      return openPromotions(work, operation.id);
    case 'closeTime':
      return closeTime(work, operation.id);
    case 'statement':
      return statement(work, operation.id, operation.sinceMs, operation.untilMs);
    case 'audit':
      return audit(work);
    case 'usageReport':
      return usageReport(work.query, operation.query);
    case 'getDocument':
      return getDocument(work, operation.name);
    case 'putDocument':
      return putDocument(work, operation.name, operation.value);
  }
}
