/** Whether the models of the catalog can be served: priced, with known limits, and with a target that works. */
import type { Model, Target } from '../core/model.ts';
import { joinNames } from './format.ts';
import { type Check, type ModelReport, ok, problem } from './report.ts';

interface CheckedModels {
  readonly reports: readonly ModelReport[];
  readonly toDo: readonly string[];
}

/** `byApi`: whether an operator has defined a model, which the config file says nothing of. */
export function checkModels(
  models: readonly Model[],
  serves: (target: Target) => boolean,
  byApi: (id: string) => boolean,
): CheckedModels {
  const reports = models.map((model) => ({
    id: model.id,
    priced: priced(model),
    limits: limits(model),
    targets: targets(model, serves),
  }));
  const advise = (concerned: readonly { readonly id: string }[], advice: string): readonly string[] =>
    concerned.length === 0 ? [] : [`${joinNames(concerned.map(({ id }) => id))}: ${advice}`];
  const adviseLimits = (concerned: readonly Model[], what: string, keys: string, flags: string): readonly string[] => [
    ...advise(
      concerned.filter(({ id }) => !byApi(id)),
      `${what}: set ${keys} in the config file`,
    ),
    ...concerned.filter(({ id }) => byApi(id)).map(({ id }) => `${id}: ${what}: gateway models update ${id} ${flags}`),
  ];
  const unlimited = models.filter(({ contextWindow }) => contextWindow === null);
  const guessed = models.filter((model) => model.contextWindow !== null && hasGuessedLimit(model));
  const unserved = reports.filter(({ targets }) => targets.state === 'problem');
  const toDo = [
    ...adviseLimits(
      unlimited,
      'limits are unknown',
      'context_window and max_output_tokens',
      '--context-window TOKENS --max-output TOKENS',
    ),
    ...adviseLimits(guessed, 'the output limit is a guess', 'max_output_tokens', '--max-output TOKENS'),
    ...advise(unserved, 'no target works: fix its provider (see above), add a target, or remove the model'),
  ];
  return { reports, toDo };
}

/** The configuration refuses a model without a price: zero is a price that somebody wrote down. */
function priced({ publishedPricing }: Model): Check {
  const { input = 0, output = 0 } = publishedPricing;
  return ok(Object.values(publishedPricing).every((price) => price === 0) ? 'free' : `${input} / ${output} USD`);
}

function limits(model: Model): Check {
  const { contextWindow, maxOutputTokens } = model;
  const guess = hasGuessedLimit(model) ? ' (a guess)' : '';
  const detail = `${contextWindow ?? 'unknown'} / ${maxOutputTokens ?? 'unknown'}${guess}`;
  return contextWindow === null || maxOutputTokens === null || guess !== '' ? problem(detail) : ok(detail);
}

/** Whether neither the file, nor the provider, nor published data states the output limit. */
function hasGuessedLimit({ sources }: Model): boolean {
  return sources.maxOutputTokens.kind === 'assumed';
}

function targets(model: Model, serves: (target: Target) => boolean): Check {
  const healthy = model.targets.filter(serves).length;
  const detail = `${healthy} of ${model.targets.length}`;
  return healthy === 0 ? problem(detail) : ok(detail);
}
