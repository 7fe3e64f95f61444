/** Which targets of a model a client of a format can be served by. */
import type { Format } from '../core/endpoints.ts';
import type { Target } from '../core/model.ts';

/**
 * The formats of a target that a client of each format can be served with, the best first: its own, whose bytes pass
 * through, and then those that a lane translates to. A target of any other format is not a candidate.
 */
const SERVED_BY: Readonly<Record<Format, readonly Format[]>> = {
  chat: ['chat', 'responses', 'messages'],
  responses: ['responses', 'messages', 'chat'],
  // Thinking survives on the way to responses, and is lost on the way to chat.
  messages: ['messages', 'responses', 'chat'],
};

/** One target for each upstream model at each provider: the one with the best format. In the order of the catalog. */
export function candidatesFor(format: Format, targets: readonly Target[]): readonly Target[] {
  const rank = (target: Target): number => SERVED_BY[format].indexOf(target.format);
  // Most models have one target, so there is nothing to compare.
  if (targets.length === 1) return filterTargets(targets, (target) => rank(target) !== -1);
  const best = new Map<string, Target>();
  for (const target of targets) {
    if (rank(target) === -1) continue;
    const group = `${target.provider} ${target.upstreamModel}`;
    const rival = best.get(group);
    // A key that is set again keeps its place in the map.
    if (!rival || rank(target) < rank(rival)) best.set(group, target);
  }
  return [...best.values()];
}

/** The list itself where nothing of it is left out, which is the usual case. */
export function filterTargets(targets: readonly Target[], keep: (target: Target) => boolean): readonly Target[] {
  const first = targets.findIndex((target) => !keep(target));
  return first === -1 ? targets : [...targets.slice(0, first), ...targets.slice(first + 1).filter(keep)];
}
