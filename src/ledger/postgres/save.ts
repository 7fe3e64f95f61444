/** Saves what a batch has changed: one statement per table. */
import { arrayLiteral, rowLiteral } from '../../storage/postgres/array-literal.ts';
import type { Send } from '../../storage/postgres/connection.ts';
import { inDialect, POSTGRES } from '../books/dialect.ts';
import { addRun, compareRuns, endRun } from '../books/runs.ts';
import { performNow, type Work } from '../books/work.ts';
import { saturate } from '../engine/key-state.ts';
import { responseBytes } from '../rules/stored-responses.ts';
import type { Changes, LoadedKey, LoadedNode } from './loaded-set.ts';
import { forPairs, removal } from './look-up.ts';
import { addPair, noPairs } from './needs.ts';
import type { Run } from './places.ts';
import { arrayText, markDetail, rounded } from './rows.ts';
import { type Columns, insertion, statement, typedInsertion } from './statements.ts';

type Item<L> = L extends Iterable<infer T> ? T : never;
type ClaimChange = Item<ReturnType<Changes['claims']['values']>>;

/** The places of a rate limit, in the row of whoever has it. */
const RATE_COLUMNS: Columns<LoadedKey | LoadedNode> = [
  ['seen_ms', 'bigint', (row) => row.seenMs],
  ['rate_first', 'bigint', (row) => row.window.first],
  ['rate_next', 'bigint', (row) => row.window.next],
  ['rate_stored', 'bigint', (row) => row.window.stored],
  ['rate_at_ms', 'bigint', (row) => row.window.newestMs],
];

const KEY_COLUMNS: Columns<LoadedKey> = [
  ['key_id', 'text', ({ key }) => key.id],
  // The root has paid for what a key of an account has used and holds.
  [
    'purchased',
    'bigint',
    (row) => (row.path === null || row.key.mode !== 'credit' ? row.purchased : row.used + row.reserved),
  ],
  ['promo_ms', 'bigint', (row) => row.promoMs],
  ['used', 'bigint', (row) => row.used],
  ['reserved', 'bigint', (row) => row.reserved],
  ['live_holds', 'bigint', (row) => row.liveHolds],
  ['period_start_ms', 'bigint', (row) => row.periodStartMs],
  ['period_used', 'bigint', (row) => row.periodUsed],
  ['day_start_ms', 'bigint', (row) => row.dayStartMs],
  ['day_spend', 'bigint', (row) => row.daySpend],
  ['last_cost', 'bigint', (row) => row.lastCost],
  ['input_tokens', 'bigint', (row) => row.inputTokens],
  ['output_tokens', 'bigint', (row) => row.outputTokens],
  ['requests', 'bigint', (row) => row.requests],
  ['hold_ms', 'bigint', (row) => row.holdMs],
  ...RATE_COLUMNS,
];

const NODE_COLUMNS: Columns<LoadedNode> = [
  ['root_id', 'text', ({ account }) => account.rootId],
  ['id', 'text', ({ account }) => account.id],
  ['purchased', 'bigint', (row) => row.purchased],
  ['promo_ms', 'bigint', (row) => row.promoMs],
  ['used', 'bigint', (row) => row.used],
  ['reserved', 'bigint', (row) => row.reserved],
  ['reserved_tokens', 'bigint', (row) => row.reservedTokens],
  ['live_holds', 'bigint', (row) => row.liveHolds],
  ['credit_start_ms', 'bigint', (row) => row.creditStartMs],
  ['credit_used', 'bigint', (row) => row.creditUsed],
  ['tokens_start_ms', 'bigint', (row) => row.tokensStartMs],
  ['tokens_used', 'bigint', (row) => row.tokensUsed],
  ['hold_ms', 'bigint', (row) => row.holdMs],
  ...RATE_COLUMNS,
];

/** What a batch may change of a key and of an account. */
export const SAVED_OF_KEY: readonly string[] = KEY_COLUMNS.map(([name]) => name);
export const SAVED_OF_NODE: readonly string[] = NODE_COLUMNS.map(([name]) => name);

function assigned<T>(columns: Columns<T>, keys: readonly string[]): string {
  const names = columns.map(([name]) => name).filter((name) => !keys.includes(name));
  return names.map((name) => `${name} = n.${name}`).join(', ');
}

const saveKeys = statement(
  'save-keys',
  KEY_COLUMNS,
  `UPDATE gateway.accounts t SET ${assigned(KEY_COLUMNS, ['key_id'])} FROM ROWS WHERE t.key_id = n.key_id COLLATE "C"`,
);
const saveNodes = statement(
  'save-accounts',
  NODE_COLUMNS,
  `UPDATE gateway.tree_accounts t SET ${assigned(NODE_COLUMNS, ['root_id', 'id'])} FROM ROWS
    WHERE t.root_id = n.root_id COLLATE "C" AND t.id = n.id COLLATE "C"`,
);

const RUN_COLUMNS: Columns<Run> = [
  ['key_id', 'text', ({ id }) => id],
  ['number', 'bigint', ({ number }) => number],
  ['at_ms', 'bigint', ({ atMs }) => atMs],
  ['taken', 'bigint', ({ taken }) => taken],
];
const addRequests = insertion('add-requests', 'rates', RUN_COLUMNS);
const addTokens = insertion('add-tokens', 'token_rates', RUN_COLUMNS);
const REMOVED_COLUMNS: Columns<readonly [id: string, until: number]> = [
  ['id', 'text', ([id]) => id],
  ['until', 'bigint', ([, until]) => until],
];
const removeRequests = statement(
  'remove-requests',
  REMOVED_COLUMNS,
  'DELETE FROM gateway.rates r USING ROWS WHERE r.key_id = n.id COLLATE "C" AND r.number < n.until',
);
const removeTokens = statement(
  'remove-tokens',
  REMOVED_COLUMNS,
  'DELETE FROM gateway.token_rates r USING ROWS WHERE r.key_id = n.id COLLATE "C" AND r.at_ms <= n.until',
);

type ChangedHold = Item<Changes['newHolds']>;
const markDetailOf = (hold: ChangedHold): string | null => (hold.mark === null ? null : markDetail(hold, hold.mark));
const addHolds = typedInsertion<ChangedHold>('add-holds', {
  table: 'holds',
  type: 'new_hold',
  shared: { key_id: 'text', owner: 'text', held_at_ms: 'bigint', path: 'text[]', root_id: 'text' },
  columns: [
    ['key_id', ({ keyId }) => keyId],
    ['id', ({ id }) => id],
    ['owner', ({ owner }) => owner],
    ['amount', ({ amount }) => amount],
    ['held_at_ms', ({ heldAtMs }) => heldAtMs],
    ['expires_at_ms', ({ expiresAtMs }) => expiresAtMs],
    ['claim_name', ({ claimName }) => claimName],
    ['mark_charge', ({ mark }) => mark?.charge],
    ['mark_detail', markDetailOf],
    ['waiting', ({ waiting }) => waiting],
    ['tokens', ({ tokens }) => tokens],
    ['path', ({ path }) => arrayText(path)],
    ['root_id', ({ path }) => (path === null ? null : (JSON.parse(path) as string[]).at(-1))],
    ['run', ({ run }) => run],
  ],
});
const saveHolds = statement<ChangedHold>(
  'save-holds',
  [
    ['key_id', 'text', ({ keyId }) => keyId],
    ['id', 'text', ({ id }) => id],
    ['amount', 'bigint', ({ amount }) => amount],
    ['tokens', 'bigint', ({ tokens }) => tokens],
    ['waiting', 'boolean', ({ waiting }) => waiting],
    ['mark_charge', 'bigint', ({ mark }) => mark?.charge],
    ['mark_detail', 'jsonb', markDetailOf],
  ],
  `UPDATE gateway.holds h SET amount = n.amount, tokens = n.tokens, waiting = n.waiting, mark_charge = n.mark_charge,
    mark_detail = n.mark_detail FROM ROWS WHERE h.key_id = n.key_id COLLATE "C" AND h.id = n.id COLLATE "C"`,
);
const REMOVE_HOLDS = removal('holds', 'id');
function removeHolds(send: Send, holds: Iterable<ChangedHold>, serverVersion: number): void {
  const pairs = noPairs();
  for (const { keyId, id } of holds) addPair(pairs, keyId, id);
  if (pairs.names.length > 0) forPairs(send, REMOVE_HOLDS, pairs, serverVersion);
}

type NewCharge = Item<Changes['charges']>;
const costOf = ({ call }: NewCharge): bigint => saturate(call?.costNanos ?? 0n);
const providerCostOf = ({ call }: NewCharge): bigint => saturate(call?.providerCostNanos ?? 0n);
const addCharges = typedInsertion<NewCharge>('add-charges', {
  table: 'entries',
  type: 'new_charge',
  shared: {
    key_id: 'text',
    at_ms: 'bigint',
    model: 'text',
    provider: 'text',
    format: 'text',
    root_id: 'text',
    path: 'text[]',
  },
  columns: [
    ['key_id', ({ hold }) => hold.keyId],
    ['id', ({ hold }) => hold.id],
    ['amount', ({ amount }) => amount],
    ['held', ({ hold }) => hold.amount],
    ['at_ms', ({ atMs }) => atMs],
    ['flag', ({ flag }) => flag],
    ['model', ({ call }) => call?.model],
    ['provider', ({ call }) => call?.provider],
    ['format', ({ call }) => call?.format],
    ['cost_nanos', (charge) => (charge.hold.mode === 'credit' ? charge.amount : costOf(charge))],
    ['provider_cost_nanos', providerCostOf],
    ['tokens', ({ hold, tokens }) => (hold.path === null ? 0n : tokens)],
    ['held_tokens', ({ hold }) => hold.tokens],
    ['root_id', ({ hold, rootId }) => (hold.path === null ? null : rootId)],
    ['path', ({ hold }) => arrayText(hold.path)],
  ],
  constant: ['kind', "'charge'"],
});

/** What the charge of a call leaves beside its entry, as `charged_call`: what can be told from the rest of it is null. */
function chargedCall(charge: NewCharge): string {
  const { hold, amount, usage } = charge;
  const cost = costOf(charge);
  const providerCost = providerCostOf(charge);
  const { tokens } = usage ?? {};
  return rowLiteral([
    hold.id,
    usage === null || usage.requestId === hold.id ? null : usage.requestId,
    amount,
    cost === amount ? null : cost,
    providerCost === cost ? null : providerCost,
    usage?.streamed,
    usage?.outcome,
    usage?.source,
    // Zero is null.
    tokens?.input || null,
    tokens?.cacheRead || null,
    tokens?.cacheWrite || null,
    tokens?.cacheWrite1h || null,
    tokens?.output || null,
    tokens?.reasoning || null,
    usage?.attempts,
    rounded(usage?.durationMs ?? null),
    rounded(usage?.firstByteMs ?? null),
  ]);
}

type ChargeBatch = readonly [NewCharge, ...NewCharge[]];
/**
 * For the charges of a key one row with their usage records, which waits for the rollups: most columns are the same, and
 * travel once. A row and two index entries for each charge less: 1,610 bytes of write-ahead log per request became 933 (32 at once on one key).
 */
const addChargeBatches = statement<ChargeBatch>(
  'add-charge-batches',
  [
    ['key_id', 'text', ([{ hold }]) => hold.keyId],
    ['at_ms', 'bigint', ([{ atMs }]) => atMs],
    ['model', 'text', ([{ call }]) => call?.model],
    ['provider', 'text', ([{ call }]) => call?.provider],
    ['format', 'text', ([{ call }]) => call?.format],
    ['charges', 'text', (charges) => arrayLiteral(charges.map(chargedCall))],
  ],
  `WITH batch AS (
    INSERT INTO gateway.charge_batches (key_id, at_ms, model, provider, format, charges)
    SELECT n.key_id, n.at_ms, n.model, n.provider, n.format, n.charges::gateway.charged_call[] FROM ROWS
    RETURNING key_id, at_ms, number, cardinality(charges)
  )
  INSERT INTO gateway.unrolled_batches (key_id, at_ms, number, charges) SELECT * FROM batch`,
);

function chargeBatches(charges: readonly NewCharge[]): Iterable<ChargeBatch> {
  const batches = new Map<string, [NewCharge, ...NewCharge[]]>();
  for (const charge of charges) {
    const { hold, atMs, call } = charge;
    const name = JSON.stringify([hold.keyId, atMs, call?.model, call?.provider, call?.format]);
    const batch = batches.get(name);
    if (batch === undefined) batches.set(name, [charge]);
    else batch.push(charge);
  }
  return batches.values();
}

const addVoided = insertion<Item<Changes['voided']>>('add-voided', 'voided', [
  ['key_id', 'text', ({ keyId }) => keyId],
  ['hold_id', 'text', ({ holdId }) => holdId],
  ['held', 'bigint', ({ held }) => held],
  ['at_ms', 'bigint', ({ atMs }) => atMs],
]);

const CLAIM_COLUMNS: Columns<ClaimChange> = [
  ['key_id', 'text', ({ keyId }) => keyId],
  ['name', 'text', ({ name }) => name],
  ['state', 'text', ({ claim }) => claim?.state],
  ['ended_at_ms', 'bigint', ({ claim }) => claim?.endedAtMs ?? null],
  ['reply_status', 'integer', ({ claim }) => claim?.reply?.status ?? null],
  ['reply_type', 'text', ({ claim }) => claim?.reply?.contentType ?? null],
  ['reply_body', 'bytea', ({ claim }) => (claim?.reply ? Buffer.from(claim.reply.body) : null)],
];
const REMOVE_CLAIMS = removal('claims', 'name');
const addClaims = insertion<ClaimChange>('add-claims', 'claims', [
  ...CLAIM_COLUMNS,
  ['fingerprint', 'text', ({ claim }) => claim?.fingerprint],
  ['hold_id', 'text', ({ holdId }) => holdId],
]);
const endClaims = statement(
  'end-claims',
  CLAIM_COLUMNS,
  `UPDATE gateway.claims c SET state = n.state, ended_at_ms = n.ended_at_ms, reply_status = n.reply_status,
    reply_type = n.reply_type, reply_body = n.reply_body FROM ROWS
    WHERE c.key_id = n.key_id COLLATE "C" AND c.name = n.name COLLATE "C"`,
);

const savePromotions = statement<Item<ReturnType<Changes['promotions']['values']>>>(
  'save-promotions',
  [
    ['node_id', 'text', ({ payerId }) => payerId],
    ['id', 'text', ({ promotion }) => promotion.id],
    ['remaining', 'bigint', ({ promotion }) => promotion.remaining],
  ],
  `UPDATE gateway.promotions p SET remaining = n.remaining FROM ROWS
    WHERE p.node_id = n.node_id COLLATE "C" AND p.id = n.id COLLATE "C"`,
);
const addPromotionCharges = insertion<Item<Changes['promotionCharges']>>('add-promotion-charges', 'promotion_charges', [
  ['node_id', 'text', ({ payerId }) => payerId],
  ['promotion_id', 'text', ({ promotionId }) => promotionId],
  ['key_id', 'text', ({ hold }) => hold.keyId],
  ['hold_id', 'text', ({ hold }) => hold.id],
  ['amount', 'bigint', ({ amount }) => amount],
]);
/** Its id says how often something of the same promotion has expired before. */
export const ADD_EXPIRED = `INSERT INTO gateway.account_entries (node_id, kind, id, amount, at_ms, other_id)
  SELECT $1, 'expired', $2 || ' ' || count(*), $3::bigint, $4::bigint, $2 FROM gateway.account_entries e
    WHERE e.node_id = $1 COLLATE "C" AND e.kind = 'expired' AND e.other_id = $2 COLLATE "C"`;
const keepResponse = 'SELECT gateway.keep_response($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)';

export function save(send: Send, changes: Changes, serverVersion: number): void {
  saveKeys(send, changes.keys);
  saveNodes(send, changes.nodes);
  saveRates(send, changes);
  removeHolds(send, changes.endedHolds, serverVersion);
  addHolds(send, changes.newHolds);
  saveHolds(send, changes.changedHolds);
  addCharges(send, changes.charges);
  addChargeBatches(send, chargeBatches(changes.charges));
  addVoided(send, changes.voided);
  saveClaims(send, [...changes.claims.values()], serverVersion);
  savePromotions(send, changes.promotions.values());
  addPromotionCharges(send, changes.promotionCharges);
  for (const { payerId, promotionId, amount, atMs } of changes.expired) {
    send(ADD_EXPIRED, [payerId, promotionId, amount, atMs], 'add-expired');
  }
  for (const { keyId, kept, atMs } of changes.kept) {
    const { id, parentId, itemIds, input, output, response, keepMs, keyBytesMax } = kept;
    const values = [keyId, id, parentId, itemIds, input, output, response, responseBytes(kept), keepMs, keyBytesMax];
    send(keepResponse, [...values, atMs], 'keep-response');
  }
  for (const { hold, run } of changes.newRuns) sendAll(send, addRun(hold, run));
  const ended = changes.endedRuns.map((one) => ({ ...one, id: one.end.id }));
  for (const { keyId, end, atMs } of ended.sort(compareRuns)) sendAll(send, endRun(keyId, end, atMs));
}

/** The run of a live hold is live: nobody has to look at what the statements find. */
function sendAll(send: Send, work: Work<unknown>): void {
  performNow(work, ({ text, values }) => {
    send(inDialect(text, POSTGRES), values);
    return [{}];
  });
}

function saveRates(send: Send, { keys, nodes, tokens }: Changes): void {
  const limited = [...keys, ...nodes].filter(({ window }) => window.taken.length > 0);
  addRequests(
    send,
    limited.flatMap(({ window }) => window.taken),
  );
  removeRequests(
    send,
    limited.flatMap(({ window }) => (window.removes ? [[window.id, window.stored] as const] : [])),
  );
  addTokens(
    send,
    [...tokens.values()].flatMap(({ taken }) => taken),
  );
  removeTokens(
    send,
    [...tokens].flatMap(([id, places]) => {
      const untilMs = places.removedUntilMs(places.taken.at(-1)?.atMs ?? 0);
      return untilMs === null ? [] : [[id, untilMs] as const];
    }),
  );
}

/** One that is new takes the place of one that was over. */
function saveClaims(send: Send, claims: readonly ClaimChange[], serverVersion: number): void {
  const removed = noPairs();
  for (const { keyId, name, claim, holdId } of claims) {
    if (claim === null || holdId !== null) addPair(removed, keyId, name);
  }
  if (removed.names.length > 0) forPairs(send, REMOVE_CLAIMS, removed, serverVersion);
  addClaims(
    send,
    claims.filter(({ claim, holdId }) => claim !== null && holdId !== null),
  );
  endClaims(
    send,
    claims.filter(({ claim, holdId }) => claim !== null && holdId === null),
  );
}
