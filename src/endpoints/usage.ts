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

export interface UsageAnswer {
  readonly body: UsageSummary;
  /** What is left, in the header of the key's mode; none where there is no limit. */
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

function creditFigures(summary: Summary, usdPerCredit: number): CreditUsage {
  const balance = summary.purchased - summary.used;
  const remaining = creditsFromNanos(atLeastZero(balance - summary.reserved));
  return {
    total_purchased: creditsFromNanos(summary.purchased),
    balance: creditsFromNanos(balance),
    reserved: creditsFromNanos(summary.reserved),
    used: creditsFromNanos(summary.used),
    remaining,
    remaining_usd: Number((remaining * usdPerCredit).toFixed(9)),
    last_request_cost: creditsFromNanos(summary.lastCost),
    today_spend: creditsFromNanos(summary.todaySpend),
    lifetime_spend: creditsFromNanos(summary.used),
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
  return {
    budget: budget === null ? null : Number(budget),
    used: Number(summary.periodUsed),
    reserved: Number(summary.reserved),
    remaining: budget === null ? null : Number(atLeastZero(budget - summary.periodUsed - summary.reserved)),
    ...sums,
  };
}

function explanation(summary: Summary, creditRemaining: number, tokensRemaining: number | null): string {
  const held =
    summary.liveHolds === 0
      ? 'Nothing is held by requests in flight.'
      : `${summary.liveHolds} ${summary.liveHolds === 1 ? 'request' : 'requests'} in flight ${summary.liveHolds === 1 ? 'holds' : 'hold'} ${
          summary.key.mode === 'credit' ? `${creditsFromNanos(summary.reserved)} credits` : `${summary.reserved} tokens`
        } until settled.`;
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

function atLeastZero(amount: bigint): bigint {
  return amount < 0n ? 0n : amount;
}
