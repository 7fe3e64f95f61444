/** Whether the models of the catalog can be sold: priced, with known limits, and with a target that serves. */
import type { Model, Target } from '../core/model.ts';
import { attention, type Check, type ModelReport, ok } from './report.ts';
import { listed } from './words.ts';

export interface ExaminedModels {
  readonly reports: readonly ModelReport[];
  readonly toDo: readonly string[];
}

export function examineModels(models: readonly Model[], serves: (target: Target) => boolean): ExaminedModels {
  const reports = models.map((model) => ({
    id: model.id,
    priced: priced(model),
    limits: limits(model),
    targets: targets(model, serves),
  }));
  const wanting = (check: 'limits' | 'targets'): string[] =>
    reports.filter((report) => report[check].state === 'attention').map(({ id }) => id);
  const toDo: string[] = [];
  const unlimited = wanting('limits');
  if (unlimited.length > 0) {
    toDo.push(
      `${listed(unlimited)}: not all limits are known: give context_window and max_output_tokens in the config file`,
    );
  }
  const unserved = wanting('targets');
  if (unserved.length > 0) {
    toDo.push(`${listed(unserved)}: no target serves: mend its provider above, add a target, or take the model out`);
  }
  return { reports, toDo };
}

/** The configuration refuses a model without a price, so a free one was said to be free. */
function priced({ publishedPricing }: Model): Check {
  const { input = 0, output = 0 } = publishedPricing;
  return ok(Object.values(publishedPricing).every((price) => price === 0) ? 'free' : `${input} / ${output} USD`);
}

function limits({ contextWindow, maxOutputTokens }: Model): Check {
  const detail = `${contextWindow ?? 'unknown'} / ${maxOutputTokens ?? 'unknown'}`;
  return contextWindow === null || maxOutputTokens === null ? attention(detail) : ok(detail);
}

function targets(model: Model, serves: (target: Target) => boolean): Check {
  const healthy = model.targets.filter(serves).length;
  const detail = `${healthy} of ${model.targets.length}`;
  return healthy === 0 ? attention(detail) : ok(detail);
}
