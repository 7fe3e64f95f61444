/** What the gateway is to reach. A missed target is reported; it does not fail the run, wrong books do. */
import { type CaseFigures, caseFigures, cpuRatioOf, type RunFigures } from './figures.ts';
import type { CaseResult } from './measure.ts';

export interface TargetOutcome {
  readonly label: string;
  readonly limit: string;
  /** Null where the run did not measure it. */
  readonly found: number | null;
  readonly met: boolean;
}

interface Target {
  readonly label: string;
  readonly caseId: string;
  readonly limit: number;
  readonly sense: 'at most' | 'at least';
  find(figures: CaseFigures, result: CaseResult): number | null;
}

function row(name: string, value: (run: RunFigures) => number | null | undefined): Target['find'] {
  return (figures) => {
    const run = figures.runs.find((candidate) => candidate.name === name);
    return run ? (value(run) ?? null) : null;
  };
}

function cpuRatio(numerator: string, denominator: string): Target['find'] {
  return (_figures, result) => cpuRatioOf(result, numerator, denominator)?.median ?? null;
}

const perStreamKb = row('gateway', (run) => run.memory?.kbPerStream);

const TARGETS: readonly Target[] = [
  target('W1 CPU, gateway / bare', 'W1', 'at most', 2.2, cpuRatio('gateway', 'bare')),
  target('W1 CPU on PostgreSQL, gateway and server / bare', 'W1', 'at most', 6, cpuRatio('gateway pg', 'bare')),
  target(
    'W1 CPU on PostgreSQL, below three levels / alone',
    'W1',
    'at most',
    1.15,
    cpuRatio('gateway pg tree', 'gateway pg'),
  ),
  target('W1 CPU, portkey / gateway', 'W1', 'at least', 4, cpuRatio('portkey', 'gateway')),
  target('W1 CPU, litellm / gateway', 'W1', 'at least', 100, cpuRatio('litellm', 'gateway')),
  target('W2 CPU, gateway / bare', 'W2', 'at most', 1.5, cpuRatio('gateway', 'bare')),
  target('W3 CPU per chunk unpaced, gateway / bare', 'W3', 'at most', 1.2, cpuRatio('gateway', 'bare')),
  target(
    'W3 CPU per chunk paced, 200 streams, gateway / bare',
    'W3 paced',
    'at most',
    1.25,
    cpuRatio('gateway', 'bare'),
  ),
  target(
    'W3 CPU per chunk paced, 1,000 streams, gateway / bare',
    'W3 paced 1000',
    'at most',
    1.25,
    cpuRatio('gateway', 'bare'),
  ),
  target(
    'W5 CPU per chunk, chat to messages / passthrough',
    'W5 streamed',
    'at most',
    1.8,
    cpuRatio('gateway: chat to messages', 'gateway: chat to chat'),
  ),
  target(
    'W5 CPU per chunk, messages to chat / passthrough',
    'W5 streamed',
    'at most',
    1.8,
    cpuRatio('gateway: messages to chat', 'gateway: messages to messages'),
  ),
  target(
    'added p50 at concurrency 1, ms',
    'W1 latency',
    'at most',
    0.35,
    row('gateway', (r) => r.addedP50Ms?.median),
  ),
  target(
    'added p99 at concurrency 1, ms',
    'W1 latency',
    'at most',
    1.5,
    row('gateway', (r) => r.addedP99Ms?.median),
  ),
  target(
    'added first byte of a stream at concurrency 1, ms',
    'W3 latency',
    'at most',
    0.5,
    row('gateway', (r) => r.addedFirstByteMs?.median),
  ),
  target('memory per open stream at 1,000, KB', 'W4 1000', 'at most', 50, perStreamKb),
  target('memory per open stream at 10,000, KB', 'W4 10000', 'at most', 50, perStreamKb),
  target(
    'W6 throughput, one hot key / many',
    'W6',
    'at least',
    0.8,
    row('gateway: one key', (r) => r.throughputRatio?.median),
  ),
  target(
    'W8 CPU, with an Idempotency-Key / without',
    'W8',
    'at most',
    1.5,
    cpuRatio('gateway with', 'gateway without'),
  ),
  target('W9 CPU over TLS, gateway / bare', 'W9', 'at most', 1.8, cpuRatio('gateway', 'bare')),
  target('W9 CPU per chunk over TLS, gateway / bare', 'W9 streamed', 'at most', 1.2, cpuRatio('gateway', 'bare')),
  target('W10 CPU, observed / silent', 'W10', 'at most', 1.1, cpuRatio('gateway observed', 'gateway silent')),
  target('W11 CPU, grown ledger / empty ledger', 'W11', 'at most', 1.05, cpuRatio('gateway grown', 'gateway')),
  target('W11 CPU, three levels / no tree', 'W11', 'at most', 1.1, cpuRatio('gateway tree', 'gateway')),
];

/** What commands of their own measure: `bench/start.ts`, `bench/idle.ts`, `bench/memory.ts`, and the test of the image. */
export const FOOTPRINT = {
  startCpuMs: { label: 'CPU from the command to /healthz, ms', limit: 800 },
  idleMb: { label: 'resident when idle, MB', limit: 120 },
  busyMb: { label: 'resident after 100,000 requests, MB', limit: 200 },
  imageMb: { label: 'the image beside Node, MB', limit: 60 },
} as const;

/** One line: what was found, and whether that is the aim. */
export function footprintLine(name: keyof typeof FOOTPRINT, found: number): string {
  const { label, limit } = FOOTPRINT[name];
  return `${label}: ${found.toFixed(0)} (at most ${limit}: ${found <= limit ? 'met' : 'missed'})\n`;
}

function target(label: string, caseId: string, sense: Target['sense'], limit: number, find: Target['find']): Target {
  return { label, caseId, limit, sense, find };
}

/** Only the targets of the cases that ran. */
export function judge(results: readonly CaseResult[]): readonly TargetOutcome[] {
  return TARGETS.flatMap(({ label, caseId, limit, sense, find }) => {
    const result = results.find((candidate) => candidate.spec.id === caseId);
    if (!result) return [];
    const found = find(caseFigures(result), result);
    const met = found !== null && (sense === 'at most' ? found <= limit : found >= limit);
    return [{ label, limit: `${sense} ${limit}`, found, met }];
  });
}
