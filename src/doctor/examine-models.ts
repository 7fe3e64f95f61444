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
  const unserved = reports.filter(({ targets }) => targets.state === 'attention').map(({ id }) => id);
  const toDo: string[] = [];
  const unlimited = models
    .filter(({ contextWindow, maxOutputTokens }) => contextWindow === null || maxOutputTokens === null)
    .map(({ id }) => id);
  if (unlimited.length > 0) {
    toDo.push(
      `${listed(unlimited)}: not all limits are known: give context_window and max_output_tokens in the config file`,
    );
  }
  const guessed = models.filter(isGuessed).filter(({ contextWindow }) => contextWindow !== null);
  if (guessed.length > 0) {
    toDo.push(
      `${listed(guessed.map(({ id }) => id))}: the output limit is a guess: give max_output_tokens in the config file`,
    );
  }
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

function limits(model: Model): Check {
  const { contextWindow, maxOutputTokens } = model;
  const guess = isGuessed(model) ? ' (a guess)' : '';
  const detail = `${contextWindow ?? 'unknown'} / ${maxOutputTokens ?? 'unknown'}${guess}`;
  return contextWindow === null || maxOutputTokens === null || guess !== '' ? attention(detail) : ok(detail);
}

/** Whether nobody states the output limit. */
function isGuessed({ sources }: Model): boolean {
  return sources.maxOutputTokens.kind === 'assumed';
}

function targets(model: Model, serves: (target: Target) => boolean): Check {
  const healthy = model.targets.filter(serves).length;
  const detail = `${healthy} of ${model.targets.length}`;
  return healthy === 0 ? attention(detail) : ok(detail);
}
