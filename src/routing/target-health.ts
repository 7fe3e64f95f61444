/**
 * The health of targets: circuits, cool-downs and first-byte times. In memory only, a cache that traffic rebuilds; every
 * process judges for itself.
 */
import type { Clock } from '../core/clock.ts';
import type { Target } from '../core/model.ts';
import { getOrInsert } from '../lib/get-or-insert.ts';
import { Circuit, type CircuitState } from './circuit-breaker.ts';
import { CallWindow, KeyWindow } from './outcome-window.ts';

/** The weight of the newest first-byte time in the running average. */
const NEWEST_WEIGHT = 0.3;
/** An older average no longer means anything: the target is asked again. */
const LATENCY_KEPT_MS = 60_000;
/** How many keys of one target have a circuit of their own. */
const KEY_CIRCUITS_MAX = 1_000;
/** A provider that asks for longer is asked again after this all the same. */
export const COOL_DOWN_MAX_MS = 5 * 60_000;

type TargetName = Pick<Target, 'provider' | 'upstreamModel'>;

/** One call to a target; ended once, with what the call says about the target's health. */
export interface CallRecord {
  /** The target has proved that it serves. May be followed by `failed` when the answer breaks later. */
  succeeded(firstByteMs: number): void;
  failed(): void;
  /** Ended by this side or by the client. Has no effect after the others. */
  cancelled(): void;
}

interface Latency {
  averageMs: number;
  atMs: number;
}

interface TargetHealth {
  /** Opens for everybody when the calls of several keys fail. */
  readonly circuit: Circuit;
  /** The circuits of single keys, by the id of the key: each opens for that key alone. */
  readonly keyCircuits: Map<string, Circuit>;
  coolUntilMs: number;
  /** Streamed and whole answers begin at different moments, so they are not compared with each other. */
  readonly latencies: { streamed: Latency | null; whole: Latency | null };
}

export class Health {
  readonly #clock: Clock;
  readonly #targets = new Map<string, TargetHealth>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The state of the circuit as a call of this key would find it. */
  circuit(target: TargetName, keyId: string): CircuitState {
    return this.#openCircuit(target, keyId)?.state(this.#clock.nowMs()) ?? 'closed';
  }

  openedAtMs(target: TargetName, keyId: string): number | null {
    return this.#openCircuit(target, keyId)?.openedAtMs ?? null;
  }

  /** How long until the circuit lets a call through. */
  dueInMs(target: TargetName, keyId: string): number {
    return this.#openCircuit(target, keyId)?.dueInMs(this.#clock.nowMs()) ?? 0;
  }

  /** How many keys have a circuit of their own that is open. */
  openKeys(target: TargetName): number {
    const circuits = this.#known(target)?.keyCircuits.values() ?? [];
    return [...circuits].filter(({ openedAtMs }) => openedAtMs !== null).length;
  }

  coolingMs(target: TargetName): number {
    const untilMs = this.#known(target)?.coolUntilMs ?? 0;
    return untilMs === 0 ? 0 : Math.max(0, untilMs - this.#clock.nowMs());
  }

  coolDown(target: TargetName, ms: number): void {
    const health = this.#of(target);
    health.coolUntilMs = Math.max(health.coolUntilMs, this.#clock.nowMs() + Math.min(ms, COOL_DOWN_MAX_MS));
  }

  /** Null where nothing recent is known. */
  latencyMs(target: TargetName, streamed: boolean): number | null {
    const latency = this.#known(target)?.latencies[streamed ? 'streamed' : 'whole'] ?? null;
    return latency && latency.atMs > this.#clock.nowMs() - LATENCY_KEPT_MS ? latency.averageMs : null;
  }

  begin(target: TargetName, keyId: string, streamed: boolean): CallRecord {
    return new TargetCall(this.#of(target), keyId, streamed, this.#clock);
  }

  /** The circuit that is open, that of the target before that of the key; undefined where both are closed. */
  #openCircuit(target: TargetName, keyId: string): Circuit | undefined {
    const health = this.#known(target);
    if (health === undefined) return undefined;
    if (health.circuit.openedAtMs !== null) return health.circuit;
    const own = health.keyCircuits.get(keyId);
    return own === undefined || own.openedAtMs === null ? undefined : own;
  }

  #known(target: TargetName): TargetHealth | undefined {
    return this.#targets.get(nameOf(target));
  }

  #of(target: TargetName): TargetHealth {
    return getOrInsert(this.#targets, nameOf(target), () => ({
      circuit: new Circuit(new KeyWindow()),
      keyCircuits: new Map(),
      coolUntilMs: 0,
      latencies: { streamed: null, whole: null },
    }));
  }
}

class TargetCall implements CallRecord {
  readonly #health: TargetHealth;
  readonly #keyId: string;
  readonly #streamed: boolean;
  readonly #clock: Clock;
  readonly #begunAtMs: number;
  readonly #own: Circuit;
  /** The circuit that this call is the probe of. */
  #probed: Circuit | null;

  constructor(health: TargetHealth, keyId: string, streamed: boolean, clock: Clock) {
    this.#health = health;
    this.#keyId = keyId;
    this.#streamed = streamed;
    this.#clock = clock;
    this.#begunAtMs = clock.nowMs();
    this.#own = keyCircuit(health, keyId);
    this.#probed = [health.circuit, this.#own].find((circuit) => circuit.begun(this.#begunAtMs)) ?? null;
  }

  succeeded(firstByteMs: number): void {
    this.#probed = null;
    const nowMs = this.#clock.nowMs();
    this.#health.circuit.succeeded(this.#keyId, this.#begunAtMs, nowMs);
    this.#own.succeeded(this.#keyId, this.#begunAtMs, nowMs);
    this.#noteLatency(firstByteMs, nowMs);
  }

  failed(): void {
    const nowMs = this.#clock.nowMs();
    for (const circuit of [this.#health.circuit, this.#own]) {
      circuit.failed(this.#keyId, circuit === this.#probed, nowMs);
    }
    this.#probed = null;
  }

  cancelled(): void {
    this.#probed?.cancelled();
    this.#probed = null;
  }

  #noteLatency(firstByteMs: number, nowMs: number): void {
    const { latencies } = this.#health;
    const which = this.#streamed ? 'streamed' : 'whole';
    const before = latencies[which];
    const fresh = before && before.atMs > nowMs - LATENCY_KEPT_MS;
    const averageMs = fresh ? before.averageMs + NEWEST_WEIGHT * (firstByteMs - before.averageMs) : firstByteMs;
    latencies[which] = { averageMs, atMs: nowMs };
  }
}

function keyCircuit({ keyCircuits }: TargetHealth, keyId: string): Circuit {
  const known = keyCircuits.get(keyId);
  if (known !== undefined) return known;
  if (keyCircuits.size >= KEY_CIRCUITS_MAX) {
    // The map keeps insertion order, so the first is the oldest.
    const oldest = keyCircuits.keys().next();
    if (!oldest.done) keyCircuits.delete(oldest.value);
  }
  const circuit = new Circuit(new CallWindow());
  keyCircuits.set(keyId, circuit);
  return circuit;
}

/** Of targets that live as long as their catalog: a name that is made anew is hashed anew, three times for a request. */
const NAMES = new WeakMap<TargetName, string>();

/** A provider's name has no spaces. */
function nameOf(target: TargetName): string {
  return getOrInsert(NAMES, target, () => `${target.provider} ${target.upstreamModel}`);
}
