/** The limits of a key or an account that count by the minute or at a time, each from the list of what happened (rulings 11, 72). */
import { isDeepStrictEqual } from 'node:util';
import type { AdmitRequest, RateState } from '../../src/ledger/port.ts';
import type { Model } from './model.ts';
import type { CountedTokens, Limited, ModelAccount, ModelKey } from './model-parts.ts';
import type { Survivors } from './world.ts';

const MINUTE_MS = 60_000;

type LimitRefusal =
  | { readonly kind: 'requests'; readonly retryAfterMs: number }
  | {
      readonly kind: 'tokens_limited' | 'parallel_limited';
      readonly retryAfterMs: number;
      readonly tooLarge: boolean;
    };

/** Whether the limit of this key or account on requests per minute refuses. */
export function requestsRefusal(
  model: Model,
  limited: ModelKey | ModelAccount,
  { rateCounted }: AdmitRequest,
): LimitRefusal | null {
  const { rpmLimit } = limited.record;
  if (rpmLimit === null || rateCounted === true) return null;
  const blocking = limited.places.filter((atMs) => atMs > model.nowMs - MINUTE_MS).at(-rpmLimit);
  return blocking === undefined ? null : { kind: 'requests', retryAfterMs: blocking + MINUTE_MS - model.nowMs };
}

/** The first of its limits on tokens per minute and on parallel requests that refuses; null when none does. */
export function loadRefusal(
  model: Model,
  limited: ModelKey | ModelAccount,
  { hold }: AdmitRequest,
): LimitRefusal | null {
  const { tpmLimit, parallelLimit } = limited.record;
  const oldMs = model.nowMs - MINUTE_MS;
  if (hold === null) return null;
  const { inputTokens = 0 } = hold;
  if (tpmLimit !== null) {
    if (inputTokens > tpmLimit) return { kind: 'tokens_limited', retryAfterMs: MINUTE_MS, tooLarge: true };
    const recent = limited.counted.filter(({ atMs }) => atMs > oldMs);
    let sum = recent.reduce((total, { tokens }) => total + tokens, inputTokens);
    let retryAfterMs = 0;
    for (const { atMs, tokens } of recent) {
      if (sum <= tpmLimit) break;
      sum -= tokens;
      retryAfterMs = atMs + MINUTE_MS - model.nowMs;
    }
    if (retryAfterMs > 0) return { kind: 'tokens_limited', retryAfterMs, tooLarge: false };
  }
  const running = model
    .live()
    .filter((live) => live.key === limited || live.hold.path.includes(limited.record.id)).length;
  if (parallelLimit === null || running < parallelLimit) return null;
  return { kind: 'parallel_limited', retryAfterMs: 1_000, tooLarge: false };
}

export function countTokens(model: Model, levels: readonly (ModelKey | ModelAccount)[], tokens: number): void {
  for (const level of levels) {
    if (level.record.tpmLimit !== null && tokens > 0) level.counted.push({ atMs: model.nowMs, tokens });
  }
}

export function rateState(model: Model, key: ModelKey): RateState | null {
  const limit = key.record.rpmLimit;
  if (limit === null) return null;
  const places = key.places.filter((atMs) => atMs > model.nowMs - MINUTE_MS);
  const newest = places.at(-1);
  return {
    limit,
    remaining: Math.max(0, limit - places.length),
    resetMs: newest === undefined ? 0 : newest + MINUTE_MS - model.nowMs,
  };
}

/**
 * A request that a process died with may have taken its places already. Returns what is missing of what was counted. Older
 * ones are kept too: they count again when the clock is set back.
 */
export function takeSurvivors(model: Model, id: string, limited: Limited, survivors: Survivors): string | null {
  const oldMs = model.nowMs - MINUTE_MS;
  const places = survivors.places.get(id) ?? [];
  const [left, had] = [places, limited.places].map((times) => times.filter((atMs) => atMs > oldMs));
  if (!isDeepStrictEqual(left?.slice(0, had?.length), had)) return `the places of ${id} are ${left}, they were ${had}`;
  limited.places = [...places];
  const counted = survivors.tokens.get(id) ?? [];
  // The order among the charges of one recovery is open.
  const inWindow = (all: readonly CountedTokens[], isNew: boolean) =>
    all
      .filter(({ atMs }) => atMs > oldMs && atMs >= model.nowMs === isNew)
      .map(({ atMs, tokens }) => `${atMs}: ${tokens}`)
      .sort();
  const [before, wanted] = [inWindow(counted, false), inWindow(limited.counted, false)];
  if (!isDeepStrictEqual(before, wanted)) return `the tokens of ${id} are ${before}, they were ${wanted}`;
  const now = inWindow(counted, true);
  for (const each of inWindow(limited.counted, true)) {
    const found = now.indexOf(each);
    if (found < 0) return `of the tokens of ${id}, ${each} is missing`;
    now.splice(found, 1);
  }
  limited.counted = [...counted];
  return null;
}

/** By the clock of a new process, which may be behind. */
export function setBack(limited: Limited, nowMs: number): void {
  limited.places = limited.places.map((atMs) => Math.min(atMs, nowMs));
  limited.counted = limited.counted.map(({ atMs, tokens }) => ({ atMs: Math.min(atMs, nowMs), tokens }));
}

/** What no limit counts any more. */
export function pruneLimited(limited: Limited, nowMs: number): void {
  limited.places = limited.places.filter((atMs) => atMs > nowMs - MINUTE_MS);
  limited.counted = limited.counted.filter(({ atMs }) => atMs > nowMs - MINUTE_MS);
}
