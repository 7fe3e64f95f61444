/**
 * A hold that grows with its stream. It covers more output than has been seen, and where output may be hidden more than the
 * model can have produced since the request was accepted, or all that the output limit allows. Where the balance cannot
 * carry more, the stream must end.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Mode } from '../core/key.ts';
import type { OutputCount } from '../counting/output-count.ts';
import type { OutputSample } from '../wire/output-sample.ts';
import type { Admission, HoldSize } from './admission.ts';
import type { Plan } from './plan.ts';
import { holdFor, outputLimitWithin } from './price.ts';

/** A stream holds this much at first, and each extension adds as much, in output tokens. */
export const ELASTIC_SLICE_TOKENS = 2_048;
/** Hidden output is covered for this long ahead, and asked for again when half of that is left. */
export const ELASTIC_AHEAD_S = 4;
/**
 * A stream that is far from the end of its hold is looked at again after so long at the most, or so much output: with the one
 * timer for all signs of life 24.2 -> 20.9 us per chunk of a stream whose every chunk is read and written alone. Looked at for
 * each of their chunks, 1,000 streams at one per 100 ms spent 3.5 % of their CPU on it.
 */
const CALM_MS = 500;
const CALM_BYTES = 16 * 1_024;
/** How often an extension is asked for again while the holds of other requests are in its way. */
const RETRY_MS = 250;

/** Called when a stream that had outrun its hold may go on, or must end. */
export interface ElasticListener {
  grown(): void;
  exhausted(): void;
}

interface ElasticOptions {
  readonly admission: Admission;
  readonly mode: Mode;
  readonly plan: Plan;
  /** How much output the hold carries as it was admitted. */
  readonly carriedTokens: number;
  /** How long it waits for other requests' holds to end. */
  readonly waitMs: number;
  readonly output: OutputCount;
  /** Tokens of hidden output per second at the most; null where all output can be seen. */
  speed(): number | null;
}

export class ElasticHold {
  readonly #options: ElasticOptions;
  readonly #acceptedAt = performance.now();
  #carriedTokens: number;
  /** `short`: it could not be extended ahead of the stream, and is tried once more when the stream has outrun it. */
  #state: 'steady' | 'extending' | 'short' | 'exhausted' = 'steady';
  /** The time since which more is needed than is carried; null while it is not. */
  #outrunAt: number | null = null;
  #outputBytes = 0;
  /** The output that the client has. */
  #passedBytes = 0;
  /** Up to this much output, and this time, there is nothing to decide. */
  #calmBytes = -1;
  #calmUntilMs = 0;
  #sampleOf: () => OutputSample | null = () => null;
  #listener: ElasticListener | null = null;

  constructor(options: ElasticOptions) {
    this.#options = options;
    this.#carriedTokens = options.carriedTokens;
  }

  get carriedTokens(): number {
    return this.#carriedTokens;
  }

  /** How much output may have reached the client by now. */
  get coveredBytes(): number {
    const { output, plan } = this.#options;
    // A hold that carries the whole output limit carries as many bytes as come.
    if (this.#carriedTokens >= plan.outputLimit) return Number.POSITIVE_INFINITY;
    // Hidden output alone may have come to more: nothing else is let out before the hold has grown.
    if (this.#hidden(0) > this.#carriedTokens) return this.#passedBytes;
    return output.bytesWithin(this.#carriedTokens);
  }

  /** `listener` hears the results of extensions. `sampleOf`: the text of its stream, another one once it has begun. */
  follow(listener: ElasticListener, sampleOf: () => OutputSample | null): void {
    this.#listener = listener;
    this.#sampleOf = sampleOf;
    sampleOf()?.widen();
  }

  /** The client has this much output. False where the hold has to be looked at, by `reach`. */
  passes(outputBytes: number): boolean {
    if (outputBytes > this.#calmBytes || performance.now() > this.#calmUntilMs) return false;
    this.#outputBytes = outputBytes;
    this.#passedBytes = outputBytes;
    return true;
  }

  /**
   * The stream has come to this much output; `waits`: the last of it is not covered yet. Extensions are asked for ahead, so
   * that a stream seldom waits.
   */
  reach(outputBytes: number, waits: boolean): 'carried' | 'wait' | 'exhausted' {
    if (this.#carriedTokens >= this.#options.plan.outputLimit) {
      this.#calmBytes = Number.POSITIVE_INFINITY;
      this.#calmUntilMs = Number.POSITIVE_INFINITY;
      return 'carried';
    }
    this.#outputBytes = outputBytes;
    if (!waits) this.#passedBytes = outputBytes;
    const sample = this.#sampleOf();
    if (sample) this.#options.output.collect(sample);
    const outrun = this.#needed() > this.#carriedTokens;
    if (outrun) this.#outrunAt ??= performance.now();
    const steady = this.#state === 'steady';
    const ask = steady ? this.#ahead(0.5) > this.#carriedTokens : this.#state === 'short' && outrun;
    if (ask) void this.#extend();
    this.#calm(steady && !ask);
    if (!outrun) return 'carried';
    return this.#state === 'exhausted' ? 'exhausted' : 'wait';
  }

  /** Until when, and up to how much output, no more would be asked for, if nothing else changes. */
  #calm(isCalm: boolean): void {
    const { output } = this.#options;
    const within = this.#carriedTokens - ELASTIC_SLICE_TOKENS / 2;
    const calmMs = isCalm ? Math.min(this.#hiddenWithinMs(ELASTIC_AHEAD_S / 2), CALM_MS) : 0;
    this.#calmUntilMs = calmMs > 0 ? performance.now() + calmMs : 0;
    this.#calmBytes = calmMs > 0 ? Math.min(output.bytesWithin(within), this.#outputBytes + CALM_BYTES) : -1;
  }

  /** How long the hold carries what the model can have produced by so many seconds later. */
  #hiddenWithinMs(aheadS: number): number {
    const speed = this.#options.speed();
    // Answers that all fitted into the first slice have no speed.
    if (speed === null || speed === 0) return Number.POSITIVE_INFINITY;
    const acceptedMs = performance.now() - this.#acceptedAt;
    return ((this.#carriedTokens - ELASTIC_SLICE_TOKENS) / speed - aheadS) * 1_000 - acceptedMs;
  }

  /** Time has passed. */
  tick(): void {
    const waits = this.#passedBytes < this.#outputBytes;
    if (this.reach(this.#outputBytes, waits) === 'exhausted') this.#listener?.exhausted();
  }

  /** Output tokens that must be carried now. */
  #needed(): number {
    return this.#ahead(0);
  }

  /** The same, this share of a slice and of the time ahead. */
  #ahead(share: number): number {
    const { output, plan } = this.#options;
    const seen = output.atMost(this.#outputBytes) + ELASTIC_SLICE_TOKENS * share;
    return Math.min(Math.max(seen, this.#hidden(ELASTIC_AHEAD_S * share)), plan.outputLimit);
  }

  /** The output that the model can have produced by so many seconds from now. */
  #hidden(aheadS: number): number {
    const speed = this.#options.speed();
    if (speed === null) return 0;
    return ELASTIC_SLICE_TOKENS + Math.ceil(speed * ((performance.now() - this.#acceptedAt) / 1_000 + aheadS));
  }

  async #extend(): Promise<void> {
    this.#state = 'extending';
    for (;;) {
      const outrun = this.#needed() > this.#carriedTokens;
      const grown = outrun ? await this.#growWhenFree() : (await this.#raise(this.#carriedTokens)) === 'grown';
      if (this.#needed() <= this.#carriedTokens) {
        this.#state = grown ? 'steady' : 'short';
        this.#outrunAt = null;
        this.#listener?.grown();
        return;
      }
      if (outrun && !grown) {
        this.#state = 'exhausted';
        this.#listener?.exhausted();
        return;
      }
    }
  }

  /** The holds of other requests are released when they end, so they are waited for. */
  async #growWhenFree(): Promise<boolean> {
    for (;;) {
      let raised = await this.#raise(this.#needed());
      // A bound by bytes is several times what the text comes to: no stream ends or waits before its text has been counted.
      const sample = this.#sampleOf();
      if (raised !== 'grown' && sample) {
        await this.#options.output.count(sample);
        if (this.#needed() <= this.#carriedTokens) return false;
        raised = await this.#raise(this.#needed());
      }
      if (raised === 'grown') return true;
      if (raised !== 'temporarily_held' || this.#waitLeftMs() <= 0) return false;
      await delay(Math.min(RETRY_MS, this.#waitLeftMs()), undefined, { ref: false });
    }
  }

  /**
   * To a slice more than is needed, or to as much of it as there is down to `least` tokens. Where `least` is carried already
   * nothing is waited for: others that wait must not take this stream for one that does.
   */
  async #raise(least: number): Promise<'grown' | 'temporarily_held' | 'refused'> {
    const { admission, mode, plan } = this.#options;
    const before = this.#carriedTokens;
    const extension = await admission.extend(this.#sizeFor(this.#ahead(1)), this.#sizeFor(least));
    if (extension !== 'extended') return extension;
    this.#carriedTokens = Math.max(before, carriedOutput(mode, plan, admission));
    return this.#carriedTokens > before ? 'grown' : 'refused';
  }

  #sizeFor(outputTokens: number): HoldSize {
    const { mode, plan } = this.#options;
    return { amount: holdFor(mode, plan, outputTokens), tokens: holdFor('token_budget', plan, outputTokens) };
  }

  /** The time that a stream may wait counts from when it has nothing left to go on with. */
  #waitLeftMs(): number {
    const { waitMs } = this.#options;
    return this.#outrunAt === null ? waitMs : waitMs - (performance.now() - this.#outrunAt);
  }
}

/** The output of one choice that a hold carries at every level. */
export function carriedOutput(mode: Mode, plan: Plan, { held, heldTokens }: Admission): number {
  const carried = outputLimitWithin(mode, plan, held);
  return heldTokens === null ? carried : Math.min(carried, outputLimitWithin('token_budget', plan, heldTokens));
}
