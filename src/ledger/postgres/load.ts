/**
 * Locks and loads what a batch is about, in one flight: owners, then keys that pay for themselves, then roots, each in their
 * order, so that nobody waits in a circle. The row of a root stands for its whole tree. What the locks protect is read after
 * them, by statements of their own, which see whatever was committed before.
 */
import { integer, type Row, text } from '../../storage/columns.ts';
import type { Query } from '../../storage/postgres/connection.ts';
import type { HoldEnd } from '../engine/working-set.ts';
import { ACCOUNT_COLUMNS, endFrom, KEY_COLUMNS } from '../rules/row-mapping.ts';
import type { LedgerClock } from './ledger-clock.ts';
import { BEGUN_MS, KEY_REQUESTS, Limited, REQUESTS, TOKENS } from './limit-places.ts';
import { forPairs, type LookUp, lookUp, type Statement } from './look-up.ts';
import { addPair, type Needs, noPairs, PairMap, type Pairs } from './needs.ts';
import type { Route } from './payers.ts';
import { CLAIM_ROW, columnsOf, holdColumns } from './rows.ts';
import { SAVED_OF_KEY, SAVED_OF_NODE } from './save.ts';

/** The rows that a batch is decided by. `more` are those that turned out to be needed after all. */
export interface Loaded {
  /** The time at which the transaction began, or that of limits after it had waited for its locks; or what this process has seen. */
  nowMs: number;
  readonly needs: Needs;
  readonly routes: ReadonlyMap<string, Route>;
  readonly living: ReadonlySet<string>;
  readonly keys: ReadonlyMap<string, Row>;
  readonly nodes: Map<string, Row>;
  /** Those that are live. */
  readonly holds: readonly Row[];
  /** How those have ended that were looked for; null: they have not. */
  readonly ends: PairMap<HoldEnd | null>;
  readonly claims: readonly Row[];
  /** Of keys and accounts: the places that can decide. */
  readonly requests: Map<string, readonly Row[]>;
  readonly tokens: Map<string, readonly Row[]>;
  /** Of payers. */
  readonly promotions: Map<string, readonly Row[]>;
  /** Every live hold, of keys and of roots. */
  readonly allHolds: Map<string, readonly Row[]>;
}

/** What an operation needs that was not loaded: the batch is decided again when it is. */
export class NotLoaded extends Error {
  override name = 'NotLoaded';
  readonly what: 'requests' | 'tokens' | 'promotions' | 'holdsOfKey' | 'holdsOfRoot' | 'end';
  readonly id: string;
  readonly nowMs: number;
  /** Of the hold whose end it is; the id is that of its key. */
  readonly holdId: string;

  constructor(what: NotLoaded['what'], id: string, { nowMs = 0, holdId = '' } = {}) {
    super(`${what} of ${id}`);
    this.what = what;
    this.id = id;
    this.nowMs = nowMs;
    this.holdId = holdId;
  }
}

const KEY_ROW = [...KEY_COLUMNS, ...SAVED_OF_KEY];
const NODE_ROW = [...new Set([...ACCOUNT_COLUMNS, ...SAVED_OF_NODE])];

const OWNERS = {
  name: 'living-owners',
  text: 'SELECT id FROM gateway.owners WHERE id = ANY ($1) ORDER BY id FOR KEY SHARE',
};
/**
 * The row of a key that joins an account while it is waited for gets locked as well, and from then on that is against the
 * order: whoever has the root may want to write it. `has_joined` fails, and everything is given back at once.
 */
const LOCK_KEYS = {
  name: 'lock-keys',
  text: `SELECT ${columnsOf('a', KEY_ROW)}, ${BEGUN_MS} AS now_ms FROM gateway.accounts a WHERE a.key_id = ANY ($3)
    AND CASE WHEN a.root_id IS NULL THEN true ELSE gateway.has_joined(a.key_id) END ORDER BY a.key_id FOR UPDATE`,
};
const LOCK_ROOTS = {
  name: 'lock-roots',
  text: `SELECT ${columnsOf('t', NODE_ROW)}, ${BEGUN_MS} AS now_ms FROM gateway.tree_accounts t
    WHERE t.id = ANY ($3) ORDER BY t.id FOR UPDATE`,
};
const KEYS = {
  name: 'keys-of-accounts',
  text: `SELECT ${columnsOf('a', KEY_ROW)} FROM gateway.accounts a WHERE a.key_id = ANY ($1)`,
};
const NODES = {
  name: 'accounts-of-roots',
  text: `SELECT ${columnsOf('t', NODE_ROW)} FROM gateway.tree_accounts t WHERE t.id = ANY ($1)`,
};
const HOLDS = lookUp('holds', 'id', holdColumns('l'));
/** How holds have ended. */
const CHARGED = lookUp(
  'entries',
  'id',
  columnsOf('l', ['key_id', 'id', 'amount', 'held', 'held_tokens', 'path']),
  "l.kind = 'charge'",
);
const VOIDED = lookUp('voided', 'hold_id', columnsOf('l', ['key_id', 'hold_id']));
const CLAIMS = lookUp('claims', 'name', columnsOf('l', CLAIM_ROW));
const PROMOTIONS = {
  name: 'promotions',
  text: `SELECT node_id AS of_id, id, remaining, expires_at_ms FROM gateway.promotions
    WHERE node_id = ANY ($1) AND remaining > 0`,
};
const HOLDS_OF_KEYS = {
  name: 'holds-of-keys',
  text: `SELECT ${holdColumns('h')}, a.mode, h.key_id AS of_id FROM gateway.holds h
    JOIN gateway.accounts a ON a.key_id = h.key_id
    WHERE h.key_id = ANY ($1) ORDER BY h.held_at_ms, h.id`,
};
const HOLDS_OF_ROOTS = {
  name: 'holds-of-roots',
  text: `SELECT ${holdColumns('h')}, a.mode, h.root_id AS of_id FROM gateway.holds h
    JOIN gateway.accounts a ON a.key_id = h.key_id
    WHERE h.root_id = ANY ($1)`,
};

type Time = ReturnType<LedgerClock['values']>;

export async function load(
  query: Query,
  serverVersion: number,
  time: Time,
  needs: Needs,
  routes: ReadonlyMap<string, Route>,
): Promise<Loaded> {
  const lone: string[] = [];
  const below: string[] = [];
  const roots = new Set<string>();
  const inner = new Set<string>();
  const promoted = new Set<string>();
  const limitedKeys: string[] = [];
  const requests = new Limited();
  const tokens = new Limited();
  // What is known of one key may be older than a limit that another one knows of: all below it count.
  const tokenRoots = new Set<string | null>();
  for (const { rootId, tokensLimited } of routes.values()) {
    if (tokensLimited && rootId !== null) tokenRoots.add(rootId);
  }
  for (const [keyId, route] of routes) {
    const { rootId, accountIds } = route;
    const counts = needs.keys.get(keyId) ?? { requests: 0, tokens: 0 };
    if (rootId === null) lone.push(keyId);
    else {
      below.push(keyId);
      roots.add(rootId);
      for (const id of accountIds) if (id !== rootId) inner.add(id);
    }
    if (route.promoted) promoted.add(rootId ?? keyId);
    if (counts.requests > 0) {
      if (route.keyLimitsRequests) limitedKeys.push(keyId);
      requests.add(route.limitingAccountIds, counts.requests);
    }
    const tokensLimited = route.tokensLimited || tokenRoots.has(rootId);
    if (tokensLimited && counts.requests + counts.tokens > 0) tokens.add([keyId, ...accountIds], counts.tokens);
  }
  const none: readonly Row[] = [];
  const ask = (wanted: boolean, { text, name }: Statement, ...values: readonly unknown[]) =>
    wanted ? query(text, values, name) : none;
  const pairs = (of: LookUp, wanted: Pairs) =>
    wanted.names.length > 0 ? forPairs(query, of, wanted, serverVersion) : none;
  const [
    owners,
    locked,
    rootRows,
    keyRows,
    nodeRows,
    holds,
    charged,
    voided,
    claims,
    keyRequests,
    accountRequests,
    tokenRows,
    promotions,
  ] = await Promise.all([
    ask(needs.owners.size > 0, OWNERS, [...needs.owners]),
    ask(lone.length > 0, LOCK_KEYS, ...time, lone),
    ask(roots.size > 0, LOCK_ROOTS, ...time, [...roots]),
    ask(below.length > 0, KEYS, below),
    ask(inner.size > 0, NODES, [...inner]),
    pairs(HOLDS, needs.holds),
    pairs(CHARGED, needs.ends),
    pairs(VOIDED, needs.ends),
    pairs(CLAIMS, needs.claims),
    ask(limitedKeys.length > 0, KEY_REQUESTS, ...time, limitedKeys),
    ask(requests.any, REQUESTS, ...time, ...requests.values()),
    ask(tokens.any, TOKENS, ...time, ...tokens.values()),
    ask(promoted.size > 0, PROMOTIONS, [...promoted]),
  ]);
  return {
    nowMs: latest(locked, rootRows, keyRequests, accountRequests, tokenRows),
    needs,
    routes,
    living: new Set(owners.map((row) => text(row, 'id'))),
    keys: by('key_id', [...locked, ...keyRows]),
    nodes: by('id', [...rootRows, ...nodeRows]),
    holds,
    ends: addEnds(new PairMap(), needs.ends, charged, voided),
    claims,
    requests: grouped([...limitedKeys, ...requests.ids], [...keyRequests, ...accountRequests]),
    tokens: grouped(tokens.ids, tokenRows),
    promotions: grouped(promoted, promotions),
    allHolds: new Map(),
  };
}

/** For operations about keys that there are not. */
export function nothing(needs: Needs): Loaded {
  return {
    nowMs: 0,
    needs,
    routes: new Map(),
    living: new Set(),
    keys: new Map(),
    nodes: new Map(),
    holds: [],
    ends: new PairMap(),
    claims: [],
    requests: new Map(),
    tokens: new Map(),
    promotions: new Map(),
    allHolds: new Map(),
  };
}

/** Loads what was missing; the payers are locked. */
export async function loadMore(
  query: Query,
  serverVersion: number,
  time: Time,
  loaded: Loaded,
  missing: readonly NotLoaded[],
): Promise<void> {
  const idsOf = (what: NotLoaded['what']): readonly string[] => [
    ...new Set(missing.filter((one) => one.what === what).map(({ id }) => id)),
  ];
  const fill = async (
    ids: readonly string[],
    into: Map<string, readonly Row[]>,
    statement: Statement,
    ...values: readonly unknown[]
  ): Promise<readonly Row[]> => {
    if (ids.length === 0) return [];
    const rows = await query(statement.text, values, statement.name);
    for (const [id, group] of grouped(ids, rows)) into.set(id, group);
    return rows;
  };
  const fillPlaces = async (what: 'requests' | 'tokens', statement: Statement): Promise<void> => {
    const ids = idsOf(what);
    const more = [...loaded.needs.keys.values()].reduce((sum, counts) => sum + counts[what], 0);
    const floorsMs = ids.map((id) => Math.max(...missing.filter((one) => one.id === id).map(({ nowMs }) => nowMs)));
    const rows = await fill(
      ids,
      loaded[what],
      statement,
      ...time,
      ids,
      ids.map(() => more),
      floorsMs,
    );
    loaded.nowMs = Math.max(loaded.nowMs, latest(rows));
  };
  const promoted = idsOf('promotions');
  const keys = idsOf('holdsOfKey');
  const roots = idsOf('holdsOfRoot');
  const ends = noPairs();
  for (const { what, id, holdId } of missing) if (what === 'end') addPair(ends, id, holdId);
  const fillEnds = async (): Promise<void> => {
    if (ends.names.length === 0) return;
    const [charged, voided] = await Promise.all([
      forPairs(query, CHARGED, ends, serverVersion),
      forPairs(query, VOIDED, ends, serverVersion),
    ]);
    addEnds(loaded.ends, ends, charged, voided);
  };
  await Promise.all([
    fillPlaces('requests', REQUESTS),
    fillPlaces('tokens', TOKENS),
    fill(promoted, loaded.promotions, PROMOTIONS, promoted),
    fill(keys, loaded.allHolds, HOLDS_OF_KEYS, keys),
    fill(roots, loaded.allHolds, HOLDS_OF_ROOTS, roots),
    fillEnds(),
  ]);
}

function addEnds(
  ends: PairMap<HoldEnd | null>,
  { keyIds, names }: Pairs,
  charged: readonly Row[],
  voided: readonly Row[],
): PairMap<HoldEnd | null> {
  for (const [index, keyId] of keyIds.entries()) ends.set(keyId, names[index] ?? '', null);
  for (const row of charged) ends.set(text(row, 'key_id'), text(row, 'id'), endFrom(row));
  for (const row of voided) ends.set(text(row, 'key_id'), text(row, 'hold_id'), { kind: 'voided' });
  return ends;
}

/** Accounts that holds were admitted on and that are not above their keys any more. */
export async function loadNodes(query: Query, loaded: Loaded, ids: readonly string[]): Promise<void> {
  for (const row of await query(NODES.text, [ids], NODES.name)) loaded.nodes.set(text(row, 'id'), row);
}

function by(column: string, rows: readonly Row[]): Map<string, Row> {
  return new Map(rows.map((row) => [text(row, column), row]));
}

/** Each statement has one time for all of its rows. */
function latest(...answers: readonly (readonly Row[])[]): number {
  return Math.max(0, ...answers.flatMap((rows) => rows.slice(0, 1)).map((row) => integer(row, 'now_ms')));
}

/** A limit without places has a row of its own. */
function grouped(ids: Iterable<string>, rows: readonly Row[]): Map<string, readonly Row[]> {
  const groups = Map.groupBy(
    rows.filter(({ number }) => number !== null),
    (row) => text(row, 'of_id'),
  );
  return new Map([...ids].map((id) => [id, groups.get(id) ?? []]));
}
