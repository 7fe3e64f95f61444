/** The usage summary of the calling key: figures from the ledger, rounded only here, where they are printed. */
import { GatewayError } from '../core/conditions.ts';
import { keyStatus } from '../core/key.ts';
import { creditsFromNanos } from '../core/money.ts';
import { countAgainstRateLimit } from '../exchange/admit.ts';
import { authenticate, sentPrefix } from '../exchange/authenticate.ts';
import { type Gateway, storeFailed } from '../exchange/gateway.ts';
import type { ClientRequest } from '../exchange/request.ts';
import type { Summary } from '../ledger/port.ts';
import type { CreditUsage, TokenUsage, UsageSummary } from './usage-schema.ts';

interface UsageAnswer {
  readonly body: UsageSummary;
  /** The header of the key's mode with what is left; none where there is no limit. */
  readonly headers: Readonly<Record<string, number>>;
}

export async function usage(gateway: Gateway, request: ClientRequest): Promise<UsageAnswer> {
  const caller = await countAgainstRateLimit(gateway, request, await authenticate(gateway, request));
  const summary = await gateway.ledger.summary(caller.key.id).catch(storeFailed);
  if (!summary) throw new GatewayError('invalid_credentials');
  const prefix = sentPrefix(request) ?? summary.key.prefix;
  return usageAnswer(summary, prefix, gateway.policy().usdPerCredit, gateway.clock.nowMs());
}

function usageAnswer(summary: Summary, prefix: string, usdPerCredit: number, nowMs: number): UsageAnswer {
  const credits = summary.key.mode === 'credit' ? creditFigures(summary, usdPerCredit) : NO_CREDIT;
  const tokens = tokenFigures(summary);
  return {
    body: {
      object: 'usage.summary',
      key: {
        prefix,
        label: summary.key.label,
        status: keyStatus(summary.key, nowMs),
        mode: summary.key.mode,
        provider_scope: summary.key.providerScope,
        rpm_limit: summary.key.rpmLimit,
      },
      credits,
      tokens,
      requests: { total: summary.requests },
      explanation: explanation(summary, credits.remaining, tokens.remaining),
    },
    headers: {
      ...(summary.key.mode === 'credit' ? { 'x-service-credit-remaining': credits.remaining } : {}),
      ...(tokens.remaining === null ? {} : { 'x-ratelimit-remaining-tokens': tokens.remaining }),
    },
  };
}

const NO_CREDIT: CreditUsage = {
  total_purchased: 0,
  balance: 0,
  reserved: 0,
  used: 0,
  remaining: 0,
  remaining_usd: 0,
  last_request_cost: 0,
  today_spend: 0,
  lifetime_spend: 0,
};

/** The balance that a credit key can spend of, in nanos. */
interface Purse {
  readonly purchased: bigint;
  readonly used: bigint;
  readonly reserved: bigint;
  readonly left: bigint;
  readonly lifetime: bigint;
}

/** The cap of a key of an account, or else what the account has that pays for it; otherwise the key's own balance. */
export function purseOf(summary: Summary): Purse {
  const { path, key } = summary;
  if (path === undefined) {
    const { purchased, used, reserved } = summary;
    return { purchased, used, reserved, left: atLeastZero(purchased - used - reserved), lifetime: used };
  }
  const left = path.remaining ?? 0n;
  if (key.cap === null) {
    const { purchased, used, reserved } = path;
    return { purchased, used, reserved, left, lifetime: used };
  }
  const { periodUsed, reserved, used } = summary;
  return { purchased: key.cap, used: periodUsed, reserved, left, lifetime: used };
}

function creditFigures(summary: Summary, usdPerCredit: number): CreditUsage {
  const { purchased, used, reserved, left, lifetime } = purseOf(summary);
  const remaining = creditsFromNanos(left);
  return {
    total_purchased: creditsFromNanos(purchased),
    balance: creditsFromNanos(purchased - used),
    reserved: creditsFromNanos(reserved),
    used: creditsFromNanos(used),
    remaining,
    remaining_usd: Number((remaining * usdPerCredit).toFixed(9)),
    last_request_cost: creditsFromNanos(summary.lastCost),
    today_spend: creditsFromNanos(summary.todaySpend),
    lifetime_spend: creditsFromNanos(lifetime),
  };
}

function tokenFigures(summary: Summary): TokenUsage {
  const { budget, mode } = summary.key;
  const sums = {
    input: Number(summary.inputTokens),
    output: Number(summary.outputTokens),
    total: Number(summary.inputTokens + summary.outputTokens),
  };
  if (mode === 'credit') return { budget: null, used: 0, reserved: 0, remaining: null, ...sums };
  const left = tokensLeft(summary);
  return {
    budget: budget === null ? null : Number(budget),
    used: Number(summary.periodUsed),
    reserved: Number(summary.reserved),
    remaining: left === null ? null : Number(left),
    ...sums,
  };
}

/** The least that any level leaves. */
export function tokensLeft({ key, path, periodUsed, reserved }: Summary): bigint | null {
  if (path !== undefined) return path.remaining;
  return key.budget === null ? null : atLeastZero(key.budget - periodUsed - reserved);
}

function explanation(summary: Summary, creditRemaining: number, tokensRemaining: number | null): string {
  const held =
    summary.liveHolds === 0
      ? 'Nothing is held by requests in flight.'
      : `${summary.liveHolds} ${summary.liveHolds === 1 ? 'request' : 'requests'} in flight ${summary.liveHolds === 1 ? 'holds' : 'hold'} ${
          summary.key.mode === 'credit' ? `${creditsFromNanos(summary.reserved)} credits` : `${summary.reserved} tokens`
        } until settled.`;
  if (summary.path !== undefined) return `${levelExplanation(summary, creditRemaining, tokensRemaining)} ${held}`;
  if (summary.key.mode === 'credit') {
    return `${creditRemaining} of ${creditsFromNanos(summary.purchased)} purchased credits are left to spend. ${held}`;
  }
  if (tokensRemaining === null)
    return `This key has no token limit; ${summary.periodUsed} tokens are used in this period. ${held}`;
  const period =
    summary.periodEndsAtMs === null
      ? 'The budget has no period and is not renewed.'
      : `The ${summary.key.period} ends at ${new Date(summary.periodEndsAtMs).toISOString()}.`;
  return `${tokensRemaining} of ${summary.key.budget} tokens are left. ${held} ${period}`;
}

/** The level that leaves the least, without the name or a figure of an account. */
function levelExplanation({ key, path }: Summary, creditRemaining: number, tokensRemaining: number | null): string {
  const left = key.mode === 'credit' ? `${creditRemaining} credits` : `${tokensRemaining} tokens`;
  if (key.mode === 'token_budget' && tokensRemaining === null)
    return 'Neither this key nor its account has a token limit.';
  if (path?.accountBinds === true) return `${left} are left to spend, by the limit of this key's account.`;
  return `${left} are left to spend, by the ${key.mode === 'credit' ? 'cap' : 'budget'} of this key.`;
}

function atLeastZero(amount: bigint): bigint {
  return amount < 0n ? 0n : amount;
}
