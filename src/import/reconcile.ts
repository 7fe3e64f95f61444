/** A provider's usage or cost export, held against the usage records by day and model. */

import type { AdminClient } from '../admin/client.ts';
import { AdminError } from '../admin/error.ts';
import type { UsageRowView } from '../admin/usage/schema.ts';
import { decimalCredits, parseCredits } from '../core/money.ts';
import { DAY_MS, isoDay } from '../core/time.ts';
import { parseCsv } from './csv-file.ts';
import { type Counted, EXPORT_FORMATS, type ExportFormat, MEASURES, readExport } from './provider-export.ts';

interface ReconcileOptions {
  /** The provider, as the usage records name it. */
  readonly provider: string;
  /** Whose export it is; by default the provider's name. */
  readonly format?: string | undefined;
  /** `THEIRS=OURS,…` for models whose names do not say that they are the same. */
  readonly models?: string | undefined;
  /** Differences up to so many percent are none. */
  readonly tolerance?: string | undefined;
  readonly usdPerCredit?: string | undefined;
}

interface Difference {
  readonly day: string;
  readonly model: string;
  readonly measure: keyof Counted;
  /** Of the provider, and of the gateway: whole numbers, or decimal dollars. */
  readonly theirs: string;
  readonly ours: string;
  readonly difference: string;
}

export interface Reconciliation {
  readonly object: 'reconciliation';
  readonly provider: string;
  readonly from: string;
  /** The last day that the file has. */
  readonly to: string;
  /** How many pairs of a day and a model were compared. */
  readonly compared: number;
  readonly measures: readonly (keyof Counted)[];
  /** false: usage records are still being added up; ask again later. */
  readonly complete: boolean;
  readonly differences: readonly Difference[];
}

export async function reconcile(
  api: AdminClient,
  name: string,
  bytes: Uint8Array,
  options: ReconcileOptions,
): Promise<Reconciliation> {
  const format = formatOf(options.format ?? options.provider);
  const renamed = namesIn(options.models);
  const tolerance = percentIn(options.tolerance);
  const usdPerCredit = usdIn(options.usdPerCredit);
  const theirs = readExport(format, await parseCsv(name, bytes));
  const days = theirs.map(({ day }) => day).sort();
  const [from, to] = [days[0], days.at(-1)];
  if (from === undefined || to === undefined) {
    throw new AdminError('invalid_input', `${name} has no usage: there is nothing to compare`);
  }
  const report = await api.call('usage', {
    query: { by: 'day,model', provider: options.provider, since: from, until: isoDay(Date.parse(to) + DAY_MS) },
  });
  const measures = MEASURES.filter((measure) => theirs.some(({ counted }) => counted[measure] !== undefined));
  const byModel = theirs.some(({ model }) => model !== '');
  const sums = new Map<string, Sums>();
  const sumsOf = (day: string, model: string): Sums => {
    const key = `${day} ${byModel ? comparableName(model, renamed) : ''}`;
    const known = sums.get(key) ?? { day, names: new Set<string>(), theirs: {}, ours: {} };
    if (model !== '') known.names.add(model);
    sums.set(key, known);
    return known;
  };
  for (const { day, model, counted } of theirs) add(sumsOf(day, model).theirs, counted);
  for (const row of report.data) add(sumsOf(row.day ?? '', row.model ?? '').ours, oursIn(row, usdPerCredit));
  const differences = [...sums.values()]
    .flatMap((each) => differencesOf(each, measures, tolerance))
    .sort((one, other) => compareTexts(one.day, other.day) || compareTexts(one.model, other.model));
  return {
    object: 'reconciliation',
    provider: options.provider,
    from,
    to,
    compared: sums.size,
    measures,
    complete: report.complete,
    differences,
  };
}

interface Sums {
  readonly day: string;
  readonly names: Set<string>;
  readonly theirs: { -readonly [measure in keyof Counted]: Counted[measure] };
  readonly ours: Sums['theirs'];
}

function add(sums: Sums['ours'], counted: Counted): void {
  for (const measure of MEASURES) {
    const more = counted[measure];
    if (more !== undefined) sums[measure] = (sums[measure] ?? 0n) + more;
  }
}

function differencesOf(
  { day, names, theirs, ours }: Sums,
  measures: readonly (keyof Counted)[],
  tolerance: bigint,
): readonly Difference[] {
  const model = [...names].sort().join(' = ');
  return measures.flatMap((measure) => {
    const [their, our] = [theirs[measure] ?? 0n, ours[measure] ?? 0n];
    const difference = our - their;
    const [distance, size] = [difference < 0n ? -difference : difference, their > our ? their : our];
    // In parts of a hundred thousand of the larger one.
    if (distance * 100_000n <= size * tolerance) return [];
    const text = (value: bigint): string => (measure === 'cost' ? decimalCredits(value) : String(value));
    return [{ day, model, measure, theirs: text(their), ours: text(our), difference: text(difference) }];
  });
}

function oursIn(row: UsageRowView, usdPerCredit: bigint): Counted {
  const cacheWrites = row.cache_write_tokens + row.cache_write_1h_tokens;
  return {
    requests: BigInt(row.requests + row.cancelled),
    input_tokens: BigInt(row.input_tokens + row.cache_read_tokens + cacheWrites),
    cache_read_tokens: BigInt(row.cache_read_tokens),
    cache_write_tokens: BigInt(cacheWrites),
    output_tokens: BigInt(row.output_tokens),
    cost: (parseCredits((row.provider_cost ?? 0).toFixed(9)) * usdPerCredit) / 1_000_000_000n,
  };
}

/** Without the provider before it and the date behind it, and however it is written: `Claude Sonnet 4.5`. */
function comparableName(model: string, renamed: ReadonlyMap<string, string>): string {
  const given = renamed.get(model) ?? model;
  const own = given.slice(given.lastIndexOf('/') + 1);
  return own
    .toLowerCase()
    .replaceAll(/[\s._:@]+/g, '-')
    .replace(/-(\d{8}|\d{4}-\d{2}-\d{2})(-.*)?$/, '');
}

function compareTexts(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}

function formatOf(name: string): ExportFormat {
  const found = EXPORT_FORMATS.find((format) => name.toLowerCase() === format);
  if (found !== undefined) return found;
  throw new AdminError(
    'invalid_input',
    `the export of ${JSON.stringify(name)} is not known: say with --export whose it is, ${EXPORT_FORMATS.join(' or ')}`,
  );
}

function namesIn(text: string | undefined): ReadonlyMap<string, string> {
  const pairs = (text ?? '').split(',').filter((pair) => pair !== '');
  return new Map(
    pairs.map((pair) => {
      const [theirs = '', ours = '', ...more] = pair.split('=').map((each) => each.trim());
      if (theirs === '' || ours === '' || more.length > 0) {
        throw new AdminError(
          'invalid_input',
          `models has ${JSON.stringify(pair)}: expected THEIRS=OURS, separated by commas`,
          {
            field: 'models',
          },
        );
      }
      return [theirs, ours];
    }),
  );
}

/** In parts of a hundred thousand. */
function percentIn(text: string | undefined): bigint {
  if (text === undefined) return 0n;
  const [, units = '', decimals = ''] = /^(\d{1,3})(?:\.(\d{1,3}))?%?$/.exec(text) ?? [];
  if (units === '')
    throw new AdminError('invalid_input', `--tolerance is ${JSON.stringify(text)}: expected percent, like 0.5`);
  return BigInt(units) * 1_000n + BigInt(decimals.padEnd(3, '0'));
}

function usdIn(text: string | undefined): bigint {
  try {
    return parseCredits(text ?? '1');
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new AdminError('invalid_input', `--usd-per-credit is ${JSON.stringify(text)}: expected an amount, like 0.01`);
  }
}
