/** What the draws of a step are made of: ids, amounts, usage, and whom an operation is about. */
import type { RateLimits } from '../../src/core/limits.ts';
import type { UsageRecord } from '../../src/ledger/port.ts';
import type { Model } from './model.ts';
import type { ModelHold, ModelKey } from './model-parts.ts';
import type { Random } from './random.ts';

export const OWNERS = ['left', 'right', 'third'] as const;
export const MODELS = ['one', 'two'] as const;
export const PERIODS = ['day', 'week', 'month', 'none'] as const;
/** A voided hold is remembered for a week; nobody sends an admission again after so long. */
const REPEAT_WITHIN_MS = 5 * 86_400_000;

export class DrawParts {
  readonly random: Random;
  readonly model: Model;
  /** Makes the ids of this step unique. */
  readonly step: number;
  #drawn = 0;

  constructor(random: Random, model: Model, step: number) {
    this.random = random;
    this.model = model;
    this.step = step;
  }

  newId(kind: string): string {
    return `${kind}${this.step}.${this.#drawn++}`;
  }

  amount(most: number): bigint {
    return BigInt(this.random.between(0, most));
  }

  key(): ModelKey | undefined {
    return this.random.chance(99) ? this.random.pick([...this.model.keys.values()]) : undefined;
  }

  keyId(): string {
    return this.key()?.record.id ?? 'nobody';
  }

  /** A process is known by its epoch; one that was declared dead comes back under a new one, or has not noticed. */
  ownerName(): string {
    return this.random.pick(OWNERS);
  }

  recentHolds(key: ModelKey): readonly ModelHold[] {
    return [...key.holds.values()].filter((hold) => this.model.nowMs - hold.heldAtMs < REPEAT_WITHIN_MS);
  }

  /** Mostly a live hold; at times one that has ended, one of another key, or none at all. */
  holdOf(): { readonly keyId: string; readonly holdId: string } {
    const random = this.random;
    const live = random.chance(85) ? random.pick(this.model.live()) : undefined;
    if (live !== undefined) return { keyId: live.key.record.id, holdId: live.hold.id };
    const key = this.key();
    const ended = random.pick([...(key?.holds.keys() ?? [])]);
    return { keyId: random.chance(95) ? (key?.record.id ?? 'nobody') : this.keyId(), holdId: ended ?? 'nothing' };
  }

  /** Often for a short time only, so that it expires while something is held; at times it has expired already. */
  promotional(): { readonly expiresAtMs?: number } {
    const random = this.random;
    if (!random.chance(45)) return {};
    const seconds = random.chance(80) ? random.between(0, 40) : random.between(60, 4 * 86_400);
    return { expiresAtMs: this.model.nowMs + seconds * 1_000 };
  }

  limits(): Partial<RateLimits> {
    const random = this.random;
    return {
      ...(random.chance(12) ? { tpmLimit: random.between(1, 60) } : {}),
      ...(random.chance(8) ? { parallelLimit: random.between(1, 4) } : {}),
    };
  }

  usage(): UsageRecord {
    const random = this.random;
    return {
      requestId: 'request',
      model: random.pick(MODELS),
      provider: random.pick(MODELS),
      format: 'chat',
      streamed: false,
      outcome: random.chance(80) ? 'complete' : 'broken',
      source: 'reported',
      tokens: this.tokens(),
      costNanos: this.amount(50),
      providerCostNanos: this.amount(50),
      attempts: 1,
      firstByteMs: random.chance(80) ? random.int(3_000) : null,
      durationMs: random.int(700_000),
    };
  }

  tokens(): UsageRecord['tokens'] {
    const count = () => this.random.int(20);
    return {
      input: count(),
      cacheRead: count(),
      cacheWrite: count(),
      cacheWrite1h: count(),
      output: count(),
      reasoning: 0,
    };
  }
}
