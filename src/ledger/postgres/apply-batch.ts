/** Batches on the hot connection: one statement each, unless it brings up the same hold twice or becomes too large. */
import { Refusal } from '../../storage/errors.ts';
import type { Connection } from '../../storage/postgres/connection.ts';
import { isConflict, isOperationFailure } from '../../storage/postgres/error-mapping.ts';
import type { Result } from '../operations.ts';
import { decode } from './decode.ts';
import { type Element, encode, type HotName, type HotOperation } from './encode.ts';
import type { LedgerClock } from './ledger-clock.ts';

/** What one statement may bring along or back, in bytes, and how many operations: its locks must not be held for long. */
const WEIGHT_MAX = 64_000_000;
const ELEMENTS_MAX = 1_000;
const CONFLICT_TRIES = 5;
const CALL = '($1::text[], $2::text[], $3::jsonb, $4::jsonb, $5::integer, $6::bigint, $7::bigint) AS answer';
const TOGETHER = { name: 'apply-batch', text: `SELECT gateway.apply_batch${CALL}` };
const ONE_BY_ONE = { name: 'apply-one-by-one', text: `SELECT gateway.apply_one_by_one${CALL}` };
/** For batches with responses to keep. */
const KEEPING = {
  name: 'apply-and-keep',
  text: `SELECT gateway.apply_and_keep${CALL.replace(') AS', ', $8::boolean, $9::jsonb) AS')}`,
};

interface Placed {
  readonly element: Element;
  readonly op: HotName;
  /** Where its outcome belongs. */
  readonly index: number;
}

/** Writes the outcomes of the operations at `indexes` into `results`. */
export async function applyHot(
  connection: Connection,
  clock: LedgerClock,
  batch: readonly (readonly [index: number, operation: HotOperation])[],
  results: Result[],
): Promise<void> {
  let round: Placed[] = [];
  let names = new Set<string>();
  let weight = 0;
  for (const [index, operation] of batch) {
    results[index] = null;
    for (const element of encoded(operation, index, results)) {
      const full = round.length >= ELEMENTS_MAX || weight + element.weight > WEIGHT_MAX;
      if (full || element.names.some((name) => names.has(name))) {
        await applyRound(connection, clock, round, results);
        round = [];
        names = new Set();
        weight = 0;
      }
      round.push({ element, op: operation.op, index });
      for (const name of element.names) names.add(name);
      weight += element.weight;
    }
  }
  if (round.length > 0) await applyRound(connection, clock, round, results);
}

/** What is out of range fails here, alone. */
function encoded(operation: HotOperation, index: number, results: Result[]): readonly Element[] {
  try {
    return encode(operation);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    results[index] = { kind: 'operation_failed', message: error.message };
    return [];
  }
}

async function applyRound(
  connection: Connection,
  clock: LedgerClock,
  round: readonly Placed[],
  results: Result[],
): Promise<void> {
  // The keyed ones first: the database finds the details of an element by its place.
  const keyed = round.filter(({ element }) => element.keyId !== null);
  const others = round.filter(({ element }) => element.keyId === null);
  const placed = [...keyed, ...others];
  const keys = distinct(keyed.map(({ element }) => element.keyId));
  const values = [
    distinct(keyed.map(({ element }) => element.owner)),
    elementsText(keyed, 1),
    others.length === 0 ? null : elementsText(others, keyed.length + 1),
    placed.length,
  ];
  const kept = keyed.flatMap(({ element }, place) => (element.kept ? [{ i: place + 1, ...element.kept }] : []));
  const { now, results: outcomes } = await call(connection, clock, keys, values, kept.length === 0 ? null : kept);
  clock.saw(now);
  for (const [place, { op, index }] of placed.entries()) {
    const result = decode(op, outcomes[place] ?? null, now);
    // An operation with several elements has failed when one of them has.
    if (op !== 'mark' || result !== null) results[index] = result;
  }
}

interface Answer {
  readonly now: number;
  readonly results: readonly unknown[];
}

async function call(
  connection: Connection,
  clock: LedgerClock,
  keys: readonly string[],
  values: readonly unknown[],
  kept: readonly object[] | null,
): Promise<Answer> {
  let oneByOne = false;
  for (let tries = 1; ; tries++) {
    const statement = kept !== null ? KEEPING : oneByOne ? ONE_BY_ONE : TOGETHER;
    const keeping = kept === null ? [] : [oneByOne, JSON.stringify(kept)];
    try {
      const [row] = await connection.query(
        statement.text,
        [keys, ...values, ...clock.values(), ...keeping],
        statement.name,
      );
      return JSON.parse(String(row?.answer)) as Answer;
    } catch (error) {
      // Any of its keys may have joined an account while it waited for it; each does so once.
      if (isConflict(error) && tries < CONFLICT_TRIES + keys.length) continue;
      if (!isOperationFailure(error) || oneByOne) throw error;
      oneByOne = true;
    }
  }
}

function elementsText(placed: readonly Placed[], first: number): string {
  return JSON.stringify(placed.map(({ element }, place) => ({ i: first + place, ...element.fields })));
}

function distinct(names: readonly (string | null)[]): readonly string[] {
  return [...new Set(names.filter((name) => name !== null))];
}
