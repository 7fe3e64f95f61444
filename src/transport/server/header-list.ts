/** The header fields of a request. They are searched where they are: there are few, and most are never asked for. */
import type { RequestHeaders } from '../server.ts';

export class HeaderList implements RequestHeaders {
  /** Flat: name, value, name, value, as they were received. */
  readonly raw: readonly string[];

  constructor(raw: readonly string[]) {
    this.raw = raw;
  }

  first(name: string): string | null {
    const { raw } = this;
    for (let at = 0; at + 1 < raw.length; at += 2) {
      if (isNamed(raw[at] ?? '', name)) return raw[at + 1] ?? '';
    }
    return null;
  }

  get(name: string): string | null {
    const { raw } = this;
    let joined: string | null = null;
    for (let at = 0; at + 1 < raw.length; at += 2) {
      if (!isNamed(raw[at] ?? '', name)) continue;
      const value = raw[at + 1] ?? '';
      joined = joined === null ? value : `${joined},${value}`;
    }
    return joined;
  }

  repeated(name: string): boolean {
    const { raw } = this;
    let found = 0;
    for (let at = 0; at + 1 < raw.length; at += 2) if (isNamed(raw[at] ?? '', name)) found += 1;
    return found > 1;
  }
}

/** Most names differ in their length already. */
export function isNamed(name: string, lowerName: string): boolean {
  return name.length === lowerName.length && (name === lowerName || name.toLowerCase() === lowerName);
}
