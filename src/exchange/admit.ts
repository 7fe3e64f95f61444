/** ADMIT: key state, rate, claim and hold in one transaction of the ledger; each refusal as its condition. */
import { hash } from 'node:crypto';
import { GatewayError } from '../core/conditions.ts';
import { creditsFromNanos } from '../core/money.ts';
import type { TextCount } from '../counting/exact-count.ts';
import {
  type AdmitOutcome,
  type AdmitRequest,
  BUDGET_REST_MAX,
  type ConflictReason,
  type HoldRequest,
  type RateState,
  type StoredReply,
} from '../ledger/port.ts';
import { Admission } from './admission.ts';
import { type Caller, keyRefused } from './authenticate.ts';
import type { Gateway } from './gateway.ts';
import type { Plan } from './plan.ts';
import { countMightCarry, needOf } from './price.ts';
import { storeFailed } from './store-failed.ts';

/** A hold outlives its exchange by this, so that only a dead or lost process leaves one to expire. */
const HOLD_MARGIN_MS = 10 * 60_000;
/** A key that keeps changing under the same request is given up on. */
const DECISIONS_MAX = 5;

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
  | {
      readonly kind: 'admitted';
      readonly admission: Admission;
      readonly plan: Plan;
      readonly caller: Caller;
      /** Whether all is held that was asked for. */
      readonly whole: boolean;
    }
  | { readonly kind: 'replay'; readonly reply: StoredReply };

/** One decision about the request, and what the ledger is asked for because of it. */
interface Step {
  readonly caller: Caller;
  readonly plan: Plan | null;
  readonly refusal: unknown;
  /** Its input may be too long: a count has to tell before anything is held. */
  readonly doubtful: boolean;
  readonly request: AdmitRequest;
}

/** At once where the ledger can tell at once, as it mostly can. */
export function admit(gateway: Gateway, order: AdmitOrder): Admitted | Promise<Admitted> {
  const step = decide(order, order.caller, null, true, false);
  const outcome = gateway.ledger.admitNow(step.request);
  if (outcome?.kind !== 'admitted' || step.plan === null || step.doubtful)
    return admitAtLength(gateway, order, step, outcome);
  order.onRate(outcome.rate);
  return admitted(gateway, order, step, step.plan, outcome.held);
}

async function admitAtLength(
  gateway: Gateway,
  order: AdmitOrder,
  first: Step,
  known: AdmitOutcome | null,
): Promise<Admitted> {
  let step = first;
  let outcome = known;
  let rateCounted = false;
  let counted: TextCount | null = null;
  let mayCount = true;
  for (let decisions = 1; ; decisions++) {
    const { caller, plan, doubtful } = step;
    outcome ??= await gateway.ledger.admit(step.request).catch(storeFailed);
    if ('rate' in outcome) order.onRate(outcome.rate);
    // Counting takes time, so it comes after the rate limit, and only where the answer hangs on it.
    const counts =
      mayCount && plan !== null && (doubtful ? outcome.kind === 'admitted' : worthACount(outcome, order, caller, plan));
    if (!counts && outcome.kind !== 'key_changed') {
      if (outcome.kind === 'replay') return { kind: 'replay', reply: outcome.reply };
      if (outcome.kind !== 'admitted') throw refusalOf(outcome, caller);
      if (plan === null) throw step.refusal;
      return admitted(gateway, order, step, plan, outcome.held);
    }
    if (decisions === DECISIONS_MAX) throw keyUnsteady();
    if (counts) {
      rateCounted = true;
      mayCount = false;
      counted = await gateway.counter.count(plan.input.job());
    }
    const next = counts ? caller : await lookUpAgain(gateway, caller);
    step = decide(order, next, counted, mayCount, rateCounted);
    outcome = gateway.ledger.admitNow(step.request);
  }
}

/** A refusal is kept, not thrown: the request takes its place in the rate limit first. */
function decide(
  order: AdmitOrder,
  caller: Caller,
  counted: TextCount | null,
  mayCount: boolean,
  rateCounted: boolean,
): Step {
  let plan: Plan | null = null;
  let refusal: unknown = null;
  try {
    plan = order.decide(caller, counted);
  } catch (error) {
    refusal = error;
  }
  const doubtful = mayCount && plan?.input.doubtful === true;
  const hold = plan === null || doubtful ? null : holdRequest(order, caller, plan);
  const name = hold && order.idempotencyKey;
  const claim = name === null ? null : { name, fingerprint: order.fingerprint() };
  const request = { keyId: caller.key.id, keyVersion: caller.key.version, claim, hold, rateCounted };
  return { caller, plan, refusal, doubtful, request };
}

function admitted(gateway: Gateway, order: AdmitOrder, { caller, request }: Step, plan: Plan, held: bigint): Admitted {
  const admission = new Admission(gateway.ledger, gateway.log, order.requestId, caller.key.id, held);
  return { kind: 'admitted', admission, plan, caller, whole: held === request.hold?.amount };
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
