/** Token counts by price class. Every count is a safe, non-negative integer; the classes do not overlap. */
export interface TokenCounts {
  /** Input that was neither read from nor written to a cache. */
  readonly input: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  readonly cacheWrite1h: number;
  /** All output, reasoning included. */
  readonly output: number;
  /** The part of `output` that was reasoning, for the record; it costs what output costs. */
  readonly reasoning: number;
}

export interface Usage {
  readonly tokens: TokenCounts;
  /** `reported` by the provider, or `counted` here because it did not say. */
  readonly source: 'reported' | 'counted';
}

export const NO_TOKENS: TokenCounts = {
  input: 0,
  cacheRead: 0,
  cacheWrite: 0,
  cacheWrite1h: 0,
  output: 0,
  reasoning: 0,
};

/** Class by class. */
export function addTokens(one: TokenCounts, other: TokenCounts): TokenCounts {
  return {
    input: one.input + other.input,
    cacheRead: one.cacheRead + other.cacheRead,
    cacheWrite: one.cacheWrite + other.cacheWrite,
    cacheWrite1h: one.cacheWrite1h + other.cacheWrite1h,
    output: one.output + other.output,
    reasoning: one.reasoning + other.reasoning,
  };
}

export function inputTokens(tokens: TokenCounts): number {
  return tokens.input + tokens.cacheRead + tokens.cacheWrite + tokens.cacheWrite1h;
}

/** What counts against a token budget: input and output, cache reads and writes included. */
export function totalTokens(tokens: TokenCounts): number {
  return inputTokens(tokens) + tokens.output;
}
