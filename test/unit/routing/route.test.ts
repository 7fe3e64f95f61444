import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Target } from '../../../src/core/model.ts';
import type { Routing } from '../../../src/core/policy.ts';
import type { Provider } from '../../../src/core/provider.ts';
import type { ProviderFailure } from '../../../src/provider/failure.ts';
import { candidatesFor, type Leg, Route } from '../../../src/routing/route.ts';
import { newStanding } from '../../../src/routing/state.ts';
import { provider, type TestClock, target, testClock } from './fixtures.ts';

const DOWN = { retry: 'anywhere', cools: null } as const;
const ELSEWHERE = { retry: 'elsewhere', cools: null } as const;
const KEY_REFUSED = { retry: 'elsewhere', cools: 'key' } as const;

interface World {
  readonly clock: TestClock;
  readonly standing: ReturnType<typeof newStanding>;
  route(candidates?: readonly Target[]): Route;
}

function world(
  names: readonly string[],
  routing: Partial<Routing> = {},
  random = () => 0.5,
  keys?: string[],
  more: Partial<Provider> = {},
): World {
  const clock = testClock();
  const standing = newStanding(clock, random);
  const providers = new Map(names.map((name) => [name, { ...provider(name, keys), ...more }]));
  return {
    clock,
    standing,
    route: (candidates = names.map((name) => target(name))) =>
      new Route({
        candidates,
        catalog: { models: new Map(), providers },
        routing: { attemptBudgetMs: 30_000, maxAttempts: 10, order: 'listed', ...routing },
        streamed: true,
        standing,
        clock,
      }),
  };
}

/** Walks the route while everything fails; the names of the providers in the order in which they were asked. */
function walk(
  route: Route,
  failure: Pick<ProviderFailure, 'retry' | 'cools'>,
  onLeg: (leg: Leg) => void = () => {},
): string[] {
  const names: string[] = [];
  for (let leg = route.next(); leg; leg = route.next()) {
    names.push(leg.provider.name);
    onLeg(leg);
    route.failed(leg, failure);
  }
  return names;
}

function open({ standing }: World, name: string): void {
  for (let i = 0; i < 10; i++) standing.health.begin(target(name), true).failed();
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
    assert.deepEqual(walk(world(['a', 'b', 'c']).route(), ELSEWHERE), ['a', 'b', 'c']);
  });

  test('weighted: the first by chance and weight, the rest as listed, weight 0 only after the others', () => {
    const candidates = [target('a', { weight: 1 }), target('b', { weight: 3 }), target('c', { weight: 0 })];
    const first = (at: number): string[] =>
      walk(world(['a', 'b', 'c'], { order: 'weighted' }, () => at).route(candidates), ELSEWHERE);
    assert.deepEqual(first(0), ['a', 'b', 'c']);
    assert.deepEqual(first(0.2499), ['a', 'b', 'c']);
    assert.deepEqual(first(0.25), ['b', 'a', 'c']);
    assert.deepEqual(first(0.9999), ['b', 'a', 'c']);
  });

  test('least-latency: the unknown first, then the fastest', () => {
    const here = world(['slow', 'fast', 'unknown'], { order: 'least-latency' });
    here.standing.health.begin(target('slow'), true).succeeded(900);
    here.standing.health.begin(target('fast'), true).succeeded(20);
    assert.deepEqual(walk(here.route(), ELSEWHERE), ['unknown', 'fast', 'slow']);
  });

  test('[F20] a target that rests comes after those that do not, the shortest rest first, and is used when no other is left', () => {
    const here = world(['a', 'b', 'c']);
    here.standing.health.coolDown(target('a'), 20_000);
    here.standing.keys.coolDown(provider('b'), 'b-key', 10_000);
    assert.deepEqual(walk(here.route(), ELSEWHERE), ['c', 'b', 'a']);
    here.clock.advance(20_000);
    assert.deepEqual(walk(here.route(), ELSEWHERE), ['a', 'b', 'c']);
  });
});

describe('a circuit that is open', () => {
  test('[R31] leaves nothing to ask where it is the only target', () => {
    const here = world(['a']);
    open(here, 'a');
    assert.equal(here.route().next(), null);
    here.clock.advance(5_000);
    assert.equal(here.route().next()?.provider.name, 'a', 'the probe');
  });

  test('counts for nothing once its provider is configured without a circuit breaker', () => {
    const here = world(['a'], {}, () => 0.5, undefined, { circuitBreaker: false });
    open(here, 'a');
    assert.equal(here.standing.health.circuit(target('a')), 'open');
    assert.deepEqual(walk(here.route(), ELSEWHERE), ['a']);
  });

  test('is passed over where there are others', () => {
    const here = world(['a', 'b', 'c']);
    open(here, 'a');
    assert.deepEqual(walk(here.route(), ELSEWHERE), ['b', 'c']);
  });

  test('never ejects more than half of the targets: those that opened first', () => {
    const here = world(['a', 'b', 'c', 'd']);
    for (const name of ['c', 'a', 'b', 'd']) {
      open(here, name);
      here.clock.advance(1);
    }
    assert.deepEqual(walk(here.route(), ELSEWHERE), ['b', 'd']);
    const two = world(['a', 'b']);
    open(two, 'a');
    two.clock.advance(1);
    open(two, 'b');
    assert.deepEqual(walk(two.route(), DOWN), ['b'], 'asked once, not again and again');
  });

  test('that opens during the exchange ends the tries there', () => {
    const here = world(['a']);
    const asked = walk(here.route(), DOWN, ({ target: asked }) => {
      here.standing.health.begin(asked, true).failed();
      for (let i = 0; i < 4; i++) here.standing.health.begin(asked, true).failed();
    });
    assert.deepEqual(asked, ['a', 'a']);
  });

  test('gets its probe once: two exchanges that begin together do not both ask', () => {
    const here = world(['a']);
    open(here, 'a');
    here.clock.advance(5_000);
    const [one, two] = [here.route(), here.route()];
    const leg = one.next();
    assert.ok(leg);
    here.standing.health.begin(leg.target, true);
    assert.equal(two.next(), null);
  });
});

describe('after a failure', () => {
  test('the other targets come first, then the same again after a pause that grows and varies', () => {
    const waits: number[] = [];
    const here = world(['a', 'b'], { maxAttempts: 6 }, () => 0);
    assert.deepEqual(
      walk(here.route(), DOWN, ({ waitMs }) => waits.push(waitMs)),
      ['a', 'b', 'a', 'b', 'a', 'b'],
    );
    assert.deepEqual(waits, [0, 0, 100, 100, 200, 200]);
    const late = world(['a'], { maxAttempts: 2 }, () => 0.999).route();
    const first = late.next();
    assert.ok(first);
    late.failed(first, DOWN);
    assert.ok((late.next()?.waitMs ?? 0) > 199);
  });

  test('a target that cannot serve is not asked again', () => {
    assert.deepEqual(walk(world(['a']).route(), ELSEWHERE), ['a']);
  });

  test('nothing is asked again when the request itself is at fault', () => {
    assert.deepEqual(walk(world(['a', 'b']).route(), { retry: 'never', cools: null }), ['a']);
  });

  test('[F20] a refused key is replaced by another of the same provider before another target is asked', () => {
    const keys: (string | null)[] = [];
    const here = world(['a', 'b'], {}, () => 0, ['k1', 'k2']);
    assert.deepEqual(
      walk(here.route(), KEY_REFUSED, ({ apiKey }) => keys.push(apiKey)),
      ['a', 'a', 'b', 'b'],
    );
    assert.deepEqual(keys, ['k1', 'k2', 'k1', 'k2']);
  });

  test('no more attempts than the policy allows', () => {
    assert.equal(walk(world(['a', 'b'], { maxAttempts: 3 }).route(), DOWN).length, 3);
    assert.equal(walk(world(['a', 'b'], { maxAttempts: 1 }).route(), DOWN).length, 1);
  });

  test('no new attempt after the time budget, and none that would begin after it', () => {
    const here = world(['a', 'b', 'c'], { attemptBudgetMs: 1_000 });
    assert.deepEqual(
      walk(here.route(), ELSEWHERE, () => here.clock.advance(600)),
      ['a', 'b'],
    );
    const waiting = world(['a'], { attemptBudgetMs: 1_000 });
    const route = waiting.route();
    const leg = route.next();
    assert.ok(leg);
    waiting.standing.health.coolDown(leg.target, 5_000);
    route.failed(leg, DOWN);
    assert.equal(route.next(), null, 'Retry-After is longer than the budget');
  });

  test('Retry-After within the budget is waited for', () => {
    const here = world(['a'], { attemptBudgetMs: 10_000 });
    const route = here.route();
    const leg = route.next();
    assert.ok(leg);
    here.standing.health.coolDown(leg.target, 3_000);
    route.failed(leg, DOWN);
    assert.equal(route.next()?.waitMs, 3_000);
  });

  test('an outage is not multiplied: without retry budget the first attempt is the only one', () => {
    const here = world(['a', 'b']);
    let attempts = 0;
    const exchanges = 500;
    for (let i = 0; i < exchanges; i++) attempts += walk(here.route(), ELSEWHERE).length;
    assert.ok(attempts <= exchanges * 1.2 + 20, `${attempts} attempts`);
    assert.ok(attempts > exchanges);
  });
});
