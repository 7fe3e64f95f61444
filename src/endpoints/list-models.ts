/** The catalog as a caller sees it. */
import type { Model } from '../core/model.ts';
import type { Caller } from '../exchange/authenticate.ts';
import type { Gateway } from '../exchange/gateway.ts';
import { mayUse } from '../exchange/make-plan.ts';

/** Without a caller: the models that the operator marked public. */
export function listModels(gateway: Gateway, caller: Caller | null): object {
  const models = [...gateway.catalog().models.values()];
  return {
    object: 'list',
    data: models.filter((model) => (caller ? mayUse(caller.key, model) : model.public)).map(published),
  };
}

function published(model: Model): object {
  return {
    id: model.id,
    object: 'model',
    created: model.createdS,
    owned_by: model.ownedBy,
    ...(model.displayName === undefined ? {} : { display_name: model.displayName }),
    ...(model.tagline === undefined ? {} : { tagline: model.tagline }),
    provider: model.provider,
    context_window: model.contextWindow,
    max_output_tokens: model.maxOutputTokens,
    capabilities: { ...model.capabilities, formats: [...new Set(model.targets.map(({ format }) => format))] },
    pricing: model.publishedPricing,
  };
}
