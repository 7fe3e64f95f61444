/** The catalog as a caller sees it. */
import type { Model } from '../core/model.ts';
import { countAgainstRateLimit } from '../exchange/admit.ts';
import { authenticateOptional } from '../exchange/authenticate.ts';
import type { Gateway } from '../exchange/gateway.ts';
import { mayUse } from '../exchange/make-plan.ts';
import type { ClientRequest } from '../exchange/request.ts';
import type { CatalogModel, CatalogModelList } from './models-schema.ts';

/** Without a credential: the models that the operator marked public. */
export async function listModels(
  gateway: Gateway,
  request: ClientRequest,
): Promise<{ readonly body: CatalogModelList }> {
  const sender = await authenticateOptional(gateway, request);
  const caller = sender && (await countAgainstRateLimit(gateway, request, sender));
  const models = [...gateway.catalog().models.values()];
  const visible = models.filter((model) => (caller ? mayUse(caller.key, model) : model.public));
  return { body: { object: 'list', data: visible.map(published) } };
}

function published(model: Model): CatalogModel {
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
