/** Limits of keys and accounts as both stores keep them. Pure. */
import type { InheritedLimits, RateLimits, Restrictions } from '../../core/limits.ts';
import { integerOrNull, isNull, type Row, text } from '../../storage/columns.ts';
import type { OtherLimits } from '../port.ts';
import { type NodeTotals, pathFrom, type TreeNodes } from './tree.ts';

/** A request at a parallel limit may try again after this. */
export const PARALLEL_RETRY_MS = 1_000;
/** One call counts at most so many tokens, which no model has, so that no sum of them overflows. */
export const COUNTED_TOKENS_MAX = 2 ** 40;

export const NO_OTHER_LIMITS: OtherLimits = {
  tpmLimit: null,
  parallelLimit: null,
  runsLimit: null,
  models: null,
  outputLimit: null,
  addresses: null,
};

/** The columns of what has a limit, in the order of `limitValues`. */
export const LIMIT_COLUMNS = [
  'rpm_limit',
  'tpm_limit',
  'parallel_limit',
  'runs_limit',
  'models',
  'output_limit',
  'addresses',
] as const;

export function limitValues(limits: RateLimits & Restrictions): readonly (string | number | null)[] {
  return [
    limits.rpmLimit,
    limits.tpmLimit,
    limits.parallelLimit,
    limits.runsLimit,
    listText(limits.models),
    limits.outputLimit,
    listText(limits.addresses),
  ];
}

export function limitsFrom(row: Row): RateLimits & Restrictions {
  // Written by `limitValues`.
  const listOrNull = (column: string): readonly string[] | null =>
    isNull(row, column) ? null : (JSON.parse(text(row, column)) as string[]);
  return {
    rpmLimit: integerOrNull(row, 'rpm_limit'),
    tpmLimit: integerOrNull(row, 'tpm_limit'),
    parallelLimit: integerOrNull(row, 'parallel_limit'),
    runsLimit: integerOrNull(row, 'runs_limit'),
    models: listOrNull('models'),
    outputLimit: integerOrNull(row, 'output_limit'),
    addresses: listOrNull('addresses'),
  };
}

/** What a key of this account inherits: of the accounts from this one to its root, those that limit something of it. */
export function inheritedFrom(nodes: TreeNodes, accountId: string): readonly InheritedLimits[] {
  return pathFrom(nodes, accountId).flatMap(({ account }: NodeTotals) => {
    const { models, outputLimit, addresses } = account;
    const tpmLimited = account.tpmLimit !== null;
    const nothing = models === null && outputLimit === null && addresses === null && !tpmLimited;
    return nothing ? [] : [{ models, outputLimit, addresses, tpmLimited }];
  });
}

/** As the column `inherited` of a key has it. */
export function inheritedText(inherited: readonly InheritedLimits[]): string {
  return JSON.stringify(inherited);
}

/** Keys of accounts that were written before `tpmLimited` do not have it, and no text where nothing else is limited. */
export function inheritedIn(text: string | null, accountId: string | null): readonly InheritedLimits[] {
  if (accountId === null) return [];
  const unknown = { models: null, outputLimit: null, addresses: null, tpmLimited: true };
  if (text === null) return [unknown];
  return (JSON.parse(text) as Restrictions[]).map((limits) => ({ ...unknown, ...limits }));
}

function listText(list: readonly string[] | null): string | null {
  return list === null ? null : JSON.stringify(list);
}
