/** `gateway backup --every`: backups in a folder, at regular intervals, the newest ones kept. */
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { UsageError } from '../../cli/arguments.ts';
import { DAY_MS, HOUR_MS } from '../../core/time.ts';
import { type BackupOptions, type BackupReport, backupToFile } from './backup.ts';

const UNITS_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: HOUR_MS, d: DAY_MS };
const EVERY_MS_MAX = 7 * DAY_MS;
const KEEP_MAX = 100_000;
/** Only files with such names are ever removed. */
const NAME = /^gateway-\d{8}T\d{6}\.\d{3}Z\.db(\.age)?$/;

interface Schedule {
  readonly everyMs: number;
  readonly keep: number;
}

export function readSchedule(every: string, keep: string | undefined): Schedule {
  const [, count = '', unit = ''] = /^(\d{1,6})([smhd])$/.exec(every) ?? [];
  const everyMs = Number(count) * (UNITS_MS[unit] ?? Number.NaN);
  if (!(everyMs >= 1_000 && everyMs <= EVERY_MS_MAX)) {
    throw new UsageError(
      `backup: --every is ${JSON.stringify(every)}: must be a time from 1s to 7d, such as 15m or 6h`,
    );
  }
  const kept = keep === undefined ? 96 : /^\d{1,6}$/.test(keep) ? Number(keep) : Number.NaN;
  if (!(kept >= 1 && kept <= KEEP_MAX)) {
    throw new UsageError(`backup: --keep is ${JSON.stringify(keep)}: must be a whole number from 1 to ${KEEP_MAX}`);
  }
  return { everyMs, keep: kept };
}

interface ScheduleEvents {
  done(report: BackupReport, removed: number): void;
  failed(error: unknown): void;
}

/**
 * The first backup is taken at once. One that fails, or whose audit has findings, removes nothing, and the next one is taken
 * when it is due.
 */
export async function runSchedule(
  options: BackupOptions,
  folder: string,
  { everyMs, keep }: Schedule,
  events: ScheduleEvents,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    try {
      const report = await backupToFile(options, join(folder, nameAt(new Date(), options.key !== null)));
      events.done(report, report.audit.ok ? await removeOld(folder, keep) : 0);
    } catch (error) {
      events.failed(error);
    }
    await delay(everyMs, undefined, { signal }).catch(() => undefined);
  }
}

function nameAt(date: Date, sealed: boolean): string {
  return `gateway-${date.toISOString().replaceAll(/[-:]/g, '')}.db${sealed ? '.age' : ''}`;
}

/** The names sort by time. */
async function removeOld(folder: string, keep: number): Promise<number> {
  const old = (await readdir(folder))
    .filter((name) => NAME.test(name))
    .sort()
    .slice(0, -keep);
  for (const name of old) await rm(join(folder, name), { force: true });
  return old.length;
}
