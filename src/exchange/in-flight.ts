/**
 * A drain waits for requests that are being served, and for exchanges until the end of their hold is durable. The
 * progress of the exchanges is marked regularly; and none of them waits beyond its deadline.
 */

import type { RunningRequest } from '../core/request-record.ts';
import { type Ledger, MARK_INTERVAL_MS, type Mark } from '../ledger/port.ts';
import { DeadlineTimer, type HasDeadline } from '../lib/deadline-timer.ts';
import type { Node } from '../lib/linked-list.ts';

export interface InFlightExchange extends HasDeadline {
  /** The charge that recovery would make if the process died now; null while nothing is owed or nothing has changed. */
  progress(): Mark | null;
  /** Its hold has ended: there is nothing more to mark. */
  readonly ended: boolean;
  /** The present state of the exchange, for the operator. */
  running(): RunningRequest;
  /** Ends the exchange as if its client had closed the connection, and answers the client. */
  stop(reason: 'drain' | 'operator'): void;
}

/** In one turn of the event loop: with ten thousand streams, nobody else would be served while all of them are marked. */
const MARKED_AT_ONCE = 500;

export class InFlight {
  readonly #ledger: Pick<Ledger, 'mark'>;
  readonly #live = new DeadlineTimer<InFlightExchange>();
  #requests = 0;
  #draining = false;
  #stopping = false;
  #timer: NodeJS.Timeout | null = null;
  #whenEmpty: (() => void) | null = null;

  constructor(ledger: Pick<Ledger, 'mark'>) {
    this.#ledger = ledger;
  }

  get size(): number {
    return this.#live.size;
  }

  running(): RunningRequest[] {
    return [...this.#live.values()].map((exchange) => exchange.running());
  }

  /** Whether this process is about to end. */
  get draining(): boolean {
    return this.#draining;
  }

  /** Ends one request, which is charged for what was produced; false where it does not run here. */
  stop(requestId: string): boolean {
    const found = [...this.#live.values()].find((exchange) => exchange.running().id === requestId);
    found?.stop('operator');
    return found !== undefined;
  }

  /** A request is served from here on, whether it will hold anything or not; `requestEnded` must follow. */
  requestStarted(): void {
    this.#requests += 1;
  }

  requestEnded(): void {
    this.#requests -= 1;
    this.#resolveIfDrained();
  }

  /** It has `ms` from now. Its node goes back to `remove`. */
  add(exchange: InFlightExchange, ms: number): Node<InFlightExchange> {
    const node = this.#live.add(exchange);
    this.#live.set(exchange, ms);
    if (this.#stopping) exchange.stop('drain');
    this.#timer ??= setInterval(() => this.#mark(), MARK_INTERVAL_MS).unref();
    return node;
  }

  /** Moves its deadline to `ms` from now. */
  setDeadline(exchange: InFlightExchange, ms: number): void {
    this.#live.set(exchange, ms);
  }

  remove(node: Node<InFlightExchange>): void {
    this.#live.remove(node);
    this.#resolveIfDrained();
  }

  /**
   * Waits until nothing is served or unsettled. At the deadline, stops the exchanges and waits for their settlements only,
   * `settleWaitMs` at most: what the store has not taken by then is recovered.
   */
  async drain(deadlineMs: number, settleWaitMs: number): Promise<void> {
    this.#draining = true;
    const timers: NodeJS.Timeout[] = [];
    await new Promise<void>((resolve) => {
      this.#whenEmpty = resolve;
      timers.push(
        setTimeout(() => this.#stop(), deadlineMs),
        setTimeout(resolve, deadlineMs + settleWaitMs),
      );
      this.#resolveIfDrained();
    });
    for (const timer of timers) clearTimeout(timer);
    // The last replies are written before their connections are closed.
    await new Promise((resolve) => setImmediate(resolve));
    if (this.#timer) clearInterval(this.#timer);
    this.#timer = null;
  }

  #stop(): void {
    this.#stopping = true;
    for (const exchange of this.#live.values()) exchange.stop('drain');
    this.#resolveIfDrained();
  }

  #resolveIfDrained(): void {
    if (this.#live.size === 0 && (this.#stopping || this.#requests === 0)) this.#whenEmpty?.();
  }

  #mark(): void {
    // An idle gateway uses no CPU: the interval ends with the last exchange and begins again with the next.
    if (this.#live.size === 0 && this.#timer) {
      clearInterval(this.#timer);
      this.#timer = null;
      return;
    }
    this.#markFrom(this.#live.values(), 0);
  }

  #markFrom(exchanges: readonly InFlightExchange[], first: number): void {
    const next = first + MARKED_AT_ONCE;
    for (const exchange of exchanges.slice(first, next)) {
      const mark = exchange.ended ? null : exchange.progress();
      if (mark) this.#ledger.mark(mark);
    }
    if (next < exchanges.length) setImmediate(() => this.#markFrom(exchanges, next));
  }
}
