/**
 * Models that a config file names together: `openai/*` for every model of a provider whose price is known, and aliases,
 * which are further ids of a model. Both become models of their own when the file is read, so that a request finds its
 * model by its id alone.
 */
import type { ModelOrigin } from '../core/model.ts';
import type { Provider } from '../core/provider.ts';
import { joinPath } from '../lib/schema-errors.ts';
import { type FactsContext, pricedModelNames } from './facts.ts';
import { type KnownHost, knownHostOf } from './kinds.ts';
import type { Problem } from './problem.ts';
import type { FileModel, FileTarget } from './schema.ts';

export interface ExpandedModel {
  readonly path: string;
  readonly model: FileModel;
  readonly origin: ModelOrigin | null;
}

/** What belongs to one model and cannot be meant for many. */
const OF_ONE: readonly (keyof FileModel)[] = [
  'targets',
  'aliases',
  'pricing',
  'prices',
  'display_name',
  'tagline',
  'created',
];

export function expandModels(
  given: readonly FileModel[],
  providers: ReadonlyMap<string, Provider>,
  context: FactsContext,
  problems: Problem[],
): readonly ExpandedModel[] {
  const named = given.map((model, index) => ({ path: joinPath('models', index), model }));
  const models: ExpandedModel[] = [];
  // What is named by itself counts, wherever it is in the file.
  const taken = new Set(given.filter(({ id }) => !isPattern(id)).map(({ id }) => id));
  for (const { path, model } of named) {
    if (isPattern(model.id)) continue;
    models.push({ path, model, origin: null });
    for (const alias of model.aliases ?? []) {
      if (taken.has(alias))
        problems.push({ path: joinPath(path, 'aliases'), message: `\`${alias}\` is an id already` });
      else models.push({ path, model: aliasOf(model, alias), origin: { kind: 'alias', of: model.id } });
      taken.add(alias);
    }
  }
  for (const { path, model } of named) {
    if (!isPattern(model.id)) continue;
    const found = ofPattern(path, model, providers, context);
    if ('message' in found) problems.push(found);
    else models.push(...found.filter(({ model: { id } }) => !taken.has(id)));
  }
  return models;
}

function isPattern(id: string): boolean {
  return id.includes('*');
}

/** Its targets are those of the model: without them it would be asked for by the alias upstream. */
function aliasOf({ aliases: _aliases, ...model }: FileModel, alias: string): FileModel {
  const targets = (model.targets ?? [{ provider: model.provider ?? '' }]).map((target) => ({
    model: model.id,
    ...target,
  }));
  return { ...model, id: alias, targets };
}

function ofPattern(
  path: string,
  model: FileModel,
  providers: ReadonlyMap<string, Provider>,
  context: FactsContext,
): readonly ExpandedModel[] | Problem {
  const refuse = (key: string, message: string): Problem => ({ path: joinPath(path, key), message });
  const wrong = OF_ONE.find((key) => model[key] !== undefined);
  if (wrong !== undefined) return refuse(wrong, `belongs to one model, not to the pattern \`${model.id}\``);
  const { provider: name = '' } = model;
  const prefix = `${name}/`;
  if (!model.id.endsWith('*') || model.id.indexOf('*') < model.id.length - 1 || !model.id.startsWith(prefix)) {
    return refuse('id', `a pattern begins with its provider and ends with its only *, like \`${name || 'openai'}/*\``);
  }
  const provider = providers.get(name);
  // It has problems of its own, or is not in the file, which is told already.
  if (provider === undefined) return [];
  const start = model.id.slice(prefix.length, -1);
  const host = knownHostOf(provider.baseUrl);
  const names = pricedModelNames(host, provider, context).filter((upstream) => upstream.startsWith(start));
  if (names.length === 0) {
    return refuse('id', `\`${model.id}\` fits no model of ${name} whose price is known: name its models one by one`);
  }
  return names.map((upstream) => ({
    path,
    model: { ...model, id: `${prefix}${upstream}`, targets: [targetAt(name, host, upstream)] },
    origin: { kind: 'pattern', of: model.id },
  }));
}

/** An upstream model in the formats that its host serves it in. */
export function targetAt(provider: string, host: KnownHost | undefined, upstream: string): FileTarget {
  const target = { provider, model: upstream };
  return host?.responsesOnly?.test(upstream) === true ? { ...target, format: 'responses' } : target;
}
