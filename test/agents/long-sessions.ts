/**
 * Sessions that become long: tools that come on the way, a conversation that is compacted, and what is asked after it. Every run
 * of the agent is one in the same home, on an upstream whose model is a script.
 */
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Exchange, Wire } from '../../e2e/wire.ts';
import type { Format } from '../../src/core/endpoints.ts';
import type { RequestRecord } from '../../src/core/request-record.ts';
import { startedGateway } from '../support/started-gateway.ts';
import { runAgent } from './agents.ts';
import { closedOutside } from './outside.ts';
import { type Ended, failureOf } from './processes.ts';
import { offered, type ScriptedCall, ScriptedUpstream, type Step, type Summarising } from './scripted-upstream.ts';
import { type AgentName, agentOf, assertStaysHere, type Place } from './set-ups.ts';
import { checkBooks, configText } from './tool-loop.ts';

const SUMMARY = 'The drawer was opened gently, and nothing else is to be done with it.';
const MCP_SERVER = join(import.meta.dirname, 'late-tools.mjs');

interface Run {
  readonly prompt: string;
  /** The last of them says what the user must see; none, where the run only compacts. */
  readonly steps: readonly Step[];
}

export interface LongSession extends Pick<Place, 'mcpServer' | 'compactsAt'> {
  readonly agent: AgentName;
  readonly model: string;
  readonly upstream: Format;
  readonly what: string;
  readonly runs: readonly Run[];
  readonly summarising: Summarising;
  /** A tool that is offered only after the first step. */
  readonly late?: string;
  /** The step that is the first after the compaction. */
  readonly afterSummary: number;
}

function call(tool: string, input: object, result: RegExp): ScriptedCall {
  return { tool, input, result };
}

/** An MCP server has another tool after the first call, which Claude Code adds by a `tool_addition`; then `/compact`. */
function claudeCode(upstream: Format): LongSession {
  const open = call('mcp__house__open_drawer', { how: 'gently' }, /open_drawer was done gently/);
  return {
    agent: 'claude',
    model: 'claude-scripted',
    upstream,
    what: 'a tool that is added on the way, and /compact',
    mcpServer: MCP_SERVER,
    late: 'mcp__house__take_pen',
    runs: [
      {
        prompt: 'Open the drawer and take the pen.',
        steps: [
          { say: 'I open it.', calls: [open] },
          {
            say: 'I take the pen.',
            calls: [call('mcp__house__take_pen', { how: 'slowly' }, /take_pen was done slowly/)],
          },
          { say: 'The pen is taken.', calls: [] },
        ],
      },
      { prompt: '/compact', steps: [] },
      {
        prompt: 'Open it once more.',
        steps: [
          { say: 'I open it again.', calls: [open] },
          { say: 'It is open again.', calls: [] },
        ],
      },
    ],
    summarising: { asks: /create a detailed summary/, summary: `<summary>\n${SUMMARY}\n</summary>` },
    afterSummary: 3,
  };
}

/** Codex takes the gateway for OpenAI, which is to compact what has become too long; it does so on the way, and goes on. */
function codex(upstream: Format): LongSession {
  const execute = (cmd: string, result: RegExp): ScriptedCall => call('exec_command', { cmd }, result);
  return {
    agent: 'codex',
    model: 'gpt-5.5',
    upstream,
    what: 'compacted with openai_base_url',
    compactsAt: 1_000,
    runs: [
      {
        prompt: 'Say what the drawer says.',
        steps: [
          { say: 'I look.', calls: [execute('echo opened gently', /opened gently/)] },
          { say: 'It was opened gently.', calls: [] },
        ],
      },
      { prompt: 'And now?', steps: [{ say: 'Nothing else is to be done.', calls: [] }] },
    ],
    summarising: { asks: /You summarise a conversation/, summary: SUMMARY },
    afterSummary: 1,
  };
}

export const LONG_SESSIONS: readonly LongSession[] = [
  claudeCode('chat'),
  claudeCode('responses'),
  codex('messages'),
  codex('chat'),
  codex('responses'),
];

function checkUpstream(session: LongSession, upstream: ScriptedUpstream, sent: readonly Exchange[]): void {
  const steps = session.runs.flatMap((run) => run.steps);
  const { seen, summarised } = upstream;
  assert.deepEqual(upstream.surprises, []);
  assert.equal(seen.length, steps.length, 'one request for each step, none repeated');
  assert.ok(summarised.length > 0, 'a summary was asked for');
  for (const [at, { calls }] of steps.entries()) {
    for (const one of calls) {
      const heard = seen[at + 1]?.results.at(-1)?.text ?? summarised[0]?.said ?? '';
      assert.match(heard, one.result, `step ${at}: the result of ${one.tool}`);
    }
  }
  for (const [at, { said, calls }] of seen.entries()) {
    assert.equal(said.includes(SUMMARY), at >= session.afterSummary, `step ${at}: the summary`);
    if (at === session.afterSummary) assert.deepEqual(calls, [], 'the calls before the compaction are not sent again');
  }
  const { late } = session;
  if (late === undefined) return;
  assert.equal(offered(seen[0]?.tools ?? [], late), undefined, `${late} is not offered before it is there`);
  const added = `"type":"tool_addition","tool":{"type":"tool_reference","name":"${late}"}`;
  assert.ok(
    sent.some(({ body }) => body.includes(added)),
    'the agent has sent a tool_addition',
  );
  for (const at of [1, 2]) assert.ok(offered(seen[at]?.tools ?? [], late), `step ${at}: ${late} is offered`);
}

/** Throws what is not as it must be; what the agent printed is in its cause. */
export async function playSession(session: LongSession, installed: string): Promise<void> {
  const root = await mkdtemp(join(tmpdir(), 'gateway-agents-'));
  const [home, workFolder] = [join(root, 'home'), join(root, 'work')];
  await Promise.all([mkdir(home), mkdir(workFolder)]);
  const { model, mcpServer, compactsAt, runs } = session;
  const upstream = await ScriptedUpstream.start(
    runs.flatMap(({ steps }) => steps),
    session.summarising,
  );
  const agent = agentOf(session.agent);
  let ended: Ended | null = null;
  try {
    const requests: RequestRecord[] = [];
    const observer = { started: () => {}, finished: (record: RequestRecord) => void requests.push(record) };
    await using gateway = await startedGateway({ config: configText(session, upstream.origin), observers: [observer] });
    await using outside = await closedOutside();
    const key = await gateway.creditKey();
    // What it sends over a WebSocket is seen at the upstream only.
    await using wire = await Wire.before(gateway.origin);
    const through = (address: string): string => (compactsAt === undefined ? wire.through(address) : address);
    const [origin, baseUrl] = [through(key.origin), through(key.base_url)];
    const place = { installed, home, workFolder, key: key.key, origin, baseUrl, model, mcpServer, compactsAt };
    for (const [index, { prompt, steps }] of runs.entries()) {
      ended = await runAgent(agent, { ...place, prompt, resumes: index > 0, proxy: outside.proxy });
      assert.equal(ended.code, 0, `${prompt}: the exit code`);
      const { say = '' } = steps.at(-1) ?? {};
      assert.ok(agent.shown(ended.stdout, ended.stderr).includes(say), `${prompt}: its answer is shown`);
    }
    checkUpstream(session, upstream, wire.taken());
    await checkBooks(gateway, key, upstream.answers);
    const refused = requests.filter(({ condition }) => condition !== null);
    assert.deepEqual(
      refused.map(({ condition }) => condition),
      [],
      'nothing is refused',
    );
    const generated = requests.filter(({ settlement }) => settlement !== null);
    assert.ok(
      generated.every(({ webSocket }) => webSocket === (compactsAt !== undefined)),
      'it uses a WebSocket where it takes the gateway for OpenAI',
    );
    assertStaysHere(agent, outside.asked);
  } catch (error) {
    throw failureOf(error, ended);
  } finally {
    await upstream.close();
    await rm(root, { recursive: true, force: true });
  }
}
