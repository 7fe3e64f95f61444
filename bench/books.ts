/**
 * The ledger's side of a workload. Every answer that the load generator saw complete must be in the books exactly once:
 * a fast wrong answer is a failed run.
 */
import { spawn } from 'node:child_process';
import { sleep } from './processes.ts';
import { outputTokens, PROMPT_TOKENS, type RequestShape } from './requests.ts';

export interface Books {
  /** Note what a visit did with the callers' keys. */
  record(shape: RequestShape, completedByKey: readonly number[], failed: number): void;
  check(): Promise<BooksReport>;
}

export interface BooksReport {
  /** What is wrong; empty when the books are clean. */
  readonly findings: readonly string[];
  /** False where a failed request left open what should be in the books; then only the audit was made. */
  readonly sumsCompared: boolean;
}

export interface CallerKey {
  readonly id: string;
  readonly key: string;
}

interface Tally {
  requests: number;
  input: number;
  output: number;
}

export type Cli = (args: readonly string[]) => Promise<{ readonly code: number; readonly stdout: string }>;

const SETTLE_WAIT_MS = 5_000;
const SETTLE_POLL_MS = 200;

export function openBooks(origin: string, keys: readonly CallerKey[], cli: Cli): Books {
  const tallies: Tally[] = keys.map(() => ({ requests: 0, input: 0, output: 0 }));
  let failures = 0;
  return {
    record(shape, completedByKey, failed) {
      failures += failed;
      completedByKey.forEach((completed, i) => {
        const tally = tallies[i];
        if (!tally) return;
        tally.requests += completed;
        tally.input += completed * PROMPT_TOKENS;
        tally.output += completed * outputTokens(shape.answer);
      });
    },
    async check() {
      const findings = [...(await audit(cli))];
      // A request that failed on the client's side may or may not have been charged; only the audit can judge it.
      if (failures > 0) return { findings, sumsCompared: false };
      for (const [i, key] of keys.entries()) {
        const tally = tallies[i];
        if (tally) findings.push(...(await compare(origin, key, tally)));
      }
      return { findings, sumsCompared: true };
    },
  };
}

/** Cut streams may settle a moment after their client has gone. */
async function audit(cli: Cli): Promise<readonly string[]> {
  const deadlineMs = performance.now() + SETTLE_WAIT_MS;
  for (;;) {
    const { code, stdout } = await cli(['audit', '--json']);
    if (code !== 0) return [`audit failed with exit code ${code}: ${stdout.trim()}`];
    const liveHolds = field(parse(stdout), 'liveHolds') ?? field(parse(stdout), 'live_holds');
    if (typeof liveHolds !== 'number' || liveHolds === 0) return [];
    if (performance.now() > deadlineMs) return [`${liveHolds} holds are still open after the workload`];
    await sleep(SETTLE_POLL_MS);
  }
}

async function compare(origin: string, key: CallerKey, tally: Tally): Promise<readonly string[]> {
  const response = await fetch(`${origin}/v1/usage`, { headers: { authorization: `Bearer ${key.key}` } });
  const summary: unknown = await response.json();
  if (response.status !== 200) return [`usage of ${key.id}: status ${response.status}`];
  const rows: readonly (readonly [string, unknown, number])[] = [
    ['requests', field(field(summary, 'requests'), 'total'), tally.requests],
    ['input tokens', field(field(summary, 'tokens'), 'input'), tally.input],
    ['output tokens', field(field(summary, 'tokens'), 'output'), tally.output],
    ['reserved', field(field(summary, 'credits'), 'reserved'), 0],
  ];
  return rows
    .filter(([, found, expected]) => found !== expected)
    .map(([what, found, expected]) => `${key.id}: ${what} is ${String(found)} in the books, ${expected} were served`);
}

export function runCli(
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): Promise<{ readonly code: number; readonly stdout: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
    let stdout = '';
    let stderr = '';
    child.stdout.on('data', (part: Buffer) => {
      stdout += part.toString();
    });
    child.stderr.on('data', (part: Buffer) => {
      stderr += part.toString();
    });
    child.once('error', reject);
    child.once('close', (code) => resolve({ code: code ?? 1, stdout: stdout === '' ? stderr : stdout }));
  });
}

export function field(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}

export function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
