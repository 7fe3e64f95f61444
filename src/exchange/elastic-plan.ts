/** Whether the hold of a request may grow with its stream, and how much output of it may be hidden meanwhile. */
import type { KeyRecord } from '../core/key.ts';
import type { Model, Target } from '../core/model.ts';
import type { Policy } from '../core/policy.ts';
import type { JsonObject } from '../lib/json.ts';
import type { OutputSpeeds } from '../routing/output-speeds.ts';
import { asksForCompaction } from '../wire/compaction.ts';
import type { CompiledPlan } from './compiled-plan.ts';
import { ELASTIC_AHEAD_S, ELASTIC_SLICE_TOKENS } from './elastic-hold.ts';
import type { Growth } from './plan.ts';
import type { ValidRequest } from './request.ts';

interface GrowthContext {
  readonly policy: Pick<Policy, 'holds' | 'elasticKeys'>;
  readonly speeds: Pick<OutputSpeeds, 'bound'>;
}

const FULL: Growth = { elastic: false, hides: false, speed: null, firstOutputTokens: Number.MAX_SAFE_INTEGER };
const FULL_HIDDEN: Growth = { ...FULL, hides: true };
const SEEN: Growth = { elastic: true, hides: false, speed: null, firstOutputTokens: ELASTIC_SLICE_TOKENS };

/** Only a stream whose billed output can be seen, or bounded by time, can be ended before it outruns what is held. */
export function growthOf(
  { policy, speeds }: GrowthContext,
  key: KeyRecord,
  model: Model,
  compiled: CompiledPlan,
  { info, body }: ValidRequest,
): Growth {
  if (!info.stream) return FULL;
  const hides = compiled.hides[info.reasoning];
  const full = hides ? FULL_HIDDEN : FULL;
  if (info.choices > 1 || info.hostedTools.length > 0 || isBilledUnseen(body)) return full;
  if (policy.holds !== 'elastic' && !policy.elasticKeys.includes(key.id)) return full;
  return hides ? (growthByTime(model, compiled.candidates, speeds) ?? full) : SEEN;
}

/** Null where it is not known how fast the output grows. */
function growthByTime(model: Model, targets: readonly Target[], speeds: GrowthContext['speeds']): Growth | null {
  const now = speedOf(model, targets, speeds);
  if (now === null) return null;
  // A stream that proves faster raises the bound of all that are running.
  const speed = (): number => Math.max(now, speedOf(model, targets, speeds) ?? now);
  const firstOutputTokens = ELASTIC_SLICE_TOKENS + Math.ceil(now * ELASTIC_AHEAD_S);
  return { elastic: true, hides: true, speed, firstOutputTokens };
}

/** The speed of the fastest target; null where the speed of one of them is not known. */
function speedOf(model: Model, targets: readonly Target[], speeds: Pick<OutputSpeeds, 'bound'>): number | null {
  if (model.outputSpeed !== null) return model.outputSpeed;
  let fastest = 0;
  for (const target of targets) {
    const speed = speeds.bound(target);
    if (speed === null) return null;
    fastest = Math.max(fastest, speed);
  }
  return fastest;
}

/**
 * Rejected words of a prediction are billed and not sent; sound is billed by its length and images by their number, not by their bytes;
 * and a summary of the conversation is billed beside the answer.
 */
function isBilledUnseen(body: JsonObject): boolean {
  const { prediction, modalities } = body;
  if ((prediction ?? null) !== null) return true;
  if (Array.isArray(modalities) && (modalities.includes('audio') || modalities.includes('image'))) return true;
  return asksForCompaction(body);
}
