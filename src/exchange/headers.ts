/** The request headers that the gateway reads, each at most once; what is repeated is known to be. */

const READ = [
  'authorization',
  'x-api-key',
  'idempotency-key',
  'compat-version',
  'anthropic-version',
  'anthropic-beta',
  'x-request-id',
] as const;
export type ReadHeader = (typeof READ)[number];

const NAMES: ReadonlySet<string> = new Set(READ);
const LENGTHS: ReadonlySet<number> = new Set(READ.map((name) => name.length));

export class RequestHeaders {
  readonly #values = new Map<string, string>();
  readonly #repeated = new Set<string>();

  /** `raw` is Node's flat list of names and values, in which nothing has been joined or dropped yet. */
  constructor(raw: readonly string[]) {
    for (let i = 0; i + 1 < raw.length; i += 2) {
      const name = raw[i] ?? '';
      if (!LENGTHS.has(name.length)) continue;
      const lower = name.toLowerCase();
      if (!NAMES.has(lower)) continue;
      const value = raw[i + 1] ?? '';
      const before = this.#values.get(lower);
      if (before !== undefined) this.#repeated.add(lower);
      this.#values.set(lower, before === undefined ? value : `${before},${value}`);
    }
  }

  /** Repeated headers are joined with a comma. */
  get(name: ReadHeader): string | null {
    return this.#values.get(name) ?? null;
  }

  repeated(name: ReadHeader): boolean {
    return this.#repeated.has(name);
  }
}
