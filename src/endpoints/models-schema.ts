/** The model list and its entries. Clients that speak as Anthropic's do get the fields that those read in addition. */
import type { Static } from 'typebox';
import { Type } from '../lib/schema-builder.ts';
import { AnyObject } from '../wire/schema/parts.ts';

const Limit = Type.Union([Type.Integer({ minimum: 1 }), Type.Null()]);

export const CatalogModel = Type.Object({
  id: Type.String({ description: 'Exact identifier to pass as `model` in requests.' }),
  object: Type.Literal('model'),
  created: Type.Integer(),
  owned_by: Type.String(),
  display_name: Type.Optional(Type.String()),
  tagline: Type.Optional(Type.String()),
  provider: Type.Optional(Type.String()),
  context_window: Type.Optional(Limit),
  max_output_tokens: Type.Optional(Limit),
  capabilities: Type.Optional(AnyObject),
  pricing: Type.Optional(AnyObject),
  type: Type.Optional(Type.Literal('model')),
  created_at: Type.Optional(Type.String({ description: '`created` as an RFC 3339 date.' })),
  max_input_tokens: Type.Optional(Limit),
  max_tokens: Type.Optional(Limit),
});
export type CatalogModel = Static<typeof CatalogModel>;

export const CatalogModelList = Type.Object(
  { object: Type.Literal('list'), data: Type.Array(CatalogModel) },
  { additionalProperties: false },
);
export type CatalogModelList = Static<typeof CatalogModelList>;
