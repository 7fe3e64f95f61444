/**
 * How fast targets produce output, from their complete streams: output that cannot be seen is bounded by time, and where
 * nobody reports it, charged by time. Tokens per second.
 */
import type { Target } from '../core/model.ts';
import { getOrInsert } from '../lib/get-or-insert.ts';

/** The most that are remembered of a target, and the least that say something. */
const RECENT_MAX = 1_000;
const RECENT_MIN = 50;
/** A stream may be so many times as fast as the fastest one before it. */
const MARGIN = 2;
/** The tokens of visible text are an estimate, and tokenizers differ by a third: less than this beside them is not hidden. */
const HIDDEN_TOKENS_MIN = 64;
const HIDDEN_SHARE_MIN = 0.3;
/** A distribution is stored as its smallest value, its largest, and those at equal distances between them. */
const QUANTILES = 20;

interface FinishedStream {
  /** The output as the provider reported it, and the part of it that could be seen, by its length. */
  readonly outputTokens: number;
  readonly visibleTokens: number;
  /** Output that needs no time: what a hold carries from the start. */
  readonly firstTokens: number;
  readonly sinceAcceptedMs: number;
  readonly sinceHeadersMs: number;
}

/** The samples of one target, as they are stored. */
export interface StoredSpeeds {
  readonly count: number;
  readonly total: readonly number[];
  readonly hidden: readonly number[];
}

type TargetName = Pick<Target, 'provider' | 'upstreamModel'>;

export class OutputSpeeds {
  readonly #targets = new Map<string, { readonly total: Recent; readonly hidden: Recent }>();
  #changed = false;

  /** The speed that no stream of the target exceeds; null where too little is known of it. */
  bound(target: TargetName): number | null {
    const total = this.#targets.get(nameOf(target))?.total;
    return total === undefined || total.count < RECENT_MIN ? null : total.largest * MARGIN;
  }

  /** How much hidden output it typically produces; null where too little is known of it. */
  hidden(target: TargetName): number | null {
    const hidden = this.#targets.get(nameOf(target))?.hidden;
    return hidden === undefined || hidden.count < RECENT_MIN ? null : hidden.median;
  }

  note(target: TargetName, stream: FinishedStream): void {
    const { outputTokens, visibleTokens, firstTokens, sinceAcceptedMs, sinceHeadersMs } = stream;
    const unseen = mayBeHidden(outputTokens, visibleTokens) ? outputTokens - visibleTokens : 0;
    const { total, hidden } = this.#of(nameOf(target));
    total.add(perSecond(Math.max(0, outputTokens - firstTokens), sinceAcceptedMs));
    hidden.add(perSecond(unseen, sinceHeadersMs));
    this.#changed = true;
  }

  /** Whether something was noted since the last call. */
  takeChanged(): boolean {
    const changed = this.#changed;
    this.#changed = false;
    return changed;
  }

  /**
   * Adds what other gateways, or an earlier run, have stored. Where this one has seen a full window of streams itself, its
   * own figures stand; otherwise the faster of the two do.
   */
  merge(stored: Readonly<Record<string, StoredSpeeds>>): void {
    for (const [name, { count, total, hidden }] of Object.entries(stored)) {
      const own = this.#of(name);
      if (own.total.count >= RECENT_MAX) continue;
      if (own.total.count < Math.min(count, RECENT_MAX)) {
        own.total.fill(total, count);
        own.hidden.fill(hidden, count);
      } else {
        own.total.raise(total.at(-1) ?? 0);
      }
    }
  }

  toStored(): Record<string, StoredSpeeds> {
    const stored: Record<string, StoredSpeeds> = {};
    for (const [name, { total, hidden }] of this.#targets) {
      stored[name] = { count: total.count, total: total.quantiles(), hidden: hidden.quantiles() };
    }
    return stored;
  }

  #of(name: string): { readonly total: Recent; readonly hidden: Recent } {
    return getOrInsert(this.#targets, name, () => ({ total: new Recent(), hidden: new Recent() }));
  }
}

/** Whether more was produced than what could be seen can have come to, by its estimate. */
export function mayBeHidden(outputTokens: number, visibleTokens: number): boolean {
  const unseen = outputTokens - visibleTokens;
  return unseen >= HIDDEN_TOKENS_MIN && unseen >= outputTokens * HIDDEN_SHARE_MIN;
}

/** The last values of a series. */
class Recent {
  readonly #values: number[] = [];
  #next = 0;
  #largest = 0;
  /** Sorted when it is asked for after a change. */
  #sorted: readonly number[] | null = null;

  get count(): number {
    return this.#values.length;
  }

  get largest(): number {
    return this.#largest;
  }

  get median(): number {
    const sorted = this.#inOrder();
    return sorted[Math.floor(sorted.length / 2)] ?? 0;
  }

  add(value: number): void {
    const replaced = this.#values[this.#next];
    this.#values[this.#next] = value;
    this.#next = (this.#next + 1) % RECENT_MAX;
    this.#sorted = null;
    if (value >= this.#largest) this.#largest = value;
    else if (replaced === this.#largest) this.#largest = this.#values.reduce((a, b) => Math.max(a, b), 0);
  }

  raise(value: number): void {
    if (value > this.#largest) this.add(value);
  }

  quantiles(): readonly number[] {
    const sorted = this.#inOrder();
    if (sorted.length === 0) return [];
    const at = (share: number): number => sorted[Math.round(share * (sorted.length - 1))] ?? 0;
    return Array.from({ length: QUANTILES + 1 }, (_, place) => Math.round(at(place / QUANTILES) * 1_000) / 1_000);
  }

  /** Restores as many values as there were, spread like the stored ones; the largest comes last, so that it stays longest. */
  fill(quantiles: readonly number[], count: number): void {
    if (quantiles.length === 0) return;
    const own = this.#values.splice(0);
    this.#next = 0;
    this.#largest = 0;
    const filled = Math.min(count, RECENT_MAX - own.length);
    for (let place = 1; place <= filled; place++) {
      this.add(quantiles[Math.ceil((place / filled) * (quantiles.length - 1))] ?? 0);
    }
    for (const value of own) this.add(value);
  }

  #inOrder(): readonly number[] {
    this.#sorted ??= this.#values.toSorted((a, b) => a - b);
    return this.#sorted;
  }
}

function perSecond(tokens: number, ms: number): number {
  return (tokens * 1_000) / Math.max(1, ms);
}

function nameOf({ provider, upstreamModel }: TargetName): string {
  return `${provider}/${upstreamModel}`;
}
