/**
 * One background thread for the stores of a whole test file, which open hundreds of them: a thread of its own takes each of them
 * 40 ms. Tasks, answers and the second connection to the file are those of the real thread.
 */
import { EventEmitter } from 'node:events';
import { isMainThread, MessageChannel, type MessagePort, parentPort, Worker } from 'node:worker_threads';
import type { BackgroundThread } from '../../src/ledger/sqlite/background-client.ts';
import { type BackgroundTask, serveTasks } from '../../src/ledger/sqlite/background-tasks.ts';

interface Served {
  readonly port: MessagePort;
  readonly file: string;
}

let shared: Worker | null = null;

/** For `startBackground` of a store. */
export function sharedBackground(file: string): BackgroundThread {
  if (shared === null) {
    shared = new Worker(new URL(import.meta.url));
    shared.unref();
  }
  const { port1, port2 } = new MessageChannel();
  shared.postMessage({ port: port2, file } satisfies Served, [port2]);
  return new SharedThread(port1);
}

/** One store's part of the thread. */
class SharedThread extends EventEmitter implements BackgroundThread {
  readonly #port: MessagePort;

  constructor(port: MessagePort) {
    super();
    this.#port = port;
    port.on('message', (answer) => this.emit('message', answer));
    port.on('close', () => this.emit('exit'));
  }

  postMessage(task: BackgroundTask | null): void {
    this.#port.postMessage(task);
  }

  ref(): void {
    this.#port.ref();
  }

  unref(): void {
    this.#port.unref();
  }
}

if (!isMainThread) parentPort?.on('message', ({ port, file }: Served) => serveTasks(port, file));
