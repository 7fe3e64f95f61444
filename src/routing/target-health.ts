/**
 * How the targets do: circuits, cool-downs and first-byte times. In memory only, a cache that traffic rebuilds; every
 * process judges for itself.
 */
import type { Clock } from '../core/clock.ts';
import type { Target } from '../core/model.ts';
import { Circuit, type CircuitState } from './circuit-breaker.ts';

/** The weight of the newest first-byte time in the running average. */
const NEWEST_WEIGHT = 0.3;
/** An older average says nothing any more: the target is asked again. */
const LATENCY_KEPT_MS = 60_000;
/** A provider that asks for longer is asked again after this all the same. */
export const COOL_DOWN_MAX_MS = 5 * 60_000;

export type TargetName = Pick<Target, 'provider' | 'upstreamModel'>;

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
  readonly circuit: Circuit;
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

  circuit(target: TargetName): CircuitState {
    const circuit = this.#known(target)?.circuit;
    if (circuit === undefined || circuit.openedAtMs === null) return 'closed';
    return circuit.state(this.#clock.nowMs());
  }

  openedAtMs(target: TargetName): number | null {
    return this.#known(target)?.circuit.openedAtMs ?? null;
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

  begin(target: TargetName, streamed: boolean): CallRecord {
    return new TargetCall(this.#of(target), streamed, this.#clock);
  }

  #known(target: TargetName): TargetHealth | undefined {
    return this.#targets.get(nameOf(target));
  }

  #of(target: TargetName): TargetHealth {
    const known = this.#known(target);
    if (known !== undefined) return known;
    const health = { circuit: new Circuit(), coolUntilMs: 0, latencies: { streamed: null, whole: null } };
    this.#targets.set(nameOf(target), health);
    return health;
  }
}

class TargetCall implements CallRecord {
  readonly #health: TargetHealth;
  readonly #streamed: boolean;
  readonly #clock: Clock;
  readonly #begunAtMs: number;
  #probe: boolean;

  constructor(health: TargetHealth, streamed: boolean, clock: Clock) {
    this.#health = health;
    this.#streamed = streamed;
    this.#clock = clock;
    this.#begunAtMs = clock.nowMs();
    this.#probe = health.circuit.begun(this.#begunAtMs);
  }

  succeeded(firstByteMs: number): void {
    this.#probe = false;
    const nowMs = this.#clock.nowMs();
    this.#health.circuit.succeeded(this.#begunAtMs, nowMs);
    this.#noteLatency(firstByteMs, nowMs);
  }

  failed(): void {
    this.#health.circuit.failed(this.#probe, this.#clock.nowMs());
    this.#probe = false;
  }

  cancelled(): void {
    if (this.#probe) this.#health.circuit.cancelled();
    this.#probe = false;
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

/** A provider's name has no spaces. */
function nameOf({ provider, upstreamModel }: TargetName): string {
  return `${provider} ${upstreamModel}`;
}
