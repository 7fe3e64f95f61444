import { fileURLToPath } from 'node:url';
import type { Job, LoadMessage, LoadResult } from './load.ts';
import { type Child, type Placement, startChild } from './processes.ts';

const PROGRAM = fileURLToPath(new URL('load.ts', import.meta.url));

/** The bench's side of the load generator's process. One job at a time. */
export class LoadClient {
  readonly #child: Child;

  constructor(placement: Placement) {
    this.#child = startChild(placement.prefix('load'), { command: process.execPath, args: [PROGRAM], ipc: true });
  }

  /** `onOpen` is called when every slot's stream has begun. */
  run(job: Job, onOpen: () => void = () => {}): Promise<LoadResult> {
    const { process: child } = this.#child;
    return new Promise((resolve, reject) => {
      const gone = (): void => reject(new Error(`the load generator ended: ${this.#child.output()}`));
      const hear = (message: LoadMessage): void => {
        if (message.kind === 'open') {
          onOpen();
          return;
        }
        child.off('message', hear);
        child.off('exit', gone);
        resolve(message.result);
      };
      child.on('message', hear);
      child.once('exit', gone);
      child.send(job);
    });
  }

  stop(): Promise<void> {
    return this.#child.stop();
  }
}
