/**
 * The writer thread: it alone has the database open, in the same store that one serving thread would have in itself. Each
 * client has a port of its own; the operations of all of them share commits and flushes.
 */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { asStoreError, type StoreErrorName } from '../errors.ts';
import type { LedgerStats } from '../group-commit/batch-stats.ts';
import { GroupCommit } from '../group-commit/group-commit.ts';
import type { OperationName, Outcome } from '../operations.ts';
import type { OperationRunner } from '../store.ts';
import { openInProcessStore } from './in-process-store.ts';
import { type AnswerMessage, packOutcomes, type RequestMessage, unpackOperations } from './writer-messages.ts';

/** From the thread that started the writer. */
export type WriterCommand =
  | { readonly kind: 'connect'; readonly port: MessagePort }
  | { readonly kind: 'stats' }
  | { readonly kind: 'close' };
export type WriterReport =
  | { readonly kind: 'ready' }
  | { readonly kind: 'stats'; readonly stats: LedgerStats }
  /** It could not start, or not close cleanly; the thread ends. */
  | { readonly kind: 'failed'; readonly name: string; readonly message: string }
  /** From now on every operation fails. */
  | { readonly kind: 'broken'; readonly message: string };

function serve(operations: GroupCommit, parent: MessagePort): void {
  const ports = new Set<MessagePort>();

  parent.on('message', (command: WriterCommand) => {
    if (command.kind === 'connect') {
      const { port } = command;
      ports.add(port);
      port.on('close', () => ports.delete(port));
      servePort(operations, port);
      return;
    }
    if (command.kind === 'stats') {
      void operations.stats().then((stats) => report({ kind: 'stats', stats }));
      return;
    }
    operations
      .close()
      .catch((error: unknown) => report(failureOf(error)))
      .finally(() => {
        for (const port of ports) port.close();
        parent.close();
      });
  });
}

/** Performs what a client of `connectToWriter` sends, and answers. */
export function servePort(operations: OperationRunner, port: MessagePort): void {
  const answers = new Answers(port);
  port.on('message', (message: RequestMessage) => perform(operations, message, answers));
}

function perform(operations: OperationRunner, message: RequestMessage, answers: Answers): void {
  for (const mark of message.marks) operations.mark(mark);
  unpackOperations(message.operations).forEach((operation, index) => {
    const number = message.first + index;
    const outcome = operations.now<OperationName>(operation);
    if (outcome !== null) {
      answers.add(number, outcome);
      return;
    }
    operations.run<OperationName>(operation).then(
      (later) => answers.add(number, later),
      (error: unknown) => answers.addFailure(number, error),
    );
  });
}

/** What one client gets; answers that come together travel as one message. */
class Answers {
  readonly #port: MessagePort;
  #numbers: number[] = [];
  #outcomes: Outcome[] = [];
  #failures: AnswerMessage['failures'][number][] = [];
  #scheduled = false;

  constructor(port: MessagePort) {
    this.#port = port;
  }

  add(number: number, outcome: Outcome): void {
    this.#numbers.push(number);
    this.#outcomes.push(outcome);
    this.#schedule();
  }

  addFailure(number: number, error: unknown): void {
    const { name, message } = asStoreError(error);
    this.#failures.push([number, name as StoreErrorName, message]);
    this.#schedule();
  }

  /** After everything that is settled in this moment, such as the other outcomes of a flush. */
  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    queueMicrotask(() => this.#post());
  }

  #post(): void {
    this.#scheduled = false;
    this.#port.postMessage({
      numbers: this.#numbers,
      outcomes: packOutcomes(this.#outcomes),
      failures: this.#failures,
    } satisfies AnswerMessage);
    this.#numbers = [];
    this.#outcomes = [];
    this.#failures = [];
  }
}

function report(message: WriterReport): void {
  parentPort?.postMessage(message);
}

function failureOf(error: unknown): WriterReport {
  const { name, message } = asStoreError(error);
  return { kind: 'failed', name, message };
}

if (parentPort !== null) {
  const { file } = workerData as { readonly file: string };
  try {
    const store = openInProcessStore({ file, onBroken: ({ message }) => report({ kind: 'broken', message }) });
    serve(new GroupCommit(store), parentPort);
    report({ kind: 'ready' });
  } catch (error) {
    report(failureOf(error));
    parentPort.close();
  }
}
