/**
 * `npm run e2e [-- NAME …]`: the real clients against a started gateway, and docs/compatibility.md and docs/clients from what
 * they saw. Words after the command choose clients by their path (`clients/`, `python/langchain`, `agents/codex`).
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { installAgents } from '../test/agents/agents.ts';
import { closedOutside } from '../test/agents/outside.ts';
import { AGENTS, type Agent, PYTHON_AGENTS } from '../test/agents/set-ups.ts';
import { auditClean } from '../test/support/requests.ts';
import { type StartedGateway, startedGateway } from '../test/support/started-gateway.ts';
import { playAgent } from './agents.ts';
import { type Announcement, ClientProgram } from './client-program.ts';
import { installNodeClients, installPython } from './install.ts';
import { type Program, programsIn } from './programs.ts';
import { keepResult, writePages } from './results.ts';
import { playCases, playFaults, type Row, type Sight } from './scenarios.ts';

const HERE = import.meta.dirname;

interface Played {
  readonly rows: readonly Row[];
  readonly sights: readonly Sight[];
}

async function play({ name, command, file }: Program, gateway: StartedGateway): Promise<Played> {
  const home = await mkdtemp(join(tmpdir(), 'gateway-e2e-'));
  await using outside = await closedOutside();
  let announced: Announcement | null = null;
  try {
    await using program = new ClientProgram({ command, args: [file], home, proxy: outside.proxy });
    announced = await program.announcement();
    const rows = await playCases(gateway, program, announced);
    const sights = await playFaults(gateway, program, announced);
    await auditClean(gateway);
    if (outside.asked.length > 0) throw new Error(`it wanted to reach ${[...new Set(outside.asked)].join(', ')}`);
    return { rows, sights };
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    const { client = name, version = '' } = announced ?? {};
    return {
      rows: [{ client, version, what: 'the whole program', route: '', lane: 'native', mode: 'whole', problem }],
      sights: [],
    };
  } finally {
    await rm(home, { recursive: true, force: true });
  }
}

function report(name: string, { rows, sights }: Played, ms: number): number {
  const failed = [...rows, ...sights].filter(({ problem }) => problem !== null);
  console.log(`${failed.length === 0 ? 'ok    ' : 'FAILED'}  ${name}: ${rows.length + sights.length} (${ms} ms)`);
  for (const row of failed) {
    const what = 'fault' in row ? row.fault : `${row.what}, ${row.lane}, ${row.mode}`;
    console.log(`        ${what}: ${row.problem}${'message' in row ? ` (${row.message.slice(0, 200)})` : ''}`);
  }
  return failed.length;
}

/** A client of whatever kind, ready to be played. */
interface Playable {
  readonly name: string;
  play(gateway: StartedGateway): Promise<Played>;
}

type NotRun = readonly [client: string, reason: string];

/** Those that words choose by their path, and those that cannot be run here. */
async function playables(words: readonly string[]): Promise<{ chosen: Playable[]; notRun: NotRun[] }> {
  const isNamed = (path: string): boolean => words.length === 0 || words.some((word) => path.includes(word));
  const isChosen = ({ file }: Program): boolean => isNamed(relative(HERE, file));
  const chosen: Playable[] = [];
  const notRun: NotRun[] = [];
  const add = (program: Program): void => {
    chosen.push({ name: program.name, play: (gateway) => play(program, gateway) });
  };
  const inNode = (await programsIn('clients', '.mjs', process.execPath)).filter(isChosen);
  if (inNode.length > 0) installNodeClients();
  inNode.forEach(add);
  for (const program of (await programsIn('python', '.py', '')).filter(isChosen)) {
    const environment = installPython(program.name);
    if ('python' in environment) add({ ...program, command: environment.python });
    else notRun.push([`${program.name} (Python)`, environment.reason]);
  }
  for (const [name, agent] of Object.entries<Agent>(PYTHON_AGENTS)) {
    if (!isNamed(`agents/${name}`)) continue;
    const environment = installPython(name);
    if ('reason' in environment) {
      notRun.push([agent.title, environment.reason]);
      continue;
    }
    const installed = resolve(environment.python, '../..');
    chosen.push({ name, play: (gateway) => playAgent({ agent, installed, gateway }) });
  }
  const agents = Object.entries<Agent>(AGENTS).filter(([name]) => isNamed(`agents/${name}`));
  if (agents.length === 0) return { chosen, notRun };
  const installed = await installAgents();
  for (const [name, agent] of agents) {
    chosen.push({ name, play: (gateway) => playAgent({ agent, installed, gateway }) });
  }
  return { chosen, notRun };
}

async function main(words: readonly string[]): Promise<void> {
  const { chosen, notRun } = await playables(words);
  const tally = { passed: 0, failed: 0 };
  await using gateway = await startedGateway({ env: { GATEWAY_SANDBOX: 'strict' } });
  for (const { name, play: playIt } of chosen) {
    const startedMs = performance.now();
    const played = await playIt(gateway);
    const failed = report(name, played, Math.round(performance.now() - startedMs));
    tally.failed += failed;
    const run = played.rows.filter(({ notRun: reason }) => reason === undefined);
    tally.passed += run.length + played.sights.length - failed;
    // CI looks and writes nothing.
    if (process.env.CI === undefined) {
      await keepResult(name, { date: new Date().toISOString().slice(0, 10), ...played });
    }
  }
  for (const [client, reason] of notRun) console.log(`NOT RUN ${client}: ${reason}`);
  if (process.env.CI === undefined) await writePages({ command: 'npm run e2e', notRun });
  console.log(`${tally.passed} passed, ${tally.failed} failed`);
  process.exitCode = tally.failed === 0 && tally.passed > 0 ? 0 : 1;
}

await main(process.argv.slice(2)).catch((error: unknown) => {
  console.error(`The clients could not be run: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
});
