/**
 * Decides whether the next batch waits for those whom the last one answered, where each batch is a round trip with a commit of its
 * own. Requests that run at once come back soon: an admitted one with its end, one that has ended with the next of its client. Sent
 * as they come they stay in two halves, one in flight and one under way, for twice as many commits as they need.
 *
 * Where they do not come back so soon, because a model takes its time, waiting is tried ever more rarely. Whoever is alone never
 * waits.
 */

/** Fewer than this in a batch are not worth waiting for. */
const WORTH_WAITING_MIN = 3;
/** The longest that a batch waits, and never longer than twice as long as the last one took: so long sixteen requests need to come back. */
const WAIT_MS_MAX = 4;
/** After having waited in vain, so many batches at most do not wait. */
const REST_MAX = 64;

export class ArrivalForecast {
  /** How many there are to wait for, until when, and how many of them have been there already. */
  #expected = 0;
  #untilMs = 0;
  #there = 0;
  /** So many more batches do not wait; and how many after the next time that it was in vain. */
  #rest = 0;
  #nextRest = 1;

  /** A batch of `answered` operations took from then until now, and `waiting` have come meanwhile. */
  onAnswered(answered: number, waiting: number, sentAtMs: number, nowMs: number): void {
    this.#expected = 0;
    if (answered < WORTH_WAITING_MIN) return;
    if (this.#rest > 0) {
      this.#rest--;
      return;
    }
    this.#expected = answered + waiting;
    this.#there = waiting;
    this.#untilMs = nowMs + Math.min(WAIT_MS_MAX, 2 * (nowMs - sentAtMs));
  }

  /** How long to wait for more than those that are there; 0: not at all. */
  waitMs(waiting: number, nowMs: number): number {
    return waiting >= this.#expected ? 0 : Math.max(0, this.#untilMs - nowMs);
  }

  /** So many are sent: at least half of those that were waited for should be among them. */
  onSend(count: number): void {
    if (this.#expected === 0) return;
    const awaited = this.#expected - this.#there;
    const inVain = count - this.#there < awaited / 2;
    this.#expected = 0;
    this.#rest = inVain ? this.#nextRest : 0;
    this.#nextRest = inVain ? Math.min(REST_MAX, 2 * this.#nextRest) : 1;
  }
}
