/**
 * The coding agents against a started gateway: turns with every model and both modes of keys, a resumed session, a cancelled
 * turn, their tool loops on upstreams of every format, and what their users see when something is wrong.
 */
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CreatedKey } from '../src/admin/keys/schema.ts';
import { runAgent, type Task, versionOf } from '../test/agents/agents.ts';
import { LONG_SESSIONS, playSession } from '../test/agents/long-sessions.ts';
import { closedOutside } from '../test/agents/outside.ts';
import type { Ended } from '../test/agents/processes.ts';
import { SCENARIOS } from '../test/agents/scenarios.ts';
import { type Agent, agentOf, assertStaysHere } from '../test/agents/set-ups.ts';
import { playLoop } from '../test/agents/tool-loop.ts';
import { auditClean } from '../test/support/requests.ts';
import type { StartedGateway } from '../test/support/started-gateway.ts';
import { FAULTS, type Fault, faultyKey } from './faults.ts';
import { gatewayOfClients } from './gateway.ts';
import { settled, unlikeBooks } from './ledger.ts';
import { laneOf, MODELS, type TriedModel } from './models.ts';
import type { Row, Sight } from './scenarios.ts';
import type { Slots } from './slots.ts';
import { type Exchange, Wire } from './wire.ts';

const ANSWER = /Simulated answer/;
/** An agent that has asked so often goes on for ever, as far as its user is concerned. */
const ENDLESS = 40;
/** How long an agent is looked at that is known to wait for days when it is told to. */
const WAIT_MS = 150_000;
const UNASKED = 'it has not asked for a list in any of these runs; its models are set by hand';

/** Where an agent tells its user something else than it was told: such a fault passes with a note. */
const KNOWN: readonly (Pick<Sight, 'client' | 'fault'> & { readonly note: string })[] = [
  {
    client: 'Claude Code',
    fault: 'a wrong base URL',
    note: 'tells every 404 as an issue with the model (its code is not public: [its package](https://www.npmjs.com/package/@anthropic-ai/claude-code))',
  },
  {
    client: 'Codex',
    fault: 'no token budget left',
    note: 'waits for as long as `Retry-After` says; with `stream_max_retries = 0` it stops at once and names the status ([its reading of a 429](https://github.com/openai/codex/blob/main/codex-rs/codex-api/src/api_bridge.rs))',
  },
  {
    client: 'opencode',
    fault: 'no token budget left',
    note: 'waits for as long as `Retry-After` says, and only its terminal interface shows why ([its retries](https://github.com/anomalyco/opencode/blob/dev/packages/opencode/src/session/retry.ts))',
  },
  {
    client: 'pi',
    fault: 'the context is full',
    note: 'takes it as a reason to compact the session, and says nothing where there is nothing to compact; with `--mode json` it shows the gateway’s sentence ([its handling of an overflow](https://github.com/earendil-works/pi/blob/main/packages/coding-agent/src/core/agent-session.ts))',
  },
];

export interface AgentRun {
  readonly agent: Agent;
  readonly installed: string;
  readonly slots: Slots;
}

interface Played {
  readonly ended: Ended;
  readonly exchanges: readonly Exchange[];
}

/** Runs one agent, time after time and several at once, and knows what each run has sent. */
class AgentPlayer {
  readonly agent: Agent;
  readonly installed: string;
  readonly gateway: StartedGateway;
  readonly #slots: Slots;
  readonly #proxy: string;
  readonly #root: string;
  /** The answers to requests for a list of models. */
  readonly lists: number[] = [];
  #homes = 0;

  constructor({ agent, installed, slots }: AgentRun, gateway: StartedGateway, proxy: string, root: string) {
    this.agent = agent;
    this.installed = installed;
    this.#slots = slots;
    this.gateway = gateway;
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

  /** The model whose provider speaks the agent's own format. */
  get native(): TriedModel {
    const found = MODELS.find((model) => laneOf(this.agent.route, model) === 'native');
    assert.ok(found);
    return found;
  }

  async ask(
    key: CreatedKey,
    asked: Partial<Task>,
    watch?: (wire: Wire) => void,
    kind: 'long' | 'pausing' = 'long',
  ): Promise<Played> {
    const home = asked.home ?? (await this.home());
    await using wire = await Wire.before(new URL(key.origin).origin);
    watch?.(wire);
    const task: Task = {
      installed: this.installed,
      workFolder: join(home, 'work'),
      key: key.key,
      model: this.native.id,
      prompt: 'Say hello. [[tokens=12]]',
      proxy: this.#proxy,
      ...asked,
      home,
      origin: wire.through(asked.origin ?? key.origin),
      baseUrl: wire.through(asked.baseUrl ?? key.base_url),
    };
    const ended = await this.#slots.use(kind, () => runAgent(this.agent, task));
    await wire.idle();
    const exchanges = wire.taken();
    const lists = exchanges.filter(({ method, path }) => method === 'GET' && /\/v1\/models\b/.test(path));
    this.lists.push(...lists.map(({ status }) => status));
    return { ended, exchanges };
  }
}

export async function playAgent(
  run: AgentRun,
): Promise<{ readonly rows: readonly Row[]; readonly sights: readonly Sight[] }> {
  const { agent, installed, slots } = run;
  await using gateway = await gatewayOfClients();
  await using outside = await closedOutside();
  const root = await mkdtemp(join(tmpdir(), 'agent-'));
  const player = new AgentPlayer(run, gateway, outside.proxy, root);
  const described = { client: agent.title, version: await versionOf(agent, installed), route: agent.route };
  const row = async (
    shown: Pick<Row, 'what'> & Partial<Pick<Row, 'lane' | 'provider' | 'mode' | 'notRun'>>,
    play: () => Promise<void>,
  ): Promise<Row> => {
    const { mode = 'streamed' } = agent;
    const common: Row = { ...described, lane: 'native', provider: 'sandbox', mode, problem: null, ...shown };
    if (common.notRun !== undefined) return common;
    try {
      await play();
      return common;
    } catch (error) {
      return { ...common, problem: error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error) };
    }
  };
  try {
    // These first: some of them are long, for the agent's own pauses.
    const sights = FAULTS.map((fault) => sight(player, fault));
    const rows: Promise<Row>[] = [];
    for (const model of MODELS) {
      const where = { lane: laneOf(agent.route, model), provider: model.provider };
      rows.push(row({ what: 'a turn', ...where }, () => turns(player, model)));
      if (agent.mode === 'whole') {
        rows.push(row({ what: 'a turn', ...where, mode: 'streamed' }, () => streamedTurn(player, model)));
      }
      if (model.provider === 'sandbox') {
        rows.push(row({ what: 'a resumed session', ...where }, () => resumed(player, model)));
      }
    }
    rows.push(row({ what: 'a cancelled turn', mode: 'streamed' }, () => cancelled(player)));
    for (const scenario of SCENARIOS.filter((one) => agentOf(one.agent) === agent)) {
      const lane = scenario.upstream === agent.route ? 'native' : 'translated';
      const what = `a tool loop on ${scenario.upstream}: ${scenario.what}`;
      rows.push(row({ what, lane }, () => slots.use('long', () => playLoop(scenario, installed))));
    }
    for (const session of LONG_SESSIONS.filter((one) => agentOf(one.agent) === agent)) {
      const lane = session.upstream === agent.route ? 'native' : 'translated';
      const what = `a long session on ${session.upstream}: ${session.what}`;
      rows.push(row({ what, lane }, () => slots.use('long', () => playSession(session, installed))));
    }
    const played = { rows: await Promise.all(rows), sights: await Promise.all(sights) };
    const unasked = player.lists.length > 0 ? {} : { notRun: UNASKED };
    const discovered = async (): Promise<void> =>
      assert.ok(player.lists.includes(200), 'the list of models is answered');
    played.rows.push(await row({ what: 'model discovery', ...unasked }, discovered));
    played.rows.push(
      await row({ what: 'it stays on this machine' }, async () => assertStaysHere(agent, outside.asked)),
    );
    await auditClean(gateway);
    return played;
  } finally {
    await rm(root, { recursive: true, force: true });
  }
}

async function turns(player: AgentPlayer, { id: model }: TriedModel): Promise<void> {
  const { agent, gateway } = player;
  for (const key of [await gateway.creditKey(), await gateway.tokenKey()]) {
    const { ended, exchanges } = await player.ask(key, { model });
    assertAnswered(agent, ended);
    await assertBooks(gateway, key, exchanges);
  }
}

/** Where its streams do not tell their usage: what they are charged is what the same turn costs in one piece. */
async function streamedTurn(player: AgentPlayer, { id: model }: TriedModel): Promise<void> {
  const { agent, gateway } = player;
  const home = await player.home();
  const charges: number[] = [];
  for (const streams of [false, true]) {
    const key = await gateway.tokenKey();
    assertAnswered(agent, (await player.ask(key, { model, home, streams })).ended);
    const { used, live_holds: holds } = await settled(gateway, key);
    assert.equal(holds, 0, 'no hold is left');
    charges.push(used);
  }
  assert.equal(charges[1], charges[0], 'the charge of the stream');
  assert.notEqual(charges[0], 0);
}

async function resumed(player: AgentPlayer, { id: model }: TriedModel): Promise<void> {
  const { agent, gateway } = player;
  const key = await gateway.creditKey();
  const home = await player.home();
  const first = await player.ask(key, { model, home, prompt: 'My name is Ann. [[tokens=12]]' });
  assertAnswered(agent, first.ended);
  const second = await player.ask(key, { model, home, prompt: 'And now? [[tokens=12]]', resumes: true });
  assertAnswered(agent, second.ended);
  const remembers = second.exchanges.some(({ body }) => body.includes('My name is Ann') && body.includes('And now?'));
  assert.ok(remembers, 'the first turn is sent again with the second');
  await assertBooks(gateway, key, [...first.exchanges, ...second.exchanges]);
}

/** Whatever was sent until then is charged, and nothing stays held. */
async function cancelled(player: AgentPlayer): Promise<void> {
  const { gateway } = player;
  const key = await gateway.creditKey();
  const stop = new AbortController();
  const long = { prompt: 'A long story. [[tokens=4000]] [[delay=50]]', streams: true, stop: stop.signal };
  const { exchanges } = await player.ask(key, long, (wire) => {
    void wire.streaming().then(() => stop.abort());
  });
  assert.ok(
    exchanges.some(({ aborted }) => aborted),
    'the stream was closed by the client',
  );
  const { used, live_holds: holds } = await settled(gateway, key);
  assert.equal(holds, 0, 'no hold is left');
  assert.ok(used > 0, 'what was sent is charged');
}

async function sight(player: AgentPlayer, fault: Fault): Promise<Sight> {
  const { agent } = player;
  // A provider that is down opens its circuit, which must not meet the other runs.
  await using own = fault.passes ? await gatewayOfClients() : null;
  const gateway = own ?? player.gateway;
  const key = await faultyKey(gateway, fault);
  const { text, ...task } = fault.task(key);
  const note = KNOWN.find((known) => known.client === agent.title && known.fault === fault.name)?.note;
  const kill = new AbortController();
  const asked = { ...task, ...(text === undefined ? {} : { prompt: text }), kill: kill.signal };
  const look = fault.waits && note !== undefined ? { timeoutMs: WAIT_MS } : {};
  const watch = (wire: Wire): void => {
    wire.onGeneration((count) => count >= ENDLESS && kill.abort());
  };
  const kind = fault.passes || fault.waits ? 'pausing' : 'long';
  const { ended, exchanges } = await player.ask(key, { ...asked, ...look }, watch, kind);
  const requests = exchanges.filter(({ method }) => method === 'POST').length;
  const { used, live_holds: holds } = await settled(gateway, key);
  const shown = agent.shown(ended.stdout, ended.stderr);
  const wrong = used !== 0 || holds !== 0 ? `${used} was charged, ${holds} holds are left` : null;
  const unsaid = note === undefined ? unsaidIn(fault, shown, ended, kill.signal.aborted) : null;
  const message =
    ended.code === null ? `(still there after ${requests} request${requests === 1 ? '' : 's'}) ${shown}` : shown;
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

/** The charge is the usage that the answers have told, and nothing is held. */
async function assertBooks(gateway: StartedGateway, key: CreatedKey, exchanges: readonly Exchange[]): Promise<void> {
  const told = exchanges.flatMap(({ usage }) => usage ?? []);
  const problem = await unlikeBooks(gateway, key, {
    input: told.reduce((sum, { input }) => sum + input, 0),
    output: told.reduce((sum, { output }) => sum + output, 0),
    answers: told.length,
  });
  if (problem !== null) throw new Error(`${key.mode}: ${problem}`);
}
