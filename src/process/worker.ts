/** One worker process: the serving part of the gateway with a connection to PostgreSQL of its own, a replica like any other. */
import { ConfigError } from '../config/problem.ts';
import { systemClock } from '../core/clock.ts';
import { createLedger } from '../ledger/ledger.ts';
import { openPostgresStore } from '../ledger/postgres/store.ts';
import { errorCode } from '../lib/error-code.ts';
import { openLog } from '../observe/log.ts';
import { merged } from '../observe/metrics/reading.ts';
import { StoreError, type StoreErrorName } from '../storage/errors.ts';
import { openOperatorData } from './operators.ts';
import { openRequestLog } from './request-log.ts';
import { type ServeInput, type Serving, serve } from './serve.ts';
import { ownProcessReading } from './serving-metrics.ts';
import { setV8Flags } from './v8-flags.ts';
import type { Call, WorkerReport } from './worker-process.ts';

// The primary process says when to stop. A terminal, or a service manager, signals all processes of a group at once.
process.on('SIGINT', () => {});
process.on('SIGTERM', () => {});
process.once('message', (input: ServeInput) => void run(input));

function post(report: WorkerReport): void {
  // Its primary process may be gone, which ends this one as well.
  if (process.connected) process.send?.(report);
}

async function run(input: ServeInput): Promise<void> {
  const { settings, installationSecret } = input;
  try {
    const store = await openPostgresStore({ url: settings.databaseUrl ?? '' });
    const ledger = createLedger(store, { leaseMs: settings.leaseMs });
    const log = openLog(settings.logLevel);
    const requestLog = await openRequestLog(settings, log);
    const operatorData = openOperatorData(settings, installationSecret, systemClock());
    const serving = await serve({
      ...input,
      ledger,
      log,
      operatorData,
      requestLog,
      reusePort: true,
      onCatalog: (names) => post({ kind: 'catalog', names }),
      onReload: () => post({ kind: 'reloaded' }),
    });
    setV8Flags();
    const asked: Serving = {
      ...serving,
      metrics: async () => [merged([...(await serving.metrics()), await ownProcessReading()])],
      close: async () => {
        await serving.close();
        await operatorData.close();
        await requestLog.close();
        await ledger.close();
        // What somebody else does not end, such as a call to an OTLP target that hangs, must not keep the process.
        process.exit();
      },
    };
    process.on('message', (call: Call) => void answer(asked, call));
    post({ kind: 'listening' });
  } catch (error) {
    post({ kind: 'failed', ...failureOf(error) });
  }
}

async function answer(serving: Serving, { id, method, args }: Call): Promise<void> {
  try {
    // The arguments were typed by whoever asked.
    const value = await (serving[method] as (...given: readonly unknown[]) => Promise<unknown>)(...args);
    post({ kind: 'answer', id, value });
  } catch (error) {
    post({ kind: 'refused', id, message: failureOf(error).message });
  }
}

function failureOf(error: unknown): Omit<Extract<WorkerReport, { kind: 'failed' }>, 'kind'> {
  if (!(error instanceof Error)) return { message: String(error), problems: null, store: null, fields: {} };
  if (errorCode(error) === 'ENOTSUP') {
    const message = 'this system cannot share a port between workers: start with one worker';
    return { message, problems: [message], store: null, fields: {} };
  }
  const problems = error instanceof ConfigError ? error.problems : null;
  const store = error instanceof StoreError ? (error.name as StoreErrorName) : null;
  return { message: error.message, problems, store, fields: { ...error } };
}
