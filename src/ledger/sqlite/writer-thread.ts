/**
 * The writer thread: the only one that touches the file. Each client has its own port; whatever waits on all of them
 * goes into one transaction.
 */
import { type MessagePort, parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { systemClock } from '../../core/clock.ts';
import { asStoreError } from '../errors.ts';
import { openDatabase } from './database.ts';
import { createEngine, type SqliteEngine } from './engine.ts';
import type { AnswerMessage, BatchMessage } from './message-port-store.ts';

/** From the thread that started the writer. */
export type WriterCommand = { readonly kind: 'connect'; readonly port: MessagePort } | { readonly kind: 'close' };
export type WriterReport =
  | { readonly kind: 'ready' }
  | { readonly kind: 'failed'; readonly name: string; readonly message: string };

interface Received {
  readonly port: MessagePort;
  readonly message: BatchMessage;
}

/** Operations in one transaction, over all clients. */
const TRANSACTION_MAX = 2_000;

function serve(engine: SqliteEngine, parent: MessagePort): void {
  const ports = new Set<MessagePort>();

  function answer(received: readonly Received[]): void {
    try {
      const results = engine.apply(received.flatMap(({ message }) => message[1]));
      let from = 0;
      for (const { port, message } of received) {
        const to = from + message[1].length;
        port.postMessage([message[0], results.slice(from, to)] satisfies AnswerMessage);
        from = to;
      }
    } catch (error) {
      const { name, message: text } = asStoreError(error);
      for (const { port, message } of received) port.postMessage([message[0], null, name, text]);
    }
  }

  /** Everything that waits now, as few transactions as the bound allows. */
  function work(first: Received): void {
    let received = [first];
    let operations = first.message[1].length;
    for (const port of ports) {
      for (let next = receiveMessageOnPort(port); next !== undefined; next = receiveMessageOnPort(port)) {
        const message: BatchMessage = next.message;
        if (operations + message[1].length > TRANSACTION_MAX) {
          answer(received);
          received = [];
          operations = 0;
        }
        received.push({ port, message });
        operations += message[1].length;
      }
    }
    answer(received);
  }

  parent.on('message', (command: WriterCommand) => {
    if (command.kind === 'connect') {
      const { port } = command;
      ports.add(port);
      port.on('message', (message: BatchMessage) => work({ port, message }));
      port.on('close', () => ports.delete(port));
      return;
    }
    for (const port of ports) port.close();
    engine.close();
    parent.close();
  });
}

if (parentPort !== null) {
  const { file } = workerData as { readonly file: string };
  try {
    serve(createEngine(openDatabase(file), systemClock()), parentPort);
    parentPort.postMessage({ kind: 'ready' } satisfies WriterReport);
  } catch (error) {
    const { name, message } = asStoreError(error);
    parentPort.postMessage({ kind: 'failed', name, message } satisfies WriterReport);
    parentPort.close();
  }
}
