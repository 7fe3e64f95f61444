/** What PostgreSQL's errors mean here, and the one line that says what an operator can do about them. */
import { databaseAddress } from '../../core/database-url.ts';
import { errorCode } from '../../lib/error-code.ts';
import { Refusal, StoreError } from '../errors.ts';

const READ_ONLY = '25006';

/** A server that takes no writes, where one is wanted that does: a standby, or one that an operator has closed. */
export class ReadOnlyServerError extends Error {
  override name = 'ReadOnlyServerError';
  readonly code = READ_ONLY;

  constructor() {
    super('it takes no writes');
  }
}

/** None of several servers could be used. It has the code of the first that answered at all, or else of the first. */
export class NoServerError extends Error {
  override name = 'NoServerError';
  readonly code: string | undefined;

  constructor(failures: readonly { readonly name: string; readonly error: unknown }[]) {
    super(failures.map(({ name, error }) => `${name}: ${reasonOf(error)}`).join('; '));
    const codes = failures.map(({ error }) => sqlState(error)).concat(failures.map(({ error }) => systemCode(error)));
    this.code = codes.find((code) => code !== null) ?? undefined;
  }
}

/** PostgreSQL's own code of an error (`SQLSTATE`); null when the error is not the server's. */
export function sqlState(error: unknown): string | null {
  const code = errorCode(error);
  return code !== null && /^[0-9A-Z]{5}$/.test(code) ? code : null;
}

/** One operation was wrong (bad data, a broken constraint, too large, raised by a function); the database is fine. */
export function isOperationFailure(error: unknown): boolean {
  return error instanceof Refusal || /^(22...|23...|54...|P0001|20000)$/.test(sqlState(error) ?? '');
}

/** Two transactions were in each other's way and this one was undone: it can go again at once. */
export function isConflict(error: unknown): boolean {
  return /^(40001|40P01)$/.test(sqlState(error) ?? '');
}

/** A lock was waited for longer than a statement may. */
export function isLockTimeout(error: unknown): boolean {
  return sqlState(error) === '55P03';
}

/**
 * After these the connection is as good as before; after everything else it is given up. `25P02` is the answer to what was sent
 * behind a statement that has failed.
 */
export function leavesConnection(error: unknown): boolean {
  return (
    isOperationFailure(error) ||
    isConflict(error) ||
    isLockTimeout(error) ||
    /^(25P02|57014)$/.test(sqlState(error) ?? '')
  );
}

/** What to do about a failure at the start, by its code. */
const ADVICE: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there: start PostgreSQL, or correct host and port in DATABASE_URL',
  ENOTFOUND: 'the host name is unknown: correct the host in DATABASE_URL',
  EAI_AGAIN: 'the host name cannot be looked up now: check the name service, or the host in DATABASE_URL',
  EHOSTUNREACH: 'the host cannot be reached: check the network, or the host in DATABASE_URL',
  ENETUNREACH: 'the host cannot be reached: check the network, or the host in DATABASE_URL',
  '28P01': 'the password is wrong: correct user and password in DATABASE_URL',
  '28000': 'the server does not let this user in: correct the user in DATABASE_URL, or pg_hba.conf',
  '3D000': 'there is no such database: create it (CREATE DATABASE), or correct the name in DATABASE_URL',
  '42501':
    'the user lacks a privilege: GRANT CREATE ON DATABASE for the first start, and rights on the schema "gateway"',
  [READ_ONLY]: 'the server is read-only (a standby): DATABASE_URL must name the primary',
  '53100': 'the disk of the server is full: give it more room',
  '53300': 'the server has no connection left: raise max_connections, or run fewer gateways',
  '57P03': 'the server is starting or stopping: try again in a moment',
};

/** The one line for a database that cannot be used at the start. */
export function openingError(url: string, error: unknown): StoreError {
  if (error instanceof StoreError) return error;
  const reason = reasonOf(error);
  const code = sqlState(error) ?? systemCode(error) ?? '';
  const advice = ADVICE[code] ?? otherAdvice(reason);
  const line = `Cannot use the PostgreSQL database ${databaseAddress(url).shown} (${reason.replaceAll(/\s+/g, ' ')})`;
  return new StoreError(advice === null ? line : `${line}: ${advice}`, { cause: error });
}

/** A failure while it served: nothing is known about what was asked. */
export function servingError(url: string, error: unknown): StoreError {
  if (error instanceof StoreError) return error;
  return new StoreError(`the database ${databaseAddress(url).shown} failed: ${reasonOf(error)}`, { cause: error });
}

function otherAdvice(reason: string): string | null {
  if (/took the connection|query_wait_timeout/.test(reason))
    return 'the server hangs, or a pooler has no session left for it: raise default_pool_size there';
  if (/no more connections allowed/.test(reason))
    return 'the pooler takes no more clients: raise max_client_conn there';
  if (/^connect ENOENT/.test(reason)) return 'there is no such socket: correct the host in DATABASE_URL';
  if (/^ENOENT/.test(reason)) return 'there is no such file: correct sslrootcert, sslcert or sslkey in DATABASE_URL';
  if (/timeout/i.test(reason)) return 'no answer: check the network and the firewall, or host and port in DATABASE_URL';
  if (/does not support SSL/.test(reason)) return 'take sslmode out of DATABASE_URL, or turn SSL on in the server';
  if (/certificate|self.signed/i.test(reason)) return 'add sslrootcert=… to DATABASE_URL, or sslmode=no-verify';
  if (/password must be a string|SASL/.test(reason)) return 'the server wants a password: add it to DATABASE_URL';
  return null;
}

function systemCode(error: unknown): string | null {
  if (error instanceof AggregateError) return systemCode(error.errors[0]);
  return errorCode(error);
}

/** The message of the error itself. */
function reasonOf(error: unknown): string {
  // A host with several addresses fails with one error that holds the others.
  if (error instanceof AggregateError) return reasonOf(error.errors[0]);
  return error instanceof Error ? error.message : String(error);
}
