import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Target } from '../../../src/core/model.ts';
import type { Routing } from '../../../src/core/policy.ts';
import type { Provider } from '../../../src/core/provider.ts';
import type { ProviderFailure } from '../../../src/provider/failure.ts';
import { candidatesFor } from '../../../src/routing/candidates.ts';
import { newRoutingState } from '../../../src/routing/state.ts';
import { type NextAttempt, TargetSequence } from '../../../src/routing/target-sequence.ts';
import { provider, type TestClock, target, testClock } from './fixtures.ts';

const KEY = 'key_1';
const DOWN = { retry: 'anywhere', cools: null } as const;
const ELSEWHERE = { retry: 'elsewhere', cools: null } as const;
const KEY_REFUSED = { retry: 'elsewhere', cools: 'key' } as const;

interface SequenceFixture {
  readonly clock: TestClock;
  readonly state: ReturnType<typeof newRoutingState>;
  sequence(candidates?: readonly Target[], conversation?: (() => string) | null): TargetSequence;
}

function fixture(
  names: readonly string[],
  routing: Partial<Routing> = {},
  random = () => 0.5,
  keys?: string[],
  more: Partial<Provider> = {},
): SequenceFixture {
  const clock = testClock();
  const state = newRoutingState(clock, random);
  const providers = new Map(names.map((name) => [name, { ...provider(name, keys), ...more }]));
  return {
    clock,
    state,
    sequence: (candidates = names.map((name) => target(name)), conversation = null) =>
      new TargetSequence({
        targets: candidates,
        catalog: { models: new Map(), withDefaults: null, pricesUntilMs: Infinity, providers },
        routing: { attemptBudgetMs: 30_000, maxAttempts: 10, order: 'listed', cacheAffinity: true, ...routing },
        streamed: true,
        keyId: KEY,
        conversation,
        state,
        clock,
      }),
  };
}

/** Walks the sequence while everything fails; the names of the providers in the order in which they were asked. */
function walk(
  sequence: TargetSequence,
  failure: Pick<ProviderFailure, 'retry' | 'cools'>,
  onNext: (next: NextAttempt) => void = () => {},
): string[] {
  const names: string[] = [];
  for (let next = sequence.next(); next; next = sequence.next()) {
    names.push(next.provider.name);
    onNext(next);
    sequence.failed(next, failure);
  }
  return names;
}

function open({ state }: SequenceFixture, name: string): void {
  for (let i = 0; i < 10; i++) state.health.begin(target(name), KEY, true).failed();
}

describe('candidates', () => {
  const alphaResponses = target('alpha', { format: 'responses' });
  const alphaChat = target('alpha', { format: 'chat' });
  const betaChat = target('beta', { format: 'chat' });
  const otherChat = target('alpha', { format: 'chat', upstreamModel: 'other' });
  const targets = [alphaResponses, alphaChat, betaChat, otherChat];

  test('are one for each upstream model of a provider, in the order of the file, the client’s own format first', () => {
    assert.deepEqual(candidatesFor('chat', targets), [alphaChat, betaChat, otherChat]);
    assert.deepEqual(candidatesFor('responses', targets), [alphaResponses, betaChat, otherChat]);
  });

  test('[R37] for messages are translated to responses rather than to chat', () => {
    assert.deepEqual(candidatesFor('messages', targets), [alphaResponses, betaChat, otherChat]);
  });
});

describe('the order of targets', () => {
  test('listed: as the file has them', () => {
    assert.deepEqual(walk(fixture(['a', 'b', 'c']).sequence(), ELSEWHERE), ['a', 'b', 'c']);
  });

  test('weighted: the first by chance and weight, the rest as listed, weight 0 only after the others', () => {
    const candidates = [target('a', { weight: 1 }), target('b', { weight: 3 }), target('c', { weight: 0 })];
    const first = (at: number): string[] =>
      walk(fixture(['a', 'b', 'c'], { order: 'weighted' }, () => at).sequence(candidates), ELSEWHERE);
    assert.deepEqual(first(0), ['a', 'b', 'c']);
    assert.deepEqual(first(0.2499), ['a', 'b', 'c']);
    assert.deepEqual(first(0.25), ['b', 'a', 'c']);
    assert.deepEqual(first(0.9999), ['b', 'a', 'c']);
  });

  test('least-latency: the unknown first, then the fastest', () => {
    const routing = fixture(['slow', 'fast', 'unknown'], { order: 'least-latency' });
    routing.state.health.begin(target('slow'), KEY, true).succeeded(900);
    routing.state.health.begin(target('fast'), KEY, true).succeeded(20);
    assert.deepEqual(walk(routing.sequence(), ELSEWHERE), ['unknown', 'fast', 'slow']);
  });

  test('[F20] a target that rests comes after those that do not, the shortest rest first, and is used when no other is left', () => {
    const routing = fixture(['a', 'b', 'c']);
    routing.state.health.coolDown(target('a'), 20_000);
    routing.state.credentials.coolDown(provider('b'), 'b-key', 10_000);
    assert.deepEqual(walk(routing.sequence(), ELSEWHERE), ['c', 'b', 'a']);
    routing.clock.advance(20_000);
    assert.deepEqual(walk(routing.sequence(), ELSEWHERE), ['a', 'b', 'c']);
  });
});

describe('the requests of one conversation', () => {
  const candidates = [target('a', { weight: 1 }), target('b', { weight: 3 }), target('c', { weight: 0 })];
  const firstOf = (conversation: string, routing = fixture(['a', 'b', 'c'], { order: 'weighted' })) =>
    routing.sequence(candidates, () => conversation).next()?.provider.name;

  test('go to the same target, in every process, and over many conversations the weights hold', () => {
    const chosen = Array.from({ length: 4_000 }, (_, index) => firstOf(`conversation ${index}`));
    const again = Array.from({ length: 4_000 }, (_, index) => firstOf(`conversation ${index}`));
    assert.deepEqual(again, chosen);
    const share = chosen.filter((name) => name === 'b').length / chosen.length;
    assert.ok(share > 0.72 && share < 0.78, `${share}`);
    assert.equal(chosen.includes('c'), false);
  });

  test('go elsewhere while their target rests, and only theirs do', () => {
    const routing = fixture(['a', 'b', 'c'], { order: 'weighted' });
    const conversations = Array.from({ length: 200 }, (_, index) => `conversation ${index}`);
    const before = new Map(conversations.map((name) => [name, firstOf(name, routing)]));
    routing.state.health.coolDown(target('b'), 10_000);
    for (const name of conversations) assert.equal(firstOf(name, routing), 'a');
    routing.clock.advance(10_000);
    for (const name of conversations) assert.equal(firstOf(name, routing), before.get(name));
  });

  test('use the same credential, another where it was refused, and in turn without affinity', () => {
    const keys = ['k1', 'k2', 'k3'];
    const routing = fixture(['a'], {}, () => 0, keys);
    const take = (conversation: string | null): string | null | undefined =>
      routing.sequence(undefined, conversation === null ? null : () => conversation).next()?.apiKey;
    const own = take('one');
    for (let i = 0; i < 5; i++) assert.equal(take('one'), own);
    const all = new Set(Array.from({ length: 50 }, (_, index) => take(`conversation ${index}`)));
    assert.deepEqual([...all].sort(), keys);
    routing.state.credentials.coolDown(provider('a', keys), own ?? null, 10_000);
    assert.notEqual(take('one'), own);
    assert.deepEqual([take(null), take(null), take(null)].sort().length, 3);
  });
});

describe('a circuit that is open', () => {
  test('[R31] leaves nothing to ask where it is the only target', () => {
    const routing = fixture(['a']);
    open(routing, 'a');
    assert.equal(routing.sequence().next(), null);
    routing.clock.advance(5_000);
    assert.equal(routing.sequence().next()?.provider.name, 'a', 'the probe');
  });

  test('counts for nothing once its provider is configured without a circuit breaker', () => {
    const routing = fixture(['a'], {}, () => 0.5, undefined, { circuitBreaker: false });
    open(routing, 'a');
    assert.equal(routing.state.health.circuit(target('a'), KEY), 'open');
    assert.deepEqual(walk(routing.sequence(), ELSEWHERE), ['a']);
  });

  test('is passed over where there are others', () => {
    const routing = fixture(['a', 'b', 'c']);
    open(routing, 'a');
    const sequence = routing.sequence();
    assert.deepEqual(walk(sequence, ELSEWHERE), ['b', 'c']);
    assert.deepEqual(
      sequence.skipped.map(({ target: { provider }, reason }) => [provider, reason]),
      [['a', 'circuit_open']],
    );
  });

  test('or a target that rests, or whose only credential was refused, is told of', () => {
    const routing = fixture(['a', 'b']);
    routing.state.health.coolDown(target('a'), 20_000);
    const sequence = routing.sequence();
    assert.deepEqual(walk(sequence, KEY_REFUSED), ['b', 'a']);
    assert.deepEqual(
      sequence.skipped.map(({ target: { provider }, reason }) => [provider, reason]),
      [
        ['a', 'cooling'],
        ['b', 'no_credential'],
        ['a', 'no_credential'],
      ],
    );
  });

  test('never ejects more than half of the targets: those that opened first', () => {
    const routing = fixture(['a', 'b', 'c', 'd']);
    for (const name of ['c', 'a', 'b', 'd']) {
      open(routing, name);
      routing.clock.advance(1);
    }
    assert.deepEqual(walk(routing.sequence(), ELSEWHERE), ['b', 'd']);
    const two = fixture(['a', 'b']);
    open(two, 'a');
    two.clock.advance(1);
    open(two, 'b');
    assert.deepEqual(walk(two.sequence(), DOWN), ['b'], 'asked once, not again and again');
  });

  test('that opens during the exchange ends the tries there', () => {
    const routing = fixture(['a']);
    const asked = walk(routing.sequence(), DOWN, ({ target: asked }) => {
      routing.state.health.begin(asked, KEY, true).failed();
      for (let i = 0; i < 4; i++) routing.state.health.begin(asked, KEY, true).failed();
    });
    assert.deepEqual(asked, ['a', 'a']);
  });

  test('gets its probe once: two exchanges that begin together do not both ask', () => {
    const routing = fixture(['a']);
    open(routing, 'a');
    routing.clock.advance(5_000);
    const [one, two] = [routing.sequence(), routing.sequence()];
    const next = one.next();
    assert.ok(next);
    routing.state.health.begin(next.target, KEY, true);
    assert.equal(two.next(), null);
  });
});

describe('after a failure', () => {
  test('the other targets come first, then the same again after a pause that grows and varies', () => {
    const waits: number[] = [];
    const routing = fixture(['a', 'b'], { maxAttempts: 6 }, () => 0);
    assert.deepEqual(
      walk(routing.sequence(), DOWN, ({ waitMs }) => waits.push(waitMs)),
      ['a', 'b', 'a', 'b', 'a', 'b'],
    );
    assert.deepEqual(waits, [0, 0, 100, 100, 200, 200]);
    const late = fixture(['a'], { maxAttempts: 2 }, () => 0.999).sequence();
    const first = late.next();
    assert.ok(first);
    late.failed(first, DOWN);
    assert.ok((late.next()?.waitMs ?? 0) > 199);
  });

  test('a target that cannot serve is not asked again', () => {
    assert.deepEqual(walk(fixture(['a']).sequence(), ELSEWHERE), ['a']);
  });

  test('nothing is asked again when the request itself is at fault', () => {
    assert.deepEqual(walk(fixture(['a', 'b']).sequence(), { retry: 'never', cools: null }), ['a']);
  });

  test('[F20] a refused key is replaced by another of the same provider before another target is asked', () => {
    const keys: (string | null)[] = [];
    const routing = fixture(['a', 'b'], {}, () => 0, ['k1', 'k2']);
    assert.deepEqual(
      walk(routing.sequence(), KEY_REFUSED, ({ apiKey }) => keys.push(apiKey)),
      ['a', 'a', 'b', 'b'],
    );
    assert.deepEqual(keys, ['k1', 'k2', 'k1', 'k2']);
  });

  test('no more attempts than the policy allows', () => {
    assert.equal(walk(fixture(['a', 'b'], { maxAttempts: 3 }).sequence(), DOWN).length, 3);
    assert.equal(walk(fixture(['a', 'b'], { maxAttempts: 1 }).sequence(), DOWN).length, 1);
  });

  test('no new attempt after the time budget, and none that would begin after it', () => {
    const routing = fixture(['a', 'b', 'c'], { attemptBudgetMs: 1_000 });
    assert.deepEqual(
      walk(routing.sequence(), ELSEWHERE, () => routing.clock.advance(600)),
      ['a', 'b'],
    );
    const waiting = fixture(['a'], { attemptBudgetMs: 1_000 });
    const sequence = waiting.sequence();
    const next = sequence.next();
    assert.ok(next);
    waiting.state.health.coolDown(next.target, 5_000);
    sequence.failed(next, DOWN);
    assert.equal(sequence.next(), null, 'Retry-After is longer than the budget');
  });

  test('Retry-After within the budget is waited for', () => {
    const routing = fixture(['a'], { attemptBudgetMs: 10_000 });
    const sequence = routing.sequence();
    const next = sequence.next();
    assert.ok(next);
    routing.state.health.coolDown(next.target, 3_000);
    sequence.failed(next, DOWN);
    assert.equal(sequence.next()?.waitMs, 3_000);
  });

  test('an outage is not multiplied: without retry budget the first attempt is the only one', () => {
    const routing = fixture(['a', 'b']);
    let attempts = 0;
    const exchanges = 500;
    for (let i = 0; i < exchanges; i++) attempts += walk(routing.sequence(), ELSEWHERE).length;
    assert.ok(attempts <= exchanges * 1.2 + 20, `${attempts} attempts`);
    assert.ok(attempts > exchanges);
  });
});
