/** How many files this process may have open: each stream needs two, one to its client and one to its provider. */
import { readFileSync } from 'node:fs';

/** Below this the limit is reached before memory or CPU is. */
export const FILES_WANTED = 4_096;
/** For the store, the admin sockets, libraries and idle connections. */
const FILES_BESIDE = 64;
const FILES_PER_STREAM = 2;

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

/** One line for the operator; null where the limit is high enough, or unknown. */
export function fileLimitWarning(limit: number | null): string | null {
  if (limit === null || limit >= FILES_WANTED) return null;
  const streams = Math.max(0, Math.floor((limit - FILES_BESIDE) / FILES_PER_STREAM));
  return (
    `this process may open ${limit} files, enough for about ${streams} streams at once: ` +
    'raise the limit (ulimit -n 65536, or LimitNOFILE=65536 in a systemd unit)'
  );
}
