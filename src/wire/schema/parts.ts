/** Pieces that the schemas of several formats share. Where a schema does not say otherwise, extra fields are allowed. */
import type { TSchema } from 'typebox';
import { Type } from '../../lib/schema-builder.ts';

export const AnyObject = Type.Object({});

export const ModelId = Type.String({
  minLength: 1,
  description: 'Exact id from the authenticated model list.',
});

/** The name of a tool, which every tool that the client runs must have. */
export const ToolName = Type.String({ minLength: 1 });

/** What an object must hold, beyond its other rules, where its `type` is this one. */
export function whenType(type: string, then: TSchema): object {
  return { if: { properties: { type: { const: type } }, required: ['type'] }, then };
}

/** The public limits of what a request may bring for its client's own use: it costs nothing, is repeated and is stored. */
export const Metadata = Type.Object(
  {},
  { maxProperties: 16, propertyNames: { maxLength: 64 }, additionalProperties: Type.String({ maxLength: 512 }) },
);

export const TokenCount = Type.Integer({ minimum: 0 });

export const Stream = Type.Boolean({ default: false, description: 'Answer with server-sent events.' });
