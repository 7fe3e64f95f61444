/**
 * Limits of keys and of accounts, as the API takes and gives them and as the ledger has them. Those of an account are for all
 * keys below it together.
 */

import { isAddressRange } from '../../core/address-list.ts';
import { matchesModel } from '../../core/model-pattern.ts';
import type { OtherLimits } from '../../ledger/port.ts';
import { OWN_ENTRY_PREFIX } from '../../ledger/port.ts';
import { Type } from '../../lib/schema-builder.ts';
import { invalid, unexpected } from '../http/validate.ts';
import type { View } from '../http/view.ts';

const TEXT_MAX = 200;
const MODELS_MAX = 1_000;
const ADDRESSES_MAX = 200;
const RPM_MAX = 1_000_000;
const TPM_MAX = 1_000_000_000_000;
const PARALLEL_MAX = 1_000_000;
const RUNS_MAX = 1_000_000;
const OUTPUT_MAX = 1_000_000_000;

export const Digits = Type.String({ pattern: '^[0-9]{1,16}$' });
/** Shown in terminals and logs: no control characters, no line breaks. */
export const OneLine = Type.String({
  pattern: `^[^\\p{Cc}\\p{Zl}\\p{Zp}]{1,${TEXT_MAX}}$`,
  expected: `one line of 1 to ${TEXT_MAX} characters`,
});

/** Of an entry: sent again with the same id, it is booked once. */
export const EntryId = Type.String({
  pattern: `^(?!${OWN_ENTRY_PREFIX})[^\\p{Cc}\\p{Zl}\\p{Zp}]{1,${TEXT_MAX}}$`,
  expected: `one line of 1 to ${TEXT_MAX} characters that does not begin with "${OWN_ENTRY_PREFIX}", as the ids of the gateway itself do`,
});

const limit = (maximum: number, description: string) =>
  Type.Optional(
    Type.Union([Type.Integer({ minimum: 1, maximum }), Digits, Type.Literal('none'), Type.Null()], {
      expected: `a whole number from 1 to ${maximum}, or "none"`,
      description,
    }),
  );

export const limitSettings = {
  rpm_limit: limit(RPM_MAX, 'Requests per minute.'),
  tpm_limit: limit(TPM_MAX, 'Tokens per minute: input when a request is admitted, output when it ends.'),
  parallel_limit: limit(PARALLEL_MAX, 'Requests at a time.'),
  runs_limit: limit(RUNS_MAX, 'Background responses at a time.'),
  output_limit: limit(OUTPUT_MAX, 'The most tokens of output of one request, as if the model had no more.'),
  models: Type.Optional(
    Type.Union([Type.Array(OneLine, { minItems: 1, maxItems: MODELS_MAX }), Type.Literal('all'), Type.Null()], {
      expected: `a list of 1 to ${MODELS_MAX} model ids or patterns like "openai/*", none of them empty, or "all"`,
      description: 'Ids, or patterns in which * stands for any characters. "all" and null: every model.',
    }),
  ),
  addresses: Type.Optional(
    Type.Union([Type.Array(OneLine, { minItems: 1, maxItems: ADDRESSES_MAX }), Type.Literal('any'), Type.Null()], {
      expected: `a list of 1 to ${ADDRESSES_MAX} IP addresses or ranges like "10.0.0.0/8", or "any"`,
      description: 'Where requests may come from: IPv4 or IPv6 addresses, or ranges in CIDR notation.',
    }),
  ),
};

const LimitsBody = Type.Object(limitSettings);
type LimitsInput = View<typeof LimitsBody>;
type CountField = 'rpm_limit' | 'tpm_limit' | 'parallel_limit' | 'runs_limit' | 'output_limit';

const LIMIT_MAXIMA: Readonly<Record<CountField, number>> = {
  rpm_limit: RPM_MAX,
  tpm_limit: TPM_MAX,
  parallel_limit: PARALLEL_MAX,
  runs_limit: RUNS_MAX,
  output_limit: OUTPUT_MAX,
};

const count = Type.Union([Type.Integer(), Type.Null()]);
const list = Type.Union([Type.Array(Type.String()), Type.Null()]);

export const limitFields = {
  rpm_limit: count,
  tpm_limit: count,
  parallel_limit: count,
  runs_limit: count,
  output_limit: count,
  models: list,
  addresses: list,
};

const LimitsFields = Type.Object(limitFields);
type LimitsView = View<typeof LimitsFields>;

type Limits = { readonly rpmLimit: number | null } & OtherLimits;

/** Those that are given. */
export function readLimits(body: LimitsInput): Partial<Limits> {
  const { rpm_limit, tpm_limit, parallel_limit, runs_limit, output_limit, models, addresses } = body;
  return {
    ...(rpm_limit !== undefined && { rpmLimit: readCount('rpm_limit', rpm_limit) }),
    ...(tpm_limit !== undefined && { tpmLimit: readCount('tpm_limit', tpm_limit) }),
    ...(parallel_limit !== undefined && { parallelLimit: readCount('parallel_limit', parallel_limit) }),
    ...(runs_limit !== undefined && { runsLimit: readCount('runs_limit', runs_limit) }),
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
    runs_limit: limits.runsLimit,
    output_limit: limits.outputLimit,
    models: limits.models,
    addresses: limits.addresses,
  };
}
