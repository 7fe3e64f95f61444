/** One HTTP thread: the serving part of the gateway, on a port to the one writer or a connection of its own. */
import { parentPort, workerData } from 'node:worker_threads';
import { publicOrigin } from '../admin/view.ts';
import { ConfigError } from '../config/problem.ts';
import { createLedger } from '../ledger/ledger.ts';
import { openPortStore } from '../ledger/sqlite/message-port-store.ts';
import type { Store } from '../ledger/store.ts';
import { openLog } from '../observe/log.ts';
import { originOf, type Serving, serve } from './serve.ts';
import type { ThreadCommand, ThreadData, ThreadReport } from './worker-pool.ts';

const { settings, env, installationSecret, sandboxUrl, store } = workerData as ThreadData;

function tell(report: ThreadReport): void {
  parentPort?.postMessage(report);
}

try {
  const ledger = createLedger(await openStore(), { leaseMs: settings.leaseMs });
  let origin = publicOrigin(settings.host, settings.port, false);
  const serving = await serve({
    settings,
    env,
    installationSecret,
    sandboxUrl,
    ledger,
    log: openLog(settings.logLevel),
    reusePort: true,
    originOf: (mode) => originOf(origin, mode),
    onCatalog: (names) => tell({ kind: 'catalog', names }),
  });
  parentPort?.on('message', (command: ThreadCommand) => void obey(command, serving, () => ledger.close()));
  origin = publicOrigin(settings.host, settings.port, serving.secure);
  tell({ kind: 'listening', secure: serving.secure });
} catch (error) {
  tell({
    kind: 'failed',
    message: messageOf(error),
    problems: error instanceof ConfigError ? error.problems : null,
  });
  // What was opened until then would keep the thread alive.
  parentPort?.close();
}

async function openStore(): Promise<Store> {
  if (store !== null) return openPortStore(store);
  const { openPostgresStore } = await import('../ledger/postgres/store.ts');
  return openPostgresStore({ url: settings.databaseUrl ?? '' });
}

async function obey(command: ThreadCommand, serving: Serving, closeLedger: () => Promise<void>): Promise<void> {
  if (command === 'drain') {
    await serving.drain();
    tell({ kind: 'drained' });
    return;
  }
  await serving.close();
  await closeLedger();
  parentPort?.close();
}

function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if ('code' in error && error.code === 'ENOTSUP') {
    return 'this system cannot share a port between threads: start with one worker';
  }
  return error.message;
}
