/**
 * Places in a rate limit are numbered; a row has as many as were taken at one time, under the number of the first. Of those that
 * are stored only the few are loaded that can decide: the oldest that counts, and the ones that must grow old first.
 */
import { integer, type Row } from '../../storage/columns.ts';
import type { RequestWindow } from '../engine/key-state.ts';
import { RATE_WINDOW_MS } from '../operations.ts';
import type { RateState } from '../port.ts';
import { COUNTED_TOKENS_MAX } from '../rules/limits.ts';
import { NotLoaded } from './load.ts';

/** Rows of it that are written: so many places at one time. */
export interface Run {
  readonly id: string;
  readonly number: number;
  readonly atMs: number;
  taken: number;
}

interface Stored {
  readonly number: number;
  readonly atMs: number;
  readonly taken: number;
}

function storedFrom(row: Row): Stored {
  return { number: integer(row, 'number'), atMs: integer(row, 'at_ms'), taken: integer(row, 'taken') };
}

const inOrder = (one: Stored, other: Stored): number => one.number - other.number;

class Places {
  readonly id: string;
  readonly #what: 'requests' | 'tokens';
  readonly #stored: readonly Stored[] | null;
  /** The oldest that counted when they were loaded. */
  readonly #oldest: Stored | undefined;
  readonly taken: Run[] = [];
  /** The one after the newest. */
  next: number;

  constructor(what: 'requests' | 'tokens', id: string, rows: readonly Row[] | undefined, next: number | null) {
    this.#what = what;
    this.id = id;
    this.#stored = rows === undefined ? null : rows.map(storedFrom).sort(inOrder);
    const overMs = rows?.[0] === undefined ? 0 : integer(rows[0], 'over_ms');
    this.#oldest = this.#stored?.find(({ atMs }) => atMs > overMs);
    const newest = this.#stored?.at(-1);
    this.next = next ?? (newest === undefined ? 0 : newest.number + newest.taken);
  }

  /** The oldest that counts. */
  oldest(nowMs: number): { readonly number: number; readonly atMs: number } {
    this.#known(nowMs);
    const oldest = this.#oldest ?? this.taken[0];
    if (oldest === undefined) return { number: this.next, atMs: nowMs };
    // It has left the window since, and those that follow were not loaded.
    if (oldest.atMs <= nowMs - RATE_WINDOW_MS) throw new NotLoaded(this.#what, this.id, { nowMs });
    return oldest;
  }

  /** When this one was taken, which counts. */
  timeOf(place: number, nowMs: number): number {
    const stored = this.#known(nowMs).findLast(({ number, taken }) => number <= place && place < number + taken);
    return (stored ?? this.taken.find(({ number, taken }) => number <= place && place < number + taken))?.atMs ?? nowMs;
  }

  take(count: number, nowMs: number): void {
    this.#known(nowMs);
    const newest = this.taken.at(-1);
    if (newest?.atMs === nowMs) newest.taken += count;
    else this.taken.push({ id: this.id, number: this.next, atMs: nowMs, taken: count });
    this.next += count;
  }

  get storedFromMs(): number | undefined {
    return this.#stored?.[0]?.atMs;
  }

  #known(nowMs: number): readonly Stored[] {
    if (this.#stored === null) throw new NotLoaded(this.#what, this.id, { nowMs });
    return this.#stored;
  }
}

export class RequestPlaces implements RequestWindow {
  readonly #places: Places;
  #firstNumber: number;
  readonly #storedNumber: number;
  #newestMs: number;

  /** `row`: of the key or account. */
  constructor(id: string, row: Row, rows: readonly Row[] | undefined) {
    this.#places = new Places('requests', id, rows, integer(row, 'rate_next'));
    this.#firstNumber = integer(row, 'rate_first');
    this.#storedNumber = integer(row, 'rate_stored');
    this.#newestMs = integer(row, 'rate_at_ms');
  }

  advance(nowMs: number): void {
    this.#firstNumber =
      this.#newestMs <= nowMs - RATE_WINDOW_MS ? this.#places.next : this.#places.oldest(nowMs).number;
  }

  waitMs(limit: number, nowMs: number): number {
    const place = this.#places.next - limit;
    return place < this.#firstNumber ? 0 : this.#places.timeOf(place, nowMs) + RATE_WINDOW_MS - nowMs;
  }

  take(nowMs: number): void {
    this.#places.take(1, nowMs);
    this.#newestMs = nowMs;
  }

  state(limit: number, nowMs: number): RateState {
    const { next } = this.#places;
    const resetMs = next === this.#firstNumber ? 0 : this.#newestMs + RATE_WINDOW_MS - nowMs;
    return { limit, remaining: Math.max(0, limit - next + this.#firstNumber), resetMs };
  }

  get id(): string {
    return this.#places.id;
  }

  get taken(): readonly Run[] {
    return this.#places.taken;
  }

  // As the columns of the key or account have it.

  get first(): number {
    return this.#firstNumber;
  }

  get next(): number {
    return this.#places.next;
  }

  get newestMs(): number {
    return this.#newestMs;
  }

  /** What does not count any more is removed a number of rows at a time: those below this number are. */
  get stored(): number {
    return this.#firstNumber - this.#storedNumber >= REMOVED_MIN ? this.#firstNumber : this.#storedNumber;
  }

  get removes(): boolean {
    return this.stored !== this.#storedNumber;
  }
}

const REMOVED_MIN = 64;

export class TokenPlaces {
  readonly #places: Places;

  constructor(id: string, rows: readonly Row[] | undefined) {
    this.#places = new Places('tokens', id, rows, null);
  }

  waitMs(limit: number, more: number, nowMs: number): number {
    const { number: oldest } = this.#places.oldest(nowMs);
    // The last token that must have left the window.
    const place = this.#places.next + more - limit - 1;
    return place < oldest ? 0 : this.#places.timeOf(place, nowMs) + RATE_WINDOW_MS - nowMs;
  }

  take(count: number, nowMs: number): void {
    if (count > 0) this.#places.take(Math.min(count, COUNTED_TOKENS_MAX), nowMs);
  }

  get taken(): readonly Run[] {
    return this.#places.taken;
  }

  /** What does not count any more is removed a minute's worth at a time; null where it is not worth a statement. */
  removedUntilMs(nowMs: number): number | null {
    const { storedFromMs } = this.#places;
    return storedFromMs !== undefined && storedFromMs <= nowMs - 2 * RATE_WINDOW_MS ? nowMs - RATE_WINDOW_MS : null;
  }
}
