/** A scrape: the metrics of all workers together, and those of the process that is asked. */
import { statfs } from 'node:fs/promises';
import { AdminError } from '../admin/error.ts';
import type { OwnFiles } from '../alerts/own-files-watch.ts';
import type { Settings } from '../config/config.ts';
import type { LastAudit } from '../ledger/audits.ts';
import type { OwnedLedger } from '../ledger/ledger.ts';
import { readVersion } from '../lib/version.ts';
import { merged, ofWorker, type Reading } from '../observe/metrics/reading.ts';
import type { ClockWatch } from './clock-watch.ts';
import type { Serving } from './serve.ts';
import { ledgerReading, one, ownProcessReading } from './serving-metrics.ts';

/** Always the same value: whoever counts restarts looks whether it changes. */
const STARTED_AT_S = performance.timeOrigin / 1_000;

interface MetricsSources {
  readonly settings: Settings;
  readonly serving: Pick<Serving, 'metrics' | 'ready' | 'catalog'>;
  readonly ledger: Pick<OwnedLedger, 'stats'>;
  readonly audits: { readonly last: LastAudit | null };
  readonly alerts: { readonly keysBelowCost: number | null };
  readonly clock: Pick<ClockWatch, 'reading'>;
  readonly operators: { readonly unauthenticated: number };
  readonly ownFiles: () => OwnFiles;
}

/** Unavailable where a worker does not answer: a sum without it would look like a restart. */
export async function scrape(sources: MetricsSources): Promise<string> {
  const { serving, settings, ledger } = sources;
  const workers = await serving.metrics().catch((cause: unknown) => {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new AdminError('unavailable', `no metrics at present: ${why}`, { cause });
  });
  // With one worker, this process is the worker, and its ledger is counted there.
  const own = settings.workers === 1 ? null : await ledger.stats();
  const reading = merged([
    ...workers.map((worker, index) => ofWorker(worker, index + 1)),
    own === null ? {} : ledgerReading(own),
    await processReading(sources),
  ]);
  const { renderMetrics } = await import('../observe/metrics/render.ts');
  return renderMetrics(reading);
}

async function processReading(sources: MetricsSources): Promise<Reading> {
  const { settings, serving, audits, alerts, clock, operators, ownFiles } = sources;
  const { last } = audits;
  const { keysBelowCost } = alerts;
  const { problems, certificates } = ownFiles();
  const { reload } = serving.catalog();
  return {
    ...(await ownProcessReading()),
    ...(await diskReading(settings.dataDir)),
    ...(keysBelowCost !== null && { gateway_keys_below_cost: one(keysBelowCost) }),
    ...clock.reading(),
    ...(last && { gateway_audit_ok: one(last.ok ? 1 : 0), gateway_audit_timestamp_seconds: one(last.atMs / 1_000) }),
    gateway_admin_unauthenticated_total: one(operators.unauthenticated),
    gateway_reload_ok: one(problems.length === 0 ? 1 : 0),
    gateway_config_last_reload_successful: one(reload.refused.length === 0 ? 1 : 0),
    gateway_config_last_reload_success_timestamp_seconds: one(reload.takenAtMs / 1_000),
    gateway_certificate_expiry_timestamp_seconds: certificates.map(({ listener, endsAtMs }) => ({
      labels: [listener],
      value: endsAtMs / 1_000,
    })),
    gateway_ready: one((await serving.ready()) ? 1 : 0),
    gateway_workers: one(settings.workers),
    gateway_build_info: [{ labels: [readVersion(), process.version], value: 1 }],
    process_start_time_seconds: one(STARTED_AT_S),
  };
}

async function diskReading(folder: string): Promise<Reading> {
  const disk = await statfs(folder).catch(() => null);
  if (disk === null) return {};
  return {
    gateway_data_disk_free_bytes: one(disk.bavail * disk.bsize),
    gateway_data_disk_bytes: one(disk.blocks * disk.bsize),
  };
}
