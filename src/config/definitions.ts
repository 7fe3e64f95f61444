/**
 * Adds what operators have defined by API to what the file, or the environment, has. It has the shape of the config file and
 * goes through the same checks; the file wins, and what cannot be used is left out and says why, so that it never keeps a
 * gateway from starting.
 */
import type { DefinitionState, StoredDefinition } from '../core/definition.ts';
import type { Model, ModelPrices, Source } from '../core/model.ts';
import type { ProvidersByApi } from '../core/policy.ts';
import type { Network, Provider } from '../core/provider.ts';
import { isPublic, literalAddress } from '../core/public-address.ts';
import { joinPath } from '../lib/schema-errors.ts';
import { baseUrlOf, kindOf } from './assemble.ts';
import { buildCatalog, type CatalogEntries, type CatalogOptions } from './catalog.ts';
import { expandReferences, referencesIn } from './expand.ts';
import { loadNetworks } from './network.ts';
import type { Problem } from './problem.ts';
import type { FileConfig, FileModel, FileProvider } from './schema.ts';
import type { Environment, Secrets } from './secrets.ts';

interface DefinitionsContext {
  readonly file: FileConfig;
  /** What the file or the environment has. */
  readonly found: CatalogEntries;
  /** Names that no stored definition may take: all of the file, and the sandbox's. */
  isTaken(definition: StoredDefinition): boolean;
  readonly allowed: ProvidersByApi;
  readonly env: Environment;
  readonly secrets: Secrets;
  /** Gets the files that were named: what they hold may change. */
  readonly files: string[];
  readonly catalog: Omit<CatalogOptions, 'factories' | 'networks' | 'beside'>;
}

interface AddedDefinitions {
  readonly entries: CatalogEntries;
  readonly states: readonly DefinitionState[];
}

const BY_OPERATORS: Source = { kind: 'configured', name: 'an operator', date: null };

/** What the gateway runs, or reads from its machine, by the word of the file alone. */
const OF_FILE_ONLY = ['package', 'factory', 'options', 'call_options', 'proxy'] as const;
const PEM_FIELDS = ['ca', 'client_cert', 'client_key'] as const;

export async function addDefinitions(
  stored: readonly StoredDefinition[],
  context: DefinitionsContext,
): Promise<AddedDefinitions> {
  const states = new Map<StoredDefinition, Pick<DefinitionState, 'state' | 'problem'>>();
  const refuse = (of: StoredDefinition, problem: string): void => void states.set(of, { state: 'refused', problem });
  const { checkShape } = stored.length === 0 ? { checkShape: null } : await import('./file.ts');
  const shaped = new Map<StoredDefinition, FileConfig>();
  for (const one of stored) {
    if (context.isTaken(one)) {
      const problem = 'the config file, or the sandbox, has this name: that one counts';
      states.set(one, { state: 'shadowed', problem });
      continue;
    }
    if (one.definition === null || checkShape === null) {
      refuse(one, 'it was sealed with another secret: define it anew');
      continue;
    }
    const own = await expanded(one, one.definition, context);
    const checked = 'problems' in own ? own : checkShape(own.content);
    if ('file' in checked) shaped.set(one, checked.file);
    else refuse(one, linesOf(checked.problems));
  }
  const networks = await networksOf(shaped, context, refuse);
  const { providers, models } = build(shaped, networks, context, refuse);
  return {
    entries: { providers, models: models.map(statedByOperators) },
    states: stored.map((one) => {
      const { kind, name } = one;
      return { kind, name, ...(states.get(one) ?? { state: 'in_use', problem: null }) };
    }),
  };
}

/** The figures that the file would have stated. */
function statedByOperators(model: Model): Model {
  const of = <Prices extends Pick<ModelPrices, 'sources'>>(prices: Prices): Prices => ({
    ...prices,
    sources: {
      pricing: byOperators(prices.sources.pricing),
      contextWindow: byOperators(prices.sources.contextWindow),
      maxOutputTokens: byOperators(prices.sources.maxOutputTokens),
    },
  });
  return { ...of(model), priceChanges: model.priceChanges.map(of) };
}

function byOperators(source: Source): Source {
  return source.kind === 'configured' ? BY_OPERATORS : source;
}

/** As a config file of its own, with its references expanded. */
async function expanded(
  { kind, name }: StoredDefinition,
  definition: Readonly<Record<string, unknown>>,
  { allowed, secrets }: DefinitionsContext,
): Promise<{ readonly content: object } | { readonly problems: readonly Problem[] }> {
  const foreign = referencesIn(definition).find((reference) => !allowed.references.includes(reference));
  if (foreign !== undefined) {
    const message = `the reference \${${foreign}} is not allowed: the config file lists those that are, under providers_by_api.references`;
    return { problems: [{ path: '', message }] };
  }
  const content =
    kind === 'provider' ? { providers: { [name]: definition } } : { models: [{ ...definition, id: name }] };
  const { value, problems } = await expandReferences(content, secrets);
  return problems.length > 0 ? { problems } : { content: Object(value) };
}

/** How each provider is reached; those that ask for what only the file may say are refused. */
async function networksOf(
  shaped: Map<StoredDefinition, FileConfig>,
  { allowed, env, files }: DefinitionsContext,
  refuse: (of: StoredDefinition, problem: string) => void,
): Promise<ReadonlyMap<string, Network>> {
  const networks = new Map<string, Network>();
  for (const [one, file] of shaped) {
    const provider = file.providers?.[one.name];
    if (provider === undefined) continue;
    const problems = ofFileOnly(one.name, provider, allowed);
    const network = problems.length > 0 ? undefined : (await loadNetworks(file, env, files, problems)).get(one.name);
    if (network === undefined || problems.length > 0) {
      refuse(one, linesOf(problems));
      shaped.delete(one);
    } else networks.set(one.name, { ...network, publicOnly: !allowed.allowPrivate });
  }
  return networks;
}

function ofFileOnly(name: string, provider: FileProvider, { allowPrivate, references }: ProvidersByApi): Problem[] {
  const path = joinPath('providers', name);
  const problems: Problem[] = [];
  const kind = kindOf(name, provider);
  if (kind === 'ai-sdk') {
    problems.push({
      path: joinPath(path, 'kind'),
      message: 'ai-sdk runs a package in the gateway: only the config file can have it',
    });
  }
  for (const key of OF_FILE_ONLY) {
    if (provider[key] !== undefined && provider[key] !== 'none') {
      problems.push({ path: joinPath(path, key), message: 'can be given by the config file only' });
    }
  }
  for (const key of PEM_FIELDS) {
    const file = provider[key];
    if (file !== undefined && !references.includes(`file:${file}`)) {
      const message = `the file ${file} is not allowed: the config file lists those that are, under providers_by_api.references (file:${file})`;
      problems.push({ path: joinPath(path, key), message });
    }
  }
  const baseUrl = kind && baseUrlOf(name, kind, provider);
  if (!allowPrivate && baseUrl !== undefined && URL.canParse(baseUrl) && leadsInside(new URL(baseUrl))) {
    problems.push({ path: joinPath(path, 'base_url'), message: NOT_PUBLIC });
  }
  return problems;
}

export const NOT_PUBLIC =
  'must lead to a public address: the config file allows others with providers_by_api: { allow_private: true }';

/** By the address alone; what a name leads to is judged when a connection is made. */
function leadsInside({ hostname }: URL): boolean {
  const bare = hostname.replace(/\.$/, '');
  const literal = literalAddress(bare);
  return literal === null ? /(^|\.)localhost$/i.test(bare) : !isPublic(literal);
}

/** One that is refused may be what another one needs: what is left is built again until nothing is wrong with it. */
function build(
  shaped: Map<StoredDefinition, FileConfig>,
  networks: ReadonlyMap<string, Network>,
  context: DefinitionsContext,
  refuse: (of: StoredDefinition, problem: string) => void,
): CatalogEntries {
  for (;;) {
    const all = [...shaped];
    const models = all.filter(([{ kind }]) => kind === 'model');
    const file = {
      providers: Object.fromEntries(all.flatMap(([, { providers = {} }]) => Object.entries(providers))),
      models: models.flatMap(([, one]): readonly FileModel[] => one.models ?? []),
    };
    const own = new Set(Object.keys(file.providers));
    const others = context.found.providers.filter(({ name }) => !own.has(name));
    const problems: Problem[] = [];
    const entries = buildCatalog(
      file,
      { ...context.catalog, factories: new Map(), networks, beside: { file: context.file, providers: others } },
      problems,
    );
    problems.push(...takenIds(entries, models, context));
    if (problems.length === 0) return entries;
    const pathOf = ([one]: readonly [StoredDefinition, unknown]): string =>
      one.kind === 'provider'
        ? joinPath('providers', one.name)
        : joinPath(
            'models',
            models.findIndex(([model]) => model === one),
          );
    const wrong = all.filter((one) => problems.some(({ path }) => isBelow(path, pathOf(one))));
    // A problem of a provider of the file, such as a tool without a price, is one of the models that need it.
    for (const one of wrong.length > 0 ? wrong : models.length > 0 ? models : all) {
      const ofThis = problems.filter(({ path }) => isBelow(path, pathOf(one)));
      refuse(one[0], linesOf(ofThis.length > 0 ? ofThis : problems));
      shaped.delete(one[0]);
    }
  }
}

/** Aliases, and the models of patterns, may meet ids that the file has. */
function takenIds(
  { models }: CatalogEntries,
  given: readonly (readonly [StoredDefinition, unknown])[],
  { isTaken }: DefinitionsContext,
): Problem[] {
  return models.flatMap(({ id, origin }) => {
    const index = given.findIndex(([{ name }]) => name === (origin?.of ?? id));
    const [one] = given[index] ?? [];
    if (one === undefined || origin?.kind !== 'alias' || !isTaken({ ...one, name: id })) return [];
    return [{ path: joinPath(joinPath('models', index), 'aliases'), message: `\`${id}\` is an id already` }];
  });
}

function isBelow(path: string, parent: string): boolean {
  return path === parent || path.startsWith(`${parent}.`) || path.startsWith(`${parent}[`);
}

function linesOf(problems: readonly Problem[]): string {
  return problems.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`)).join('; ');
}

/** The providers in use by their names: a stored one counts instead of one of the environment. */
export function mergedEntries(found: CatalogEntries, added: CatalogEntries): CatalogEntries {
  const names = new Set(added.providers.map(({ name }: Provider) => name));
  const ids = new Set(added.models.map(({ id }) => id));
  return {
    providers: [...found.providers.filter(({ name }) => !names.has(name)), ...added.providers],
    models: [...found.models.filter(({ id }) => !ids.has(id)), ...added.models],
  };
}
