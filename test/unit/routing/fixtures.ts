/** A clock that only tests move, and targets and providers with nothing but names. */
import type { Clock } from '../../../src/core/clock.ts';
import type { Format } from '../../../src/core/endpoints.ts';
import type { Target } from '../../../src/core/model.ts';
import { PLAIN_NETWORK, type Provider } from '../../../src/core/provider.ts';

export interface TestClock extends Clock {
  advance(ms: number): void;
}

export function testClock(startMs = 1_000_000): TestClock {
  let nowMs = startMs;
  return {
    nowMs: () => nowMs,
    advance: (ms) => {
      nowMs += ms;
    },
  };
}

export function target(provider: string, options: Partial<Target> = {}): Target {
  return { provider, upstreamModel: 'm', format: 'chat' as Format, weight: 1, ...options };
}

export function provider(name: string, apiKeys: readonly string[] = [`${name}-key`]): Provider {
  return {
    name,
    kind: 'openai',
    baseUrl: 'http://127.0.0.1:1/v1',
    apiKeys,
    formats: ['chat'],
    timeouts: { connectMs: 1, firstByteMs: 1, idleMs: 1, totalMs: 1 },
    network: PLAIN_NETWORK,
    headers: {},
    chatLimitField: 'max_tokens',
    countsTokens: false,
    options: {},
    storesResponses: false,
    forwardsTraceparent: false,
    circuitBreaker: true,
  };
}
