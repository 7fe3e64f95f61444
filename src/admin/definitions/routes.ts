import type { DefinitionKind } from '../../core/definition.ts';
import { OPERATORS, OWNERS, VIEWERS } from '../http/roles.ts';
import { route } from '../http/route.ts';
import type { AdminService } from '../service.ts';
import {
  Definition,
  DefinitionChange,
  DefinitionList,
  type DefinitionView,
  ModelBody,
  PriceBody,
  ProviderBody,
  RemovedDefinition,
} from './schema.ts';
import { recorded } from './service.ts';

/** What the trail keeps of a change: the fields that differ. */
function changeOf(kind: DefinitionKind) {
  return {
    before: (admin: AdminService, { name }: { readonly name: string }) => admin.definitions.before(kind, name),
    after: (answer: DefinitionView) => recorded(answer),
  };
}

const OF_MODEL = {
  before: (admin: AdminService, { id }: { readonly id: string }) => admin.definitions.before('model', id),
  after: (answer: DefinitionView) => recorded(answer),
};

export const DEFINITION_ROUTES = {
  definitions: route({
    at: 'GET /definitions',
    roles: VIEWERS,
    summary: 'Providers and models that operators have defined, beside those of the config file',
    answer: DefinitionList,
    handle: (admin) => admin.definitions.list(),
  }),
  createProvider: route({
    at: 'POST /providers',
    roles: OWNERS,
    action: 'provider.create',
    recorded: { target: ({ body }) => body.name, after: recorded },
    summary: 'Define a provider. It is in use on every gateway when the answer comes',
    body: ProviderBody,
    status: 201,
    answer: Definition,
    handle: (admin, { body: { name, ...definition } }) => admin.definitions.create('provider', name, definition),
  }),
  showProvider: route({
    at: 'GET /providers/:name',
    roles: VIEWERS,
    summary: 'One provider as an operator has defined it, without its credentials',
    answer: Definition,
    handle: (admin, { name }) => admin.definitions.show('provider', name),
  }),
  changeProvider: route({
    at: 'PATCH /providers/:name',
    roles: OWNERS,
    action: 'provider.change',
    recorded: changeOf('provider'),
    summary: 'Change the given fields; with If-Match, only if it has not been changed in the meantime',
    ifMatch: true,
    body: DefinitionChange,
    answer: Definition,
    handle: (admin, { name, body, version }) => admin.definitions.change('provider', name, body, version),
  }),
  removeProvider: route({
    at: 'DELETE /providers/:name',
    roles: OWNERS,
    action: 'provider.remove',
    recorded: { before: changeOf('provider').before },
    summary: 'Remove a provider that no model needs',
    ifMatch: true,
    answer: RemovedDefinition,
    handle: (admin, { name, version }) => admin.definitions.remove('provider', name, version),
  }),
  createModel: route({
    at: 'POST /models',
    roles: OPERATORS,
    action: 'model.create',
    recorded: { target: ({ body }) => body.id, after: recorded },
    summary: 'Define a model. It is in use on every gateway when the answer comes',
    body: ModelBody,
    status: 201,
    answer: Definition,
    handle: (admin, { body: { id, ...definition } }) => admin.definitions.create('model', id, definition),
  }),
  showModel: route({
    at: 'GET /models/:id',
    roles: VIEWERS,
    summary: 'One model as an operator has defined it',
    answer: Definition,
    handle: (admin, { id }) => admin.definitions.show('model', id),
  }),
  changeModel: route({
    at: 'PATCH /models/:id',
    roles: OPERATORS,
    action: 'model.change',
    recorded: OF_MODEL,
    summary: 'Change the given fields; with If-Match, only if it has not been changed in the meantime',
    ifMatch: true,
    body: DefinitionChange,
    answer: Definition,
    handle: (admin, { id, body, version }) => admin.definitions.change('model', id, body, version),
  }),
  removeModel: route({
    at: 'DELETE /models/:id',
    roles: OPERATORS,
    action: 'model.remove',
    recorded: { before: OF_MODEL.before },
    summary: 'Remove a model; requests that are running end as they began',
    ifMatch: true,
    answer: RemovedDefinition,
    handle: (admin, { id, version }) => admin.definitions.remove('model', id, version),
  }),
  setPrice: route({
    at: 'POST /models/:id/prices',
    roles: OPERATORS,
    action: 'model.price',
    recorded: OF_MODEL,
    summary: 'Set the price or the mark-up of a model, now or from a time on',
    ifMatch: true,
    body: PriceBody,
    answer: Definition,
    handle: (admin, { id, body, version }) => admin.definitions.setPrice(id, body, version),
  }),
  cancelPrice: route({
    at: 'DELETE /models/:id/prices/:from',
    roles: OPERATORS,
    action: 'model.price_cancel',
    recorded: OF_MODEL,
    summary: 'Cancel a price that has not taken effect yet',
    ifMatch: true,
    answer: Definition,
    handle: (admin, { id, from, version }) => admin.definitions.cancelPrice(id, from, version),
  }),
};
