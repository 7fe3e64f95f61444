/** The credentials of each provider, used in turn; one that was refused or is used up cools down for a while. */
import type { Clock } from '../core/clock.ts';
import type { Provider } from '../core/provider.ts';
import { getOrInsert } from '../lib/get-or-insert.ts';
import { rendezvousScore } from './rendezvous.ts';
import { COOL_DOWN_MAX_MS } from './target-health.ts';

type CredentialOwner = Pick<Provider, 'name' | 'apiKeys'>;

/** Stands for the credential of a provider that needs none, so that it can cool down too. */
const NO_KEY = '';

interface Pool {
  turn: number;
  /** When the provider said last that a credential is not valid. */
  refusedAtMs: number | null;
  readonly coolUntilMs: Map<string, number>;
}

export class CredentialPools {
  readonly #clock: Clock;
  readonly #calendar: Clock;
  readonly #pools = new Map<string, Pool>();

  /** `calendar`: for the time of a refusal, which operators read. */
  constructor(clock: Clock, calendar = clock) {
    this.#clock = clock;
    this.#calendar = calendar;
  }

  /**
   * The next key whose turn it is, or that of the conversation, and that does not cool down; where all do, the one that
   * is ready the soonest. `refused` are those that this exchange has tried without success: undefined when no other is left. Null: none is needed.
   */
  take(
    provider: CredentialOwner,
    refused: ReadonlySet<string | null>,
    conversation: string | null = null,
  ): string | null | undefined {
    const keys = provider.apiKeys.length === 0 ? [NO_KEY] : provider.apiKeys;
    const pool = this.#pool(provider.name);
    let best: string | undefined;
    for (const key of this.#inOrder(keys, pool, conversation)) {
      if (refused.has(key === NO_KEY ? null : key)) continue;
      if (best === undefined || this.#keyCoolingMs(pool, key) < this.#keyCoolingMs(pool, best)) best = key;
    }
    if (best === undefined) return undefined;
    if (conversation === null) pool.turn = (keys.indexOf(best) + 1) % keys.length;
    return best === NO_KEY ? null : best;
  }

  #inOrder(keys: readonly string[], pool: Pool, conversation: string | null): readonly string[] {
    if (keys.length === 1) return keys;
    if (conversation === null) return [...keys.slice(pool.turn), ...keys.slice(0, pool.turn)];
    const score = (key: string): number => rendezvousScore(conversation, key, 1);
    return [...keys].sort((a, b) => score(b) - score(a));
  }

  coolDown(provider: CredentialOwner, apiKey: string | null, ms: number): void {
    const pool = this.#pool(provider.name);
    // Keys that a reload has taken away are forgotten here.
    for (const key of pool.coolUntilMs.keys()) {
      if (key !== NO_KEY && !provider.apiKeys.includes(key)) pool.coolUntilMs.delete(key);
    }
    pool.coolUntilMs.set(apiKey ?? NO_KEY, this.#clock.nowMs() + Math.min(ms, COOL_DOWN_MAX_MS));
  }

  /** The provider does not accept a credential of it. */
  noteRefused(provider: CredentialOwner): void {
    this.#pool(provider.name).refusedAtMs = this.#calendar.nowMs();
  }

  refusedAtMs(provider: CredentialOwner): number | null {
    return this.#pools.get(provider.name)?.refusedAtMs ?? null;
  }

  /** 0 while at least one key of the provider does not cool down, otherwise the shortest time to the end of that. */
  coolingMs(provider: CredentialOwner): number {
    const pool = this.#pools.get(provider.name);
    if (!pool || pool.coolUntilMs.size === 0) return 0;
    const keys = provider.apiKeys.length === 0 ? [NO_KEY] : provider.apiKeys;
    return Math.min(...keys.map((key) => this.#keyCoolingMs(pool, key)));
  }

  /** How many of its keys cool down now. */
  coolingKeys(provider: CredentialOwner): number {
    const pool = this.#pools.get(provider.name);
    return pool === undefined ? 0 : provider.apiKeys.filter((key) => this.#keyCoolingMs(pool, key) > 0).length;
  }

  #keyCoolingMs(pool: Pool, key: string): number {
    return Math.max(0, (pool.coolUntilMs.get(key) ?? 0) - this.#clock.nowMs());
  }

  #pool(name: string): Pool {
    return getOrInsert(this.#pools, name, () => ({ turn: 0, refusedAtMs: null, coolUntilMs: new Map() }));
  }
}
