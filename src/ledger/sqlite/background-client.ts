/** The store's side of its background thread. */
import { startThread, TaskThread, type Thread } from '../../lib/task-thread.ts';
import { StoreError } from '../../storage/errors.ts';
import type { BackgroundAnswer, BackgroundOutcome, BackgroundTask } from './background-tasks.ts';

/** The disk did not take, or give, what it was asked to. */
export class DiskError extends StoreError {}

export type BackgroundThread = Thread<BackgroundTask, BackgroundAnswer>;

/** A thread for the database in that file. */
export type StartBackgroundThread = (file: string) => BackgroundThread;

const startWorker: StartBackgroundThread = (file) => startThread('background-thread', import.meta.url, { file });

export class BackgroundWorker {
  readonly #thread: TaskThread<BackgroundTask, BackgroundAnswer>;

  constructor(file: string, start: StartBackgroundThread = startWorker) {
    this.#thread = new TaskThread(
      () => start(file),
      (reason) => new StoreError(`the background thread of the store has stopped${reason}`),
    );
  }

  /** Whether it has nothing to do. */
  get idle(): boolean {
    return this.#thread.idle;
  }

  async do(task: BackgroundTask): Promise<BackgroundOutcome> {
    const answer = await this.#thread.ask(task);
    if ('outcome' in answer) return answer.outcome;
    throw answer.disk ? new DiskError(answer.failed) : new StoreError(answer.failed);
  }

  /** After what was asked of it. */
  close(): Promise<void> {
    return this.#thread.close();
  }
}
