/** What the clients have seen, and what must follow from it for the ledger. */
import type { AccountView } from '../../src/admin/accounts/schema.ts';
import type { CreatedKey, KeyView } from '../../src/admin/keys/schema.ts';
import type { Charge } from '../support/charges.ts';
import { INPUT_NANOS, OUTPUT_NANOS } from './world.ts';

export interface TokensSeen {
  readonly input: number;
  readonly output: number;
}

/** One call of one client. */
export interface Call {
  /** Null where not even the headers of an answer came. */
  requestId: string | null;
  /** 0 where none came. */
  status: number;
  code: string | null;
  /** The usage of an answer that was seen complete. */
  tokens: TokensSeen | null;
  replayed: boolean;
  readonly sentAtMs: number;
  endedAtMs: number;
}

export function newCall(): Call {
  return {
    requestId: null,
    status: 0,
    code: null,
    tokens: null,
    replayed: false,
    sentAtMs: performance.now(),
    endedAtMs: 0,
  };
}

/** One key, and everything that was asked with it. */
export interface Account {
  readonly key: CreatedKey;
  readonly creditNanos: number;
  readonly kind: 'calls' | 'tiny' | 'once' | 'limited' | 'tree' | 'runs';
  readonly calls: Call[];
  /** Of the bytes of a complete answer under an Idempotency-Key: every other one must be the same. */
  digest: string | null;
}

/** An account of a tree, and everything at and below it that spends. */
export interface Level {
  readonly id: string;
  readonly name: string;
  /** The credit of a root, the cap of an account below it. */
  readonly limitNanos: number;
  readonly spenders: readonly Account[];
}

const WINDOW_MS = 60_000;
/** The statuses that a fault may lead to. */
const EXPECTED: ReadonlySet<number> = new Set([0, 200, 402, 409, 429, 502, 503]);

export function costOf({ input, output }: TokensSeen): number {
  return input * INPUT_NANOS + output * OUTPUT_NANOS;
}

/** What is wrong with an account after everything has come to its end. */
export function violationsOf(account: Account, view: KeyView, charges: readonly Charge[]): string[] {
  const found: string[] = [];
  const { calls, creditNanos, kind } = account;
  const say = (what: string): void => {
    found.push(`key ${account.key.id} (${kind}): ${what}`);
  };
  const charged = new Map(charges.map(({ id, nanos }) => [id, nanos]));
  let seenNanos = 0;
  let paid = 0;
  for (const call of calls) {
    if (!EXPECTED.has(call.status)) say(`a call was answered with ${call.status} ${call.code}`);
    if (call.tokens === null || call.replayed) continue;
    paid += 1;
    const cost = costOf(call.tokens);
    seenNanos += cost;
    const nanos = charged.get(call.requestId ?? '');
    if (nanos === undefined) say(`${call.requestId} was seen complete and is not charged`);
    else if (nanos !== cost) say(`${call.requestId} was seen complete, costs ${cost} and was charged ${nanos}`);
  }
  if (seenNanos > creditNanos) say(`answers worth ${seenNanos} were seen on a credit of ${creditNanos}: overspent`);
  const chargedNanos = charges.reduce((sum, { nanos }) => sum + nanos, 0);
  if (chargedNanos > creditNanos) say(`${chargedNanos} were charged on a credit of ${creditNanos}: overspent`);
  if (Math.round(view.used * 1e9) !== chargedNanos) say(`used is ${view.used}, its charges make ${chargedNanos / 1e9}`);
  if (view.reserved !== 0 || view.live_holds !== 0)
    say(`${view.live_holds} holds of ${view.reserved} were never ended`);
  if (charges.length > calls.filter(({ replayed }) => !replayed).length) say('there are more charges than calls');
  if (kind === 'once' && (charges.length > 1 || paid > 1)) {
    say(`one Idempotency-Key was charged ${charges.length} times and answered anew ${paid} times`);
  }
  return found;
}

/** What is wrong with an account of a tree after everything has come to its end. */
export function levelViolations(level: Level, view: AccountView, charges: readonly Charge[]): string[] {
  const found: string[] = [];
  const say = (what: string): void => {
    found.push(`account ${level.id} (${level.name}): ${what}`);
  };
  const below = new Set(level.spenders.map(({ key }) => key.id));
  const spentNanos = charges.reduce((sum, { keyId, nanos }) => sum + (below.has(keyId) ? nanos : 0), 0);
  if (spentNanos > level.limitNanos) say(`${spentNanos} were charged below it, at most ${level.limitNanos}: overspent`);
  if (Math.round(view.used * 1e9) !== spentNanos) say(`used is ${view.used}, its keys make ${spentNanos / 1e9}`);
  if (view.reserved !== 0 || view.live_holds !== 0)
    say(`${view.live_holds} holds of ${view.reserved} were never ended`);
  return found;
}

/**
 * Whether more calls were served than the limit within some 60 seconds. A call was admitted between its sending and its end: only
 * those count that lie whole within the window.
 */
export function rateViolation(account: Account, limit: number): string | null {
  const served = account.calls.filter(({ status }) => status === 200);
  for (const { sentAtMs } of served) {
    const within = served.filter((call) => call.sentAtMs >= sentAtMs && call.endedAtMs < sentAtMs + WINDOW_MS);
    if (within.length > limit)
      return `key ${account.key.id}: ${within.length} calls were served within 60 s at a limit of ${limit}`;
  }
  return null;
}
