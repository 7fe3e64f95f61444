/** The embedded store for several serving threads: one writer thread, any number of client threads. */
import { once } from 'node:events';
import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads';
import { workerFile } from '../../lib/worker-file.ts';
import { asStoreError, StoreError, type StoreErrorName, storeError } from '../errors.ts';
import type { LedgerStats } from '../group-commit/batch-stats.ts';
import type { OperationRunner } from '../store.ts';
import { connectToWriter } from './writer-client.ts';
import type { WriterCommand, WriterReport } from './writer-thread.ts';

export interface WriterThreadStore extends OperationRunner {
  /** A port to the writer for another thread, which uses it with `connectToWriter`. */
  connect(): MessagePort;
}

export interface WriterThreadStoreOptions {
  readonly file: string;
  /** The disk has failed, or the writer has ended by itself: from now on every operation fails. */
  readonly onBroken?: (why: Error) => void;
}

export async function openWriterThreadStore({ file, onBroken }: WriterThreadStoreOptions): Promise<WriterThreadStore> {
  const worker = new Worker(workerFile('writer-thread', import.meta.url), { workerData: { file } });
  const exited = once(worker, 'exit').catch(() => undefined);
  let failure: Error | undefined;
  worker.on('error', (error: Error) => {
    failure = error;
  });
  await started(worker);
  let closing = false;
  worker.on('message', (report: WriterReport) => {
    if (report.kind === 'failed') failure = storeError(report.name as StoreErrorName, report.message);
    if (report.kind === 'broken') onBroken?.(new StoreError(report.message));
  });
  worker.on('exit', () => {
    if (!closing) onBroken?.(new Error('the writer of the store ended by itself', { cause: failure }));
  });

  function connect(): MessagePort {
    const { port1, port2 } = new MessageChannel();
    worker.postMessage({ kind: 'connect', port: port2 } satisfies WriterCommand, [port2]);
    return port1;
  }

  /** Where several ask at once, all get the next report; a writer that has ended gives none. */
  function stats(): Promise<LedgerStats> {
    return new Promise((resolve, reject) => {
      const onReport = (report: WriterReport): void => {
        if (report.kind !== 'stats') return;
        stop();
        resolve(report.stats);
      };
      const onExit = (): void => {
        stop();
        reject(new StoreError('the writer of the store has stopped'));
      };
      const stop = (): void => {
        worker.off('message', onReport);
        worker.off('exit', onExit);
      };
      worker.on('message', onReport);
      worker.once('exit', onExit);
      worker.postMessage({ kind: 'stats' } satisfies WriterCommand);
    });
  }

  const client = connectToWriter(connect());
  return {
    ...client,
    connect,
    stats,
    close: async () => {
      await client.close();
      const first = !closing;
      closing = true;
      if (first) worker.postMessage({ kind: 'close' } satisfies WriterCommand);
      await exited;
      if (first && failure !== undefined) throw failure;
    },
  };
}

async function started(worker: Worker): Promise<void> {
  const report = await new Promise<WriterReport>((resolve, reject) => {
    worker.once('message', resolve);
    worker.once('error', (error) => reject(asStoreError(error)));
    worker.once('exit', () => reject(new StoreError('the writer of the store stopped while it started')));
  });
  if (report.kind === 'failed') {
    await worker.terminate();
    throw storeError(report.name as StoreErrorName, report.message);
  }
}
