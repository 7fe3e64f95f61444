/** One HTTP thread: the serving part of the gateway on a port to the one writer. */
import { parentPort, workerData } from 'node:worker_threads';
import { publicOrigin } from './admin/view.ts';
import { createLedger } from './ledger/ledger.ts';
import { openPortStore } from './ledger/sqlite/port-store.ts';
import { openLog } from './observe/log.ts';
import { originOf, type Serving, serve } from './serve.ts';
import type { ThreadCommand, ThreadData, ThreadReport } from './threads.ts';

const { settings, env, installationSecret, sandboxUrl, store } = workerData as ThreadData;

function tell(report: ThreadReport): void {
  parentPort?.postMessage(report);
}

try {
  const ledger = createLedger(openPortStore(store));
  const origin = publicOrigin(settings.host, settings.port);
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
  tell({ kind: 'listening' });
} catch (error) {
  tell({ kind: 'failed', message: error instanceof Error ? error.message : String(error) });
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
