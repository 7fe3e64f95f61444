/**
 * How the targets do: circuits, cool-downs and first-byte times. In memory only, a cache that traffic rebuilds; every
 * process judges for itself.
 */
import type { Clock } from '../core/clock.ts';
import type { Target } from '../core/model.ts';
import { Circuit, type CircuitState } from './circuit.ts';

/** The weight of the newest first-byte time in the running average. */
const NEWEST_WEIGHT = 0.3;
/** An older average says nothing any more: the target is asked again. */
const LATENCY_KEPT_MS = 60_000;
/** A provider that asks for longer is asked again after this all the same. */
export const COOL_DOWN_MAX_MS = 5 * 60_000;

export type TargetName = Pick<Target, 'provider' | 'upstreamModel'>;

/** One call to a target: a receipt that is ended with what the call taught. */
export interface Trial {
  /** The target has proved that it serves. May be followed by `failed` when the answer breaks later. */
  succeeded(firstByteMs: number): void;
  failed(): void;
  /** Ended for reasons of our own or the client's. Without effect after the others. */
  dropped(): void;
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
    return this.#known(target)?.circuit.state(this.#clock.nowMs()) ?? 'closed';
  }

  openedAtMs(target: TargetName): number | null {
    return this.#known(target)?.circuit.openedAtMs ?? null;
  }

  coolingMs(target: TargetName): number {
    return Math.max(0, (this.#known(target)?.coolUntilMs ?? 0) - this.#clock.nowMs());
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

  begin(target: TargetName, streamed: boolean): Trial {
    const health = this.#of(target);
    const begunAtMs = this.#clock.nowMs();
    let probe = health.circuit.begun(begunAtMs);
    return {
      succeeded: (firstByteMs) => {
        probe = false;
        const nowMs = this.#clock.nowMs();
        health.circuit.succeeded(begunAtMs, nowMs);
        this.#noteLatency(health, streamed, firstByteMs, nowMs);
      },
      failed: () => {
        health.circuit.failed(probe, this.#clock.nowMs());
        probe = false;
      },
      dropped: () => {
        if (probe) health.circuit.dropped();
        probe = false;
      },
    };
  }

  #noteLatency(health: TargetHealth, streamed: boolean, firstByteMs: number, nowMs: number): void {
    const which = streamed ? 'streamed' : 'whole';
    const before = health.latencies[which];
    const fresh = before && before.atMs > nowMs - LATENCY_KEPT_MS;
    const averageMs = fresh ? before.averageMs + NEWEST_WEIGHT * (firstByteMs - before.averageMs) : firstByteMs;
    health.latencies[which] = { averageMs, atMs: nowMs };
  }

  #known(target: TargetName): TargetHealth | undefined {
    return this.#targets.get(nameOf(target));
  }

  #of(target: TargetName): TargetHealth {
    const name = nameOf(target);
    let health = this.#targets.get(name);
    if (!health) {
      health = { circuit: new Circuit(), coolUntilMs: 0, latencies: { streamed: null, whole: null } };
      this.#targets.set(name, health);
    }
    return health;
  }
}

/** A provider's name has no spaces. */
function nameOf({ provider, upstreamModel }: TargetName): string {
  return `${provider} ${upstreamModel}`;
}
