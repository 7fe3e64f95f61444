/**
 * Adds charges and their usage records to the rollups, a step at a time. What a step adds is read and summed up without
 * writing anything, which another thread can do; adding it is a few rows in one short transaction, together with the
 * watermark. So each charge is added once, whatever ends the process.
 */
import type { RolledUp, UsageSums } from '../../core/usage-report.ts';
import { integer } from '../../storage/columns.ts';
import { dayOf, hourOf, type UsagePlace } from '../sources.ts';
import { UsageTally } from '../tally.ts';
import {
  type AccountDay,
  addAccountDays,
  addBuiltDay,
  type BuiltDay,
  isStillThere,
  type MovedKey,
  moveAlong,
  readAccountDays,
  readBuiltDay,
  readMovedKey,
  resetRollup,
} from './account-days.ts';
import type { ColdStatements } from './statements.ts';
import { addStatement, type Figures, figuresOf, valuesOf } from './sums.ts';

export interface RollupStep {
  /** The version of the rollups that it was read for; to any other it must not be added. */
  readonly version: number;
  /** Usage records up to this number are counted, and charges without one up to that. */
  readonly number: number;
  readonly unrolledTo: number;
  readonly charges: number;
  readonly more: boolean;
  readonly rows: readonly RollupRow[];
  readonly accountDays: readonly AccountDay[];
  /** What the rollup by account needs besides: to begin anew, a key that has moved, or a part of a day that it lacks. */
  readonly resets: boolean;
  readonly moved: MovedKey | null;
  readonly built: BuiltDay | null;
}

/** Of one of the rollups by call. */
interface RollupRow extends Figures {
  readonly table: keyof typeof ADD;
  readonly key: readonly (string | number)[];
}

const ADD = {
  usage_hours: addStatement('usage_hours', ['start_ms', 'model', 'provider', 'format']),
  usage_key_hours: addStatement('usage_key_hours', ['start_ms', 'key_id', 'model', 'provider', 'format']),
  usage_key_days: addStatement('usage_key_days', ['start_ms', 'key_id', 'model', 'provider', 'format']),
} as const;

/** One charge, with its usage record where it has one. */
export interface ChargeFact {
  /** Of its usage record, or in `unrolled`. */
  readonly number: number;
  readonly place: UsagePlace;
  readonly sums: UsageSums;
  readonly firstByteMs: number | null;
  readonly durationMs: number | null;
}

/**
 * Rows by hour and key that one step adds, and about as many in each of the other rollups: it is about a millisecond in
 * which nothing else is committed.
 */
const ROWS_MAX = 32;

const ENTRY = `e.at_ms, e.key_id, k.label, k.account_id, k.mode, e.amount`;
const WITH_RECORD = `
  SELECT u.number, ${ENTRY}, coalesce(e.model, u.model) AS model, coalesce(e.provider, u.provider) AS provider,
    coalesce(e.format, u.format) AS format,
    coalesce(e.cost_nanos, CASE k.mode WHEN 'credit' THEN e.amount ELSE u.cost_nanos END) AS cost_nanos,
    coalesce(e.provider_cost_nanos, u.provider_cost_nanos) AS provider_cost_nanos, u.outcome, u.input, u.cache_read,
    u.cache_write, u.cache_write_1h, u.output, u.reasoning, u.first_byte_ms, u.duration_ms
  FROM usage u
  CROSS JOIN entries e ON e.key_id = u.key_id AND e.kind = 'charge' AND e.id = u.hold_id
  CROSS JOIN keys k ON k.id = u.key_id
  WHERE u.number > ? ORDER BY u.number LIMIT ?`;
const WITHOUT_RECORD = `
  SELECT n.number, ${ENTRY}, coalesce(e.model, '') AS model, coalesce(e.provider, '') AS provider,
    coalesce(e.format, '') AS format, e.cost_nanos, e.provider_cost_nanos, NULL, 0, 0, 0, 0, 0, 0, NULL, NULL
  FROM unrolled n
  CROSS JOIN entries e ON e.key_id = n.key_id AND e.kind = 'charge' AND e.id = n.hold_id
  CROSS JOIN keys k ON k.id = n.key_id
  WHERE n.number > ? ORDER BY n.number LIMIT ?`;

interface Watermark {
  readonly number: number;
  readonly version: number;
}

export function readWatermark(sql: ColdStatements): Watermark {
  const row = sql('SELECT number, version FROM usage_watermark').get();
  if (row === undefined) throw new TypeError('the rollups have no watermark');
  return { number: integer(row, 'number'), version: integer(row, 'version') };
}

/**
 * So many charges are read at a time, and as lists: a step takes 3.8 µs of each, where it took 7 to 9 one by one as objects. With
 * 4,096 it took as long, and what outlived the young generation made the thread's heap 41 to 56 MB instead of 26.5 (before its young
 * generation was small).
 */
const PAGE = 256;

/**
 * The charges that no rollup counts, in their order: those with a usage record behind the watermark, or those without one. In a
 * transaction of the caller's.
 */
export function* chargesBehind(
  sql: ColdStatements,
  recorded: boolean,
  after: number,
  limit = Number.MAX_SAFE_INTEGER,
): Generator<ChargeFact> {
  const statement = sql(recorded ? WITH_RECORD : WITHOUT_RECORD);
  statement.setReturnArrays(true);
  statement.setReadBigInts(true);
  for (let from = after, left = limit; left > 0; ) {
    const rows = statement.all(from, Math.min(left, PAGE)) as unknown as readonly ChargeRow[];
    for (const row of rows) {
      const fact = factOf(row);
      from = fact.number;
      yield fact;
    }
    if (rows.length < PAGE) return;
    left -= rows.length;
  }
}

/** What to add next: up to `limit` charges, as long as they come to no more than `rowsMax` rows. */
export function readStep(sql: ColdStatements, limit: number, rowsMax = ROWS_MAX): RollupStep {
  const { number: after, version } = readWatermark(sql);
  const accountsState = readAccountDays(sql);
  const moved = accountsState.current ? readMovedKey(sql) : null;
  const resets = !accountsState.current;
  const keyHours = new Tallies();
  let charges = 0;
  let more = resets || moved !== null;

  const last = (facts: Iterable<ChargeFact>, from: number): number => {
    let to = from;
    for (const fact of facts) {
      if (keyHours.size >= rowsMax || charges >= limit) {
        more = true;
        break;
      }
      const { place, sums, firstByteMs, durationMs } = fact;
      keyHours.at(place).addCharge(sums, firstByteMs, durationMs);
      charges++;
      to = fact.number;
    }
    return to;
  };
  // Whatever the rollup by account needs comes first, in a step of its own: charges are added to it as it is then.
  const first = more;
  const unrolledTo = first ? 0 : last(chargesBehind(sql, false, 0, limit + 1), 0);
  const number = first ? after : last(chargesBehind(sql, true, after, limit + 1), after);
  const built = more ? null : readBuiltDay(sql, accountsState);
  // From the finest one, which is a few rows: a charge is looked at once.
  const hours = keyHours.summedUp((place) => ({ ...place, keyId: '' }));
  const keyDays = keyHours.summedUp((place) => ({ ...place, startMs: dayOf(place.startMs) }));
  const accountDays = keyDays.summedUp((place) => ({ ...place, keyId: place.accountId ?? '', ...ANY_CALL }));
  return {
    version,
    number,
    unrolledTo,
    charges,
    more: more || built !== null,
    rows: [
      ...rowsOf('usage_hours', hours),
      ...rowsOf('usage_key_hours', keyHours),
      ...rowsOf('usage_key_days', keyDays),
    ],
    accountDays: accountDays.all.map(({ place: { startMs, keyId }, tally }) => ({
      startMs,
      accountId: keyId,
      ...figuresOf(tally),
    })),
    resets,
    moved,
    built,
  };
}

/** In the rollup by account: all calls together. */
const ANY_CALL = { model: '', provider: '', format: '' };

export function hasNothing({ charges, resets, moved, built }: RollupStep): boolean {
  return charges === 0 && !resets && moved === null && built === null;
}

/** In the caller's transaction. Nothing is added where something else was since the step was read. */
export function addToRollups(sql: ColdStatements, step: RollupStep): RolledUp {
  if (readWatermark(sql).version !== step.version) return { charges: 0, more: true };
  if (hasNothing(step)) return { charges: 0, more: false };
  let state = readAccountDays(sql);
  // A key has moved since the step was read.
  if (state.current && state.moved && (step.moved === null || !isStillThere(sql, step.moved))) {
    return { charges: 0, more: true };
  }
  if (step.built !== null) state = addBuiltDay(sql, state, step.built);
  if (step.moved !== null) moveAlong(sql, state, step.moved);
  for (const row of step.rows) sql(ADD[row.table]).run(...row.key, ...valuesOf(row));
  addAccountDays(sql, state, step.accountDays);
  sql('DELETE FROM unrolled WHERE number <= ?').run(step.unrolledTo);
  sql('UPDATE usage_watermark SET number = ?, version = version + 1').run(step.number);
  if (step.resets) resetRollup(sql);
  else sql('UPDATE usage_account_watermark SET version = (SELECT version FROM usage_watermark)').run();
  return { charges: step.charges, more: step.more };
}

function rowsOf(table: RollupRow['table'], { all }: Tallies): readonly RollupRow[] {
  return all.map(({ place: { startMs, keyId, model, provider, format }, tally }) => ({
    table,
    key: [startMs, ...(table === 'usage_hours' ? [] : [keyId]), model, provider, format],
    ...figuresOf(tally),
  }));
}

export interface Tallied {
  readonly place: UsagePlace;
  readonly tally: UsageTally;
}

/** The rows of one rollup, by their key. */
export class Tallies {
  readonly #tallies = new Map<string, Tallied>();

  get all(): readonly Tallied[] {
    return [...this.#tallies.values()];
  }

  get size(): number {
    return this.#tallies.size;
  }

  at(place: UsagePlace): UsageTally {
    const { startMs, keyId, model, provider, format } = place;
    const name = `${startMs}\0${keyId}\0${model}\0${provider}\0${format}`;
    let found = this.#tallies.get(name);
    if (found === undefined) {
      found = { place, tally: new UsageTally() };
      this.#tallies.set(name, found);
    }
    return found.tally;
  }

  /** A coarser rollup of the same charges. */
  summedUp(coarser: (place: UsagePlace) => UsagePlace): Tallies {
    const summed = new Tallies();
    for (const { place, tally } of this.#tallies.values()) summed.at(coarser(place)).add(tally.sums, tally.times);
    return summed;
  }
}

/** In the order of the two statements. */
type ChargeRow = readonly [
  number: bigint,
  atMs: bigint,
  keyId: string,
  label: string | null,
  accountId: string | null,
  mode: string,
  charged: bigint,
  model: string,
  provider: string,
  format: string,
  costNanos: bigint,
  providerCostNanos: bigint,
  outcome: string | null,
  input: bigint,
  cacheRead: bigint,
  cacheWrite: bigint,
  cacheWrite1h: bigint,
  output: bigint,
  reasoning: bigint,
  firstByteMs: bigint | null,
  durationMs: bigint | null,
];

function factOf(row: ChargeRow): ChargeFact {
  const [number, atMs, keyId, label, accountId, mode, charged, model, provider, format, ...figures] = row;
  const [cost_nanos, provider_cost_nanos, outcome, ...counted] = figures;
  const [input, cache_read, cache_write, cache_write_1h, output, reasoning, firstByteMs, durationMs] = counted;
  const isCredit = mode === 'credit';
  return {
    number: Number(number),
    place: { startMs: hourOf(Number(atMs)), keyId, label, accountId, model, provider, format },
    sums: {
      charges: 1n,
      requests: outcome === null || outcome === 'cancelled' ? 0n : 1n,
      broken: outcome === 'broken' ? 1n : 0n,
      charged_nanos: isCredit ? charged : 0n,
      charged_tokens: isCredit ? 0n : charged,
      cost_nanos,
      provider_cost_nanos,
      input,
      cache_read,
      cache_write,
      cache_write_1h,
      output,
      reasoning,
    },
    firstByteMs: firstByteMs === null ? null : Number(firstByteMs),
    durationMs: durationMs === null ? null : Number(durationMs),
  };
}
