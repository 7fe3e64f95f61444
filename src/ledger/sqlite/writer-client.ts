/** The way from any thread to the writer thread: the operations of one turn of the event loop travel as one message. */
import type { MessagePort } from 'node:worker_threads';
import { CompactingMap } from '../../lib/compacting-map.ts';
import { StoreError, storeError } from '../errors.ts';
import type { Operation, Outcome } from '../operations.ts';
import type { Mark } from '../port.ts';
import type { OperationRunner } from '../store.ts';
import { type AnswerMessage, packOperations, type RequestMessage, unpackOutcomes } from './writer-messages.ts';

interface Waiting {
  resolve(outcome: Outcome): void;
  reject(error: StoreError): void;
}

/** The port comes from `connect()` of the store that started the writer. */
export function connectToWriter(port: MessagePort): OperationRunner {
  const waiting = new CompactingMap<number, Waiting>();
  let number = 0;
  let operations: Operation[] = [];
  let marks: Mark[] = [];
  let scheduled = false;
  let closed = false;
  /** Resolves when everything was answered, once the port is to be closed. */
  let answered: PromiseWithResolvers<void> | null = null;

  function take(asked: number): Waiting | undefined {
    const found = waiting.get(asked);
    waiting.delete(asked);
    if (waiting.size === 0) answered?.resolve();
    return found;
  }

  port.on('message', ({ numbers, outcomes, failures }: AnswerMessage) => {
    for (const [index, outcome] of unpackOutcomes(outcomes).entries()) take(numbers[index] ?? 0)?.resolve(outcome);
    for (const [asked, name, message] of failures) take(asked)?.reject(storeError(name, message));
  });
  port.on('close', () => {
    closed = true;
    for (const { reject } of waiting.values()) reject(stopped());
    answered?.resolve();
  });

  function schedule(): void {
    if (scheduled) return;
    scheduled = true;
    setImmediate(post);
  }

  function post(): void {
    scheduled = false;
    if (closed || (operations.length === 0 && marks.length === 0)) return;
    const first = number - operations.length + 1;
    port.postMessage({ first, operations: packOperations(operations), marks } satisfies RequestMessage);
    operations = [];
    marks = [];
  }

  return {
    now: () => null,
    run: (operation) =>
      new Promise((resolve, reject) => {
        if (closed || answered !== null) {
          reject(stopped());
          return;
        }
        number++;
        // The outcome with this number is the one of this operation's name.
        waiting.set(number, { resolve: resolve as Waiting['resolve'], reject });
        operations.push(compact(operation));
        schedule();
      }),
    mark: (mark) => {
      marks.push(mark);
      schedule();
    },
    close: async () => {
      if (closed) return;
      post();
      answered ??= Promise.withResolvers();
      if (waiting.size === 0) answered.resolve();
      await answered.promise;
      port.close();
    },
  };
}

function stopped(): StoreError {
  return new StoreError('the writer of the store has stopped');
}

/** A view into a larger buffer would take that whole buffer along to the other thread. */
function compact(operation: Operation): Operation {
  if (operation.op !== 'settle' || operation.request.reply === null) return operation;
  const { reply } = operation.request;
  if (reply.body.byteLength === reply.body.buffer.byteLength) return operation;
  return { op: 'settle', request: { ...operation.request, reply: { ...reply, body: new Uint8Array(reply.body) } } };
}
