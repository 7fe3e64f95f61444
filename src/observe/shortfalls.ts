/** By how much charges fell short of what was owed, by key and day, since this thread started. */
import type { RequestObserver, RequestRecord } from '../core/request-record.ts';
import { DAY_MS, isoDay } from '../core/time.ts';

export interface KeyShortfall {
  readonly key: string;
  readonly day: string;
  readonly charges: number;
  readonly nanos: bigint;
  readonly tokens: bigint;
}

const KEPT_MS = 2 * DAY_MS;
/** Whoever is beyond them is in the metrics and in the request log. */
const KEPT_MAX = 1_000;

export class Shortfalls implements RequestObserver {
  readonly #kept = new Map<string, KeyShortfall>();

  started(): void {}

  finished({ owed, charged, keyId, mode, receivedAtMs }: RequestRecord): void {
    if (owed === null || charged === null || keyId === null || owed <= charged) return;
    const day = isoDay(receivedAtMs);
    const name = `${day} ${keyId}`;
    const before = this.#kept.get(name);
    if (before === undefined && this.#kept.size >= KEPT_MAX) return;
    const missing = owed - charged;
    this.#kept.set(name, {
      key: keyId,
      day,
      charges: (before?.charges ?? 0) + 1,
      nanos: (before?.nanos ?? 0n) + (mode === 'credit' ? missing : 0n),
      tokens: (before?.tokens ?? 0n) + (mode === 'credit' ? 0n : missing),
    });
  }

  list(nowMs: number): readonly KeyShortfall[] {
    const oldest = isoDay(nowMs - KEPT_MS);
    for (const [name, { day }] of this.#kept) if (day < oldest) this.#kept.delete(name);
    return [...this.#kept.values()];
  }
}

/** Of several threads together. */
export function addedUp(lists: readonly (readonly KeyShortfall[])[]): readonly KeyShortfall[] {
  const sums = new Map<string, KeyShortfall>();
  for (const each of lists.flat()) {
    const { key, day } = each;
    const sum = sums.get(`${day} ${key}`) ?? { key, day, charges: 0, nanos: 0n, tokens: 0n };
    const { charges, nanos, tokens } = each;
    sums.set(`${day} ${key}`, {
      key,
      day,
      charges: sum.charges + charges,
      nanos: sum.nanos + nanos,
      tokens: sum.tokens + tokens,
    });
  }
  return [...sums.values()];
}
