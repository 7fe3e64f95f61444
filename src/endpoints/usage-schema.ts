/** The usage summary of the calling key. */
import type { Static } from 'typebox';
import { Type } from '../lib/schema-builder.ts';
import { TokenCount } from '../wire/schema/parts.ts';

const CLOSED = { additionalProperties: false };
const OptionalCount = Type.Union([TokenCount, Type.Null()]);

const UsageKey = Type.Object(
  {
    prefix: Type.String({ description: 'Non-secret beginning of the key.' }),
    label: Type.Union([Type.String(), Type.Null()]),
    status: Type.String(),
    mode: Type.Enum(['credit', 'token_budget']),
    provider_scope: Type.String(),
    rpm_limit: Type.Optional(Type.Union([Type.Integer({ minimum: 1 }), Type.Null()])),
  },
  CLOSED,
);

export const CreditUsage = Type.Object(
  {
    total_purchased: Type.Number(),
    balance: Type.Number(),
    reserved: Type.Number(),
    used: Type.Number(),
    remaining: Type.Number(),
    remaining_usd: Type.Number(),
    last_request_cost: Type.Number(),
    today_spend: Type.Number(),
    lifetime_spend: Type.Number(),
  },
  CLOSED,
);
export type CreditUsage = Static<typeof CreditUsage>;

export const TokenUsage = Type.Object(
  {
    budget: OptionalCount,
    used: TokenCount,
    reserved: TokenCount,
    remaining: OptionalCount,
    input: TokenCount,
    output: TokenCount,
    total: TokenCount,
  },
  CLOSED,
);
export type TokenUsage = Static<typeof TokenUsage>;

export const UsageSummary = Type.Object(
  {
    object: Type.Literal('usage.summary'),
    key: UsageKey,
    credits: CreditUsage,
    tokens: TokenUsage,
    requests: Type.Object({ total: TokenCount }, CLOSED),
    explanation: Type.String(),
  },
  CLOSED,
);
export type UsageSummary = Static<typeof UsageSummary>;
