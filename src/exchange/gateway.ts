/** The parts that every exchange of a process shares. */
import type { Clock } from '../core/clock.ts';
import { GatewayError } from '../core/conditions.ts';
import type { Log } from '../core/log.ts';
import type { Policy } from '../core/policy.ts';
import type { Catalog } from '../core/provider.ts';
import type { RequestObserver } from '../core/request-record.ts';
import type { ExactCounter } from '../counting/exact-counter.ts';
import type { Ledger } from '../ledger/port.ts';
import type { Upstream } from '../provider/upstream.ts';
import type { RoutingState } from '../routing/state.ts';
import type { InFlight } from './in-flight.ts';
import type { KeyCache } from './key-cache.ts';
import type { ReplyBudget } from './reply-recorder.ts';
import type { RunJournal } from './run-journal.ts';
import type { Seals } from './seals.ts';

/** Whether the catalog in memory may be served by: another process may have changed what operators define. */
export interface CatalogLease {
  held(): boolean;
  /** Rejects with what a client is told where the store does not answer. */
  renew(): Promise<void>;
}

export interface Gateway {
  readonly ledger: Ledger;
  /** Asked before the catalog is read: see `configInForce`. */
  readonly lease: CatalogLease;
  readonly clock: Clock;
  readonly upstream: Upstream;
  readonly routing: RoutingState;
  readonly keys: KeyCache;
  readonly seals: Seals;
  readonly inFlight: InFlight;
  readonly counter: ExactCounter;
  readonly replyBudget: ReplyBudget;
  readonly runs: RunJournal;
  readonly log: Log;
  readonly observer: RequestObserver;
  /** Both can change between two exchanges; an exchange reads each once and keeps what it read. */
  catalog(): Catalog;
  policy(): Policy;
  /** The address at which clients reach the gateway, as the operator set it; null where it is not set. */
  readonly publicUrl: string | null;
}

/** What an exchange goes by from its beginning to its end. */
export async function configInForce(gateway: Gateway) {
  if (!gateway.lease.held()) await gateway.lease.renew();
  return { catalog: gateway.catalog(), policy: gateway.policy(), speeds: gateway.routing.speeds };
}

/** The ledger only rejects when its store failed: nothing may start then. */
export function storeFailed(cause: unknown): never {
  throw new GatewayError('service_unavailable', {
    message: 'The ledger cannot be reached right now. Nothing was charged; retry shortly.',
    cause,
  });
}
