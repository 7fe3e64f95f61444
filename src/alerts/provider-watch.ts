/** Notices that a circuit has opened, or that a provider has refused a credential, as this gateway sees it. */
import { HOUR_MS } from '../core/time.ts';
import { type Alert, alertId } from './alert.ts';

export interface WatchedProvider {
  readonly name: string;
  /** When a credential of it was refused last; null: never. */
  readonly credential_refused_at: string | null;
  readonly targets: readonly {
    readonly upstream_model: string;
    readonly circuit: 'closed' | 'open' | 'due';
    readonly models: readonly string[];
  }[];
}

/** Within this time it is one event, whichever gateway sees it, and however often. */
const CIRCUIT_EVENT_MS = 600_000;
const CREDENTIAL_EVENT_MS = HOUR_MS;

export class ProviderWatch {
  #open = new Set<string>();
  readonly #refusedAt = new Map<string, string>();

  look(providers: readonly WatchedProvider[], nowMs: number): readonly Alert[] {
    return [...this.#circuits(providers, nowMs), ...this.#credentials(providers, nowMs)];
  }

  #circuits(providers: readonly WatchedProvider[], nowMs: number): readonly Alert[] {
    const open = new Set<string>();
    const alerts: Alert[] = [];
    for (const { name, targets } of providers) {
      for (const { upstream_model, circuit, models } of targets) {
        if (circuit === 'closed') continue;
        const target = `${name} ${upstream_model}`;
        open.add(target);
        if (this.#open.has(target)) continue;
        alerts.push({
          id: alertId('circuit.open', target, Math.floor(nowMs / CIRCUIT_EVENT_MS)),
          type: 'circuit.open',
          atMs: nowMs,
          accountIds: [],
          data: { provider: name, upstream_model, models },
        });
      }
    }
    this.#open = open;
    return alerts;
  }

  #credentials(providers: readonly WatchedProvider[], nowMs: number): readonly Alert[] {
    return providers.flatMap(({ name, credential_refused_at: refusedAt }) => {
      if (refusedAt === null || this.#refusedAt.get(name) === refusedAt) return [];
      this.#refusedAt.set(name, refusedAt);
      return [
        {
          id: alertId('credential.refused', name, Math.floor(nowMs / CREDENTIAL_EVENT_MS)),
          type: 'credential.refused' as const,
          atMs: nowMs,
          accountIds: [],
          data: { provider: name, refused_at: refusedAt },
        },
      ];
    });
  }
}
