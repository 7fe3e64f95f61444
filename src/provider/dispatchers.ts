/** For what is not a generation call: undici dispatchers that go the same way to a provider, by proxy and certificates. */
import type { Dispatcher } from 'undici';
import type { Network } from '../core/provider.ts';
import { getOrInsert } from '../lib/get-or-insert.ts';
import { openDispatcher } from '../transport/client/pool.ts';

export class Dispatchers {
  readonly #opened = new Map<string, Dispatcher>();

  /** Only the connection is timed. */
  of(network: Network, connectMs: number): Dispatcher {
    const name = JSON.stringify([connectMs, network]);
    return getOrInsert(this.#opened, name, () => openDispatcher(network, connectMs));
  }

  async close(): Promise<void> {
    await Promise.all([...this.#opened.values()].map((dispatcher) => dispatcher.destroy()));
    this.#opened.clear();
  }
}
