/** Operations as the function `apply_batch` takes them: short names, amounts as text. */
import { AMOUNT_MAX } from '../../core/money.ts';
import { inputTokens, NO_TOKENS, type TokenCounts } from '../../core/usage.ts';
import { Refusal } from '../../storage/errors.ts';
import type { Operation, OperationName, OperationOf } from '../operations.ts';
import type { AdmitRequest, ChargedCall, KeptResponse, Mark, SettleRequest, UsageRecord } from '../port.ts';
import { responseBytes } from '../rules/stored-responses.ts';

/** One element of a batch. */
export interface Element {
  readonly fields: Readonly<Record<string, unknown>>;
  /** The hold and the claim that it is about: neither may come up twice in one call. */
  readonly names: readonly string[];
  readonly keyId: string | null;
  readonly owner: string | null;
  /** About how many bytes it brings along, or may bring back. */
  readonly weight: number;
  /** A response that is kept where this settlement is the one that counts. */
  readonly kept?: Readonly<Record<string, unknown>> | undefined;
}

const HOT = [
  'findKey',
  'admit',
  'extend',
  'mark',
  'settle',
  'void',
  'summary',
  'ping',
  'registerOwner',
  'heartbeat',
] as const satisfies readonly OperationName[];
const HOT_NAMES: ReadonlySet<OperationName> = new Set(HOT);

export type HotName = (typeof HOT)[number];
export type HotOperation = OperationOf<HotName>;

/** Whether requests wait for such operations; the others are done one by one. */
export function isHot(operation: Operation): operation is HotOperation {
  return HOT_NAMES.has(operation.op);
}

/** What a claim may bring back: the largest reply that is stored. */
const REPLAY_WEIGHT = 1_400_000;
const BASE_WEIGHT = 500;

/** The elements of one operation; throws a `Refusal` when it is out of range and must not spoil the batch of others. */
export function encode(operation: HotOperation): readonly Element[] {
  const elements = elementsOf(operation);
  for (const { fields } of elements) checkText(fields);
  return elements;
}

function elementsOf(operation: HotOperation): readonly Element[] {
  const { op } = operation;
  switch (op) {
    case 'admit':
      return [admitElement(operation.owner, operation.request)];
    case 'settle':
      return [settleElement(operation.request)];
    case 'mark':
      return operation.marks.map((mark) => markElement(operation.number, mark));
    case 'extend':
      checkAmount(operation.amount, 'an extension');
      return [
        holdElement(
          {
            op,
            k: operation.keyId,
            h: operation.holdId,
            a: operation.amount.toString(),
            ...leastField('m', operation.amountMin),
            ...tokenFields(operation.tokens, 'an extension'),
            ...leastField('wm', operation.tokensMin),
          },
          operation.holdId,
        ),
      ];
    case 'void':
      return [holdElement({ op, k: operation.keyId, h: operation.holdId }, operation.holdId)];
    case 'summary':
      return [element({ op, k: operation.keyId }, operation.keyId)];
    case 'findKey':
      return [element({ op, d: operation.digest }, null)];
    case 'registerOwner':
    case 'heartbeat':
      checkInteger(operation.leaseMs, 'a lease');
      return [element({ op, o: operation.owner, t: operation.leaseMs }, null)];
    case 'ping':
      return [element({ op }, null)];
  }
}

function element(fields: Element['fields'], keyId: string | null): Element {
  return { fields, names: [], keyId, owner: null, weight: BASE_WEIGHT };
}

function holdElement(fields: Element['fields'] & { readonly k: string }, holdId: string): Element {
  return { ...element(fields, fields.k), names: [`hold ${holdId}`] };
}

function admitElement(owner: string, { keyId, keyVersion, rateCounted, claim, hold }: AdmitRequest): Element {
  checkInteger(keyVersion, 'a version');
  const fields = { op: 'admit', k: keyId, v: keyVersion, ...(rateCounted === true ? { q: true } : {}) };
  if (hold === null) return element(fields, keyId);
  const { id, amount, amountMin, ttlMs } = hold;
  if (amountMin < 0n || amount < amountMin || amount > AMOUNT_MAX) {
    throw new Refusal(`a hold of ${amount}, at least ${amountMin}, is out of range`);
  }
  const { tokens = 0n, tokensMin = tokens } = hold;
  if (tokensMin < 0n || tokens < tokensMin || tokens > AMOUNT_MAX) {
    throw new Refusal(`a hold of ${tokens} tokens, at least ${tokensMin}, is out of range`);
  }
  checkInteger(ttlMs, 'a lifetime');
  checkInteger(hold.inputTokens ?? 0, 'an input');
  checkInteger(hold.room ?? 0, 'room');
  const least = hold.tokens === undefined ? {} : { wm: tokensMin.toString() };
  const held = {
    ...fields,
    h: id,
    o: owner,
    a: amount.toString(),
    m: amountMin.toString(),
    t: ttlMs,
    ...tokenFields(hold.tokens, 'a hold'),
    ...least,
    ...(hold.inputTokens === undefined ? {} : { ti: hold.inputTokens }),
    ...(hold.room === undefined ? {} : { room: hold.room }),
  };
  if (claim === null) return { ...holdElement(held, id), owner };
  return {
    fields: { ...held, n: claim.name, f: claim.fingerprint },
    names: [`hold ${id}`, `claim ${keyId} ${claim.name}`],
    keyId,
    owner,
    weight: REPLAY_WEIGHT,
  };
}

function settleElement(request: SettleRequest): Element {
  const { keyId, holdId, charge, usage, reply, noReplyReason, flag } = request;
  checkAmount(charge, 'a charge');
  checkInteger(request.outputTokens ?? 0, 'an output');
  const body = reply === null ? null : Buffer.from(reply.body).toString('base64');
  const fields = {
    op: 'settle',
    k: keyId,
    h: holdId,
    a: charge.toString(),
    x: noReplyReason,
    ...tokenFields(request.chargeTokens, 'a charge'),
    ...(flag === null ? {} : { g: flag }),
    ...(usage === null ? {} : { r: usageFields(usage), ...totalFields(usage.tokens) }),
    ...(usage === null && request.call ? { c: callFields(request.call) } : {}),
    ...(usage === null && request.outputTokens !== undefined ? { tu: request.outputTokens } : {}),
    ...(reply === null ? {} : { s: reply.status, ct: reply.contentType, b: body }),
  };
  const kept = request.kept ?? undefined;
  const weight = BASE_WEIGHT + (body?.length ?? 0) + (kept ? responseBytes(kept) : 0);
  return { ...holdElement(fields, holdId), weight, kept: kept && keptFields(keyId, kept) };
}

function keptFields(keyId: string, kept: KeptResponse): Readonly<Record<string, unknown>> {
  checkText({ id: kept.id, parent: kept.parentId, items: kept.itemIds });
  return {
    k: keyId,
    id: kept.id,
    parent: kept.parentId,
    items: kept.itemIds,
    input: kept.input,
    output: kept.output,
    response: kept.response,
    bytes: responseBytes(kept),
    keep: kept.keepMs,
    max: kept.keyBytesMax,
  };
}

function markElement(number: number, { keyId, holdId, charge, tokens, call }: Mark): Element {
  checkAmount(charge, 'a mark');
  const known: UsageRecord = {
    requestId: holdId,
    model: '',
    provider: '',
    format: '',
    streamed: false,
    costNanos: 0n,
    providerCostNanos: 0n,
    attempts: 1,
    firstByteMs: null,
    ...call,
    outcome: 'broken',
    source: 'counted',
    tokens,
    // Up to this mark, which the store fills in.
    durationMs: 0,
  };
  checkInteger(number, 'a number of a mark');
  const detail = { n: number, ...usageFields(known), ...totalFields(tokens) };
  // Where nothing is known of the call, recovery fills in what it charges.
  const r = call === undefined ? { ...detail, cost_nanos: null } : detail;
  return holdElement({ op: 'mark', k: keyId, h: holdId, a: charge.toString(), r }, holdId);
}

/** By the columns of the table `usage`. */
function usageFields(usage: UsageRecord): Readonly<Record<string, unknown>> {
  const { tokens } = usage;
  for (const name of Object.keys(NO_TOKENS) as (keyof TokenCounts)[]) checkInteger(tokens[name], `a count of ${name}`);
  checkInteger(usage.attempts, 'a number of attempts');
  return {
    request_id: usage.requestId,
    model: usage.model,
    provider: usage.provider,
    format: usage.format,
    streamed: usage.streamed,
    outcome: usage.outcome,
    source: usage.source,
    input: tokens.input,
    cache_read: tokens.cacheRead,
    cache_write: tokens.cacheWrite,
    cache_write_1h: tokens.cacheWrite1h,
    output: tokens.output,
    reasoning: tokens.reasoning,
    cost_nanos: saturated(usage.costNanos),
    provider_cost_nanos: saturated(usage.providerCostNanos),
    attempts: usage.attempts,
    duration_ms: Math.round(usage.durationMs),
    first_byte_ms: usage.firstByteMs === null ? null : Math.round(usage.firstByteMs),
  };
}

/** By the columns of the table `entries`. */
function callFields({ model, provider, format, costNanos, providerCostNanos }: ChargedCall): Element['fields'] {
  return {
    model,
    provider,
    format,
    cost_nanos: saturated(costNanos),
    provider_cost_nanos: saturated(providerCostNanos),
  };
}

function totalFields(tokens: TokenCounts): { readonly ti: number; readonly tu: number } {
  return { ti: inputTokens(tokens), tu: tokens.output };
}

/** Figures that only inform stop at what a column can hold instead of failing a settlement. */
function saturated(value: bigint): string {
  return (value > AMOUNT_MAX ? AMOUNT_MAX : value).toString();
}

/** Of a key of an account. */
function tokenFields(tokens: bigint | undefined, what: string): { readonly w?: string } {
  if (tokens === undefined) return {};
  checkAmount(tokens, `the tokens of ${what}`);
  return { w: tokens.toString() };
}

function leastField<F extends 'm' | 'wm'>(field: F, least: bigint | undefined): { readonly [name in F]?: string } {
  if (least === undefined) return {};
  checkAmount(least, 'the least of an extension');
  return { [field]: least.toString() } as { readonly [name in F]?: string };
}

/** A charge beyond the hold is clamped there, so only its sign matters here. */
function checkAmount(value: bigint, what: string): void {
  if (value < 0n || value > AMOUNT_MAX) throw new Refusal(`${what} of ${value} is out of range`);
}

function checkInteger(value: number, what: string): void {
  if (!Number.isSafeInteger(value) || value < 0) throw new Refusal(`${what} of ${value} is out of range`);
}

/** PostgreSQL's text holds no NUL, and nothing that is not well-formed Unicode. */
function checkText(fields: Element['fields']): void {
  for (const value of Object.values(fields)) {
    if (typeof value === 'string' && (value.includes('\0') || !value.isWellFormed())) {
      throw new Refusal('a text holds a character that the database cannot store');
    }
    if (typeof value === 'object' && value !== null) checkText(value as Element['fields']);
  }
}
