/** How many files this process may have open: each stream needs two, one to its client and one to its provider. */
import { readFileSync } from 'node:fs';

/** Below this the limit is reached before memory or CPU is. */
export const FILES_WANTED = 4_096;
/** For the store, the admin sockets, libraries and idle connections. */
const FILES_BESIDE = 64;
/** For connections that are opened beyond what can be served, and closed after a 503. */
const FILES_FOR_REFUSALS = 64;
const FILES_PER_STREAM = 2;
/** Where the system does not tell its limit. */
const CONNECTIONS_UNKNOWN = 8_192;

/** The limit in force, which Node has raised as far as it may; null where the system does not report it. */
export function readFileLimit(path = '/proc/self/limits'): number | null {
  try {
    return parseFileLimit(readFileSync(path, 'utf8'));
  } catch {
    return null;
  }
}

/** `text` is that of `/proc/PID/limits`. */
export function parseFileLimit(text: string): number | null {
  const soft = /^Max open files +(\d+|unlimited) /m.exec(text)?.[1];
  if (soft === undefined) return null;
  return soft === 'unlimited' ? Number.POSITIVE_INFINITY : Number(soft);
}

/** How many connections of clients can be served and still have a file for each call to a provider. */
export function connectionsWithin(limit: number | null): number {
  const all = limit === null ? CONNECTIONS_UNKNOWN : (limit - FILES_BESIDE) / FILES_PER_STREAM;
  return Math.max(1, Math.floor(all - FILES_FOR_REFUSALS / FILES_PER_STREAM));
}

/** One line for the operator; null where the limit is high enough, or unknown. */
export function fileLimitWarning(limit: number | null): string | null {
  if (limit === null || limit >= FILES_WANTED) return null;
  return (
    `this process may open ${limit} files, enough for about ${connectionsWithin(limit)} streams at once: ` +
    'raise the limit (ulimit -n 65536, or LimitNOFILE=65536 in a systemd unit)'
  );
}

/** One line for the operator; null where all connections that may be open leave files for their calls. */
export function connectionsWarning(connections: number, limit: number | null): string | null {
  const within = connectionsWithin(limit);
  if (connections <= within) return null;
  return (
    `limits.connections is ${connections}, but the limit of open files (${limit ?? 'unknown'}) leaves ${within}: ` +
    'beyond that, connections or calls to providers can fail'
  );
}
