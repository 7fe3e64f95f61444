/** The request headers that the gateway reads. They are looked up where they lie: a request has few, and most are never asked for. */

export type ReadHeader =
  | 'authorization'
  | 'x-api-key'
  | 'idempotency-key'
  | 'compat-version'
  | 'anthropic-version'
  | 'anthropic-beta'
  | 'x-request-id';

export class RequestHeaders {
  readonly #raw: readonly string[];

  /** `raw` is a flat list of names and values, in which nothing has been joined or dropped yet. */
  constructor(raw: readonly string[]) {
    this.#raw = raw;
  }

  /** Repeated headers are joined with a comma. */
  get(name: ReadHeader): string | null {
    let joined: string | null = null;
    for (let at = this.#find(name, 0); at !== -1; at = this.#find(name, at + 2)) {
      const value = this.#raw[at + 1] ?? '';
      joined = joined === null ? value : `${joined},${value}`;
    }
    return joined;
  }

  repeated(name: ReadHeader): boolean {
    const first = this.#find(name, 0);
    return first !== -1 && this.#find(name, first + 2) !== -1;
  }

  /** The next place of this name; -1 where there is none. */
  #find(name: ReadHeader, from: number): number {
    const raw = this.#raw;
    for (let at = from; at < raw.length; at += 2) {
      // Most names differ in their length already.
      if (raw[at]?.length === name.length && raw[at]?.toLowerCase() === name) return at;
    }
    return -1;
  }
}
