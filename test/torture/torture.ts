/** Rounds of load and faults; after each, what the clients saw is compared with the ledger. */
import { setTimeout as delay } from 'node:timers/promises';
import { Random } from '../simulation/random.ts';
import { type Account, type Level, levelViolations, rateViolation, violationsOf } from './book.ts';
import { ask, callAgain, FIRST_WAY, insist, overspend, pressLimit, type Round } from './clients.ts';
import { endsOf, type Runner, runAgain } from './runs.ts';
import type { World } from './world.ts';

export interface Figures {
  rounds: number;
  crashes: number;
  faults: number;
  /** Those that were answered, with whatever status. */
  calls: number;
  /** Not even a status came: nobody listened, or the connection broke before. */
  unanswered: number;
  complete: number;
  replayed: number;
  refused: number;
  /** Of caps, by an operator. */
  changes: number;
  readonly byFault: Map<string, number>;
}

export interface TortureOptions {
  readonly seed: number;
  readonly firstRound: number;
  /** Asked before each round. */
  more(rounds: number): boolean;
  log(line: string): void;
}

/** The load is bounded: what is looked for is order and loss, not speed. */
const CALLERS = 4;
const INSISTENT = 4;
const TINY = 2;
const RUNNERS = 2;
const FAULTS_MAX = 3;
const ROUND_MS_MIN = 1_500;
const CREDIT = '0.5';
/** Carries three of the holds that `overspend` asks for. */
const TINY_CREDIT = '0.001';
/** Of the levels of a tree: what is below may ask for more than each of them gives. */
const ROOT_CREDIT = '0.004';
const TEAM_CAP = '0.003';
const PROJECT_CAP = '0.001';
export const RATE_LIMIT = 20;
const NANOS = 1e9;

export async function torture(
  world: World,
  options: TortureOptions,
): Promise<{ readonly figures: Figures; readonly violations: readonly string[] }> {
  const figures: Figures = {
    rounds: 0,
    crashes: 0,
    faults: 0,
    calls: 0,
    unanswered: 0,
    complete: 0,
    replayed: 0,
    refused: 0,
    changes: 0,
    byFault: new Map(),
  };
  const limited = await newAccount(world, 'limited', CREDIT, RATE_LIMIT);
  let over = false;
  const pressing = pressLimit(
    () => over,
    (client) => world.origin(client),
    limited,
  );
  const violations: string[] = [];
  try {
    for (let number = options.firstRound; violations.length === 0 && options.more(figures.rounds); number++) {
      const found = await oneRound(world, Random.of(options.seed, number), figures);
      const rate = rateViolation(limited, RATE_LIMIT);
      const circles = world.deadlocks === 0 ? [] : [`${world.deadlocks} deadlocks in the store`];
      violations.push(
        ...[...found, ...(rate === null ? [] : [rate]), ...circles, ...world.deaths].map(
          (what) => `round ${number}: ${what}`,
        ),
      );
      figures.rounds += 1;
      options.log(
        `round ${number}: ${figures.crashes} crashes, ${figures.faults} faults, ${figures.calls} calls so far`,
      );
    }
  } finally {
    over = true;
    await pressing;
    count(figures, [limited]);
  }
  return { figures, violations };
}

async function newAccount(world: World, kind: Account['kind'], credit: string, rpm?: number): Promise<Account> {
  const key = await world.admin.createKey({ mode: 'credit', credit, ...(rpm === undefined ? {} : { rpm_limit: rpm }) });
  return { key, creditNanos: nanosOf(credit), kind, calls: [], digest: null };
}

function nanosOf(credit: string): number {
  return Math.round(Number(credit) * NANOS);
}

/** Root, team and project, each with a key that spends there; the root pays. */
async function newTree({ admin }: World): Promise<readonly Level[]> {
  const root = await admin.accounts.create({ name: 'root' });
  await admin.accounts.addCredit(root.id, { amount: ROOT_CREDIT });
  const team = await admin.accounts.create({ name: 'team', parent: root.id, credit_cap: `${TEAM_CAP}/none` });
  const project = await admin.accounts.create({ name: 'project', parent: team.id, credit_cap: `${PROJECT_CAP}/none` });
  const spender = async (account: string, limit: string): Promise<Account> => {
    const key = await admin.createKey({ mode: 'credit', account });
    return { key, creditNanos: nanosOf(limit), kind: 'tree', calls: [], digest: null };
  };
  const ofProject = await spender(project.id, PROJECT_CAP);
  const ofTeam = await spender(team.id, TEAM_CAP);
  const ofRoot = await spender(root.id, ROOT_CREDIT);
  return [
    { id: project.id, name: 'project', limitNanos: nanosOf(PROJECT_CAP), spenders: [ofProject] },
    { id: team.id, name: 'team', limitNanos: nanosOf(TEAM_CAP), spenders: [ofProject, ofTeam] },
    { id: root.id, name: 'root', limitNanos: nanosOf(ROOT_CREDIT), spenders: [ofProject, ofTeam, ofRoot] },
  ];
}

async function oneRound(world: World, random: Random, figures: Figures): Promise<readonly string[]> {
  const make = (count: number, kind: Account['kind'], credit: string) =>
    Promise.all(Array.from({ length: count }, () => newAccount(world, kind, credit)));
  const callers = await make(CALLERS, 'calls', CREDIT);
  const insistent = await make(INSISTENT, 'once', CREDIT);
  const tiny = await make(TINY, 'tiny', TINY_CREDIT);
  const tree = await newTree(world);
  const spenders = tree.at(-1)?.spenders ?? [];
  const runners: readonly Runner[] = (await make(RUNNERS, 'runs', CREDIT)).map((account) => ({ account, runs: [] }));
  const accounts = [...callers, ...insistent, ...tiny, ...spenders, ...runners.map(({ account }) => account)];
  const round: Round = { over: false, origin: (client) => world.origin(client) };
  const own = (client: number): Random => Random.of(random.int(2 ** 31), client);
  const clients = [
    ...callers.map((account, client) => callAgain(round, client, account, own(client))),
    ...insistent.map((account, client) => insist(round, client, account, own(100 + client))),
    ...tiny.map((account, client) => overspend(round, client, account, own(200 + client))),
    ...spenders.map((account, client) => overspend(round, client, account, own(300 + client))),
    ...runners.map((runner, client) => runAgain(round, client, runner, own(400 + client))),
  ];
  const operator = changeCaps(world, round, tree, own(500), figures);
  await makeFaults(world, random, figures);
  round.over = true;
  await Promise.all([...clients, operator]);

  const found = await endsOf(world, runners);
  found.push(...(await compare(world, accounts, tree)));
  found.push(...(await askedOnceMore(world, insistent)));
  count(figures, accounts);
  return found;
}

/** An operator who lowers the caps of a tree and raises them again, but never above what is compared in the end. */
async function changeCaps(
  world: World,
  round: Round,
  tree: readonly Level[],
  random: Random,
  figures: Figures,
): Promise<void> {
  const capped = tree.slice(0, -1);
  const set = ({ id, limitNanos }: Level, share: number): Promise<unknown> =>
    world.admin.accounts.change(id, { credit_cap: `${(limitNanos * share) / NANOS}/none` });
  while (!round.over) {
    await delay(random.between(100, 600));
    const level = random.pick(capped);
    // The gateway may be down: the operator tries another change later.
    if (level === undefined) continue;
    await set(level, random.pick([0.5, 1]) ?? 1).then(
      () => figures.changes++,
      () => undefined,
    );
  }
}

async function makeFaults(world: World, random: Random, figures: Figures): Promise<void> {
  const startedMs = Date.now();
  for (let left = random.between(1, FAULTS_MAX); left > 0; left--) {
    await delay(random.between(150, 1_800));
    const weights = Object.fromEntries(world.faults.map(({ name, weight }) => [name, weight]));
    const name = random.weighted(weights);
    const fault = world.faults.find((one) => one.name === name);
    if (fault === undefined) throw new Error(`no fault is called ${name}`);
    figures.crashes += await fault.run(random);
    figures.faults += 1;
    figures.byFault.set(name, (figures.byFault.get(name) ?? 0) + 1);
  }
  await delay(Math.max(random.between(100, 800), ROUND_MS_MIN - (Date.now() - startedMs)));
}

/** When everything has come to its end. */
async function compare(world: World, accounts: readonly Account[], tree: readonly Level[]): Promise<string[]> {
  const deadlineMs = Date.now() + world.recoveryMs;
  const show = ({ key }: Account) => patiently(() => world.admin.showKey(key.id), deadlineMs);
  await patiently(() => world.admin.audit(), deadlineMs);
  const live = async (): Promise<number> => {
    const views = await Promise.all(accounts.map(show));
    return views.reduce((sum, { live_holds }) => sum + live_holds, 0);
  };
  while ((await live()) > 0 && Date.now() < deadlineMs) await delay(100);
  const audit = await patiently(() => world.admin.audit(), deadlineMs);
  const found = audit.findings.map((finding) => `audit: ${finding}`);
  const charges = await world.charges(accounts.map(({ key }) => key.id));
  for (const account of accounts) {
    found.push(
      ...violationsOf(
        account,
        await show(account),
        charges.filter(({ keyId }) => keyId === account.key.id),
      ),
    );
    for (const { code, requestId } of account.calls) {
      if (code === 'no end') found.push(`key ${account.key.id}: the call ${requestId} had no end`);
    }
  }
  for (const level of tree) {
    const view = await patiently(() => world.admin.accounts.show(level.id), deadlineMs);
    found.push(...levelViolations(level, view, charges));
  }
  return found;
}

/** A key that was used before the faults: the answer is known, or the call runs now; it is not in the way any more. */
async function askedOnceMore(world: World, insistent: readonly Account[]): Promise<string[]> {
  const found: string[] = [];
  for (const account of insistent) {
    const before = account.calls.find(({ tokens }) => tokens !== null);
    const last = account.calls.at(-1);
    if (before === undefined && last?.code === 'idempotency_in_flight') {
      const call = await ask(world.origin(0), account, {
        ...FIRST_WAY,
        stream: false,
        tokens: 1,
        delayMs: 1,
        idempotencyKey: 'once',
      });
      // Another body: a conflict says that the claim has come to an end with a charge, a 200 that it was free.
      if (call.code === 'idempotency_in_flight')
        found.push(`key ${account.key.id}: its Idempotency-Key is taken for good`);
    }
  }
  return found;
}

/** The store may still be coming back. */
async function patiently<T>(work: () => Promise<T>, deadlineMs: number): Promise<T> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (Date.now() > deadlineMs) throw error;
      await delay(200);
    }
  }
}

function count(figures: Figures, accounts: readonly Account[]): void {
  for (const { calls } of accounts) {
    for (const { tokens, replayed, status } of calls) {
      if (status === 0) figures.unanswered += 1;
      else figures.calls += 1;
      if (replayed) figures.replayed += 1;
      else if (tokens !== null) figures.complete += 1;
      if (status === 402 || status === 429) figures.refused += 1;
    }
  }
}
