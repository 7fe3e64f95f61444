import { randomBytes } from 'node:crypto';
import type { RequestLogAppender, RequestLogReader } from '../../src/observe/request-log/store.ts';
import { requestEntry } from '../support/request-entries.ts';

export const DAY_MS = 86_400_000;
export const NOW = Date.UTC(2026, 10, 15, 12);

/** Of requests of the same moment, in the order of their ids. */
export async function filled(appender: RequestLogAppender, atMs: number, rows: number): Promise<string[]> {
  const change = (record: { userAgent: string | null }): void => {
    record.userAgent = randomBytes(100).toString('hex');
  };
  const entries = Array.from({ length: rows }, () => requestEntry({ atMs, change }));
  for (let at = 0; at < rows; at += 500) await appender.append(entries.slice(at, at + 500));
  return entries.map(({ id }) => id);
}

/** What is left when there is nothing more to remove: ids, oldest first. */
export async function prunedTo(reader: RequestLogReader, maxBytes: number): Promise<string[]> {
  while (await reader.prune({ keepMs: 30 * DAY_MS, maxBytes }, NOW));
  const ids: string[] = [];
  for (let before: string | null = null; ; ) {
    const page = await reader.list({ limit: 1_000, before });
    ids.unshift(...page.entries.map(({ id }) => id).toReversed());
    before = page.next;
    if (before === null) return ids;
  }
}
