/** The tables, as Markdown that also reads well in a terminal. */
import { cpus, release } from 'node:os';
import type { Figure } from './case.ts';
import type { CaseFigures, RunFigures } from './figures.ts';
import type { Interval } from './stats.ts';
import type { TargetOutcome } from './targets.ts';

export interface Report {
  readonly command: string;
  readonly startedAt: string;
  readonly durationS: number;
  readonly placement: string;
  readonly notes: readonly string[];
  readonly cases: readonly CaseFigures[];
  readonly targets: readonly TargetOutcome[];
  /** One line per audit of the gateway's books. */
  readonly audits: readonly string[];
  /** Why the run failed; empty when it did not. */
  readonly failures: readonly string[];
}

interface Column {
  readonly title: string;
  cell(run: RunFigures): string;
}

const COLUMNS: Readonly<Record<Figure, readonly Column[]>> = {
  cpu: [
    { title: 'CPU µs', cell: (run) => number(run.cpuUs?.median) },
    { title: 'ratio [95 %]', cell: (run) => ratio(run.cpuRatio, run) },
    { title: 'per second', cell: (run) => number(run.perSecond?.median) },
    { title: 'p50 ms', cell: (run) => number(run.p50Ms) },
    { title: 'p99 ms', cell: (run) => number(run.p99Ms) },
  ],
  latency: [
    { title: 'p50 ms', cell: (run) => number(run.p50Ms) },
    { title: 'p99 ms', cell: (run) => number(run.p99Ms) },
    { title: 'first byte ms', cell: (run) => number(run.firstByteMs) },
    { title: 'added p50 [95 %]', cell: (run) => interval(run.addedP50Ms) },
    { title: 'added p99 [95 %]', cell: (run) => interval(run.addedP99Ms) },
    { title: 'added first byte [95 %]', cell: (run) => interval(run.addedFirstByteMs) },
    { title: 'CPU µs', cell: (run) => number(run.cpuUs?.median) },
  ],
  memory: [
    { title: 'KB per stream', cell: (run) => number(run.memory?.kbPerStream) },
    { title: 'MB before', cell: (run) => number(run.memory?.beforeMb) },
    { title: 'MB open', cell: (run) => number(run.memory?.openMb) },
    { title: 'MB after', cell: (run) => number(run.memory?.afterMb) },
    { title: 'CPU µs', cell: (run) => number(run.cpuUs?.median) },
  ],
  throughput: [
    { title: 'per second', cell: (run) => number(run.perSecond?.median) },
    { title: 'throughput ratio [95 %]', cell: (run) => ratio(run.throughputRatio, run) },
    { title: 'CPU µs', cell: (run) => number(run.cpuUs?.median) },
    { title: 'CPU ratio [95 %]', cell: (run) => ratio(run.cpuRatio, run) },
    { title: 'p99 ms', cell: (run) => number(run.p99Ms) },
  ],
};

const COMMON: readonly Column[] = [
  { title: 'loop delay p99 ms', cell: (run) => number(run.loopDelayP99Ms ?? undefined) },
  { title: 'frames', cell: (run) => `${run.framesDelivered}/${run.framesExpected}` },
  {
    title: 'rounds',
    cell: (run) => (run.roundsVoid > 0 ? `${run.roundsValid} (${run.roundsVoid} void)` : `${run.roundsValid}`),
  },
];

const CUTS: Column = { title: 'cut: client/upstream', cell: (run) => `${run.cutByClient}/${run.cutAtUpstream}` };

export function renderCase({ spec, runs }: CaseFigures): string {
  const columns = [...COLUMNS[spec.figure], ...(spec.cutAfterMarks === null ? [] : [CUTS]), ...COMMON];
  const measured = runs.filter((run) => run.skipped === null);
  const rows = measured.map((run) => [run.name, ...columns.map((column) => column.cell(run))]);
  const lines = [
    `### ${spec.id}: ${spec.title}`,
    '',
    ...table(['', ...columns.map(({ title }) => (title === 'CPU µs' ? `CPU µs/${spec.unit}` : title))], rows),
  ];
  for (const run of runs) if (run.skipped !== null) lines.push('', `${run.name}: not measured: ${run.skipped}`);
  const control = measured.find((run) => run.name === 'bare again');
  const seen = spec.figure === 'throughput' ? control?.throughputRatio : control?.cpuRatio;
  if (seen) lines.push('', `A/A control (the bare proxy against itself): ${interval(seen)}`);
  return lines.join('\n');
}

export function renderReport(report: Report): string {
  const cpu = cpus();
  return [
    '# Benchmark',
    '',
    `\`${report.command}\`, ${report.startedAt}, ${Math.round(report.durationS)} s.`,
    `${cpu.length} × ${cpu[0]?.model.trim() ?? 'unknown CPU'}, Linux ${release()}, Node ${process.version}; ${report.placement}.`,
    '',
    'CPU is that of the whole process tree of the peer. Ratios are medians of paired rounds with a 95 % bootstrap',
    'interval, against the bare proxy unless the row says otherwise. Times of one machine mean little; ratios within one',
    'run, read beside the A/A control, are the result.',
    ...report.notes.map((note) => `\n- ${note}`),
    '',
    ...report.cases.flatMap((figures) => [renderCase(figures), '']),
    ...section(
      'Targets',
      report.targets.length > 0 ? targetTable(report.targets) : ['No target belongs to these workloads.'],
    ),
    ...section(
      'Books',
      report.audits.length > 0 ? report.audits.map((line) => `- ${line}`) : ['The gateway was not measured.'],
    ),
    ...section(
      'Result',
      report.failures.length === 0 ? ['passed'] : ['FAILED', '', ...report.failures.map((line) => `- ${line}`)],
    ),
  ].join('\n');
}

function section(title: string, lines: readonly string[]): string[] {
  return [`## ${title}`, '', ...lines, ''];
}

function targetTable(targets: readonly TargetOutcome[]): string[] {
  const verdict = ({ found, met }: TargetOutcome): string => (found === null ? 'not measured' : met ? 'met' : 'missed');
  return table(
    ['target', 'limit', 'found', ''],
    targets.map((target) => [target.label, target.limit, number(target.found ?? undefined), verdict(target)]),
  );
}

export function table(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const widths = head.map((title, i) => Math.max(title.length, 3, ...rows.map((cells) => cells[i]?.length ?? 0)));
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, i) => (i === 0 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0))).join(' | ')} |`;
  const rule = `|${widths.map((width, i) => (i === 0 ? '-'.repeat(width + 2) : `${'-'.repeat(width + 1)}:`)).join('|')}|`;
  return [line(head), rule, ...rows.map(line)];
}

function ratio(value: Interval | null, run: RunFigures): string {
  if (run.name === run.reference) return '1';
  const text = interval(value);
  return value === null || run.reference === 'bare' ? text : `${text} of ${run.reference}`;
}

function interval(value: Interval | null): string {
  return value === null ? '–' : `${number(value.median)} [${number(value.low)}, ${number(value.high)}]`;
}

function number(value: number | undefined): string {
  if (value === undefined || !Number.isFinite(value)) return '–';
  const size = Math.abs(value);
  return value.toFixed(size >= 100 ? 0 : size >= 10 ? 1 : 2);
}
