/** What an operation leaves in the file beside the totals: charges with their usage, claims, and what promotions paid. */
import { integer } from '../../storage/columns.ts';
import { addEntry } from '../books/entries.ts';
import { type Hold, saturate } from '../engine/key-state.ts';
import type { Charge, Claim, HoldEnd } from '../engine/working-set.ts';
import { claimFrom, endFrom } from '../rules/row-mapping.ts';
import { CHARGE_COLUMNS, performCold, type Statements } from './statements.ts';

const KEY_ID = CHARGE_COLUMNS.indexOf('key_id');
const HOLD_ID = CHARGE_COLUMNS.indexOf('id');

export function addCharge(sql: Statements, rootId: string | null, charge: Charge): void {
  const { state, hold, amount, call, usage } = charge;
  sql.charges.add([
    hold.keyId,
    'charge',
    hold.id,
    amount,
    hold.amount,
    charge.atMs,
    charge.flag,
    call?.model ?? null,
    call?.provider ?? null,
    call?.format ?? null,
    state.key.mode === 'credit' ? amount : saturate(call?.costNanos ?? 0n),
    saturate(call?.providerCostNanos ?? 0n),
    charge.tokens,
    hold.tokens,
    hold.path === null ? null : rootId,
    hold.path,
  ]);
  if (usage === null) {
    sql.unrolled.add([hold.keyId, hold.id]);
    return;
  }
  const { tokens } = usage;
  sql.usage.add([
    hold.keyId,
    charge.atMs,
    hold.id,
    usage.requestId,
    usage.model,
    usage.provider,
    usage.format,
    usage.streamed ? 1 : 0,
    usage.outcome,
    usage.source,
    tokens.input,
    tokens.cacheRead,
    tokens.cacheWrite,
    tokens.cacheWrite1h,
    tokens.output,
    tokens.reasoning,
    saturate(usage.costNanos),
    saturate(usage.providerCostNanos),
    usage.attempts,
    Math.round(usage.durationMs),
    usage.firstByteMs === null ? null : Math.round(usage.firstByteMs),
  ]);
}

export function endOf(sql: Statements, keyId: string, holdId: string): HoldEnd | null {
  if (sql.voided.get(keyId, holdId) !== undefined) return { kind: 'voided' };
  const waiting = sql.charges.find((row) => row[KEY_ID] === keyId && row[HOLD_ID] === holdId);
  if (waiting !== undefined) return endFrom(Object.fromEntries(CHARGE_COLUMNS.map((name, at) => [name, waiting[at]])));
  const row = sql.entry.get(keyId, 'charge', holdId);
  return row === undefined ? null : endFrom(row);
}

export function claimOf(sql: Statements, keyId: string, name: string): Claim | null {
  const row = sql.claim.get(keyId, name);
  return row === undefined ? null : claimFrom(row);
}

export function addPromotionCharge(
  { cold }: Statements,
  payerId: string,
  promotionId: string,
  hold: Hold,
  part: bigint,
): void {
  cold('INSERT INTO promotion_charges (node_id, promotion_id, key_id, hold_id, amount) VALUES (?, ?, ?, ?, ?)').run(
    payerId,
    promotionId,
    hold.keyId,
    hold.id,
    part,
  );
}

/** Its id says how often something of the same promotion has expired before. */
export function addExpired(sql: Statements, nodeId: string, promotionId: string, amount: bigint, atMs: number): void {
  const row = sql
    .cold(`SELECT count(*) AS n FROM account_entries WHERE node_id = ? AND kind = 'expired' AND other_id = ?`)
    .get(nodeId, promotionId);
  const id = `${promotionId} ${row === undefined ? 0 : integer(row, 'n')}`;
  performCold(sql.cold, addEntry({ nodeId, id, amount, otherId: promotionId, atMs, kind: 'expired' }));
}
