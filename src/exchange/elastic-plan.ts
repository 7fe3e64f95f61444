/** Whether the hold of a request may grow with its stream, and how much output of it may be hidden meanwhile. */
import type { Format } from '../core/endpoints.ts';
import type { KeyRecord } from '../core/key.ts';
import type { Model, Target } from '../core/model.ts';
import type { Policy } from '../core/policy.ts';
import type { JsonObject } from '../lib/json.ts';
import type { OutputSpeeds } from '../routing/output-speeds.ts';
import { asksForCompaction } from '../wire/compaction.ts';
import type { RequestInfo } from '../wire/format.ts';
import { ELASTIC_AHEAD_S, ELASTIC_SLICE_TOKENS } from './elastic-hold.ts';
import type { Growth } from './plan.ts';
import { thinksUnasked } from './reasoning-models.ts';
import type { ValidRequest } from './request.ts';

interface GrowthContext {
  readonly policy: Policy;
  readonly speeds: Pick<OutputSpeeds, 'bound'>;
}

/** Only a stream whose billed output can be seen, or bounded by time, can be ended before it outruns what is held. */
export function growthOf(
  { policy, speeds }: GrowthContext,
  key: KeyRecord,
  model: Model,
  targets: readonly Target[],
  format: Format,
  { info, body }: ValidRequest,
): Growth {
  const hides = info.stream && mayHideOutput(model, targets, format, info);
  const full = { elastic: false, hides, speed: null, firstOutputTokens: Number.MAX_SAFE_INTEGER };
  if (!info.stream || info.choices > 1 || info.hostedTools.length > 0 || isBilledUnseen(body)) return full;
  if (policy.holds !== 'elastic' && !policy.elasticKeys.includes(key.id)) return full;
  if (!hides) return { elastic: true, hides, speed: null, firstOutputTokens: ELASTIC_SLICE_TOKENS };
  const now = speedOf(model, targets, speeds);
  if (now === null) return full;
  // A stream that proves faster raises the bound of all that are running.
  const speed = (): number => Math.max(now, speedOf(model, targets, speeds) ?? now);
  const firstOutputTokens = ELASTIC_SLICE_TOKENS + Math.ceil(now * ELASTIC_AHEAD_S);
  return { elastic: true, hides, speed, firstOutputTokens };
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

function mayHideOutput(model: Model, targets: readonly Target[], format: Format, info: RequestInfo): boolean {
  if (model.visibleOutput !== null) return !model.visibleOutput;
  return targets.some((target) => mayReasonUnseen(target, format, info));
}

/**
 * Rejected words of a prediction are billed and not sent; sound is billed by its length, not by its bytes; and a summary of
 * the conversation is billed beside the answer.
 */
function isBilledUnseen(body: JsonObject): boolean {
  const { prediction, modalities } = body;
  if ((prediction ?? null) !== null || (Array.isArray(modalities) && modalities.includes('audio'))) return true;
  return asksForCompaction(body);
}

/** A messages target may be known to reason only where it is asked to; any other may do so unless that is turned off. */
function mayReasonUnseen(target: Target, format: Format, { reasoning }: RequestInfo): boolean {
  if (target.format === 'messages') {
    return reasoning === 'on' || (reasoning === 'unsaid' && thinksUnasked(target.upstreamModel));
  }
  return reasoning !== 'off' || format === 'messages';
}
