/** Whether the models of the catalog can be served: priced, with known limits, and with a target that works. */
import type { Model, Target } from '../core/model.ts';
import { joinNames } from './format.ts';
import { type Check, type ModelReport, ok, problem } from './report.ts';

export interface CheckedModels {
  readonly reports: readonly ModelReport[];
  readonly toDo: readonly string[];
}

export function checkModels(models: readonly Model[], serves: (target: Target) => boolean): CheckedModels {
  const reports = models.map((model) => ({
    id: model.id,
    priced: priced(model),
    limits: limits(model),
    targets: targets(model, serves),
  }));
  const idsWithProblem = (check: 'limits' | 'targets'): string[] =>
    reports.filter((report) => report[check].state === 'problem').map(({ id }) => id);
  const toDo: string[] = [];
  const unlimited = idsWithProblem('limits');
  if (unlimited.length > 0) {
    toDo.push(
      `${joinNames(unlimited)}: limits are unknown: set context_window and max_output_tokens in the config file`,
    );
  }
  const unserved = idsWithProblem('targets');
  if (unserved.length > 0) {
    toDo.push(
      `${joinNames(unserved)}: no target works: fix its provider (see above), add a target, or remove the model`,
    );
  }
  return { reports, toDo };
}

/** The configuration refuses a model without a price: zero is a price that somebody wrote down. */
function priced({ publishedPricing }: Model): Check {
  const { input = 0, output = 0 } = publishedPricing;
  return ok(Object.values(publishedPricing).every((price) => price === 0) ? 'free' : `${input} / ${output} USD`);
}

function limits({ contextWindow, maxOutputTokens }: Model): Check {
  const detail = `${contextWindow ?? 'unknown'} / ${maxOutputTokens ?? 'unknown'}`;
  return contextWindow === null || maxOutputTokens === null ? problem(detail) : ok(detail);
}

function targets(model: Model, serves: (target: Target) => boolean): Check {
  const healthy = model.targets.filter(serves).length;
  const detail = `${healthy} of ${model.targets.length}`;
  return healthy === 0 ? problem(detail) : ok(detail);
}
