/** ADMIT: key state, rate, claim and hold in one transaction of the ledger; each refusal as its condition. */
import { hash } from 'node:crypto';
import { GatewayError } from '../core/conditions.ts';
import { creditsFromNanos } from '../core/money.ts';
import type {
  AdmitOutcome,
  AdmitRequest,
  ConflictReason,
  HoldRequest,
  RateState,
  StoredReply,
} from '../ledger/port.ts';
import { Admission } from './admission.ts';
import { type Caller, keyRefused } from './authenticate.ts';
import type { TextCount } from './count/tally.ts';
import type { Gateway } from './gateway.ts';
import type { Plan } from './plan.ts';
import { countMightCarry, needOf } from './price.ts';
import { storeFailed } from './store-failed.ts';

/** A hold outlives its exchange by this, so that only a dead or lost process leaves one to expire. */
const HOLD_MARGIN_MS = 10 * 60_000;
/** A key that keeps changing under the same request is given up on. */
const DECISIONS_MAX = 5;
/** What a budget that has reached its limit may still have left, in tokens. */
const BUDGET_REST_MAX = 255n;

export interface AdmitOrder {
  readonly requestId: string;
  readonly caller: Caller;
  readonly idempotencyKey: string | null;
  /** Digest of method, path and exact body bytes; only read when there is an idempotency key. */
  fingerprint(): string;
  readonly choices: number;
  /** Decides by the key as it now is, and by a count of the text where one was made; throws `GatewayError` to refuse. */
  decide(caller: Caller, counted: TextCount | null): Plan;
  /** Told as soon as it is known, so that refusals carry it too. */
  onRate(rate: RateState | null): void;
}

export type Admitted =
  | { readonly kind: 'admitted'; readonly admission: Admission; readonly plan: Plan; readonly caller: Caller }
  | { readonly kind: 'replay'; readonly reply: StoredReply };

export async function admit(gateway: Gateway, order: AdmitOrder): Promise<Admitted> {
  let { caller } = order;
  let placed = false;
  let counted: TextCount | null = null;
  let mayCount = true;
  for (let decision = 0; decision < DECISIONS_MAX; decision++) {
    const decided = attemptDecision(order, caller, counted);
    const doubtful = mayCount && 'plan' in decided && decided.plan.input.doubtful;
    const hold = 'plan' in decided && !doubtful ? holdRequest(order, caller, decided.plan) : null;
    const request: AdmitRequest = {
      keyId: caller.key.id,
      keyVersion: caller.key.version,
      claim:
        hold && order.idempotencyKey !== null ? { name: order.idempotencyKey, fingerprint: order.fingerprint() } : null,
      hold,
      placed,
    };
    const { ledger } = gateway;
    const outcome = ledger.admitNow(request) ?? (await ledger.admit(request).catch(storeFailed));
    if (outcome.kind === 'key_changed') {
      caller = await lookUpAgain(gateway, caller);
      continue;
    }
    if ('rate' in outcome) order.onRate(outcome.rate);
    // Counting takes time, so it comes after the rate limit, and only where the answer hangs on it.
    if (
      mayCount &&
      'plan' in decided &&
      (doubtful ? outcome.kind === 'admitted' : worthACount(outcome, order, caller, decided.plan))
    ) {
      placed = true;
      mayCount = false;
      counted = await gateway.counter.count(decided.plan.input.job());
      continue;
    }
    if (outcome.kind === 'admitted' && 'plan' in decided) {
      const admission = new Admission(gateway.ledger, gateway.log, order.requestId, caller.key.id, outcome.held);
      return { kind: 'admitted', admission, plan: decided.plan, caller };
    }
    if (outcome.kind === 'replay') return { kind: 'replay', reply: outcome.reply };
    throw outcome.kind === 'admitted' && 'refusal' in decided ? decided.refusal : refusalOf(outcome, caller);
  }
  throw keyUnsteady();
}

/** Takes the request's place in the rate limit and nothing else: for routes that hold no money. */
export async function takePlace(
  gateway: Gateway,
  caller: Caller,
  onRate: (rate: RateState | null) => void,
): Promise<Caller> {
  for (let decision = 0; decision < DECISIONS_MAX; decision++) {
    const { ledger } = gateway;
    const place: AdmitRequest = { keyId: caller.key.id, keyVersion: caller.key.version, claim: null, hold: null };
    const outcome = ledger.admitNow(place) ?? (await ledger.admit(place).catch(storeFailed));
    if ('rate' in outcome) onRate(outcome.rate);
    if (outcome.kind === 'admitted') return caller;
    if (outcome.kind !== 'key_changed') throw refusalOf(outcome, caller);
    caller = await lookUpAgain(gateway, caller);
  }
  throw keyUnsteady();
}

/** The key has changed, and perhaps this secret of it is gone. */
async function lookUpAgain(gateway: Gateway, caller: Caller): Promise<Caller> {
  const key = await gateway.keys.fetch(caller.digest).catch(storeFailed);
  if (!key) throw keyRefused('revoked');
  return { key, digest: caller.digest };
}

function keyUnsteady(): GatewayError {
  return new GatewayError('service_unavailable', { message: 'The key is being changed too quickly. Retry shortly.' });
}

export function fingerprintOf(method: string, path: string, body: Uint8Array): string {
  return hash('sha256', Buffer.concat([Buffer.from(`${method} ${path}\n`), body]), 'base64');
}

/** A refusal is kept, not thrown: the request takes its place in the rate limit first. */
function attemptDecision(
  order: AdmitOrder,
  caller: Caller,
  counted: TextCount | null,
): { plan: Plan } | { refusal: unknown } {
  try {
    return { plan: order.decide(caller, counted) };
  } catch (refusal) {
    return { refusal };
  }
}

/** Whether only the bound of the input stands between this request and its hold. */
function worthACount(outcome: AdmitOutcome, order: AdmitOrder, { key }: Caller, plan: Plan): boolean {
  if (!plan.input.recountable) return false;
  if (outcome.kind === 'insufficient') return countMightCarry(key.mode, plan, order.choices, outcome.available);
  return outcome.kind === 'limit_reached' && countMightCarry(key.mode, plan, order.choices, BUDGET_REST_MAX);
}

function holdRequest(order: AdmitOrder, caller: Caller, plan: Plan): HoldRequest {
  const { amount, amountMin } = needOf(caller.key.mode, plan, order.choices);
  return { id: order.requestId, amount, amountMin, ttlMs: plan.totalMs + HOLD_MARGIN_MS };
}

function refusalOf(outcome: Exclude<AdmitOutcome, { kind: 'key_changed' }>, caller: Caller): GatewayError {
  const { key } = caller;
  switch (outcome.kind) {
    case 'key_refused':
      return keyRefused(outcome.status);
    case 'rate_limited':
      return new GatewayError('rate_limit_exceeded', {
        message: `This key may make ${outcome.rate.limit} requests per minute. Retry in ${seconds(outcome.retryAfterMs)} s.`,
        retryAfterS: seconds(outcome.retryAfterMs),
      });
    case 'in_flight':
      return new GatewayError('idempotency_in_flight');
    case 'conflict':
      return new GatewayError('idempotency_conflict', { message: CONFLICTS[outcome.reason] });
    case 'insufficient':
      return new GatewayError('insufficient_credit', {
        message:
          key.mode === 'credit'
            ? `The balance of ${creditsFromNanos(outcome.available)} credits does not carry this request. Add credit, or ask for less output.`
            : `The ${outcome.available} tokens left of the budget do not carry this request. Ask for less output, or send less input.`,
      });
    case 'temporarily_held':
      return new GatewayError('balance_temporarily_reserved', {
        retryAfterS: Math.max(1, seconds(outcome.retryAfterMs)),
      });
    case 'limit_reached':
      return new GatewayError('limit_reached', { retryAfterS: seconds(outcome.retryAfterMs) });
    case 'admitted':
    case 'replay':
      throw new Error(`the ledger answered ${outcome.kind} where nothing was asked to be held`);
  }
}

const CONFLICTS: Readonly<Record<ConflictReason, string>> = {
  other_request: 'This Idempotency-Key was used for another request. Use a new key for a new request.',
  charged_incomplete:
    'The request with this Idempotency-Key was charged but did not complete, so it cannot be replayed. Use a new key to run it again.',
  reply_not_stored:
    'The request with this Idempotency-Key was charged, but its answer was too large to be kept for replay. Use a new key to run it again.',
};

function seconds(ms: number): number {
  return Math.ceil(ms / 1_000);
}
