/** Limits of keys and accounts as both stores keep them. Pure. */
import type { RateLimits, Restrictions } from '../../core/limits.ts';
import type { OtherLimits } from '../port.ts';
import type { ColumnReaders } from './column-readers.ts';
import { type NodeTotals, pathFrom, type TreeNodes } from './tree.ts';

/** A request at a parallel limit may try again after this. */
export const PARALLEL_RETRY_MS = 1_000;
/** One call counts at most so many tokens, which no model has, so that no sum of them overflows. */
export const COUNTED_TOKENS_MAX = 2 ** 40;

export const NO_OTHER_LIMITS: OtherLimits = {
  tpmLimit: null,
  parallelLimit: null,
  models: null,
  outputLimit: null,
  addresses: null,
};

/** The columns of what has a limit, in the order of `limitValues`. */
export const LIMIT_COLUMNS = [
  'rpm_limit',
  'tpm_limit',
  'parallel_limit',
  'models',
  'output_limit',
  'addresses',
] as const;

export function limitValues(limits: RateLimits & Restrictions): readonly (string | number | null)[] {
  return [
    limits.rpmLimit,
    limits.tpmLimit,
    limits.parallelLimit,
    listText(limits.models),
    limits.outputLimit,
    listText(limits.addresses),
  ];
}

export function limitsFrom(row: ColumnReaders): RateLimits & Restrictions {
  const integerOrNull = (column: string): number | null => (row.isNull(column) ? null : Number(row.amount(column)));
  // Written by `limitValues`.
  const listOrNull = (column: string): readonly string[] | null =>
    row.isNull(column) ? null : (JSON.parse(row.text(column)) as string[]);
  return {
    rpmLimit: integerOrNull('rpm_limit'),
    tpmLimit: integerOrNull('tpm_limit'),
    parallelLimit: integerOrNull('parallel_limit'),
    models: listOrNull('models'),
    outputLimit: integerOrNull('output_limit'),
    addresses: listOrNull('addresses'),
  };
}

export function sameLimits(one: RateLimits & Restrictions, other: RateLimits & Restrictions): boolean {
  return JSON.stringify(limitValues(one)) === JSON.stringify(limitValues(other));
}

/** What the accounts from this one to its root allow: those that restrict something. */
export function restrictionsFrom(nodes: TreeNodes, accountId: string): readonly Restrictions[] {
  return pathFrom(nodes, accountId).flatMap(({ account }: NodeTotals) => {
    const { models, outputLimit, addresses } = account;
    const nothing = models === null && outputLimit === null && addresses === null;
    return nothing ? [] : [{ models, outputLimit, addresses }];
  });
}

/** As the column `inherited` of a key has it. */
export function inheritedText(inherited: readonly Restrictions[]): string | null {
  return inherited.length === 0 ? null : JSON.stringify(inherited);
}

function listText(list: readonly string[] | null): string | null {
  return list === null ? null : JSON.stringify(list);
}
