/**
 * The coding agents against a started gateway: turns with both models and both modes of keys, a resumed session, a cancelled
 * turn, their tool loops on upstreams of every format, and what their users see when something is wrong.
 */
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CreatedKey } from '../src/admin/api.ts';
import { type Ended, runAgent, type Task } from '../test/agents/agents.ts';
import { closedOutside } from '../test/agents/outside.ts';
import { SCENARIOS } from '../test/agents/scenarios.ts';
import { type Agent, agentOf, assertStaysHere } from '../test/agents/set-ups.ts';
import { playLoop } from '../test/agents/tool-loop.ts';
import type { StartedGateway } from '../test/support/started-gateway.ts';
import { FAULTS, type Fault, faultyKey } from './faults.ts';
import { settled, unlikeBooks } from './ledger.ts';
import type { Row, Sight } from './scenarios.ts';
import { type Exchange, Wire } from './wire.ts';

const NATIVE = { chat: 'sandbox/alpha', responses: 'sandbox/alpha', messages: 'sandbox/beta' } as const;
const MODELS = ['sandbox/alpha', 'sandbox/beta'];
const ANSWER = /Simulated answer/;
/** An agent that has asked so often goes on for ever, as far as its user is concerned. */
const ENDLESS = 40;
/** How long an agent is looked at that is known to wait for days when it is told to. */
const WAIT_MS = 150_000;

/** Where an agent tells its user something else than it was told: such a fault passes with a note. */
const KNOWN: readonly (Pick<Sight, 'client' | 'fault'> & { readonly note: string })[] = [
  { client: 'Claude Code', fault: 'a wrong base URL', note: 'tells every 404 as an issue with the model' },
  {
    client: 'opencode',
    fault: 'no token budget left',
    note: 'waits for as long as `Retry-After` says, and only its terminal interface shows why ([its retries](https://github.com/anomalyco/opencode/blob/dev/packages/opencode/src/session/retry.ts))',
  },
];

export interface AgentRun {
  readonly agent: Agent;
  readonly installed: string;
  readonly gateway: StartedGateway;
}

interface Played {
  readonly ended: Ended;
  readonly exchanges: readonly Exchange[];
}

class AgentPlayer implements AsyncDisposable {
  readonly #run: AgentRun;
  readonly #wire: Wire;
  readonly #proxy: string;
  readonly #root: string;
  #homes = 0;

  constructor(run: AgentRun, wire: Wire, proxy: string, root: string) {
    this.#run = run;
    this.#wire = wire;
    this.#proxy = proxy;
    this.#root = root;
  }

  /** A home of its own, unless one is given. */
  async home(): Promise<string> {
    const home = join(this.#root, `home-${this.#homes++}`);
    await mkdir(join(home, 'work'), { recursive: true });
    await writeFile(join(home, 'work/notes.txt'), 'The colour is red.\n');
    return home;
  }

  async ask(key: CreatedKey, asked: Partial<Task>): Promise<Played> {
    const home = asked.home ?? (await this.home());
    const { installed, agent } = this.#run;
    const ended = await runAgent(agent, {
      installed,
      workFolder: join(home, 'work'),
      key: key.key,
      model: NATIVE[agent.route],
      prompt: 'Say hello. [[tokens=12]]',
      proxy: this.#proxy,
      ...asked,
      home,
      origin: this.#wire.through(asked.origin ?? key.origin),
      baseUrl: this.#wire.through(asked.baseUrl ?? key.base_url),
    });
    await this.#wire.idle();
    return { ended, exchanges: this.#wire.taken() };
  }

  get wire(): Wire {
    return this.#wire;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#wire[Symbol.asyncDispose]();
    await rm(this.#root, { recursive: true, force: true });
  }
}

export async function playAgent(
  run: AgentRun,
): Promise<{ readonly rows: readonly Row[]; readonly sights: readonly Sight[] }> {
  await using outside = await closedOutside();
  const root = await mkdtemp(join(tmpdir(), 'gateway-e2e-agent-'));
  await using player = new AgentPlayer(run, await Wire.before(run.gateway.origin), outside.proxy, root);
  const rows: Row[] = [];
  for (const model of MODELS) {
    const lane = NATIVE[run.agent.route] === model ? 'native' : 'translated';
    rows.push(await row(run, lane, 'a turn', () => turns(run, player, model)));
    const { resumesNot: reason } = run.agent;
    rows.push(await row(run, lane, 'a resumed session', () => resumed(run, player, model), reason));
  }
  const reason = run.agent.mode === 'whole' ? 'it has no stream under way here' : undefined;
  rows.push(await row(run, 'native', 'a cancelled turn', () => cancelled(run, player), reason));
  if (run.agent.discovers) rows.push(await row(run, 'native', 'model discovery', () => discovery(run, player)));
  for (const scenario of SCENARIOS.filter((one) => agentOf(one.agent) === run.agent)) {
    const lane = scenario.upstream === run.agent.route ? 'native' : 'translated';
    const what = `a tool loop on ${scenario.upstream}: ${scenario.what}`;
    rows.push(await row(run, lane, what, () => playLoop(scenario, run.installed)));
  }
  const sights: Sight[] = [];
  for (const fault of FAULTS) sights.push(await sight(run, player, fault));
  rows.push(
    await row(run, 'native', 'it stays on this machine', async () => assertStaysHere(run.agent, outside.asked)),
  );
  return { rows, sights };
}

async function row(
  { agent }: AgentRun,
  lane: Row['lane'],
  what: string,
  play: () => Promise<void>,
  notRun?: string,
): Promise<Row> {
  const { title: client, route, mode = 'streamed' } = agent;
  const version = Object.values(agent.packages).join(', ');
  const common: Row = { client, version, what, route, lane, mode, problem: null, notRun };
  if (notRun !== undefined) return common;
  try {
    await play();
    return common;
  } catch (error) {
    return { ...common, problem: error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error) };
  }
}

async function turns({ agent, gateway }: AgentRun, player: AgentPlayer, model: string): Promise<void> {
  for (const key of [await gateway.creditKey(), await gateway.tokenKey()]) {
    const { ended, exchanges } = await player.ask(key, { model });
    assertAnswered(agent, ended);
    assert.equal(await unlikeBooks(gateway, key, seen(exchanges)), null);
  }
}

async function resumed({ agent, gateway }: AgentRun, player: AgentPlayer, model: string): Promise<void> {
  const key = await gateway.creditKey();
  const home = await player.home();
  const first = await player.ask(key, { model, home, prompt: 'My name is Ann. [[tokens=12]]' });
  assertAnswered(agent, first.ended);
  const second = await player.ask(key, { model, home, prompt: 'And now? [[tokens=12]]', resumes: true });
  assertAnswered(agent, second.ended);
  const remembers = second.exchanges.some(({ body }) => body.includes('My name is Ann') && body.includes('And now?'));
  assert.ok(remembers, 'the first turn is sent again with the second');
  assert.equal(await unlikeBooks(gateway, key, seen([...first.exchanges, ...second.exchanges])), null);
}

async function discovery({ agent, gateway }: AgentRun, player: AgentPlayer): Promise<void> {
  await using outside = await closedOutside();
  const { ended, exchanges } = await player.ask(await gateway.creditKey(), { discovers: true, proxy: outside.proxy });
  assertAnswered(agent, ended);
  const lists = exchanges.filter(({ method, path }) => method === 'GET' && path.startsWith('/v1/models'));
  assert.deepEqual(
    [...new Set(lists.map(({ status }) => status))],
    [200],
    'the list of models is asked for and answered',
  );
}

/** Whatever was sent until then is charged, and nothing stays held. */
async function cancelled({ gateway }: AgentRun, player: AgentPlayer): Promise<void> {
  const key = await gateway.creditKey();
  const stop = new AbortController();
  const running = player.ask(key, { prompt: 'A long story. [[tokens=4000]] [[delay=50]]', stop: stop.signal });
  await Promise.race([player.wire.streaming(), running]);
  stop.abort();
  const { exchanges } = await running;
  assert.ok(
    exchanges.some(({ aborted }) => aborted),
    'the stream was closed by the client',
  );
  const { used, live_holds: holds } = await settled(gateway, key);
  assert.equal(holds, 0, 'no hold is left');
  assert.ok(used > 0, 'what was sent is charged');
}

async function sight({ agent, gateway }: AgentRun, player: AgentPlayer, fault: Fault): Promise<Sight> {
  const key = await faultyKey(gateway, fault);
  const { text, ...task } = fault.task(key);
  const note = KNOWN.find((known) => known.client === agent.title && known.fault === fault.name)?.note;
  const kill = new AbortController();
  const unwatched = player.wire.onGeneration((count) => count >= ENDLESS && kill.abort());
  const asked = { ...task, ...(text === undefined ? {} : { prompt: text }), kill: kill.signal };
  const look = fault.waits && note !== undefined ? { timeoutMs: WAIT_MS } : {};
  const { ended, exchanges } = await player.ask(key, { ...asked, ...look }).finally(unwatched);
  const requests = exchanges.filter(({ method }) => method === 'POST').length;
  const { used, live_holds: holds } = await settled(gateway, key);
  const shown = agent.shown(ended.stdout, ended.stderr);
  const wrong = used !== 0 || holds !== 0 ? `${used} was charged, ${holds} holds are left` : null;
  const unsaid = note === undefined ? unsaidIn(fault, shown, ended, kill.signal.aborted) : null;
  const message = ended.code === null ? `(still there after ${requests} requests) ${shown}` : shown;
  return { client: agent.title, fault: fault.name, message, problem: wrong ?? unsaid, requests, note };
}

/** Why its user does not learn what is wrong. */
function unsaidIn(fault: Fault, shown: string, { code }: Ended, isEndless: boolean): string | null {
  if (code === null) return fault.passes && isEndless ? null : 'it does not end';
  return fault.words.test(shown) ? null : 'the message does not say what is wrong';
}

function assertAnswered(agent: Agent, { code, stdout, stderr }: Ended): void {
  const shown = agent.shown(stdout, stderr);
  assert.equal(code, 0, `it ended with ${code}: ${shown}`);
  assert.match(`${stdout}`, ANSWER, `it showed: ${shown}`);
}

function seen(exchanges: readonly Exchange[]) {
  const told = exchanges.flatMap(({ usage }) => usage ?? []);
  return {
    input: told.reduce((sum, { input }) => sum + input, 0),
    output: told.reduce((sum, { output }) => sum + output, 0),
    answers: told.length,
  };
}
