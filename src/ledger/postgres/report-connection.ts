/**
 * A connection for one report, which may take its time. A server that hangs is as silent as one that is at work, and ends no
 * statement: whether it answers at all is asked beside the report, on another connection.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { StoreError } from '../../storage/errors.ts';
import { Connection } from '../../storage/postgres/connection.ts';
import { sqlState } from '../../storage/postgres/error-mapping.ts';

interface ReportConnectionOptions {
  readonly url: string;
  readonly lockTimeoutMs: number;
  /** How long a report runs before the server is asked, and how long the server has to answer; then both again. */
  readonly answerTimeoutMs: number;
}

const REPORT_TIMEOUT_MS = 600_000;

/** `work` only reads: where the server is given up, nobody learns what came of it. */
export async function onReportConnection<T>(
  { url, lockTimeoutMs, answerTimeoutMs }: ReportConnectionOptions,
  work: (connection: Connection) => Promise<T>,
): Promise<T> {
  const connection = new Connection({ url, statementTimeoutMs: REPORT_TIMEOUT_MS, lockTimeoutMs });
  const ended = new AbortController();
  const silence = async (): Promise<never> => {
    do await sleep(answerTimeoutMs, undefined, { signal: ended.signal });
    while (await answers(url, answerTimeoutMs, ended.signal));
    connection.destroy();
    throw new StoreError('the database does not answer');
  };
  try {
    return await Promise.race([work(connection), silence()]);
  } finally {
    ended.abort();
    await connection.close();
  }
}

/** An error of the server's own is an answer as well. */
async function answers(url: string, timeoutMs: number, signal: AbortSignal): Promise<boolean> {
  const connection = new Connection({ url, statementTimeoutMs: timeoutMs, lockTimeoutMs: timeoutMs });
  const stop = (): void => connection.destroy();
  signal.addEventListener('abort', stop);
  try {
    await connection.query('SELECT 1');
    return true;
  } catch (error) {
    return sqlState(error) !== null;
  } finally {
    signal.removeEventListener('abort', stop);
    await connection.close();
  }
}
