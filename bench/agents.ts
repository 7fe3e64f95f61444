/**
 * `npm run bench -- agents`: eight coding agents share a key with 5 credits. Each asks four times, with a prompt that starts
 * at 20 KB and grows with each turn, and an output limit of 64,000 tokens, through the openai SDK with its own retries.
 * Once with `holds: full` and once with `holds: elastic`, otherwise alike. Nothing here depends on the speed of the machine,
 * but the time that it takes.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import OpenAI from 'openai';
import { startAgentsUpstream, vocabulary } from './agents-upstream.ts';
import { type CallerKey, type Cli, field, parse, runCli } from './books.ts';
import { freePort, sleep, startChild } from './processes.ts';

const PROGRAM = fileURLToPath(new URL('../bin/gateway.mjs', import.meta.url));
const AGENTS = 8;
const TURNS = 4;
const CREDIT = 5;
const OUTPUT_LIMIT = 64_000;
const PROMPT_BYTES = 20_000;
/** What an agent adds to its prompt between two turns besides the answer: what a tool found. */
const TOOL_RESULT_BYTES = 4_000;
/** Prices of a large model, in credits per million tokens. */
const PRICING = { input: 3, output: 15, cache_read: 0.3, cache_write: 3.75 };
const HOLDS = ['full', 'elastic'] as const;
const START_MS = 30_000;

interface Outcome {
  readonly holds: string;
  readonly turns: number;
  readonly cut: number;
  readonly spent: number;
  readonly status: ReadonlyMap<number, number>;
  readonly seconds: number;
  /** What is wrong with the books. */
  readonly findings: readonly string[];
}

/** Returns what went wrong. */
export async function measureAgents(say: (line: string) => void): Promise<readonly string[]> {
  const turns = AGENTS * TURNS;
  say(
    `## Agents: ${AGENTS} at once on ${CREDIT} credits, ${TURNS} turns each, prompts from ${PROMPT_BYTES / 1_000} KB, ` +
      `an output limit of ${OUTPUT_LIMIT} tokens; input ${PRICING.input}, output ${PRICING.output} per million tokens\n`,
  );
  const outcomes: Outcome[] = [];
  for (const holds of HOLDS) outcomes.push(await measure(holds));
  say('| holds | turns done | credits spent | unspent | 402 | 429 | streams cut | time | books |');
  say('|---|---|---|---|---|---|---|---|---|');
  for (const { holds, turns: done, cut, spent, status, seconds, findings } of outcomes) {
    const [refused, reserved] = [status.get(402) ?? 0, status.get(429) ?? 0];
    say(
      `| \`${holds}\` | ${done} of ${turns} | ${spent.toFixed(2)} | ${(CREDIT - spent).toFixed(2)} | ${refused} | ${reserved} | ` +
        `${cut} | ${seconds.toFixed(0)} s | ${findings.length === 0 ? 'clean' : 'WRONG'} |`,
    );
  }
  say('');
  return outcomes.flatMap(({ holds, findings }) => findings.map((finding) => `agents, holds ${holds}: ${finding}`));
}

async function measure(holds: (typeof HOLDS)[number]): Promise<Outcome> {
  // Between 300 and 900 words, different for each turn of an agent.
  const upstream = await startAgentsUpstream((messages) => 300 + ((messages * 137) % 600));
  const folder = mkdtempSync(join(tmpdir(), 'bench-agents-'));
  const port = await freePort();
  const origin = `http://127.0.0.1:${port}`;
  const config = join(folder, 'gateway.yaml');
  writeFileSync(config, configuration(upstream.origin, holds));
  const env = {
    GATEWAY_HOST: '127.0.0.1',
    GATEWAY_PORT: String(port),
    GATEWAY_ADMIN_PORT: '0',
    GATEWAY_DATA: join(folder, 'data'),
    GATEWAY_CONFIG: config,
  };
  const gateway = startChild([], { command: process.execPath, args: [PROGRAM, 'start'], env });
  const cli: Cli = (args) =>
    runCli(process.execPath, [PROGRAM, ...args], { PATH: process.env.PATH, HOME: process.env.HOME, ...env });
  try {
    await ready(origin, () => gateway.hasExited());
    const key = await createKey(cli);
    const status = new Map<number, number>();
    const begunMs = performance.now();
    const agents = await Promise.all(
      Array.from({ length: AGENTS }, (_, agent) => runAgent(origin, key, agent, status)),
    );
    const seconds = (performance.now() - begunMs) / 1_000;
    return {
      holds,
      turns: agents.reduce((sum, { turns }) => sum + turns, 0),
      cut: agents.reduce((sum, { cut }) => sum + cut, 0),
      status,
      seconds,
      ...(await readBooks(origin, key, cli)),
    };
  } finally {
    await gateway.stop();
    await upstream.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

function configuration(upstreamOrigin: string, holds: string): string {
  return JSON.stringify({
    holds,
    providers: { provider: { kind: 'openai', base_url: `${upstreamOrigin}/v1`, api_key: 'bench', formats: ['chat'] } },
    models: [
      {
        id: 'agent-model',
        targets: [{ provider: 'provider', model: 'agent-model' }],
        context_window: 200_000,
        max_output_tokens: OUTPUT_LIMIT,
        capabilities: { reasoning: false },
        pricing: PRICING,
      },
    ],
    sandbox: false,
  });
}

async function ready(origin: string, hasExited: () => boolean): Promise<void> {
  for (const deadlineMs = performance.now() + START_MS; ; await sleep(50)) {
    const response = await fetch(`${origin}/`).catch(() => null);
    if (response?.ok === true) return;
    if (hasExited() || performance.now() > deadlineMs) throw new Error('the gateway did not start');
  }
}

async function createKey(cli: Cli): Promise<CallerKey> {
  const { code, stdout } = await cli(['keys', 'create', '--mode', 'credit', '--credit', String(CREDIT), '--json']);
  const id = field(parse(stdout), 'id');
  const key = field(parse(stdout), 'key');
  if (code !== 0 || typeof id !== 'string' || typeof key !== 'string') throw new Error(`no key: ${stdout}`);
  return { id, key };
}

interface AgentRun {
  readonly turns: number;
  readonly cut: number;
}

/** One conversation; it ends with the first turn that fails after the SDK's own retries, as an agent's run does. */
async function runAgent(
  origin: string,
  { key }: CallerKey,
  agent: number,
  status: Map<number, number>,
): Promise<AgentRun> {
  const client = new OpenAI({
    apiKey: key,
    baseURL: `${origin}/v1`,
    fetch: async (input, init) => {
      const response = await fetch(input, init);
      status.set(response.status, (status.get(response.status) ?? 0) + 1);
      return response;
    },
  });
  const messages: OpenAI.ChatCompletionMessageParam[] = [
    { role: 'system', content: `You are coding agent ${agent}. ${words(PROMPT_BYTES, agent)}` },
    { role: 'user', content: 'Find the next defect and repair it.' },
  ];
  let cut = 0;
  for (let turn = 0; turn < TURNS; turn++) {
    try {
      const answer = await client.chat.completions
        .stream({ model: 'agent-model', max_tokens: OUTPUT_LIMIT, messages })
        .finalChatCompletion();
      const [choice] = answer.choices;
      if (choice?.finish_reason === 'length') cut += 1;
      messages.push({ role: 'assistant', content: choice?.message.content ?? '' });
      messages.push({ role: 'user', content: `The tool found: ${words(TOOL_RESULT_BYTES, agent + turn)}` });
    } catch (error) {
      if (!(error instanceof OpenAI.APIError)) throw error;
      return { turns: turn, cut };
    }
  }
  return { turns: TURNS, cut };
}

function words(bytes: number, from: number): string {
  return vocabulary(from, Math.ceil(bytes / 4)).slice(0, bytes);
}

async function readBooks(origin: string, { key }: CallerKey, cli: Cli): Promise<Pick<Outcome, 'spent' | 'findings'>> {
  const response = await fetch(`${origin}/v1/usage`, { headers: { authorization: `Bearer ${key}` } });
  const credits = field(await response.json(), 'credits');
  const [used, reserved] = [Number(field(credits, 'used')), Number(field(credits, 'reserved'))];
  const { code, stdout } = await cli(['audit', '--json']);
  const findings: string[] = [];
  if (code !== 0) findings.push(`audit failed: ${stdout.trim()}`);
  if (!(used > 0 && used <= CREDIT)) findings.push(`${used} credits were spent`);
  if (reserved !== 0) findings.push(`${reserved} credits are still held`);
  return { spent: used, findings };
}
