/** The providers and models of a config file that is well-formed, checked against each other. */
import type { Model, Target } from '../core/model.ts';
import type { Network, Provider, ProviderFactory } from '../core/provider.ts';
import { joinPath } from '../lib/schema-errors.ts';
import { assembleModel, assembleProvider, baseUrlOf, kindOf } from './assemble.ts';
import { CONFIGURED, commonOutputLimit, type FactsContext, factsOf, type TargetFacts, UNKNOWN } from './facts.ts';
import { KINDS, knownHostNamed } from './kinds.ts';
import { contradictedDefaults, unpricedDefault } from './model-defaults.ts';
import { type ExpandedModel, expandModels } from './model-patterns.ts';
import { didYouMean } from './nearest-name.ts';
import { priceTimeMs } from './price-changes.ts';
import { priceModifiers } from './price-modifiers.ts';
import type { UsdModifiers } from './pricing.ts';
import type { Problem } from './problem.ts';
import type { FileConfig, FileModel, FileProvider, FileTarget } from './schema.ts';

/** The scope `all` means every provider, so no provider may have that name. */
const RESERVED_NAME = 'all';
/** Names of providers that a message lists. */
const PROVIDERS_TOLD = 10;
/** Set by the connection itself. */
const OWN_HEADERS: ReadonlySet<string> = new Set([
  'host',
  'connection',
  'content-length',
  'content-type',
  'transfer-encoding',
  'upgrade',
  'te',
  'trailer',
  'expect',
  'accept-encoding',
]);

/** What clients can ask for, and where it is served. */
export interface CatalogEntries {
  readonly providers: readonly Provider[];
  readonly models: readonly Model[];
}

interface ModelOptions extends FactsContext {
  readonly usdPerCredit: number;
  readonly weighted: boolean;
  /** Whether a model without a name for people has the published one. */
  readonly publishedNames?: boolean;
}

export interface CatalogOptions extends ModelOptions {
  /** By provider, for those that are called through a package. */
  readonly factories: ReadonlyMap<string, ProviderFactory>;
  /** How each provider of the file is reached. */
  readonly networks: ReadonlyMap<string, Network>;
  /** Providers that models may be served by, although they are defined elsewhere: by this file, or by the environment. */
  readonly beside?: { readonly file: FileConfig; readonly providers: readonly Provider[] };
}

export function buildCatalog(file: FileConfig, options: CatalogOptions, problems: Problem[]): CatalogEntries {
  const own = new Map<string, Provider>();
  for (const [name, provider] of Object.entries(file.providers ?? {})) {
    const found = providerProblems(name, provider);
    problems.push(...found);
    if (found.length > 0) continue;
    const { factories, networks } = options;
    own.set(name, assembleProvider(name, provider, factories.get(name), networks.get(name)));
  }
  const { file: other = {}, providers: others = [] } = options.beside ?? {};
  const providers = new Map([...others.map((provider) => [provider.name, provider] as const), ...own]);
  const written = { ...file, providers: { ...other.providers, ...file.providers } };
  const declared = new Set([...Object.keys(file.providers ?? {}), ...others.map(({ name }) => name)]);
  const models: Model[] = [];
  problems.push(...unknownProviders(file.models ?? [], declared, options.beside !== undefined));
  for (const { path, model, origin } of expandModels(file.models ?? [], providers, options, problems)) {
    const found = modelProblems(path, model, providers);
    if (found.length > 0) problems.push(...found);
    // A model of a refused or unknown provider is checked once that provider is corrected.
    else if (targetsOf(model).every((target) => providers.has(target.provider))) {
      const built = buildModel({ path, model, origin }, written, providers, options);
      if ('message' in built) {
        problems.push(built);
        continue;
      }
      const unpriced = unpricedDefault(path, built, providers);
      if (unpriced === null) models.push(built);
      else problems.push(unpriced);
    }
  }
  return { providers: [...own.values()], models };
}

function providerProblems(name: string, provider: FileProvider): Problem[] {
  const path = joinPath('providers', name);
  const problems: Problem[] = [];
  const refuse = (key: string, message: string) =>
    problems.push({ path: key === '' ? path : joinPath(path, key), message });
  if (name === RESERVED_NAME) refuse('', `\`${RESERVED_NAME}\` is reserved: in scopes it means every provider`);
  const kind = kindOf(name, provider);
  if (kind === undefined) {
    refuse('', `the key \`kind\` is missing: expected one of ${Object.keys(KINDS).join(', ')}`);
    return problems;
  }
  const row = KINDS[kind];
  const baseUrl = baseUrlOf(name, kind, provider);
  if (baseUrl === undefined) refuse('', `the key \`base_url\` is missing: kind ${kind} has no default address`);
  else if (baseUrl !== '') problems.push(...addressProblems(joinPath(path, 'base_url'), baseUrl, row.addedPaths));
  if (provider.api_key !== undefined && provider.api_keys !== undefined) {
    refuse('api_keys', 'cannot be combined with api_key: give one of the two');
  }
  for (const format of provider.formats ?? []) {
    if (!row.formats.includes(format)) {
      refuse('formats', `kind ${kind} does not support ${format}: expected one of ${row.formats.join(', ')}`);
    }
  }
  for (const header of Object.keys(provider.headers ?? {})) {
    if (OWN_HEADERS.has(header.toLowerCase())) refuse('headers', `\`${header}\` is set by the gateway itself`);
  }
  const countable = kind !== 'ai-sdk' && (provider.formats ?? row.assumedFormats).some((format) => format !== 'chat');
  if (provider.count_tokens === true && !countable) {
    refuse('count_tokens', 'must be false: only providers with the messages or responses format count tokens');
  }
  if (provider.api_version !== undefined && kind !== 'azure') refuse('api_version', 'belongs to kind azure only');
  for (const key of ['package', 'factory', 'options', 'call_options'] as const) {
    if (provider[key] !== undefined && kind !== 'ai-sdk') refuse(key, 'belongs to kind ai-sdk only');
  }
  if (kind === 'ai-sdk' && provider.package === undefined) {
    refuse('', 'the key `package` is missing: the provider package to use, e.g. @ai-sdk/google');
  }
  return problems;
}

function addressProblems(path: string, baseUrl: string, addedPaths: readonly string[]): Problem[] {
  if (!URL.canParse(baseUrl) || !/^https?:/.test(baseUrl)) {
    return [{ path, message: 'must be an address that begins with http:// or https://' }];
  }
  const url = new URL(baseUrl);
  if (url.username !== '' || url.password !== '') {
    return [{ path, message: 'must not contain a user or password: use api_key or headers' }];
  }
  const added = addedPaths.filter((added) => url.pathname.endsWith(added)).at(-1);
  return added === undefined ? [] : [{ path, message: `must end before ${added}, which the gateway adds` }];
}

/**
 * Models as they are written, before patterns and aliases make many of them. The same name is told of once, or at each
 * definition of an operator, which stands for itself.
 */
function unknownProviders(models: readonly FileModel[], declared: ReadonlySet<string>, byApi: boolean): Problem[] {
  const told = new Set(declared);
  return models.flatMap((model, index) =>
    targetsOf(model).flatMap(({ provider }, position) => {
      if (told.has(provider)) return [];
      if (!byApi) told.add(provider);
      const path = joinPath('models', index);
      const at = model.targets === undefined ? path : joinPath(joinPath(path, 'targets'), position);
      return [{ path: joinPath(at, 'provider'), message: unknownProvider(provider, declared, byApi) }];
    }),
  );
}

function unknownProvider(name: string, declared: ReadonlySet<string>, byApi: boolean): string {
  const unknown = `unknown provider \`${name}\``;
  const meant = didYouMean(name, declared);
  if (meant !== '') return `${unknown}${meant}`;
  const names = [...declared].slice(0, PROVIDERS_TOLD).join(', ') + (declared.size > PROVIDERS_TOLD ? ', …' : '');
  if (byApi) {
    return `${unknown}: ${names === '' ? '' : `expected one of ${names}, or `}add it first: gateway providers add ${name}`;
  }
  const variable = knownHostNamed(name)?.variable;
  const row = variable === undefined ? '{ kind: …, base_url: … }' : `{ api_key: "\${${variable}}" }`;
  return `${unknown}: the file defines ${names || 'none'}. Add \`${name}: ${row}\` to its \`providers\``;
}

function modelProblems(path: string, model: FileModel, providers: ReadonlyMap<string, Provider>): Problem[] {
  if (model.targets === undefined && model.provider === undefined) {
    return [{ path, message: 'the key `provider` is missing (or `targets`, each with its provider)' }];
  }
  const problems: Problem[] = [];
  const targets = targetsOf(model);
  for (const [index, target] of targets.entries()) {
    const at = model.targets === undefined ? path : joinPath(joinPath(path, 'targets'), index);
    const provider = providers.get(target.provider);
    if (provider !== undefined && target.format !== undefined && !provider.formats.includes(target.format)) {
      problems.push({
        path: joinPath(at, 'format'),
        message: `must be one of ${provider.formats.join(', ')}, the formats of ${provider.name} (its \`formats\` can add more)`,
      });
    }
  }
  if (model.provider !== undefined && !targets.some((target) => target.provider === model.provider)) {
    const allowed = [...new Set(targets.map((target) => target.provider))].join(', ');
    problems.push({ path: joinPath(path, 'provider'), message: `must be the provider of a target: ${allowed}` });
  }
  problems.push(...tierProblems(joinPath(path, 'pricing'), model.pricing));
  return [...problems, ...priceChangeProblems(path, model), ...contradictedDefaults(path, model)];
}

function tierProblems(path: string, pricing: FileModel['pricing']): Problem[] {
  const starts = (pricing?.tiers ?? []).map((tier) => tier.from_input_tokens);
  if (new Set(starts).size === starts.length) return [];
  return [{ path: joinPath(path, 'tiers'), message: 'must not repeat from_input_tokens' }];
}

function priceChangeProblems(path: string, { prices = [] }: FileModel): Problem[] {
  const seen = new Set<number>();
  return prices.flatMap(({ from, pricing }, index) => {
    const at = joinPath(joinPath(path, 'prices'), index);
    const fromMs = priceTimeMs(from);
    const repeated = fromMs !== null && seen.has(fromMs);
    if (fromMs !== null) seen.add(fromMs);
    const message = fromMs === null ? 'is no day or time that there is' : 'is the time of another change of this model';
    const ofTime = fromMs === null || repeated ? [{ path: joinPath(at, 'from'), message }] : [];
    return [...ofTime, ...tierProblems(joinPath(at, 'pricing'), pricing)];
  });
}

/** A model that names only its provider has one target there. */
function targetsOf(model: FileModel): readonly FileTarget[] {
  return model.targets ?? (model.provider === undefined ? [] : [{ provider: model.provider }]);
}

export function buildModel(
  { path, model, origin }: ExpandedModel,
  file: FileConfig,
  providers: ReadonlyMap<string, Provider>,
  options: ModelOptions,
): Model | Problem {
  const listed = targetsOf(model);
  const provider = model.provider ?? listed[0]?.provider ?? '';
  const facts = targetFacts(model, listed, provider, providers, options);
  const published = facts.find(({ pricing }) => pricing !== null)?.pricing;
  const usd = model.pricing ?? published?.value;
  if (usd === undefined) {
    return {
      path: joinPath(path, 'pricing'),
      message:
        'is missing and no published price is known: give input and output in USD per million tokens (0 and 0 for free)',
    };
  }
  const window = facts.find(({ contextWindow }) => contextWindow !== null)?.contextWindow;
  const contextWindow = model.context_window ?? window?.value ?? null;
  const limit = commonOutputLimit(facts, contextWindow);
  const modifiers: Record<string, UsdModifiers> = {};
  for (const { provider: name, upstreamModel, priceBook, hostedTools: bookTools } of facts) {
    const ofProvider = file.providers?.[name];
    const found = priceModifiers({ priceBook, upstreamModel, bookTools, provider: ofProvider, model });
    const [type] = found.unpriced;
    if (type !== undefined) {
      const at = model.hosted_tools?.[type] === undefined ? joinPath('providers', name) : path;
      return {
        path: joinPath(joinPath(at, 'hosted_tools'), type),
        message: 'the key `per_1000_calls` is missing and no published price is known: give USD per thousand calls',
      };
    }
    modifiers[name] = found.modifiers;
  }
  const displayName = options.publishedNames === true ? facts[0]?.displayName : undefined;
  return assembleModel({
    id: model.id,
    provider,
    targets: expandTargets(model, listed, providers, options.weighted),
    usd,
    usdPerCredit: options.usdPerCredit,
    modifiers,
    markup: model.markup ?? file.providers?.[provider]?.markup,
    contextWindow,
    maxOutputTokens: model.max_output_tokens ?? limit.value,
    sources: {
      pricing: model.pricing === undefined ? (published?.source ?? UNKNOWN) : CONFIGURED,
      contextWindow: model.context_window === undefined ? (window?.source ?? UNKNOWN) : CONFIGURED,
      maxOutputTokens: model.max_output_tokens === undefined ? limit.source : CONFIGURED,
    },
    file: displayName === undefined ? model : { display_name: displayName, ...model },
    origin,
    nowMs: options.now.getTime(),
  });
}

/** What is known of the targets: those of the model's own provider first. */
function targetFacts(
  model: FileModel,
  listed: readonly FileTarget[],
  own: string,
  providers: ReadonlyMap<string, Provider>,
  context: FactsContext,
): (TargetFacts & { readonly provider: string; readonly upstreamModel: string })[] {
  const ordered = [
    ...listed.filter((target) => target.provider === own),
    ...listed.filter((target) => target.provider !== own),
  ];
  return ordered.flatMap((target) => {
    const provider = providers.get(target.provider);
    if (provider === undefined) return [];
    const upstreamModel = target.model ?? model.id;
    return [{ ...factsOf(provider, upstreamModel, context), provider: provider.name, upstreamModel }];
  });
}

/**
 * One target per format where none is named. Among weighted models, one that states no weight keeps its order: all
 * weight is with its first provider, and the others come after it.
 */
function expandTargets(
  model: FileModel,
  listed: readonly FileTarget[],
  providers: ReadonlyMap<string, Provider>,
  weighted: boolean,
): Target[] {
  const stated = listed.some((target) => target.weight !== undefined);
  return listed.flatMap((target, index) => {
    const weight = target.weight ?? (weighted && !stated && index > 0 ? 0 : 1);
    const formats = target.format === undefined ? (providers.get(target.provider)?.formats ?? []) : [target.format];
    return formats.map((format) => ({
      provider: target.provider,
      upstreamModel: target.model ?? model.id,
      format,
      weight,
    }));
  });
}
