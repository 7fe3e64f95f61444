/** The metrics of one serving process: what its requests added up to, and how it does at this moment. */
import { readdir } from 'node:fs/promises';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { getHeapStatistics } from 'node:v8';
import { readFileLimit } from '../config/file-limit.ts';
import type { Mode } from '../core/key.ts';
import type { Catalog } from '../core/provider.ts';
import type { RunningRequest } from '../core/request-record.ts';
import type { Gateway } from '../exchange/gateway.ts';
import type { ResponseSockets } from '../http/response-sockets.ts';
import type { LedgerStats } from '../ledger/group-commit/batch-stats.ts';
import type { OwnedLedger } from '../ledger/ledger.ts';
import type { Reading, Sample } from '../observe/metrics/reading.ts';
import { RequestMetrics } from '../observe/metrics/request-metrics.ts';
import type { RequestLogStats } from '../observe/request-log/writer.ts';
import type { RoutingState } from '../routing/state.ts';
import type { HttpServer } from '../transport/server/http-server.ts';

const NANOS = 1_000_000_000;
/** How often the event loop is looked at; what is measured is the time between two looks. */
const LOOK_MS = 20;

interface ServingParts {
  readonly gateway: Pick<Gateway, 'catalog' | 'routing' | 'inFlight'>;
  readonly server: Pick<HttpServer, 'connections'>;
  readonly sockets: Pick<ResponseSockets, 'size' | 'memoryBytes'>;
  readonly ledger: Pick<OwnedLedger, 'stats'>;
  readonly requestLog: { readonly stats: RequestLogStats };
}

export class ServingMetrics {
  /** To be told about every request of the process. */
  readonly requests: RequestMetrics;
  #loopDelay: ReturnType<typeof monitorEventLoopDelay> | null = null;

  constructor(perKey: boolean) {
    this.requests = new RequestMetrics({ perKey });
  }

  async reading({ gateway, server, sockets, ledger, requestLog }: ServingParts): Promise<Reading> {
    const { used_heap_size, heap_size_limit } = getHeapStatistics();
    return {
      ...this.requests.reading(),
      ...heldReading(gateway.inFlight.running()),
      ...routingReading(gateway.catalog(), gateway.routing),
      ...ledgerReading(await ledger.stats()),
      ...requestLogReading(requestLog.stats),
      ...this.#loopReading(),
      gateway_connections: one(server.connections),
      gateway_websockets: one(sockets.size),
      gateway_websocket_memory_bytes: one(sockets.memoryBytes),
      gateway_heap_used_bytes: one(used_heap_size),
      gateway_heap_limit_bytes: one(heap_size_limit),
    };
  }

  /** Measured from the first time on: a gateway that nobody watches does not wake up for it. */
  #loopReading(): Reading {
    if (this.#loopDelay === null) {
      this.#loopDelay = monitorEventLoopDelay({ resolution: LOOK_MS });
      this.#loopDelay.enable();
      return {};
    }
    const delay = this.#loopDelay;
    if (delay.count === 0) return {};
    const reading: Reading = {
      gateway_event_loop_delay_p50_seconds: one(late(delay.percentile(50))),
      gateway_event_loop_delay_p99_seconds: one(late(delay.percentile(99))),
      gateway_event_loop_delay_max_seconds: one(late(delay.max)),
    };
    delay.reset();
    return reading;
  }
}

export function ledgerReading(stats: LedgerStats): Reading {
  return {
    gateway_ledger_batch_operations: [{ labels: [], value: stats.batchOperations }],
    gateway_ledger_commit_seconds: [{ labels: [], value: stats.commitSeconds }],
    gateway_ledger_failed_batches_total: one(stats.failedBatches),
    gateway_ledger_retried_operations_total: one(stats.failedOperations),
    gateway_ledger_backlog: one(stats.backlog),
  };
}

function requestLogReading({ written, dropped, capturesDropped, failures, buffered }: RequestLogStats): Reading {
  return {
    gateway_request_log_written_total: one(written),
    gateway_request_log_dropped_total: one(dropped),
    gateway_request_captures_dropped_total: one(capturesDropped),
    gateway_request_log_failures_total: one(failures),
    gateway_request_log_buffered: one(buffered),
  };
}

/** What the system says about this process, to be added up with the others of a gateway. */
export async function ownProcessReading(): Promise<Reading> {
  const { user, system } = process.cpuUsage();
  const limit = readFileLimit();
  // Only Linux tells.
  const open = await readdir('/proc/self/fd').catch(() => null);
  return {
    ...(open && { process_open_fds: one(open.length) }),
    ...(limit !== null && Number.isFinite(limit) && { process_max_fds: one(limit) }),
    process_cpu_seconds_total: one((user + system) / 1_000_000),
    process_resident_memory_bytes: one(process.memoryUsage.rss()),
  };
}

export function one(value: number): readonly Sample[] {
  return [{ labels: [], value }];
}

/** Until the end of a hold is durable: its request may have been answered long before, where the store does not take it. */
function heldReading(running: readonly RunningRequest[]): Reading {
  const holds: Record<Mode, number> = { credit: 0, token_budget: 0 };
  const amounts: Record<Mode, bigint> = { credit: 0n, token_budget: 0n };
  let oldestMs = 0;
  for (const { mode, held, age_ms } of running) {
    holds[mode] += 1;
    amounts[mode] += BigInt(held);
    oldestMs = Math.max(oldestMs, age_ms);
  }
  return {
    gateway_holds: Object.entries(holds).map(([mode, value]) => ({ labels: [mode], value })),
    gateway_held_credits: one(Number(amounts.credit) / NANOS),
    gateway_held_tokens: one(Number(amounts.token_budget)),
    gateway_oldest_hold_seconds: one(oldestMs / 1_000),
  };
}

/** Every target of the catalog once, whether it was asked already or not. */
function routingReading({ models, providers }: Catalog, { health, credentials }: RoutingState): Reading {
  const circuits = new Map<string, Sample>();
  const cooling = new Map<string, Map<string, boolean>>();
  for (const { targets } of models.values()) {
    for (const target of targets) {
      const { provider, upstreamModel } = target;
      // No key has this id: the circuit that is open for everybody.
      const open = health.circuit(target, '') === 'closed' ? 0 : 1;
      circuits.set(JSON.stringify([provider, upstreamModel]), { labels: [provider, upstreamModel], value: open });
      const targetsCooling = cooling.get(provider) ?? new Map<string, boolean>();
      cooling.set(provider, targetsCooling.set(upstreamModel, health.coolingMs(target) > 0));
    }
  }
  return {
    gateway_circuit_open: [...circuits.values()],
    gateway_targets_cooling: [...cooling].map(([provider, targetsCooling]) => ({
      labels: [provider],
      value: [...targetsCooling.values()].filter(Boolean).length,
    })),
    gateway_credentials_cooling: [...providers.values()].map((provider) => ({
      labels: [provider.name],
      value: credentials.coolingMs(provider) > 0 ? 1 : 0,
    })),
  };
}

/** Seconds beyond the time that two looks are apart anyway. */
function late(nanos: number): number {
  return Math.max(0, nanos / NANOS - LOOK_MS / 1_000);
}
