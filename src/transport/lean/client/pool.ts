/** The connections to one origin: the newest idle one is used first, and a new one is opened where there is none. */

import type { DeadlineTimer } from '../../../lib/deadline-timer.ts';
import type { ClientCall } from './call.ts';
import { CLOSED_HERE, ClientConnection, type ConnectionOwner } from './connection.ts';
import type { Origin } from './origin.ts';

export class Pool implements ConnectionOwner {
  readonly origin: Origin;
  readonly #connectMs: number;
  readonly #deadlines: DeadlineTimer<ClientConnection>;
  readonly #connections = new Set<ClientConnection>();
  readonly #idle: ClientConnection[] = [];
  #waiting: ClientCall[] = [];
  readonly #onTurn = (): void => this.#sendWaiting();

  constructor(origin: Origin, connectMs: number, deadlines: DeadlineTimer<ClientConnection>) {
    this.origin = origin;
    this.#connectMs = connectMs;
    this.#deadlines = deadlines;
  }

  /**
   * A connection that has been used is asked again only behind the events that wait for this turn of the event loop: a
   * close, or bytes that belong to no response, may be among them.
   */
  send(call: ClientCall): void {
    if (this.#idle.length <= this.#waiting.length) {
      this.#open(call);
      return;
    }
    if (this.#waiting.length === 0) setImmediate(this.#onTurn);
    this.#waiting.push(call);
  }

  onIdle(connection: ClientConnection): void {
    this.#idle.push(connection);
  }

  onClosed(connection: ClientConnection): void {
    this.#connections.delete(connection);
    const index = this.#idle.lastIndexOf(connection);
    if (index !== -1) this.#idle.splice(index, 1);
  }

  async close(): Promise<void> {
    const connections = [...this.#connections];
    for (const call of this.#waiting.splice(0)) call.fail('unreachable', CLOSED_HERE);
    for (const connection of connections) connection.close();
    await Promise.all(connections.map((connection) => connection.closed));
  }

  #sendWaiting(): void {
    const calls = this.#waiting;
    this.#waiting = [];
    const nowMs = performance.now();
    for (const call of calls) {
      if (call.over) continue;
      const connection = this.#takeIdle(nowMs);
      if (connection) connection.begin(call);
      else this.#open(call);
    }
  }

  #takeIdle(nowMs: number): ClientConnection | null {
    for (;;) {
      const connection = this.#idle.pop();
      if (!connection) return null;
      // The timer is coarse; the server's own is not.
      if (connection.deadlineMs > nowMs) return connection;
      connection.destroy();
    }
  }

  #open(call: ClientCall): void {
    this.#connections.add(new ClientConnection(this.origin, this.#connectMs, this.#deadlines, this, call));
  }
}
