/** The catalog as a caller sees it: all of it, or one model. */
import { pathParameter } from '../core/endpoints.ts';
import type { Model } from '../core/model.ts';
import { countAgainstRateLimit } from '../exchange/admit.ts';
import { authenticateOptional } from '../exchange/authenticate.ts';
import type { Gateway } from '../exchange/gateway.ts';
import { unknownModel } from '../exchange/make-plan.ts';
import type { ClientRequest } from '../exchange/request.ts';
import { largestOutput, mayUse } from '../exchange/restrictions.ts';
import type { CatalogModel, CatalogModelList } from './models-schema.ts';

export async function listModels(
  gateway: Gateway,
  request: ClientRequest,
): Promise<{ readonly body: CatalogModelList }> {
  const seen = await seenBy(gateway, request);
  const data = [...gateway.catalog().models.values()]
    .flatMap((model) => (model.hidden ? [] : (seen(model) ?? [])))
    .map(publisherFor(request));
  return { body: { object: 'list', data } };
}

/** A model that the caller does not see is as unknown as one that there is not. */
export async function getModel(gateway: Gateway, request: ClientRequest): Promise<{ readonly body: CatalogModel }> {
  const seen = await seenBy(gateway, request);
  const id = pathParameter(request.endpoint, request.path) ?? '';
  const known = gateway.catalog().models.get(id);
  const model = known === undefined ? null : seen(known);
  if (model === null) throw unknownModel(id);
  return { body: publisherFor(request)(model) };
}

/**
 * A model as the caller may use it; null where it may not. Without a credential: the models that the operator marked public.
 */
async function seenBy(gateway: Gateway, request: ClientRequest): Promise<(model: Model) => Model | null> {
  // The list is shown also where the store does not answer.
  if (!gateway.lease.held()) await gateway.lease.renew().catch(() => {});
  const sender = await authenticateOptional(gateway, request);
  const caller = sender && (await countAgainstRateLimit(gateway, request, sender));
  if (caller === null) return (model) => (model.public ? model : null);
  const { key } = caller;
  const limitsOutput = largestOutput(key, Number.POSITIVE_INFINITY) < Number.POSITIVE_INFINITY;
  return (model) => {
    if (!mayUse(key, model)) return null;
    if (!limitsOutput) return model;
    return { ...model, maxOutputTokens: largestOutput(key, model.maxOutputTokens ?? Number.POSITIVE_INFINITY) };
  };
}

/**
 * Adds the fields that Anthropic's clients read, for whoever may be one. Only entries have them: the interface gives the list
 * itself no fields beyond its own, and those clients take one without them as the only page.
 */
function publisherFor({ headers }: ClientRequest): (model: Model) => CatalogModel {
  const mayBeAnthropic = headers.get('anthropic-version') !== null || headers.get('x-api-key') !== null;
  return mayBeAnthropic ? (model) => ({ ...published(model), ...anthropicFields(model) }) : published;
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

function anthropicFields(model: Model): Partial<CatalogModel> {
  return {
    type: 'model',
    created_at: new Date(model.createdS * 1_000).toISOString().replace('.000Z', 'Z'),
    display_name: model.displayName ?? model.id,
    max_input_tokens: model.contextWindow,
    max_tokens: model.maxOutputTokens,
  };
}
