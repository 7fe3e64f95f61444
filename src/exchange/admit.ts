/** ADMIT: key state, rate, claim and hold in one transaction of the ledger; each refusal as its condition. */
import { hash } from 'node:crypto';
import { GatewayError } from '../core/conditions.ts';
import type { KeyRecord, Mode } from '../core/key.ts';
import type { RateLimits } from '../core/limits.ts';
import { creditsFromNanos } from '../core/money.ts';
import type { Policy } from '../core/policy.ts';
import type { IdempotencyOutcome } from '../core/request-record.ts';
import { HOUR_MS } from '../core/time.ts';
import type { ExactCount } from '../counting/exact-count.ts';
import {
  type AdmitOutcome,
  type AdmitRequest,
  BUDGET_REST_MAX,
  type ConflictReason,
  type HoldRequest,
  type NewRun,
  NO_PERIOD_RETRY_MS,
  type StoredReply,
  type Unit,
} from '../ledger/port.ts';
import { Admission } from './admission.ts';
import { keyRefused, requireAddress } from './authenticate.ts';
import { newRun } from './background.ts';
import { type Gateway, storeFailed } from './gateway.ts';
import type { Plan } from './plan.ts';
import { couldAffordWithExactCount, holdAmounts, holdTokens } from './price.ts';
import type { Caller, ClientRequest, GenerationRequest, RequestHeaders, RunRequest } from './request.ts';

/** A hold outlives its exchange by this, so that only a dead or lost process leaves one to expire. */
const HOLD_MARGIN_MS = 10 * 60_000;
/**
 * A long prompt is held by its bytes only where that leaves room for so many more holds like it; otherwise its tokens are
 * counted first, so that parallel agents do not keep each other out with what none of them will use.
 */
const ROOM_FOR_OTHERS = 16;
const COUNTED_INPUT_MIN = 8_192;
/** A request whose key keeps changing meanwhile is given up on. */
const DECISIONS_MAX = 5;
const IDEMPOTENCY_KEY_CHARACTERS_MAX = 255;

interface AdmissionInput {
  readonly request: GenerationRequest;
  readonly caller: Caller;
  readonly policy: Policy;
  /** The plan for this key, by an exact count of the text where one was made; or why it is refused. */
  plan(key: KeyRecord, exact: ExactCount | null): Plan | GatewayError;
}

export type Admitted =
  | {
      readonly kind: 'admitted';
      readonly admission: Admission;
      readonly plan: Plan;
      readonly caller: Caller;
      /** Whether all is held that was asked for. */
      readonly whole: boolean;
      /** The run that has begun; null where the client waits for the answer. */
      readonly run: NewRun | null;
    }
  | { readonly kind: 'replay'; readonly reply: StoredReply }
  /** A run has this claim already. `refusal`: where it is not kept any more. */
  | { readonly kind: 'repeated'; readonly claim: string; readonly run: RunRequest; readonly refusal: GatewayError };

/** The knowledge about the request so far; each round of `admit` adds to it. */
interface Progress {
  readonly caller: Caller;
  /** Whether a count was asked for: once at most, and only where the answer depends on it. It may be late. */
  readonly counted: boolean;
  readonly exact: ExactCount | null;
}

export async function admit(gateway: Gateway, input: AdmissionInput): Promise<Admitted> {
  let progress: Progress = { caller: input.caller, counted: false, exact: null };
  for (let decisions = 0; decisions < DECISIONS_MAX; decisions++) {
    const { caller } = progress;
    const decision = decide(input, progress);
    const request = admitRequest(input, progress, decision);
    const outcome = gateway.ledger.admitNow(request) ?? (await gateway.ledger.admit(request).catch(storeFailed));
    // Noted as soon as it is known, so that refusals carry it too.
    if ('rate' in outcome) input.request.record.rate = outcome.rate;
    if (outcome.kind === 'key_changed') {
      const found = await lookUpAgain(gateway, input.request, caller);
      input.request.record.keyChanged(found.key);
      progress = { ...progress, caller: found };
    } else if (!(decision instanceof GatewayError) && isWorthExactCount(outcome, caller.key, decision)) {
      if (progress.counted) throw countLate();
      // Counting takes time, so it comes after the rate limit.
      const exact = await gateway.counter.count(decision.plan.input.toJob(), caller.key.id);
      progress = { caller, counted: true, exact };
    } else {
      return admittedBy(gateway, input, caller, decision, outcome);
    }
  }
  throw keyUnsteady();
}

/** The ledger is asked for everything, or where the input may be too long only for a slot of the rate limit. */
interface Decision {
  readonly plan: Plan;
  readonly hold: HoldRequest | null;
}

/** A refusal is a value: the request is counted against the rate limit first. */
function decide(input: AdmissionInput, { caller, counted, exact }: Progress): Decision | GatewayError {
  const plan = input.plan(caller.key, exact);
  if (plan instanceof GatewayError) return plan;
  if (plan.input.mayExceedWindow) return counted ? countLate() : { plan, hold: null };
  const problem = idempotencyKeyProblem(input.request.headers);
  if (problem !== null) return problem;
  const { requestId } = input.request;
  const hold = holdRequest(requestId, caller.key, plan, counted);
  if (plan.request.run === undefined) return { plan, hold };
  const run = newRun(requestId, plan, input.policy);
  return run instanceof GatewayError ? run : { plan, hold: { ...hold, run } };
}

function admitRequest(
  { request }: AdmissionInput,
  { caller, counted }: Progress,
  decision: Decision | GatewayError,
): AdmitRequest {
  const refused = decision instanceof GatewayError;
  const hold = refused ? null : decision.hold;
  const name = hold && request.headers.get('idempotency-key');
  const claim =
    refused || name === null
      ? null
      : { name, fingerprint: fingerprintOf('POST', request.path, decision.plan.request.received) };
  const { id: keyId, version: keyVersion } = caller.key;
  // The id is this request's own, and an admission whose outcome is not known is never sent again.
  return { keyId, keyVersion, rateCounted: counted, newHold: true, claim, hold };
}

/** Whether the answer depends on the bound of the input, which a count could lower. */
function isWorthExactCount(outcome: AdmitOutcome, key: KeyRecord, { plan, hold }: Decision): boolean {
  if (hold === null) return outcome.kind === 'admitted';
  if (!plan.input.worthExactCount) return false;
  if (outcome.kind === 'temporarily_held') return true;
  if (outcome.kind !== 'insufficient' && outcome.kind !== 'limit_reached') return false;
  const mode = outcome.level === undefined ? key.mode : MODE_OF_UNIT[outcome.level.unit];
  if (outcome.kind === 'insufficient') return couldAffordWithExactCount(mode, plan, outcome.available);
  return couldAffordWithExactCount(mode, plan, BUDGET_REST_MAX);
}

/** The mode of a key whose balance counts in this unit. */
const MODE_OF_UNIT: Readonly<Record<Unit, Mode>> = { credit: 'credit', tokens: 'token_budget' };

function admittedBy(
  gateway: Gateway,
  { request }: AdmissionInput,
  caller: Caller,
  decision: Decision | GatewayError,
  outcome: Exclude<AdmitOutcome, { kind: 'key_changed' }>,
): Admitted {
  const { record } = request;
  record.idempotency = idempotencyOf(outcome, request.headers);
  const repeated = repeatedRun(request, caller, decision, outcome);
  if (repeated !== null) return repeated;
  if (outcome.kind === 'replay') return { kind: 'replay', reply: outcome.reply };
  if (outcome.kind !== 'admitted') throw refusalOf(outcome, caller.key);
  if (decision instanceof GatewayError) throw decision;
  record.held = outcome.held;
  record.admittedAt = performance.now();
  const { hold } = decision;
  // The accounts above a token-budget key count what the key itself counts.
  const heldTokens = caller.key.mode === 'credit' ? (outcome.heldTokens ?? null) : null;
  const admission = new Admission(
    gateway.ledger,
    gateway.log,
    request.requestId,
    caller.key.id,
    outcome.held,
    heldTokens,
  );
  return {
    kind: 'admitted',
    admission,
    plan: decision.plan,
    caller,
    whole: outcome.held === hold?.amount && (heldTokens === null || heldTokens === hold.tokens),
    run: hold?.run ?? null,
  };
}

/** A repeat is answered with the run, whatever has become of it, unless it asks for something else. */
function repeatedRun(
  { headers }: GenerationRequest,
  { key }: Caller,
  decision: Decision | GatewayError,
  outcome: Exclude<AdmitOutcome, { kind: 'key_changed' }>,
): (Admitted & { kind: 'repeated' }) | null {
  const run = decision instanceof GatewayError ? undefined : decision.plan.request.run;
  const claim = headers.get('idempotency-key');
  if (run === undefined || claim === null) return null;
  if (outcome.kind !== 'in_flight' && outcome.kind !== 'conflict') return null;
  if (outcome.kind === 'conflict' && outcome.reason === 'other_request') return null;
  return { kind: 'repeated', claim, run, refusal: refusalOf(outcome, key) };
}

function idempotencyOf({ kind }: AdmitOutcome, headers: RequestHeaders): IdempotencyOutcome {
  if (kind === 'replay' || kind === 'conflict' || kind === 'in_flight') return kind;
  return kind === 'admitted' && headers.get('idempotency-key') !== null ? 'fresh' : 'none';
}

/** For operations that hold no money: a slot of the rate limit and nothing else. */
export async function countAgainstRateLimit(
  gateway: Gateway,
  request: Pick<ClientRequest, 'record' | 'clientAddress'>,
  caller: Caller,
): Promise<Caller> {
  for (let decisions = 0; decisions < DECISIONS_MAX; decisions++) {
    const { id: keyId, version: keyVersion } = caller.key;
    const outcome = await gateway.ledger.admit({ keyId, keyVersion, claim: null, hold: null }).catch(storeFailed);
    if ('rate' in outcome) request.record.rate = outcome.rate;
    if (outcome.kind === 'admitted') return caller;
    if (outcome.kind === 'replay') throw new Error('the ledger replayed an answer where no claim was sent');
    if (outcome.kind !== 'key_changed') throw refusalOf(outcome, caller.key);
    caller = await lookUpAgain(gateway, request, caller);
  }
  throw keyUnsteady();
}

/** The key has changed, and perhaps this secret of it is gone. */
async function lookUpAgain(
  gateway: Gateway,
  request: Pick<ClientRequest, 'clientAddress'>,
  caller: Caller,
): Promise<Caller> {
  const key = await gateway.keys.fetch(caller.digest).catch(storeFailed);
  if (!key) throw keyRefused('revoked');
  requireAddress(key, request);
  return { key, digest: caller.digest };
}

function keyUnsteady(): GatewayError {
  return new GatewayError('service_unavailable', { message: 'The key is being changed too quickly. Retry shortly.' });
}

/** Neither a window nor a balance that only a count can judge is the client's fault while there is no count. */
function countLate(): GatewayError {
  return new GatewayError('service_unavailable', {
    message: 'The prompt could not be counted in time, and cannot be admitted without its count. Retry shortly.',
  });
}

function idempotencyKeyProblem(headers: RequestHeaders): GatewayError | null {
  const name = headers.get('idempotency-key');
  if (name === null) return null;
  const valid =
    name.length > 0 && name.length <= IDEMPOTENCY_KEY_CHARACTERS_MAX && !headers.repeated('idempotency-key');
  if (valid) return null;
  return new GatewayError('invalid_request', {
    message: `The Idempotency-Key header must be sent once, with 1 to ${IDEMPOTENCY_KEY_CHARACTERS_MAX} characters.`,
    param: 'Idempotency-Key',
  });
}

function fingerprintOf(method: string, path: string, body: Uint8Array): string {
  return hash('sha256', Buffer.concat([Buffer.from(`${method} ${path}\n`), body]), 'base64');
}

function holdRequest(id: string, key: KeyRecord, plan: Plan, counted: boolean): HoldRequest {
  const { amount, amountMin } = holdAmounts(key.mode, plan);
  const ttlMs = plan.totalMs + HOLD_MARGIN_MS;
  const countable = !counted && plan.elastic && plan.input.worthExactCount && plan.input.high >= COUNTED_INPUT_MIN;
  const hold: { -readonly [Name in keyof HoldRequest]: HoldRequest[Name] } = { id, amount, amountMin, ttlMs };
  if (countable) hold.room = ROOM_FOR_OTHERS;
  if (isTpmLimited(key)) hold.inputTokens = plan.input.likely;
  return key.accountId === null || key.mode !== 'credit' ? hold : Object.assign(hold, holdTokens(plan));
}

/** Only then is the prompt read to estimate its tokens: 6 µs for a short one, 160 µs for one of 50 KB. */
function isTpmLimited({ tpmLimit, inherited }: KeyRecord): boolean {
  return tpmLimit !== null || inherited.some(({ tpmLimited }) => tpmLimited);
}

type Refusal = Exclude<AdmitOutcome, { kind: 'key_changed' | 'admitted' | 'replay' }>;

function refusalOf(outcome: Refusal, key: KeyRecord): GatewayError {
  switch (outcome.kind) {
    case 'key_refused':
      return keyRefused(outcome.status);
    case 'rate_limited':
      return new GatewayError('rate_limit_exceeded', {
        message: `This key may make ${outcome.rate.limit} requests per minute. Retry in ${seconds(outcome.retryAfterMs)} s.`,
        retryAfterS: seconds(outcome.retryAfterMs),
      });
    case 'account_refused':
      return new GatewayError('key_disabled', { message: `The account of this key is ${outcome.status}.` });
    case 'account_rate_limited':
      return new GatewayError('rate_limit_exceeded', {
        message: `The limit of this key's account on requests per minute is reached. Retry in ${seconds(outcome.retryAfterMs)} s.`,
        retryAfterS: seconds(outcome.retryAfterMs),
      });
    case 'tokens_limited':
    case 'parallel_limited':
    case 'runs_limited':
      return loadRefused(outcome, key);
    case 'in_flight':
      return new GatewayError('idempotency_in_flight');
    case 'conflict':
      return new GatewayError('idempotency_conflict', { message: CONFLICTS[outcome.reason] });
    case 'insufficient':
      return new GatewayError('insufficient_credit', { message: insufficientMessage(outcome, key) });
    case 'temporarily_held':
      return new GatewayError('balance_temporarily_reserved', {
        ...(outcome.level?.account === true ? { message: ACCOUNT_HELD } : {}),
        retryAfterS: Math.max(1, seconds(outcome.retryAfterMs)),
      });
    case 'limit_reached':
      return new GatewayError('limit_reached', {
        message: limitMessage(outcome, key),
        retryAfterS: seconds(outcome.retryAfterMs),
      });
  }
}

type LoadRefusal = Refusal & { kind: 'tokens_limited' | 'parallel_limited' | 'runs_limited' };

/** What each limits, and where a key has it. */
const LOAD_LIMITS = {
  tokens_limited: ['tokens per minute', 'tpmLimit'],
  parallel_limited: ['parallel requests', 'parallelLimit'],
  runs_limited: ['background responses at a time', 'runsLimit'],
} as const satisfies Record<LoadRefusal['kind'], readonly [string, keyof RateLimits]>;

function loadRefused(outcome: LoadRefusal, key: KeyRecord): GatewayError {
  const { kind, account, retryAfterMs, tooLarge } = outcome;
  const retryAfterS = seconds(retryAfterMs);
  const [what, field] = LOAD_LIMITS[kind];
  const limit = key[field];
  const whose = account ? "the limit of this key's account on" : `this key's limit of ${limit}`;
  const message = tooLarge
    ? `The input alone is more than ${whose} ${what}: waiting does not help. Send less.`
    : `${whose[0]?.toUpperCase()}${whose.slice(1)} ${what} is reached. Retry in ${retryAfterS} s.`;
  return new GatewayError('rate_limit_exceeded', { message, retryAfterS });
}

/** Nothing of an account is told but that it has a limit: no name, no figure. */
const ACCOUNT_LACKS =
  "The limit of this key's account does not cover this request. Ask for less output, or send less input.";
const ACCOUNT_HELD =
  "Other requests in flight hold what the limit of this key's account leaves. Wait for them, then retry once.";
const ACCOUNT_REACHED = "The limit of this key's account is reached";

function insufficientMessage({ available, level }: Refusal & { kind: 'insufficient' }, key: KeyRecord): string {
  if (level?.account === true) return ACCOUNT_LACKS;
  if (key.mode === 'token_budget') {
    return `The ${available} tokens left of the budget do not cover this request. Ask for less output, or send less input.`;
  }
  const credits = creditsFromNanos(available);
  return level === undefined
    ? `The balance of ${credits} credits does not cover this request. Add credit, ask for less output, or send less input.`
    : `The ${credits} credits left of this key's cap do not cover this request. Ask for less output, or send less input.`;
}

/** Agents that would wait out a `Retry-After` of weeks stop at a quota that is exceeded and will reset, and show it. */
function limitMessage(
  { level, available, retryAfterMs }: Refusal & { kind: 'limit_reached' },
  { mode }: KeyRecord,
): string {
  const what =
    level?.account === true
      ? ACCOUNT_REACHED
      : mode === 'credit'
        ? "This key's cap is used up for its period"
        : available > 0n
          ? `The ${available} tokens left of the budget of this period are too few for this request`
          : 'The token budget of this period is used up';
  const hours = Math.ceil(retryAfterMs / HOUR_MS);
  const time = hours > 48 ? `${Math.ceil(hours / 24)} days` : hours > 1 ? `${hours} hours` : '1 hour';
  // No figure of an account is told; Retry-After says when it resets.
  const when = level?.account === true ? 'when its period ends' : `within ${time}`;
  const renewed =
    retryAfterMs === NO_PERIOD_RETRY_MS
      ? 'It has no period: only the operator will reset it.'
      : `It will reset ${when}.`;
  return `${what}: quota exceeded. ${renewed}`;
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
