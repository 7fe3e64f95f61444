/** The reader of a gateway: it asks a thread of its own. */
import { startThread, TaskThread } from '../../../lib/task-thread.ts';
import type { RequestLogReader } from '../store.ts';
import type { ThreadAnswer, ThreadTask } from './thread.ts';

export class SqliteRequestReader implements RequestLogReader {
  readonly find = this.#asking('find');
  readonly captured = this.#asking('captured');
  readonly list = this.#asking('list');
  readonly tail = this.#asking('tail');
  readonly forget = this.#asking('forget');
  readonly prune = this.#asking('prune');
  readonly bytes = this.#asking('bytes');
  readonly failures = this.#asking('failures');
  readonly changeFailures = this.#asking('changeFailures');
  readonly #thread: TaskThread<ThreadTask, ThreadAnswer>;

  constructor(file: string, restMs?: number) {
    this.#thread = new TaskThread(
      () => startThread('thread', import.meta.url, { file }),
      (reason) => new Error(`the thread of the request log has stopped${reason}`),
      restMs,
    );
  }

  close(): Promise<void> {
    return this.#thread.close();
  }

  #asking<Op extends ThreadTask['op']>(op: Op): RequestLogReader[Op] {
    return ((...given: unknown[]) => this.#ask({ op, given })) as RequestLogReader[Op];
  }

  async #ask(task: ThreadTask): Promise<unknown> {
    const answer = await this.#thread.ask(task);
    if ('failed' in answer) throw new Error(answer.failed);
    return answer.value;
  }
}
