/** From visits to the figures of the tables. Void rounds count nowhere. */

import type { CaseSpec } from './case.ts';
import type { CaseResult, RunResult, Visit } from './measure.ts';
import { bootstrapMedian, type Interval, median, pairedDifference, pairedRatio, type Series } from './stats.ts';

export interface RunFigures {
  readonly name: string;
  readonly reference: string;
  readonly skipped: string | null;
  readonly roundsValid: number;
  readonly roundsVoid: number;
  /** Per unit of the case (request or chunk). */
  readonly cpuUs: Interval | null;
  readonly cpuRatio: Interval | null;
  readonly perSecond: Interval | null;
  readonly throughputRatio: Interval | null;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly firstByteMs: number;
  /** Against direct, in the same round. */
  readonly addedP50Ms: Interval | null;
  readonly addedP99Ms: Interval | null;
  readonly addedFirstByteMs: Interval | null;
  readonly memory: MemoryFigures | null;
  readonly loopDelayP99Ms: number | null;
  readonly framesDelivered: number;
  readonly framesExpected: number;
  readonly cutByClient: number;
  readonly cutAtUpstream: number;
}

export interface MemoryFigures {
  readonly beforeMb: number;
  readonly openMb: number;
  readonly afterMb: number;
  readonly kbPerStream: number;
}

export interface CaseFigures {
  readonly spec: CaseSpec;
  readonly runs: readonly RunFigures[];
}

export function caseFigures(result: CaseResult): CaseFigures {
  const byName = new Map(result.runs.map((run) => [run.spec.name, run]));
  const direct = byName.get('direct');
  const figures = result.runs.map((run) => runFigures(result.spec, run, byName.get(run.spec.reference), direct));
  const order = result.spec.runs.map((run) => run.name);
  return { spec: result.spec, runs: figures.toSorted((a, b) => order.indexOf(a.name) - order.indexOf(b.name)) };
}

/** The ratio of the CPU of two rows of one case, round by round. */
export function cpuRatioOf(result: CaseResult, numerator: string, denominator: string): Interval | null {
  const find = (name: string): RunResult | undefined => result.runs.find((run) => run.spec.name === name);
  const above = find(numerator);
  const below = find(denominator);
  if (!above || !below) return null;
  return pairedRatio(cpuSeries(result.spec, above), cpuSeries(result.spec, below));
}

function runFigures(
  spec: CaseSpec,
  run: RunResult,
  reference: RunResult | undefined,
  direct: RunResult | undefined,
): RunFigures {
  const visits = valid(run);
  const cpu = cpuSeries(spec, run);
  const rate = series(run, perSecond);
  const added = (value: (visit: Visit) => number): Interval | null =>
    direct && direct !== run ? pairedDifference(series(run, value), series(direct, value)) : null;
  const isOwnReference = reference === undefined || reference === run;
  const delays = visits.flatMap((visit) => (visit.loopDelayMs === null ? [] : [visit.loopDelayMs]));
  return {
    name: run.spec.name,
    reference: run.spec.reference,
    skipped: run.skipped,
    roundsValid: visits.length,
    roundsVoid: run.visits.length - visits.length,
    cpuUs: bootstrapMedian([...cpu.values()]),
    cpuRatio: isOwnReference ? null : pairedRatio(cpu, cpuSeries(spec, reference)),
    perSecond: bootstrapMedian([...rate.values()]),
    throughputRatio: isOwnReference ? null : pairedRatio(rate, series(reference, perSecond)),
    p50Ms: median(visits.map(latencyP50)),
    p99Ms: median(visits.map(latencyP99)),
    firstByteMs: median(visits.map(firstByteP50)),
    addedP50Ms: added(latencyP50),
    addedP99Ms: added(latencyP99),
    addedFirstByteMs: added(firstByteP50),
    memory: memoryFigures(spec, visits),
    loopDelayP99Ms: delays.length > 0 ? median(delays) : null,
    framesDelivered: sum(run.visits, (visit) => visit.result.marks),
    framesExpected: sum(run.visits, (visit) => visit.result.marksExpected),
    cutByClient: sum(run.visits, (visit) => visit.result.cut),
    cutAtUpstream: sum(run.visits, (visit) => visit.upstreamCut),
  };
}

const latencyP50 = (visit: Visit): number => visit.result.latencyMs.p50;
const latencyP99 = (visit: Visit): number => visit.result.latencyMs.p99;
const firstByteP50 = (visit: Visit): number => visit.result.firstByteMs.p50;
const perSecond = (visit: Visit): number => (visit.result.completed * 1_000) / visit.result.durationMs;

function valid(run: RunResult): readonly Visit[] {
  return run.visits.filter((visit) => visit.problem === null);
}

function series(run: RunResult, value: (visit: Visit) => number): Series {
  return new Map(valid(run).map((visit) => [visit.round, value(visit)]));
}

function cpuSeries(spec: CaseSpec, run: RunResult): Series {
  const out = new Map<number, number>();
  for (const { round, cpuNs, result } of valid(run)) {
    const units = spec.unit === 'chunk' ? result.marks : result.completed + result.cut;
    if (cpuNs !== null) out.set(round, cpuNs / 1_000 / units);
  }
  return out;
}

function memoryFigures(spec: CaseSpec, visits: readonly Visit[]): MemoryFigures | null {
  const seen = visits.flatMap((visit) => (visit.memory === null ? [] : [visit.memory]));
  if (seen.length === 0) return null;
  const mb = (bytes: number): number => bytes / 1_048_576;
  return {
    beforeMb: mb(median(seen.map((memory) => memory.beforeBytes))),
    openMb: mb(median(seen.map((memory) => memory.openBytes))),
    afterMb: mb(median(seen.map((memory) => memory.afterBytes))),
    kbPerStream: median(seen.map((memory) => (memory.openBytes - memory.beforeBytes) / 1_024 / spec.concurrency)),
  };
}

function sum(visits: readonly Visit[], value: (visit: Visit) => number): number {
  return visits.reduce((total, visit) => total + value(visit), 0);
}
