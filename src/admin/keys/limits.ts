/** Limits of keys and of accounts: from what an operator sent, and back. */
import { isAddressRange } from '../../core/address-list.ts';
import { matchesModel } from '../../core/model-pattern.ts';
import type { OtherLimits } from '../../ledger/port.ts';
import { invalid, unexpected } from '../http/validate.ts';
import { type CountField, LIMIT_MAXIMA, LimitsBody, type LimitsInput, type LimitsView } from './limits-schema.ts';

type Limits = { readonly rpmLimit: number | null } & OtherLimits;

/** Those that are given. */
export function readLimits(body: LimitsInput): Partial<Limits> {
  const { rpm_limit, tpm_limit, parallel_limit, output_limit, models, addresses } = body;
  return {
    ...(rpm_limit !== undefined && { rpmLimit: readCount('rpm_limit', rpm_limit) }),
    ...(tpm_limit !== undefined && { tpmLimit: readCount('tpm_limit', tpm_limit) }),
    ...(parallel_limit !== undefined && { parallelLimit: readCount('parallel_limit', parallel_limit) }),
    ...(output_limit !== undefined && { outputLimit: readCount('output_limit', output_limit) }),
    ...(models !== undefined && { models: models === 'all' ? null : readList('models', models) }),
    ...(addresses !== undefined && { addresses: addresses === 'any' ? null : readAddresses(addresses) }),
  };
}

/** A model, or a pattern that matches one; everything is accepted where no gateway is running. */
export function requireKnownModels(
  known: { readonly models: readonly string[] } | undefined,
  models: readonly string[] | null,
): void {
  if (known === undefined) return;
  const unknown = models?.find((entry) => !known.models.some((id) => entry === id || matchesModel(entry, id)));
  if (unknown === undefined) return;
  const isPattern = unknown.includes('*');
  throw invalid(
    'models',
    `has ${JSON.stringify(unknown)}, which ${isPattern ? 'matches no' : 'is not a'} model of this gateway: expected ${isPattern ? 'ids or patterns of' : 'one of'} ${known.models.join(', ')}`,
  );
}

function readCount(field: CountField, value: LimitsInput[CountField] & unknown): number | null {
  if (value === null || value === 'none') return null;
  const count = Number(value);
  if (count < 1 || count > LIMIT_MAXIMA[field]) throw unexpected(LimitsBody, field, value);
  return count;
}

function readList(field: 'models' | 'addresses', value: readonly string[] | null): readonly string[] | null {
  if (value === null) return null;
  const items = value.map((item) => item.trim().toWellFormed());
  if (items.includes('')) throw unexpected(LimitsBody, field, value);
  return [...new Set(items)];
}

function readAddresses(value: readonly string[] | null): readonly string[] | null {
  const ranges = readList('addresses', value);
  const wrong = ranges?.find((range) => !isAddressRange(range));
  if (wrong === undefined) return ranges;
  throw invalid(
    'addresses',
    `has ${JSON.stringify(wrong)}, which is no IPv4 or IPv6 address and no range like "10.0.0.0/8" or "2001:db8::/32"`,
  );
}

export function limitsView(limits: Limits): LimitsView {
  return {
    rpm_limit: limits.rpmLimit,
    tpm_limit: limits.tpmLimit,
    parallel_limit: limits.parallelLimit,
    output_limit: limits.outputLimit,
    models: limits.models,
    addresses: limits.addresses,
  };
}
