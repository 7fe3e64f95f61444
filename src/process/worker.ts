/** One worker thread: the serving part of the gateway, on a port to the one writer or a connection of its own. */
import { parentPort, workerData } from 'node:worker_threads';
import { ConfigError } from '../config/problem.ts';
import { GroupCommit } from '../ledger/group-commit/group-commit.ts';
import { createLedgerOn } from '../ledger/ledger.ts';
import { connectToWriter } from '../ledger/sqlite/writer-client.ts';
import type { OperationRunner } from '../ledger/store.ts';
import { errorCode } from '../lib/error-code.ts';
import { openLog } from '../observe/log.ts';
import { openRequestLogAppender } from './request-log.ts';
import { type Serving, serve } from './serve.ts';
import type { WorkerCommand, WorkerInput, WorkerReport } from './worker-pool.ts';

const { settings, env, installationSecret, sandboxUrl, writer } = workerData as WorkerInput;

/** Everything is closed by then, and the last lines of the log are on their way. */
const END_WITHIN_MS = 500;

function post(report: WorkerReport): void {
  parentPort?.postMessage(report);
}

try {
  const ledger = createLedgerOn(await openOperations(), { leaseMs: settings.leaseMs });
  const log = openLog(settings.logLevel);
  const requestLog = await openRequestLogAppender(settings, log);
  const serving = await serve({
    settings,
    env,
    installationSecret,
    sandboxUrl,
    ledger,
    log,
    requestLog,
    reusePort: true,
    onCatalog: (names) => post({ kind: 'catalog', names }),
    onReload: () => post({ kind: 'reloaded' }),
  });
  parentPort?.on(
    'message',
    (command: WorkerCommand) =>
      void handleCommand(command, serving, async () => {
        await requestLog.close();
        await ledger.close();
      }),
  );
  post({ kind: 'listening', secure: serving.secure });
} catch (error) {
  post({
    kind: 'failed',
    message: messageOf(error),
    problems: error instanceof ConfigError ? error.problems : null,
  });
  // What was opened until then would keep the worker alive.
  parentPort?.close();
}

async function openOperations(): Promise<OperationRunner> {
  if (writer !== null) return connectToWriter(writer);
  const { openPostgresStore } = await import('../ledger/postgres/store.ts');
  return new GroupCommit(await openPostgresStore({ url: settings.databaseUrl ?? '' }));
}

async function handleCommand(
  command: WorkerCommand,
  serving: Serving,
  closeStores: () => Promise<void>,
): Promise<void> {
  if (typeof command === 'object') return post({ kind: 'stopped', found: await serving.stop(command.stop) });
  switch (command) {
    case 'inspect':
      return post({ kind: 'inspection', inspection: await serving.inspect() });
    case 'running':
      return post({ kind: 'running', requests: await serving.running() });
    case 'ready':
      return post({ kind: 'readiness', ready: await serving.ready() });
    case 'metrics': {
      const [reading = {}] = await serving.metrics();
      return post({ kind: 'metrics', reading });
    }
    case 'pre-stop':
      await serving.preStop();
      return post({ kind: 'pre-stopped' });
    case 'drain':
      await serving.drain();
      return post({ kind: 'drained' });
    case 'close':
      await serving.close();
      await closeStores();
      parentPort?.close();
      // The worker ends when nothing is left to do. What somebody else does not end, such as a call to an OTLP target that
      // hangs, must not keep the process: it is what the timer waits for, and nothing when there is none.
      setTimeout(() => process.exit(), END_WITHIN_MS).unref();
  }
}

function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (errorCode(error) === 'ENOTSUP') {
    return 'this system cannot share a port between workers: start with one worker';
  }
  return error.message;
}
