/** The gateways that are tortured, what they depend on, and what can happen to them. */

import type { ChaosProxy } from '../resilience/chaos/chaos-proxy.ts';
import type { Random } from '../simulation/random.ts';
import type { TestAdmin } from '../support/admin-client.ts';
import type { Charge } from '../support/charges.ts';

export interface Fault {
  readonly name: string;
  /** How often it is drawn, compared with the others. */
  readonly weight: number;
  /** Resolves when everything is back that it has taken away, with how many processes of gateways or databases it has killed. */
  run(random: Random): Promise<number>;
}

export interface World extends AsyncDisposable {
  readonly name: string;
  readonly faults: readonly Fault[];
  /** How long recovery may need once everything is back. */
  readonly recoveryMs: number;
  /** Where a client asks now. */
  origin(client: number): string;
  /** Of a gateway that is alive; not during a fault. */
  readonly admin: TestAdmin;
  /** Read from the store itself, not through a gateway. */
  charges(keyIds: readonly string[]): Promise<readonly Charge[]>;
  /** Processes that ended without having been asked to, with what they said. */
  readonly deaths: readonly string[];
  /** Transactions that the store had to end because they waited in a circle. */
  readonly deadlocks: number;
}

/** Short, so that a freeze past it takes seconds. */
export const LEASE_S = 2;

export interface WorldOptions {
  readonly gateways: number;
  /** Of each gateway. */
  readonly workers: number;
}

/** One that speaks chat and responses, and one that speaks messages. */
export const MODELS = ['far/alpha', 'far/beta'] as const;
export const INPUT_NANOS = 1_000;
export const OUTPUT_NANOS = 4_000;

/** The config file: one server behind a proxy that can be cut, as a provider of either kind. */
export function configFor(providerPort: number): string {
  const common = `kind: openai, base_url: "http://127.0.0.1:${providerPort}/v1", api_key: sk-far-0123456789, circuit_breaker: false`;
  const limits = 'context_window: 128000, max_output_tokens: 1000, pricing: { input: 1, output: 4 }';
  return `
providers:
  far: { ${common}, formats: [chat, responses] }
  far-messages: { ${common}, formats: [messages] }
models:
  - { id: far/alpha, targets: [{ provider: far, model: alpha-sim }], ${limits} }
  - { id: far/beta, targets: [{ provider: far-messages, model: beta-sim }], ${limits} }
model_lists: false
sandbox: false
routing: { max_attempts: 1 }
limits: { drain: 2 }
`;
}

export async function cut(proxy: ChaosProxy): Promise<number> {
  proxy.cut();
  return 0;
}
