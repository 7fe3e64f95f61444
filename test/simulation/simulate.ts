/**
 * One seeded schedule: random operations in random batches, with failures of the store, crashes, restarts and a clock
 * that jumps between two processes. After every step the books are compared with the model.
 */
import type { UsageOutcome } from '../../src/core/usage-report.ts';
import type { Operation, Result } from '../../src/ledger/operations.ts';
import type { AccountSummary, AuditReport, KeySummary } from '../../src/ledger/port.ts';
import { firstOf } from './calendar.ts';
import { brokenAudit, brokenLevels, brokenSums, differentOutcome } from './compare.ts';
import { Draw, LEASE_MS, MANY } from './draw.ts';
import { Model } from './model.ts';
import { Random } from './random.ts';
import { show } from './show.ts';
import { brokenUsage, drawQuery } from './usage.ts';
import type { Backend, Fault, World } from './world.ts';

export interface Schedule {
  readonly seed: number;
  readonly steps: number;
  /** Only these steps; each is drawn from the seed and its number, so the others need not have been. */
  readonly only?: readonly number[];
}

/** What the simulation noticed. */
export interface Violation extends Schedule {
  readonly step: number;
  readonly message: string;
}

export interface Tally {
  schedules: number;
  steps: number;
  operations: number;
  charges: number;
  faults: number;
  restarts: number;
}

export function newTally(): Tally {
  return { schedules: 0, steps: 0, operations: 0, charges: 0, faults: 0, restarts: 0 };
}

const STARTS_AT_MS = Date.UTC(2028, 1, 27);
const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;
const AUDIT_EVERY = 4;
/** What one limit refuses counts in no other. */
const BY_LIMITS = new Set(['rate_limited', 'account_rate_limited', 'tokens_limited', 'parallel_limited']);

const FAULTS: Readonly<Record<Fault, number>> = {
  none: 82,
  refused: 3,
  lost: 6,
  full: 3,
  crash_before: 1,
  crash_inside: 2,
  crash_after: 3,
};

/** Null when everything was as the model says. */
export async function simulate(backend: Backend, schedule: Schedule, tally = newTally()): Promise<Violation | null> {
  const run = await Run.begin(backend, schedule, tally);
  let step = 0;
  try {
    for (; step < schedule.steps; step++) {
      if (schedule.only === undefined || schedule.only.includes(step)) await run.step(step);
    }
    await run.finish();
    return null;
  } catch (error) {
    if (error instanceof Difference) return { ...schedule, step, message: error.message };
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    return { ...schedule, step, message: `an error that must not happen: ${text}` };
  } finally {
    tally.schedules++;
    await run.close();
  }
}

class Difference extends Error {}

class Run {
  readonly #backend: Backend;
  readonly #world: World;
  readonly #model: Model;
  readonly #clock: { ms: number };
  readonly #seed: number;
  readonly #tally: Tally;
  /** Batches whose acknowledgement never came; each is sent again at some time. */
  #waiting: (readonly Operation[])[] = [];
  /** Per key, when requests were admitted under a limit, by the one true time; emptied when a clock was set forward. */
  readonly #admissions = new Map<string, number[]>();
  readonly #admitted = new Set<string>();
  #trueMs = 0;

  static async begin(backend: Backend, { seed }: Schedule, tally: Tally): Promise<Run> {
    const clock = { ms: STARTS_AT_MS + Random.of(seed, -1).int(4 * DAY_MS) };
    return new Run(backend, await backend.open({ nowMs: () => clock.ms }), clock, seed, tally);
  }

  private constructor(backend: Backend, world: World, clock: { ms: number }, seed: number, tally: Tally) {
    this.#backend = backend;
    this.#world = world;
    this.#model = new Model(clock.ms);
    this.#clock = clock;
    this.#seed = seed;
    this.#tally = tally;
  }

  async step(step: number): Promise<void> {
    const random = Random.of(this.#seed, step);
    this.#tally.steps++;
    this.#advance(drawTime(random, this.#clock.ms));
    const draw = new Draw(random, this.#model, step);
    const again = random.chance(40) ? this.#waiting.shift() : undefined;
    const drawn = again ?? (this.#model.keys.size < 2 ? this.#firstKeys(draw, random) : draw.batch());
    const batch = this.#backend.exclusive ? drawn : signsOfLifeFirst(drawn);
    const fault = random.weighted(FAULTS);
    await this.#apply(batch, fault, random.int(100));
    if (fault.startsWith('crash') || random.chance(1)) await this.#restart(random);
    // Whoever looks at everything has also read everything: at times the next batch comes before anybody has looked.
    if (random.chance(70)) await this.#check(step % AUDIT_EVERY === 0);
    if (random.chance(6)) await this.#checkUsage(random);
  }

  #firstKeys(draw: Draw, random: Random): readonly Operation[] {
    const tree = random.chance(70) ? draw.tree() : [];
    return [...tree, draw.createKey(null), ...(tree.length === 0 || random.chance(50) ? [draw.createKey(null)] : [])];
  }

  /** Everybody dies, and whatever was left behind is recovered: nothing stays held, every hold has ended once. */
  async finish(): Promise<void> {
    this.#advance(LEASE_MS);
    await this.#apply([{ op: 'recover', limit: MANY }], 'none', 0);
    const held = this.#model.live().length;
    if (held > 0) throw new Difference(`${held} holds are still live after everybody died`);
    await this.#check(true);
    const again = [...this.#model.keys.values()].flatMap((key) =>
      [...key.holds.values()].map((hold): Operation => {
        const request = { keyId: key.record.id, holdId: hold.id, charge: 1n, usage: null, reply: null, flag: null };
        return { op: 'settle', request: { ...request, noReplyReason: 'charged_incomplete' } };
      }),
    );
    if (again.length > 0) await this.#apply(again, 'none', 0);
    await this.#check(true);
    await this.#checkUsage(Random.of(this.#seed, -2));
    for (const key of this.#model.keys.values()) this.#tally.charges += key.charges.length;
  }

  close(): Promise<void> {
    return this.#world.close();
  }

  #advance(ms: number): void {
    this.#clock.ms += ms;
    this.#trueMs += ms;
    this.#model.nowMs = this.#clock.ms;
    // Whoever waits for an acknowledgement does not wait for days.
    if (ms > HOUR_MS) this.#waiting = [];
  }

  async #apply(batch: readonly Operation[], fault: Fault, cut: number): Promise<void> {
    const { applied, results } = await this.#world.apply(batch, fault, cut);
    this.#tally.operations += batch.length;
    if (fault !== 'none') this.#tally.faults++;
    if (results === null) this.#waiting.push(batch.map(sentAgain));
    if (!applied) return;
    const expected = batch.map((operation) => this.#model.apply(operation));
    const different = results === null ? null : differentOutcome(batch, results, expected);
    if (different !== null) throw new Difference(different);
    for (const [index, operation] of batch.entries()) this.#count(operation, (results ?? expected)[index] ?? null);
  }

  /** The rate limit by the one true time, apart from the model (ruling 11). */
  #count(operation: Operation, result: Result): void {
    if (operation.op !== 'admit' || result === null || !('kind' in result) || !('rate' in result)) return;
    // An admission that is sent again takes no second place.
    const { keyId, hold, rateCounted } = operation.request;
    const again = hold !== null && this.#admitted.has(`${keyId} ${hold.id}`);
    if (hold !== null && result.kind === 'admitted') this.#admitted.add(`${keyId} ${hold.id}`);
    if (BY_LIMITS.has(result.kind)) return;
    if (again || rateCounted === true || result.rate === null) return;
    const times = (this.#admissions.get(keyId) ?? []).filter((atMs) => atMs > this.#trueMs - MINUTE_MS);
    times.push(this.#trueMs);
    this.#admissions.set(keyId, times);
    if (times.length > result.rate.limit) {
      throw new Difference(`${times.length} requests in 60 seconds, the limit is ${show(result.rate.limit)}`);
    }
  }

  async #restart(random: Random): Promise<void> {
    this.#tally.restarts++;
    const jumpMs = Math.max(drawJump(random, this.#clock.ms), this.#model.newestExpiryMs() - this.#clock.ms);
    if (!this.#backend.exclusive) {
      await this.#world.restart();
      return;
    }
    this.#clock.ms += jumpMs;
    const survivors = await this.#world.restart();
    if (survivors === null) throw new Error('whoever has the books alone must say what it left');
    const wrong = this.#model.restart(this.#clock.ms, survivors);
    if (wrong !== null) throw new Difference(wrong);
    // At most one window opens across a restart with the clock set forward.
    if (jumpMs > 0) this.#admissions.clear();
  }

  /** The sums of every key and account; now and then the ledger's own audit, which counts all rows anew. */
  async #check(audited: boolean): Promise<void> {
    if (!audited) {
      const looks = [...this.#model.keys.keys()].map(getKey);
      const results = await this.#look([...looks, ...[...this.#model.accounts.keys()].map(getAccount)]);
      this.#compare(results.slice(0, looks.length));
      return this.#compareAccounts(results.slice(looks.length));
    }
    const [keys, accounts, audit] = await this.#look([{ op: 'listKeys' }, { op: 'listAccounts' }, { op: 'audit' }]);
    this.#compare(keys);
    this.#compareAccounts(accounts);
    const broken = brokenAudit(this.#model, audit as AuditReport);
    if (broken !== null) throw new Difference(broken);
  }

  /** What reports add up from rollups and the rest, against all charges. */
  async #checkUsage(random: Random): Promise<void> {
    const query = drawQuery(random, this.#clock.ms);
    const [usage] = await this.#look([{ op: 'usageReport', query }]);
    const broken = brokenUsage(this.#model, query, usage as UsageOutcome);
    if (broken !== null) throw new Difference(broken);
  }

  async #look(looks: readonly Operation[]): Promise<readonly Result[]> {
    return (await this.#world.apply(looks, 'none', 0)).results ?? [];
  }

  #compare(keys: unknown): void {
    const broken = brokenSums(this.#model, keys as readonly KeySummary[]);
    if (broken !== null) throw new Difference(broken);
  }

  #compareAccounts(accounts: unknown): void {
    const broken = brokenLevels(this.#model, accounts as readonly AccountSummary[]);
    if (broken !== null) throw new Difference(broken);
  }
}

function getAccount(accountId: string): Operation {
  return { op: 'getAccount', accountId };
}

function getKey(keyId: string): Operation {
  return { op: 'getKey', keyId };
}

function signsOfLifeFirst(batch: readonly Operation[]): readonly Operation[] {
  const isSign = ({ op }: Operation) => op === 'registerOwner' || op === 'heartbeat';
  return [...batch.filter(isSign), ...batch.filter((operation) => !isSign(operation))];
}

/** Mostly short, in whole seconds so that limits are met exactly; at times to the edge of a day, or for days. */
function drawTime(random: Random, nowMs: number): number {
  const midnightMs = firstOf('day', nowMs) + DAY_MS;
  switch (random.weighted({ none: 40, part: 15, seconds: 33, minute: 4, lease: 3, minutes: 2, edge: 2, days: 1 })) {
    case 'none':
      return 0;
    case 'part':
      return random.int(1_000);
    case 'seconds':
      return random.between(1, 12) * 1_000;
    case 'minute':
      return MINUTE_MS - random.int(2);
    case 'lease':
      return LEASE_MS;
    case 'minutes':
      return random.between(1, 15) * MINUTE_MS;
    case 'edge':
      return midnightMs - nowMs - random.int(2);
    case 'days':
      return random.between(1, 9) * DAY_MS;
  }
}

/**
 * How the clock of the next process differs: hours either way. Backwards it stays within its day: an account goes on in
 * the newest day that it has booked something in, which a test of its own holds.
 */
function drawJump(random: Random, nowMs: number): number {
  switch (random.weighted({ none: 50, forwards: 25, backwards: 25 })) {
    case 'none':
      return 0;
    case 'forwards':
      return random.between(1, 30 * 3_600) * 1_000;
    case 'backwards':
      return -Math.min(random.between(1, 5 * 3_600) * 1_000, nowMs - firstOf('day', nowMs));
  }
}

/** Leaves steps out as long as the violation stays; what is left is enough to see it. */
export async function shrink(backend: Backend, violation: Violation): Promise<Violation> {
  let smallest: Violation = {
    ...violation,
    steps: violation.step + 1,
    only: violation.only ?? Array.from({ length: violation.step + 1 }, (_, index) => index),
  };
  for (let size = Math.ceil((smallest.only?.length ?? 0) / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let from = 0; from < (smallest.only?.length ?? 0); ) {
      const only = smallest.only?.filter((_, index) => index < from || index >= from + size) ?? [];
      const found = await simulate(backend, { ...smallest, only });
      if (found === null) from += size;
      else smallest = { ...found, only };
    }
  }
  return smallest;
}

/** Nobody knows whether its hold was admitted. */
function sentAgain(operation: Operation): Operation {
  return operation.op === 'admit' ? { ...operation, request: { ...operation.request, newHold: false } } : operation;
}

export function describeViolation(backend: Backend, { seed, step, steps, only, message }: Violation): string {
  const part = only === undefined ? '' : ` --only ${only.join(',')}`;
  return [
    `${backend.name}: seed ${seed}, step ${step}: ${message}`,
    `  again with: npm run simulate -- --seed ${seed} --steps ${steps}${part}`,
  ].join('\n');
}
