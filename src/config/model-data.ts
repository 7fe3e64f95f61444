/** Limits and prices that ship with the gateway: written by `npm run model-data`, read when the first one is looked up. */
import { createRequire } from 'node:module';
import type { Source } from '../core/model.ts';
import type { UsdPricing } from './pricing.ts';

interface DataSource {
  readonly package: string;
  readonly version: string;
  readonly date: string;
}

interface DataRow {
  readonly source: number;
  readonly window?: number;
  readonly output?: number;
  readonly usd?: UsdPricing;
}

interface ModelData {
  readonly sources: readonly DataSource[];
  readonly priceBook: DataSource;
  /** The provider that an address belongs to. */
  readonly hosts: Readonly<Record<string, string>>;
  readonly providers: Readonly<Record<string, Readonly<Record<string, DataRow>>>>;
}

interface ShippedModel {
  readonly contextWindow: number | null;
  readonly maxOutputTokens: number | null;
  readonly pricing: UsdPricing | null;
  readonly source: Source;
}

let read: ModelData | null = null;

function data(): ModelData {
  read ??= createRequire(import.meta.url)('./model-data.json') as ModelData;
  return read;
}

/** The provider of the data that an address belongs to, else the one of this name; undefined where there is neither. */
export function dataProviderFor(baseUrl: string, name: string): string | undefined {
  const host = URL.canParse(baseUrl) ? new URL(baseUrl).host : '';
  const { hosts, providers } = data();
  return hosts[host] ?? (Object.hasOwn(providers, name) ? name : undefined);
}

/** What the data says of exactly this upstream model. */
export function shippedModel(provider: string, upstreamModel: string): ShippedModel | null {
  const row = own(data().providers[provider], upstreamModel);
  return row === undefined ? null : shipped(row);
}

/**
 * The limits of this upstream model, by its own name or by one that differs only in how it is dated or dressed
 * (`-latest`, a release date, a region, a variant). Where several are alike, the smallest limits: every one accepts them.
 */
export function shippedLimits(provider: string, upstreamModel: string): ShippedModel | null {
  const exact = shippedModel(provider, upstreamModel);
  if (exact !== null) return exact;
  return alike(provider).get(plainName(upstreamModel)) ?? null;
}

/** The upstream names of all models of a provider that have a price. */
export function shippedPricedModels(provider: string): readonly string[] {
  return Object.entries(data().providers[provider] ?? {}).flatMap(([name, { usd }]) =>
    usd === undefined ? [] : [name],
  );
}

/** Where the prices and windows of the price book come from. */
export function priceBookSource(): Source {
  return sourceOf(data().priceBook);
}

/** The packages behind the data, for reports. */
export function dataSources(): readonly DataSource[] {
  const { sources, priceBook } = data();
  return [priceBook, ...sources];
}

const ALIKE = new Map<string, Map<string, ShippedModel>>();

function alike(provider: string): ReadonlyMap<string, ShippedModel> {
  let models = ALIKE.get(provider);
  if (models === undefined) {
    models = new Map();
    for (const [id, row] of Object.entries(data().providers[provider] ?? {})) {
      const name = plainName(id);
      const model = shipped(row);
      const other = models.get(name);
      models.set(name, other === undefined ? model : smaller(other, model));
    }
    ALIKE.set(provider, models);
  }
  return models;
}

function smaller(one: ShippedModel, other: ShippedModel): ShippedModel {
  const least = (a: number | null, b: number | null) => (a === null || b === null ? (a ?? b) : Math.min(a, b));
  return {
    ...one,
    contextWindow: least(one.contextWindow, other.contextWindow),
    maxOutputTokens: least(one.maxOutputTokens, other.maxOutputTokens),
  };
}

/** A name without what providers add to it: region, release date, revision, variant. */
export function plainName(upstreamModel: string): string {
  return upstreamModel
    .toLowerCase()
    .replace(/^(?:us|eu|apac|jp|au|ca|global|regional)\.(?=[a-z0-9-]+\.)/, '')
    .replace(/(?:@.*|:(?:free|nitro|floor|online|exacto|extended|thinking|beta))$/, '')
    .replace(/-v\d+(?::\d+)?$/, '')
    .replace(/-(?:latest|preview)$/, '')
    .replace(/-(?:\d{8}|\d{4}-\d{2}-\d{2}|\d{2}-\d{2}|\d{4})$/, '')
    .replace(/(\d)\.(?=\d)/g, '$1-')
    .replace(/(claude-[a-z]+-\d)-0$/, '$1');
}

function shipped(row: DataRow): ShippedModel {
  const { sources } = data();
  const source = sources[row.source];
  if (source === undefined) throw new Error(`the model data has no source ${row.source}`);
  return {
    contextWindow: row.window ?? null,
    maxOutputTokens: row.output ?? null,
    pricing: row.usd ?? null,
    source: sourceOf(source),
  };
}

function sourceOf({ package: name, version, date }: DataSource): Source {
  return { kind: 'published', name: `${name} ${version}`, date };
}

function own(rows: Readonly<Record<string, DataRow>> | undefined, id: string): DataRow | undefined {
  return rows !== undefined && Object.hasOwn(rows, id) ? rows[id] : undefined;
}
