/** What limits the requests of a key, or of all keys below an account, beside what they cost. Null: no limit. */

/** Counted in the ledger, over all processes and replicas. */
export interface RateLimits {
  /** Requests per minute. */
  readonly rpmLimit: number | null;
  /** Tokens per minute: a request's input when it is admitted, its output when it ends. */
  readonly tpmLimit: number | null;
  /** Requests at a time: as many holds may be live. */
  readonly parallelLimit: number | null;
  /** Responses in the background at a time. */
  readonly runsLimit: number | null;
}

/** Decided from the request alone. */
export interface Restrictions {
  /** The models that may be used, by their ids or by patterns with `*`. */
  readonly models: readonly string[] | null;
  /** The most tokens of output of one request; it acts as if the model published it. */
  readonly outputLimit: number | null;
  /** Where requests may come from: addresses and ranges in CIDR notation. */
  readonly addresses: readonly string[] | null;
}

/** Of an account, as the keys below it carry it. */
export interface InheritedLimits extends Restrictions {
  /** It limits tokens per minute: the input of a request has to be estimated before it is admitted. */
  readonly tpmLimited: boolean;
}

const RATE_LIMIT_NAMES = {
  rpmLimit: 'requests per minute',
  tpmLimit: 'tokens per minute',
  parallelLimit: 'parallel requests',
  runsLimit: 'background responses at a time',
} as const satisfies Record<keyof RateLimits, string>;

/** Why these cannot be limits; null when they can. */
export function wrongRateLimits(limits: RateLimits): string | null {
  for (const name of Object.keys(RATE_LIMIT_NAMES) as (keyof RateLimits)[]) {
    const limit = limits[name];
    if (limit === null || (Number.isSafeInteger(limit) && limit >= 1)) continue;
    return `the ${RATE_LIMIT_NAMES[name]} must be a whole number from 1`;
  }
  return null;
}

/** Why these cannot be restrictions; null when they can. */
export function wrongRestrictions({ outputLimit }: Restrictions): string | null {
  if (outputLimit === null || (Number.isSafeInteger(outputLimit) && outputLimit >= 1)) return null;
  return 'the largest output must be a whole number of tokens from 1';
}
