/**
 * `npm run e2e [-- NAME …]`: the real clients against started gateways; docs/connect/compatibility.md and
 * docs/connect/clients are written from what they saw. Words after the command choose clients by their path (`clients/`,
 * `python/langchain`, `agents/codex`).
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { installAgents } from '../test/agents/agents.ts';
import { closedOutside } from '../test/agents/outside.ts';
import { endGroupsOnSignals } from '../test/agents/processes.ts';
import { AGENTS, type Agent, PYTHON_AGENTS } from '../test/agents/set-ups.ts';
import { auditClean } from '../test/support/requests.ts';
import { playAgent } from './agents.ts';
import { type Announcement, ClientProgram } from './client-program.ts';
import { gatewayOfClients } from './gateway.ts';
import { installNodeClients, installPython } from './install.ts';
import { type Program, programsIn } from './programs.ts';
import { keepResult, writePages } from './results.ts';
import { playCases, playFaults, type Row, type Sight } from './scenarios.ts';
import { Slots } from './slots.ts';

const HERE = import.meta.dirname;
const slots = new Slots(2 * availableParallelism(), 8);

interface Played {
  readonly rows: readonly Row[];
  readonly sights: readonly Sight[];
}

async function play({ name, command, file }: Program): Promise<Played> {
  const home = await mkdtemp(join(tmpdir(), 'gateway-e2e-'));
  let announced: Announcement | null = null;
  try {
    await using gateway = await gatewayOfClients();
    await using outside = await closedOutside();
    const { restart } = gateway;
    await using program = new ClientProgram({ command, args: [file], home, proxy: outside.proxy, restart });
    announced = await program.announcement();
    const rows = await playCases(gateway, program, announced);
    const sights = await playFaults(gateway, program, announced);
    await auditClean(gateway);
    if (outside.asked.length > 0) throw new Error(`it wanted to reach ${[...new Set(outside.asked)].join(', ')}`);
    return { rows, sights };
  } catch (error) {
    return brokenOff(announced ?? { client: name, version: '' }, error);
  } finally {
    await rm(home, { recursive: true, force: true });
  }
}

/** What there is of a client that could not be played to its end. */
function brokenOff({ client, version }: Pick<Announcement, 'client' | 'version'>, error: unknown): Played {
  const problem = error instanceof Error ? error.message : String(error);
  const row = { client, version, what: 'the whole program', route: '', problem } as const;
  return { rows: [{ ...row, lane: 'native', provider: 'sandbox', mode: 'whole' }], sights: [] };
}

function report(name: string, { rows, sights }: Played, ms: number): number {
  const failed = [...rows, ...sights].filter(({ problem }) => problem !== null);
  console.log(`${failed.length === 0 ? 'ok    ' : 'FAILED'}  ${name}: ${rows.length + sights.length} (${ms} ms)`);
  for (const row of failed) {
    const what = 'fault' in row ? row.fault : `${row.what}, ${row.provider}, ${row.lane}, ${row.mode}`;
    console.log(`        ${what}: ${row.problem}${'message' in row ? ` (${row.message.slice(0, 200)})` : ''}`);
  }
  return failed.length;
}

/** A client of whatever kind, ready to be played. */
interface Playable {
  readonly name: string;
  play(): Promise<Played>;
}

type NotRun = readonly [client: string, reason: string];

/** Those that words choose by their path, the longest first, and those that cannot be run here. */
async function playables(words: readonly string[]): Promise<{ chosen: Playable[]; notRun: NotRun[] }> {
  const isNamed = (path: string): boolean => words.length === 0 || words.some((word) => path.includes(word));
  const isChosen = ({ file }: Program): boolean => isNamed(relative(HERE, file));
  const chosen: Playable[] = [];
  const notRun: NotRun[] = [];
  const addAgent = (name: string, agent: Agent, installed: string): void => {
    chosen.push({
      name,
      play: () =>
        playAgent({ agent, installed, slots }).catch((error: unknown) =>
          brokenOff({ client: agent.title, version: '' }, error),
        ),
    });
  };
  const addProgram = (program: Program): void => {
    chosen.push({ name: program.name, play: () => slots.use('short', () => play(program)) });
  };
  for (const [name, agent] of Object.entries<Agent>(PYTHON_AGENTS)) {
    if (!isNamed(`agents/${name}`)) continue;
    const environment = await installPython(name);
    if ('python' in environment) addAgent(name, agent, resolve(environment.python, '../..'));
    else notRun.push([agent.title, environment.reason]);
  }
  const agents = Object.entries<Agent>(AGENTS).filter(([name]) => isNamed(`agents/${name}`));
  const installed = agents.length === 0 ? '' : await installAgents();
  for (const [name, agent] of agents) addAgent(name, agent, installed);
  const inNode = (await programsIn('clients', '.mjs', process.execPath)).filter(isChosen);
  if (inNode.length > 0) await installNodeClients();
  for (const program of (await programsIn('python', '.py', '')).filter(isChosen)) {
    const environment = await installPython(program.name);
    if ('python' in environment) addProgram({ ...program, command: environment.python });
    else notRun.push([`${program.name} (Python)`, environment.reason]);
  }
  inNode.forEach(addProgram);
  return { chosen, notRun };
}

async function main(words: readonly string[]): Promise<void> {
  // CI looks and writes nothing.
  const writes = process.env.CI === undefined;
  const startedMs = performance.now();
  const elapsed = (): number => Math.round(performance.now() - startedMs);
  // Everything that is made on the way is under one folder, which a signal removes too.
  const root = mkdtempSync(join(tmpdir(), 'e2e-'));
  process.env.TMPDIR = root;
  const unended = new Set<string>();
  endGroupsOnSignals((signal) => {
    for (const name of unended) console.log(`NOT RUN ${name}: ended by ${signal} after ${elapsed()} ms`);
    rmSync(root, { recursive: true, force: true });
  });
  try {
    const { chosen, notRun } = await playables(words);
    for (const { name } of chosen) unended.add(name);
    const tally = { passed: 0, failed: 0 };
    await Promise.all(
      chosen.map(async ({ name, play: playIt }) => {
        const played = await playIt();
        unended.delete(name);
        const failed = report(name, played, elapsed());
        tally.failed += failed;
        const run = played.rows.filter(({ notRun: reason }) => reason === undefined);
        tally.passed += run.length + played.sights.length - failed;
        if (writes) await keepResult(name, { date: new Date().toISOString().slice(0, 10), ...played });
      }),
    );
    for (const [client, reason] of notRun) console.log(`NOT RUN ${client}: ${reason}`);
    if (writes) await writePages({ command: 'npm run e2e', notRun });
    console.log(`${tally.passed} passed, ${tally.failed} failed (${elapsed()} ms)`);
    process.exitCode = tally.failed === 0 && tally.passed > 0 ? 0 : 1;
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

await main(process.argv.slice(2)).catch((error: unknown) => {
  console.error(`The clients could not be run: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
});
