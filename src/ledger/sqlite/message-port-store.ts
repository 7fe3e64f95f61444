/** The store as a client of the writer thread sees it: batches over a message port. */
import type { MessagePort } from 'node:worker_threads';
import { CompactingMap } from '../../lib/compacting-map.ts';
import { StoreError, type StoreErrorName, storeError } from '../errors.ts';
import type { Operation, Result } from '../operations.ts';
import type { Store } from '../store.ts';

/** One batch; answers carry its number. */
export type BatchMessage = readonly [number: number, batch: readonly Operation[]];
export type AnswerMessage =
  | readonly [number: number, results: readonly Result[]]
  | readonly [number: number, failed: null, name: StoreErrorName, message: string];

interface Waiting {
  resolve(results: readonly Result[]): void;
  reject(error: StoreError): void;
}

/** For any thread: the port comes from `connect()` of the store that started the writer. */
export function openMessagePortStore(port: MessagePort): Store {
  const waiting = new CompactingMap<number, Waiting>();
  let number = 0;
  let closed = false;

  port.on('message', (answer: AnswerMessage) => {
    const batch = waiting.get(answer[0]);
    waiting.delete(answer[0]);
    if (answer[1] === null) batch?.reject(storeError(answer[2], answer[3]));
    else batch?.resolve(answer[1]);
  });
  port.on('close', () => {
    closed = true;
    for (const batch of waiting.values()) batch.reject(new StoreError('the writer of the store has stopped'));
  });

  return {
    apply: (batch) =>
      new Promise((resolve, reject) => {
        if (closed) {
          reject(new StoreError('the writer of the store has stopped'));
          return;
        }
        number++;
        waiting.set(number, { resolve, reject });
        port.postMessage([number, batch.map(compact)] satisfies BatchMessage);
      }),
    close: async () => port.close(),
  };
}

/** A view into a larger buffer would take that whole buffer along to the other thread. */
function compact(operation: Operation): Operation {
  if (operation.op !== 'settle' || operation.request.reply === null) return operation;
  const { reply } = operation.request;
  if (reply.body.byteLength === reply.body.buffer.byteLength) return operation;
  return { op: 'settle', request: { ...operation.request, reply: { ...reply, body: new Uint8Array(reply.body) } } };
}
