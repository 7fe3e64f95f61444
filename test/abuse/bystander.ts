/** Somebody who has nothing to do with an attack, and what it has to wait meanwhile. */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';

export interface Waits {
  readonly ms: number[];
  /** Of requests that were not served. */
  readonly faults: string[];
  served: number;
}

export type BystanderOrder =
  | { readonly kind: 'ask'; readonly origin: string; readonly key: string; readonly model: string }
  | { readonly kind: 'report' }
  | { readonly kind: 'end' };

export type BystanderReport =
  | { readonly kind: 'listening'; readonly port: number }
  | { readonly kind: 'waits'; readonly waits: Waits };

export class Bystander implements AsyncDisposable {
  readonly providerPort: number;
  readonly #thread: Worker;

  private constructor(thread: Worker, providerPort: number) {
    this.#thread = thread;
    this.providerPort = providerPort;
  }

  static async start(): Promise<Bystander> {
    const thread = new Worker(new URL('bystander-thread.ts', import.meta.url));
    const [report] = (await once(thread, 'message')) as [BystanderReport];
    if (report.kind !== 'listening') throw new Error('the bystander did not start');
    return new Bystander(thread, report.port);
  }

  ask(origin: string, key: string, model: string): void {
    this.#order({ kind: 'ask', origin, key, model });
  }

  /** Since the last report. */
  report(): Promise<Waits> {
    return this.#waits({ kind: 'report' });
  }

  /** Since the last report, with the request that runs, which is the last one; a gateway that hangs must be killed before. */
  end(): Promise<Waits> {
    return this.#waits({ kind: 'end' });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#thread.terminate();
  }

  async #waits(order: BystanderOrder): Promise<Waits> {
    this.#order(order);
    const [report] = (await once(this.#thread, 'message')) as [BystanderReport];
    if (report.kind !== 'waits') throw new Error('the bystander was asked for its waits');
    return report.waits;
  }

  #order(order: BystanderOrder): void {
    this.#thread.postMessage(order);
  }
}

const EVERY_MS = 25;

export interface Percentiles {
  readonly p50: number;
  readonly p99: number;
  readonly most: number;
}

/**
 * Of what somebody would have waited who asks every 25 ms, whether or not the last request was answered: one that sends the next request after
 * the answer to the last one would otherwise see a stall of seconds only once.
 */
export function percentiles({ ms }: Waits): Percentiles {
  const all = ms.flatMap((wait) =>
    Array.from({ length: Math.max(1, Math.ceil(wait / EVERY_MS)) }, (_none, missed) => wait - missed * EVERY_MS),
  );
  all.sort((one, other) => one - other);
  const at = (share: number): number => Math.round(all[Math.min(all.length - 1, Math.floor(all.length * share))] ?? 0);
  return { p50: at(0.5), p99: at(0.99), most: at(1) };
}
