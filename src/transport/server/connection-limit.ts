/** How many connections a listener serves, and what is logged when one could not be served. */
import type { Log } from '../../core/log.ts';
import type { RequestFault } from '../errors.ts';
import type { ServerLimits } from '../server.ts';

/**
 * Connections beyond the limit that are still answered, each with a 503: a client must be able to read why. Further
 * ones are closed at once.
 */
const REFUSED_CONNECTIONS_MAX = 64;
/** The same of one address, where that has a limit. */
const REFUSED_OF_ADDRESS_MAX = 8;
/** From so many free places on, of all, connections without a request make room for new ones. */
const NEARLY = 1 / 10;
/** A flood of connections must not become a flood of lines. */
const LOG_INTERVAL_MS = 5_000;

type Limits = Pick<ServerLimits, 'connections' | 'connectionsPerAddress'>;

export class ConnectionLimit {
  readonly #max: number;
  readonly #maxOfAddress: number;
  readonly #refused: RareLine;
  readonly #refusedOfAddress: RareLine;
  readonly #idleClosed: RareLine;
  readonly #notAccepted: RareLine<Error>;

  constructor({ connections, connectionsPerAddress }: Limits, log: Log, nowMs: () => number = () => performance.now()) {
    this.#max = connections;
    this.#maxOfAddress = connectionsPerAddress;
    this.#refused = new RareLine(nowMs, (refused) =>
      log.warn(
        { limit: connections, refused },
        'connections were refused: as many are open as can be served (limits.connections)',
      ),
    );
    this.#refusedOfAddress = new RareLine(nowMs, (refused) =>
      log.warn(
        { limit: connectionsPerAddress, refused },
        'connections were refused: their addresses have as many as one may have (limits.connections_per_address)',
      ),
    );
    this.#idleClosed = new RareLine(nowMs, (closed) =>
      log.warn(
        { limit: connections, closed },
        'connections without a request were closed: nearly as many are open as can be served (limits.connections)',
      ),
    );
    this.#notAccepted = new RareLine(nowMs, (failures, err) =>
      log.error({ err, failures }, 'a connection could not be accepted'),
    );
  }

  /** Whether a new connection is kept at all, if only to be refused; `open` others are, `ofAddress` of them of its address. */
  mayKeep(open: number, ofAddress = 0): boolean {
    if (ofAddress >= this.#maxOfAddress + REFUSED_OF_ADDRESS_MAX) this.#refusedOfAddress.count();
    else if (open >= this.#max + REFUSED_CONNECTIONS_MAX) this.#refused.count();
    else return true;
    return false;
  }

  /** Why a new connection is not served; `served` others are, beside those that are refused. */
  fault(served: number, ofAddress = 0): RequestFault | null {
    if (ofAddress >= this.#maxOfAddress) {
      this.#refusedOfAddress.count();
      return 'too_many_of_address';
    }
    if (served < this.#max) return null;
    this.#refused.count();
    return 'too_many_connections';
  }

  /** Whether another one should close for the next, while `open` are. */
  isNear(open: number): boolean {
    return open >= this.#max - Math.floor(this.#max * NEARLY);
  }

  isFull(open: number): boolean {
    return open >= this.#max;
  }

  idleClosed(): void {
    this.#idleClosed.count();
  }

  acceptFailed(error: Error): void {
    this.#notAccepted.count(error);
  }
}

/** Is written for the first of many, and then with how many there were. */
class RareLine<About = void> {
  readonly #nowMs: () => number;
  readonly #write: (count: number, about: About) => void;
  #writtenAtMs = Number.NEGATIVE_INFINITY;
  /** Since the last line. */
  #count = 0;

  constructor(nowMs: () => number, write: (count: number, about: About) => void) {
    this.#nowMs = nowMs;
    this.#write = write;
  }

  count(about: About): void {
    this.#count += 1;
    const nowMs = this.#nowMs();
    if (nowMs - this.#writtenAtMs < LOG_INTERVAL_MS) return;
    this.#write(this.#count, about);
    this.#writtenAtMs = nowMs;
    this.#count = 0;
  }
}
