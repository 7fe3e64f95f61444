/** Requests as text: the list, a line of it, and what runs now. */

import type { RunningRequestView } from '../admin/requests/schema.ts';
import { creditsFromNanos } from '../core/money.ts';
import { printable } from '../lib/printable.ts';
import { table } from '../lib/text-table.ts';
import { milliseconds, outcomeOf } from '../observe/explain.ts';
import type { RequestView } from '../observe/request-log/view.ts';

const HEAD = ['RECEIVED', 'ID', 'OUTCOME', 'KEY', 'MODEL', 'PROVIDERS', 'TOOK', 'COST'];
/** As much of a text of the client as a table has room for. */
const CELL_CHARACTERS = 40;

export function requestsTable(requests: readonly RequestView[]): readonly string[] {
  if (requests.length === 0) return ['No request of the log matches.'];
  return table([HEAD, ...requests.map(cells)]);
}

/** One line, where lines come one after the other. */
export function requestLine(request: RequestView): string {
  return cells(request).join('  ');
}

function cells(request: RequestView): readonly string[] {
  return [
    request.received_at,
    request.id,
    outcomeOf(request),
    short(request.key_label ?? request.key_id ?? '-'),
    short(request.model ?? '-'),
    request.attempts.map(({ provider }) => provider).join(' → ') || '-',
    milliseconds(request.duration_ms),
    request.cost_nanos === null ? '-' : String(creditsFromNanos(BigInt(request.cost_nanos))),
  ];
}

function short(text: string): string {
  const shown = printable(text);
  return shown.length <= CELL_CHARACTERS ? shown : `${shown.slice(0, CELL_CHARACTERS - 1)}…`;
}

/** What has come to the clients since the frame before, by the id of the request. */
export interface Frame {
  readonly atMs: number;
  readonly running: readonly RunningRequestView[];
}

/** A token covers four bytes or so; what is exact is in the log when the request has ended. */
const BYTES_PER_TOKEN = 4;
const ROWS_MAX = 20;

export function runningText(frame: Frame, before: Frame | null): readonly string[] {
  const { running } = frame;
  const rates = ratesOf(frame, before);
  return [
    `${running.length} requests run, ${heldBy(running)} held, about ${Math.round(sum([...rates.values()]))} tokens per second`,
    '',
    ...groups('MODEL', running, rates, ({ model }) => model),
    '',
    ...groups('KEY', running, rates, ({ key_id, key_label }) =>
      key_label === null ? key_id : `${key_id} ${key_label}`,
    ),
    '',
    ...oldest(running, rates),
  ];
}

function heldBy(running: readonly RunningRequestView[]): string {
  const [credit, budget] = [amountOf(running, 'credit'), amountOf(running, 'token_budget')];
  if (budget === 0n) return `${creditsFromNanos(credit)} credits`;
  return credit === 0n ? `${budget} tokens` : `${creditsFromNanos(credit)} credits and ${budget} tokens`;
}

function amountOf(running: readonly RunningRequestView[], of: RunningRequestView['mode']): bigint {
  return running.filter(({ mode }) => mode === of).reduce((total, { held }) => total + BigInt(held), 0n);
}

function ratesOf({ atMs, running }: Frame, before: Frame | null): ReadonlyMap<string, number> {
  const earlier = new Map(before?.running.map(({ id, output_bytes }) => [id, output_bytes]));
  const seconds = before === null ? 0 : (atMs - before.atMs) / 1_000;
  return new Map(
    running.map(({ id, output_bytes, age_ms }) => {
      const known = earlier.get(id);
      const bytes = known === undefined ? output_bytes : output_bytes - known;
      const during = known === undefined ? age_ms / 1_000 : seconds;
      return [id, during <= 0 ? 0 : Math.max(0, bytes) / BYTES_PER_TOKEN / during];
    }),
  );
}

function groups(
  name: string,
  running: readonly RunningRequestView[],
  rates: ReadonlyMap<string, number>,
  groupOf: (request: RunningRequestView) => string,
): readonly string[] {
  const byGroup = Map.groupBy(running, groupOf);
  const rows = [...byGroup]
    .sort(([, a], [, b]) => b.length - a.length)
    .slice(0, ROWS_MAX)
    .map(([group, requests]) => [
      short(group),
      String(requests.length),
      heldBy(requests),
      sum(requests.map(({ id }) => rates.get(id) ?? 0)).toFixed(0),
    ]);
  return table([[name, 'RUNNING', 'HELD', 'TOKENS/S'], ...rows]);
}

function oldest(running: readonly RunningRequestView[], rates: ReadonlyMap<string, number>): readonly string[] {
  const rows = [...running]
    .sort((a, b) => b.age_ms - a.age_ms)
    .slice(0, ROWS_MAX)
    .map((request) => [
      request.id,
      milliseconds(request.age_ms),
      request.key_id,
      short(request.model),
      request.provider || '-',
      String(request.attempts),
      heldBy([request]),
      (rates.get(request.id) ?? 0).toFixed(0),
    ]);
  return table([['OLDEST', 'AGE', 'KEY', 'MODEL', 'PROVIDER', 'ATTEMPTS', 'HELD', 'TOKENS/S'], ...rows]);
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
