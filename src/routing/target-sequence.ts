/**
 * Which targets an exchange may use, in which order, and which one comes after a failure. No provider is
 * called here: the clock, chance and what is known of the targets are passed in.
 */
import type { Clock } from '../core/clock.ts';
import type { Target } from '../core/model.ts';
import type { Routing } from '../core/policy.ts';
import type { Catalog, Provider } from '../core/provider.ts';
import type { SkippedTarget, SkipReason } from '../core/request-record.ts';
import { getOrInsert } from '../lib/get-or-insert.ts';
import type { ProviderFailure } from '../provider/failure.ts';
import { rendezvousScore } from './rendezvous.ts';
import type { RoutingState } from './state.ts';

/** At least half of several candidates stay in use, however they do; a single one may be ejected. */
const EJECTED_SHARE_MAX = 0.5;
const NONE_REFUSED: ReadonlySet<string | null> = new Set();
const PAUSE_FIRST_MS = 100;
const PAUSE_MAX_MS = 2_000;

/** A target that may be asked, and what this exchange knows of it. */
interface Candidate {
  readonly target: Target;
  readonly provider: Provider;
  /** Its circuit is open, but too many are: it is used all the same. */
  readonly despiteCircuit: boolean;
  /** How often it has been asked in this exchange. */
  readonly visits: number;
}

/** The next attempt. */
export interface NextAttempt extends Candidate {
  readonly apiKey: string | null;
  /** How long to wait before it: only where the same target is asked again. */
  readonly waitMs: number;
}

interface TargetSequenceOptions {
  /** The candidates in the order of the catalog. */
  readonly targets: readonly Target[];
  readonly catalog: Catalog;
  readonly routing: Routing;
  readonly streamed: boolean;
  /** The id of the API key that asks: its own failures can close a target to it alone. */
  readonly keyId: string;
  /** The conversation that the request belongs to; asked for only where there is a choice. Null: no affinity. */
  readonly conversation: (() => string) | null;
  readonly state: RoutingState;
  readonly clock: Clock;
}

/** One per exchange. `next` and `failed` alternate until `next` returns null or an attempt succeeds. */
export class TargetSequence {
  /** The targets that were not asked in their turn, and why. */
  readonly skipped: SkippedTarget[] = [];
  readonly #options: TargetSequenceOptions;
  readonly #startedAtMs: number;
  /** Those that are left, the next one first. */
  readonly #candidates: Candidate[];
  /** The credentials that were refused, by provider. */
  #refusedKeys: Map<string, Set<string | null>> | null = null;
  #made = 0;

  constructor(options: TargetSequenceOptions) {
    this.#options = options;
    this.#startedAtMs = options.clock.nowMs();
    this.#candidates = candidatesInOrder(options, this.skipped);
    options.state.retries.earn();
  }

  next(): NextAttempt | null {
    const { routing, state } = this.#options;
    if (this.#made >= routing.maxAttempts) return null;
    for (let candidate = this.#candidates.shift(); candidate; candidate = this.#candidates.shift()) {
      const next = this.#next(candidate);
      if (!next) continue;
      if (this.#made > 0 && !state.retries.take()) {
        this.#skip(candidate.target, 'retry_budget');
        return null;
      }
      this.#made += 1;
      return next;
    }
    return null;
  }

  #skip(target: Target, reason: SkipReason): null {
    this.skipped.push({ target, reason });
    return null;
  }

  /** How long until one of the targets may be called again; null where none is left out for its circuit. */
  dueInMs(): number | null {
    const { targets, state, keyId } = this.#options;
    const waits = targets.map((target) => state.health.dueInMs(target, keyId)).filter((ms) => ms > 0);
    return waits.length === 0 ? null : Math.min(...waits);
  }

  /** Must be called before `next`, and after the target's health has been updated. */
  failed(next: NextAttempt, failure: Pick<ProviderFailure, 'retry' | 'cools'>): void {
    if (failure.retry === 'never') {
      this.#candidates.length = 0;
      return;
    }
    const { target, provider, visits } = next;
    if (failure.cools === 'key') {
      // The same target with another credential is as good as before, so it keeps its place.
      this.#refuse(provider, next.apiKey);
      this.#candidates.unshift({ target, provider, despiteCircuit: next.despiteCircuit, visits });
    } else if (failure.retry === 'anywhere') {
      this.#candidates.push({ target, provider, despiteCircuit: false, visits: visits + 1 });
    }
  }

  #next(candidate: Candidate): NextAttempt | null {
    const { target, provider } = candidate;
    const { state, routing, clock } = this.#options;
    if (!candidate.despiteCircuit && isEjected(this.#options, target, provider))
      return this.#skip(target, 'circuit_open');
    const waitMs = candidate.visits === 0 ? 0 : this.#pauseMs(candidate);
    if (this.#made > 0 && clock.nowMs() - this.#startedAtMs + waitMs > routing.attemptBudgetMs)
      return this.#skip(target, 'no_time_left');
    const refused = this.#refusedKeys?.get(provider.name) ?? NONE_REFUSED;
    const conversation = provider.apiKeys.length > 1 ? this.#conversation() : null;
    const apiKey = state.credentials.take(provider, refused, conversation);
    if (apiKey === undefined) return this.#skip(target, 'no_credential');
    return { ...candidate, apiKey, waitMs };
  }

  #conversation(): string | null {
    return this.#options.conversation?.() ?? null;
  }

  /** Longer each time, with jitter so that many exchanges do not return together, and never before the provider's Retry-After. */
  #pauseMs({ target, visits }: Candidate): number {
    const { state } = this.#options;
    const longestMs = Math.min(PAUSE_MAX_MS, PAUSE_FIRST_MS * 2 ** visits);
    return Math.max(state.health.coolingMs(target), (longestMs / 2) * (1 + state.random()));
  }

  #refuse(provider: Provider, apiKey: string | null): void {
    this.#refusedKeys ??= new Map();
    getOrInsert(this.#refusedKeys, provider.name, () => new Set<string | null>()).add(apiKey);
  }
}

function isEjected({ state, keyId }: TargetSequenceOptions, target: Target, provider: Provider): boolean {
  return provider.circuitBreaker && state.health.circuit(target, keyId) === 'open';
}

/**
 * First the targets that are ready, in the order of the policy; then those that cool down, the one that is ready the soonest
 * first; then those whose circuit is open, as far as too many are. The ones that opened first are ejected: they are not asked.
 */
function candidatesInOrder(options: TargetSequenceOptions, skipped: SkippedTarget[]): Candidate[] {
  const { targets, catalog, state, keyId } = options;
  const { health, credentials } = state;
  const ready: Candidate[] = [];
  const cooling: { readonly candidate: Candidate; readonly ms: number }[] = [];
  const open: Candidate[] = [];
  for (const target of targets) {
    const provider = catalog.providers.get(target.provider);
    if (!provider) continue;
    const candidate: Candidate = { target, provider, despiteCircuit: false, visits: 0 };
    const coolingMs = Math.max(health.coolingMs(target), credentials.coolingMs(provider));
    if (isEjected(options, target, provider)) open.push({ ...candidate, despiteCircuit: true });
    else if (coolingMs > 0) cooling.push({ candidate, ms: coolingMs });
    else ready.push(candidate);
  }
  if (cooling.length === 0 && open.length === 0) return ordered(ready, options);
  const openedAtMs = ({ target }: Candidate): number => health.openedAtMs(target, keyId) ?? 0;
  const ejectedMax = Math.max(1, Math.floor(targets.length * EJECTED_SHARE_MAX));
  open.sort((a, b) => openedAtMs(a) - openedAtMs(b));
  // A target is asked in its turn where there is no other.
  if (ready.length > 0)
    for (const { candidate } of cooling) skipped.push({ target: candidate.target, reason: 'cooling' });
  for (const { target } of open.slice(0, ejectedMax)) skipped.push({ target, reason: 'circuit_open' });
  return [
    ...ordered(ready, options),
    ...cooling.sort((a, b) => a.ms - b.ms).map(({ candidate }) => candidate),
    ...open.slice(ejectedMax),
  ];
}

function ordered(candidates: Candidate[], options: TargetSequenceOptions): Candidate[] {
  const { routing, streamed, state, keyId, conversation } = options;
  switch (routing.order) {
    case 'listed':
      return candidates;
    case 'weighted': {
      if (candidates.length > 1 && conversation !== null) return byConversation(candidates, conversation());
      const first = weightedChoice(candidates, state.random());
      return first ? [first, ...candidates.filter((candidate) => candidate !== first)] : candidates;
    }
    case 'least-latency': {
      // A target that nothing recent is known of comes first, or nothing would ever be known of it.
      const latencyMs = ({ target }: Candidate): number =>
        state.health.circuit(target, keyId) === 'due' ? 0 : (state.health.latencyMs(target, streamed) ?? 0);
      return [...candidates].sort((a, b) => latencyMs(a) - latencyMs(b));
    }
  }
}

/** The conversation's own target first, the rest as listed: a prompt that a provider has cached is much cheaper. */
function byConversation(candidates: Candidate[], conversation: string): Candidate[] {
  const score = ({ target }: Candidate): number =>
    rendezvousScore(conversation, `${target.provider} ${target.upstreamModel}`, target.weight);
  let [first] = candidates;
  for (const candidate of candidates) if (first && score(candidate) > score(first)) first = candidate;
  return first ? [first, ...candidates.filter((candidate) => candidate !== first)] : candidates;
}

/** Undefined where all weights are 0: the listed order stands then. `at` is from 0 up to, but not including, 1. */
function weightedChoice(candidates: readonly Candidate[], at: number): Candidate | undefined {
  let rest = at * candidates.reduce((sum, { target }) => sum + target.weight, 0);
  for (const candidate of candidates) {
    rest -= candidate.target.weight;
    if (rest < 0) return candidate;
  }
  return undefined;
}
