/**
 * `node e2e/record.ts [NAME …]`: what the real clients send, as golden input for `npm test`. Every request of a client goes
 * through a proxy; of requests with the same structure one is kept, without secrets and with filler for its texts, in
 * test/fixtures/traffic. Run it, and `npm run format`, when a client has a new version, and read what changed.
 */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { installAgents, runAgent } from '../test/agents/agents.ts';
import { closedOutside } from '../test/agents/outside.ts';
import { SCENARIOS } from '../test/agents/scenarios.ts';
import { AGENTS, type Agent, agentOf, PYTHON_AGENTS } from '../test/agents/set-ups.ts';
import { playLoop } from '../test/agents/tool-loop.ts';
import { type StartedGateway, startedGateway } from '../test/support/started-gateway.ts';
import { ClientProgram } from './client-program.ts';
import { Filler, shapeOf } from './filler.ts';
import { installNodeClients, installPython } from './install.ts';
import { type Program, programsIn } from './programs.ts';
import { type Exchange, Wire } from './wire.ts';

const FOLDER = join(import.meta.dirname, '../test/fixtures/traffic');
/** Headers that say nothing of the client, or that its transport adds. */
const TRANSPORT = new Set([
  'host',
  'connection',
  'content-length',
  'accept-encoding',
  'transfer-encoding',
  'keep-alive',
]);

interface Place {
  readonly gateway: StartedGateway;
  readonly wire: Wire;
  readonly proxy: string;
  readonly home: string;
}

async function record(name: string, play: (place: Place) => Promise<readonly Exchange[] | undefined>): Promise<void> {
  const home = await mkdtemp(join(tmpdir(), 'gateway-record-'));
  await using gateway = await startedGateway({ env: { GATEWAY_SANDBOX: 'strict' } });
  await using outside = await closedOutside();
  await using wire = await Wire.before(gateway.origin);
  try {
    const more = await play({ gateway, wire, proxy: outside.proxy, home });
    const kept = distinct([...wire.taken(), ...(more ?? [])]);
    await writeFile(join(FOLDER, `${name}.json`), `${JSON.stringify(kept, null, 2)}\n`);
    console.log(`${name}: ${kept.length} requests`);
  } catch (error) {
    // What there is of the others is worth having.
    console.log(`${name}: not recorded, ${error instanceof Error ? error.message : String(error)}`);
    process.exitCode = 1;
  } finally {
    await rm(home, { recursive: true, force: true });
  }
}

/** One request of each structure. */
function distinct(exchanges: readonly Exchange[]): object[] {
  const seen = new Set<string>();
  return exchanges.flatMap(({ method, path, headers, body, status }) => {
    const value: unknown = body === '' ? null : JSON.parse(body);
    // The mode of the key says nothing of the client.
    const route = path.replace(/^\/token\//, '/').replaceAll(/(resp|msg)_[\w-]+/g, '$1_1');
    const shape = [method, route, ...[...shapeOf(value)].sort()].join('\n');
    if (status !== 200 || seen.has(shape)) return [];
    seen.add(shape);
    const filler = new Filler();
    const told = Object.entries(headers).filter(([header]) => !TRANSPORT.has(header.toLowerCase()));
    return [{ method, path: route, headers: filler.headers(Object.fromEntries(told)), body: filler.value(value) }];
  });
}

async function playProgram({ command, file }: Program, { gateway, wire, proxy, home }: Place): Promise<undefined> {
  await using program = new ClientProgram({ command, args: [file], home, proxy });
  const { cases } = await program.announcement();
  for (const { name, modes, route, restarts } of cases) {
    for (const mode of restarts === true ? [] : modes) {
      const key = await gateway.creditKey();
      const answer = await program.run({
        case: name,
        key: key.key,
        origin: wire.through(key.origin),
        baseUrl: wire.through(key.base_url),
        model: route === 'messages' || route === 'count_tokens' ? 'sandbox/beta' : 'sandbox/alpha',
        text: 'Tell me something. [[tokens=25]]',
        stream: mode === 'streamed',
      });
      if (!answer.ok) throw new Error(`${name}: ${answer.message}`);
    }
  }
}

async function playAgent(agent: Agent, installed: string, place: Place): Promise<readonly Exchange[]> {
  const { gateway, wire, proxy, home } = place;
  const workFolder = join(home, 'work');
  await mkdir(workFolder);
  const key = await gateway.creditKey({ credit: '100' });
  const origin = wire.through(key.origin);
  const baseUrl = wire.through(key.base_url);
  const model = agent.route === 'messages' ? 'sandbox/beta' : 'sandbox/alpha';
  for (const [prompt, resumes] of [
    ['Say hello. [[tokens=12]]', false],
    ['And now? [[tokens=12]]', true],
  ] as const) {
    const task = { installed, home, workFolder, key: key.key, origin, baseUrl, model, prompt, resumes, proxy };
    const { code, stderr } = await runAgent(agent, task);
    if (code !== 0) throw new Error(`${agent.title} ended with ${code}: ${stderr.slice(-500)}`);
  }
  return lastOfLoop(agent, installed);
}

/** The last request of its tool loop, which has all calls and results in it. */
async function lastOfLoop(agent: Agent, installed: string): Promise<readonly Exchange[]> {
  const loop = SCENARIOS.find((one) => agentOf(one.agent) === agent && one.upstream === agent.route);
  if (loop === undefined) return [];
  const wires: Wire[] = [];
  await playLoop(loop, installed, async (origin) => {
    const wire = await Wire.before(origin);
    wires.push(wire);
    return (address) => wire.through(address);
  });
  const exchanges = wires.flatMap((wire) => wire.taken());
  for (const wire of wires) await wire[Symbol.asyncDispose]();
  return exchanges
    .filter(({ usage }) => usage !== null)
    .toSorted((a, b) => a.body.length - b.body.length)
    .slice(-1);
}

async function main(words: readonly string[]): Promise<void> {
  const isChosen = (name: string): boolean => words.length === 0 || words.includes(name);
  await mkdir(FOLDER, { recursive: true });
  const inNode = (await programsIn('clients', '.mjs', process.execPath)).filter(({ name }) => isChosen(name));
  if (inNode.length > 0) await installNodeClients();
  for (const program of inNode) await record(program.name, (place) => playProgram(program, place));
  for (const program of await programsIn('python', '.py', '')) {
    if (!isChosen(program.name)) continue;
    const environment = await installPython(program.name);
    if ('reason' in environment) throw new Error(environment.reason);
    await record(program.name, (place) => playProgram({ ...program, command: environment.python }, place));
  }
  for (const [name, agent] of Object.entries<Agent>(PYTHON_AGENTS)) {
    if (!isChosen(name)) continue;
    const environment = await installPython(name);
    if ('reason' in environment) throw new Error(environment.reason);
    await record(name, (place) => playAgent(agent, resolve(environment.python, '../..'), place));
  }
  const agents = Object.entries<Agent>(AGENTS).filter(([name]) => isChosen(name));
  const installed = agents.length === 0 ? '' : await installAgents();
  for (const [name, agent] of agents) await record(name, (place) => playAgent(agent, installed, place));
}

await main(process.argv.slice(2));
