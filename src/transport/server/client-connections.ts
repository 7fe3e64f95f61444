/** The connections of a listener by the addresses of their clients, and which of them closes when there are too many. */

/** One connection, as the others see it. */
export interface ClientConnection {
  /** Null: it counts for nobody, and is not closed for others. */
  readonly address: string | null;
  /** The round since which it has no request; null: it has one. */
  readonly idleSinceRound: number | null;
  destroy(): void;
}

export class ClientConnections<Connection extends ClientConnection> {
  readonly #all = new Set<Connection>();
  readonly #byAddress = new Map<string, Set<Connection>>();

  get size(): number {
    return this.#all.size;
  }

  sizeOf(address: string | null): number {
    return address === null ? 0 : (this.#byAddress.get(address)?.size ?? 0);
  }

  [Symbol.iterator](): IterableIterator<Connection> {
    return this.#all.values();
  }

  add(connection: Connection): void {
    this.#all.add(connection);
    const { address } = connection;
    if (address === null) return;
    const others = this.#byAddress.get(address);
    if (others === undefined) this.#byAddress.set(address, new Set([connection]));
    else others.add(connection);
  }

  /** Whether it was there. */
  delete(connection: Connection): boolean {
    const { address } = connection;
    const others = address === null ? undefined : this.#byAddress.get(address);
    others?.delete(connection);
    if (address !== null && others?.size === 0) this.#byAddress.delete(address);
    return this.#all.delete(connection);
  }

  /** Of the address with the most connections, the one that has been idle for longest; null where all of them are busy. */
  idleOfBusiest(): Connection | null {
    let found: Connection | null = null;
    let most = 0;
    for (const connections of this.#byAddress.values()) {
      if (connections.size <= most) continue;
      const idle = longestIdle(connections);
      if (idle === null) continue;
      found = idle;
      most = connections.size;
    }
    return found;
  }
}

function longestIdle<Connection extends ClientConnection>(connections: Iterable<Connection>): Connection | null {
  let found: Connection | null = null;
  let since = Number.POSITIVE_INFINITY;
  for (const connection of connections) {
    const { idleSinceRound } = connection;
    if (idleSinceRound === null || idleSinceRound >= since) continue;
    found = connection;
    since = idleSinceRound;
  }
  return found;
}
