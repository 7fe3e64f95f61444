/** The header fields of a request. They are looked up where they lie: there are few, and most are never asked for. */
import { isNamed } from './head.ts';

interface Found {
  readonly first: string;
  /** All values, with a comma between them. */
  readonly joined: string;
  readonly repeated: boolean;
}

/** Names are given in lower case. */
export class FieldList {
  /** Flat: name, value, name, value, as they came. */
  readonly raw: readonly string[];
  #known: Map<string, Found | null> | null = null;

  constructor(raw: readonly string[]) {
    this.raw = raw;
  }

  /** From now on what was looked up is kept: the same list is asked again. */
  remember(): void {
    this.#known ??= new Map();
  }

  first(name: string): string | null {
    return this.#find(name)?.first ?? null;
  }

  /** Repeated fields are joined with a comma. */
  get(name: string): string | null {
    return this.#find(name)?.joined ?? null;
  }

  repeated(name: string): boolean {
    return this.#find(name)?.repeated ?? false;
  }

  #find(name: string): Found | null {
    if (this.#known === null) return this.#search(name);
    let found = this.#known.get(name);
    if (found === undefined) {
      found = this.#search(name);
      this.#known.set(name, found);
    }
    return found;
  }

  #search(name: string): Found | null {
    const { raw } = this;
    let found: Found | null = null;
    for (let at = 0; at + 1 < raw.length; at += 2) {
      if (!isNamed(raw[at] ?? '', name)) continue;
      const value = raw[at + 1] ?? '';
      found =
        found === null
          ? { first: value, joined: value, repeated: false }
          : { first: found.first, joined: `${found.joined},${value}`, repeated: true };
    }
    return found;
  }
}
