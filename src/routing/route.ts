/**
 * Which targets an exchange may use, in which order, and which one comes after a failure. Nothing here is asked of a
 * provider: clock, chance and what is known of the targets are passed in.
 */
import type { Clock } from '../core/clock.ts';
import type { Format } from '../core/endpoints.ts';
import type { Target } from '../core/model.ts';
import type { Routing } from '../core/policy.ts';
import type { Catalog, Provider } from '../core/provider.ts';
import type { ProviderFailure } from '../provider/failure.ts';
import type { Standing } from './state.ts';

/**
 * The formats of a target that a client of each format can be served with, the best first: its own, whose bytes pass
 * through, and then those that a lane translates to. A target of any other format is no candidate.
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
  // Most models have one target, and that one has no rival.
  if (targets.length === 1) return only(targets, (target) => rank(target) !== -1);
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

/** The list itself where nothing of it is left out, as it mostly is. */
export function only(targets: readonly Target[], keep: (target: Target) => boolean): readonly Target[] {
  const first = targets.findIndex((target) => !keep(target));
  return first === -1 ? targets : [...targets.slice(0, first), ...targets.slice(first + 1).filter(keep)];
}

/** Of several candidates at least half stay in use, however they do; a single one may be ejected. */
const EJECTED_SHARE_MAX = 0.5;
const NONE_REFUSED: ReadonlySet<string | null> = new Set();
const PAUSE_FIRST_MS = 100;
const PAUSE_MAX_MS = 2_000;

/** One stop of the route. */
interface Stop {
  readonly target: Target;
  readonly provider: Provider;
  /** Its circuit is open, but too many are: it is used all the same. */
  readonly despiteCircuit: boolean;
  /** How often it has been asked in this exchange. */
  readonly visits: number;
}

/** What the next attempt is to be. */
export interface Leg extends Stop {
  readonly apiKey: string | null;
  /** How long to wait before it: only where the same target is asked again. */
  readonly waitMs: number;
}

export interface RouteOptions {
  readonly candidates: readonly Target[];
  readonly catalog: Catalog;
  readonly routing: Routing;
  readonly streamed: boolean;
  readonly standing: Standing;
  readonly clock: Clock;
}

/** One per exchange. `next` and `failed` alternate until `next` returns null or an attempt succeeds. */
export class Route {
  readonly #options: RouteOptions;
  readonly #startedAtMs: number;
  readonly #stops: Stop[];
  /** By provider. */
  #refusedKeys: Map<string, Set<string | null>> | null = null;
  #made = 0;

  constructor(options: RouteOptions) {
    this.#options = options;
    this.#startedAtMs = options.clock.nowMs();
    this.#stops = stopsOf(options);
    options.standing.retries.earn();
  }

  next(): Leg | null {
    const { routing, standing } = this.#options;
    if (this.#made >= routing.maxAttempts) return null;
    for (let stop = this.#stops.shift(); stop; stop = this.#stops.shift()) {
      const leg = this.#leg(stop);
      if (!leg) continue;
      if (this.#made > 0 && !standing.retries.take()) return null;
      this.#made += 1;
      return leg;
    }
    return null;
  }

  /** Must be told before `next`, and after the target's health was. */
  failed(leg: Leg, failure: Pick<ProviderFailure, 'retry' | 'cools'>): void {
    if (failure.retry === 'never') {
      this.#stops.length = 0;
      return;
    }
    const { target, provider, visits } = leg;
    if (failure.cools === 'key') {
      // With another credential the same target is as good as before, so it keeps its place.
      this.#refuse(provider, leg.apiKey);
      this.#stops.unshift({ target, provider, despiteCircuit: leg.despiteCircuit, visits });
    } else if (failure.retry === 'anywhere') {
      this.#stops.push({ target, provider, despiteCircuit: false, visits: visits + 1 });
    }
  }

  #leg(stop: Stop): Leg | null {
    const { target, provider } = stop;
    const { standing, routing, clock } = this.#options;
    if (!stop.despiteCircuit && isEjected(standing, target, provider)) return null;
    const waitMs = stop.visits === 0 ? 0 : this.#pauseMs(stop);
    if (this.#made > 0 && clock.nowMs() - this.#startedAtMs + waitMs > routing.attemptBudgetMs) return null;
    const apiKey = standing.keys.take(provider, this.#refusedKeys?.get(provider.name) ?? NONE_REFUSED);
    if (apiKey === undefined) return null;
    return { target, provider, despiteCircuit: stop.despiteCircuit, visits: stop.visits, apiKey, waitMs };
  }

  /** Longer each time, at random so that many exchanges do not come back together, and never before it was asked to be. */
  #pauseMs({ target, visits }: Stop): number {
    const { standing } = this.#options;
    const longestMs = Math.min(PAUSE_MAX_MS, PAUSE_FIRST_MS * 2 ** visits);
    return Math.max(standing.health.coolingMs(target), (longestMs / 2) * (1 + standing.random()));
  }

  #refuse(provider: Provider, apiKey: string | null): void {
    this.#refusedKeys ??= new Map();
    const keys = this.#refusedKeys.get(provider.name);
    if (keys) keys.add(apiKey);
    else this.#refusedKeys.set(provider.name, new Set([apiKey]));
  }
}

function isEjected({ health }: Standing, target: Target, provider: Provider): boolean {
  return provider.circuitBreaker && health.circuit(target) === 'open';
}

/**
 * First the targets that are ready, in the order of the policy; then those that rest, the shortest rest first; then
 * those whose circuit is open, as far as too many are. The ones that opened first are ejected: they are not asked.
 */
function stopsOf(options: RouteOptions): Stop[] {
  const { candidates, catalog, standing } = options;
  const { health, keys } = standing;
  const ready: Stop[] = [];
  const resting: { readonly stop: Stop; readonly ms: number }[] = [];
  const open: Stop[] = [];
  for (const target of candidates) {
    const provider = catalog.providers.get(target.provider);
    if (!provider) continue;
    const stop: Stop = { target, provider, despiteCircuit: false, visits: 0 };
    const restMs = Math.max(health.coolingMs(target), keys.coolingMs(provider));
    if (isEjected(standing, target, provider)) open.push({ ...stop, despiteCircuit: true });
    else if (restMs > 0) resting.push({ stop, ms: restMs });
    else ready.push(stop);
  }
  if (resting.length === 0 && open.length === 0) return ordered(ready, options);
  const openedAtMs = ({ target }: Stop): number => health.openedAtMs(target) ?? 0;
  const ejectedMax = Math.max(1, Math.floor(candidates.length * EJECTED_SHARE_MAX));
  return [
    ...ordered(ready, options),
    ...resting.sort((a, b) => a.ms - b.ms).map(({ stop }) => stop),
    ...open.sort((a, b) => openedAtMs(a) - openedAtMs(b)).slice(ejectedMax),
  ];
}

function ordered(stops: Stop[], { routing, streamed, standing }: RouteOptions): Stop[] {
  switch (routing.order) {
    case 'listed':
      return stops;
    case 'weighted': {
      const first = weightedChoice(stops, standing.random());
      return first ? [first, ...stops.filter((stop) => stop !== first)] : stops;
    }
    case 'least-latency': {
      // A target that nothing recent is known of comes first, or nothing would ever be known of it.
      const latencyMs = ({ target }: Stop): number =>
        standing.health.circuit(target) === 'due' ? 0 : (standing.health.latencyMs(target, streamed) ?? 0);
      return [...stops].sort((a, b) => latencyMs(a) - latencyMs(b));
    }
  }
}

/** Undefined where all weights are 0: the listed order stands then. `at` is from 0 up to, but not including, 1. */
function weightedChoice(stops: readonly Stop[], at: number): Stop | undefined {
  let rest = at * stops.reduce((sum, { target }) => sum + target.weight, 0);
  for (const stop of stops) {
    rest -= stop.target.weight;
    if (rest < 0) return stop;
  }
  return undefined;
}
