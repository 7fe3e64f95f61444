/** The tokens that a limit on tokens per minute still counts: what was counted when, oldest first. */
import { type Row, text } from '../../storage/columns.ts';
import { RATE_WINDOW_MS } from '../operations.ts';
import { type RateRun, RateWindow, readRun } from './rate-window.ts';

interface TokenRun extends RateRun {
  /** One count for each of the times. */
  readonly tokens: readonly number[];
}

export class TokenWindow {
  readonly #times: RateWindow;
  #tokens: number[];
  #sum: number;
  /** Of the times that the database does not have yet. */
  #unsaved: number[] = [];

  constructor(runs: readonly TokenRun[]) {
    this.#times = new RateWindow(runs);
    this.#tokens = runs.flatMap(({ tokens }) => tokens);
    this.#sum = this.#tokens.reduce((sum, tokens) => sum + tokens, 0);
  }

  get nextNumber(): number {
    return this.#times.nextNumber;
  }

  /** Forgets what has left the window. */
  advance(nowMs: number): void {
    const { count } = this.#times;
    this.#times.advance(nowMs);
    const left = count - this.#times.count;
    if (left > 0) for (const tokens of this.#tokens.splice(0, left)) this.#sum -= tokens;
  }

  /** How long until so many more fit under the limit, where they are not more than it; 0 when they fit now. */
  waitMs(limit: number, more: number, nowMs: number): number {
    let over = this.#sum + more - limit;
    if (over <= 0) return 0;
    const index = this.#tokens.findIndex((tokens) => {
      over -= tokens;
      return over <= 0;
    });
    return this.#times.timeAt(index) + RATE_WINDOW_MS - nowMs;
  }

  take(nowMs: number, tokens: number): void {
    this.#times.take(nowMs);
    this.#tokens.push(tokens);
    this.#unsaved.push(tokens);
    this.#sum += tokens;
  }

  /** Gives the newest count back, which must not have been saved. */
  undo(): void {
    this.#times.undo();
    this.#sum -= this.#tokens.pop() ?? 0;
    this.#unsaved.pop();
  }

  /** What the database does not have yet; null when there is nothing. */
  unsaved(): TokenRun | null {
    const run = this.#times.unsaved();
    return run && { ...run, tokens: [...this.#unsaved] };
  }

  /** The database has this run now, which was unsaved; more may have come since. */
  saved(run: TokenRun): void {
    this.#times.saved(run);
    const left = this.#times.unsaved()?.times.length ?? 0;
    this.#unsaved = this.#unsaved.slice(this.#unsaved.length - left);
  }

  worthRemoving(requestsMin: number): boolean {
    return this.#times.worthRemoving(requestsMin);
  }
}

export function readTokenRun(row: Row): TokenRun {
  // Written by `RateWindows`.
  return { ...readRun(row), tokens: JSON.parse(text(row, 'tokens')) as number[] };
}
