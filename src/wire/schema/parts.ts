/** Pieces that the schemas of several formats share. Where a schema does not say otherwise, extra fields are allowed. */
import { Type } from '../../lib/schema-builder.ts';

export const AnyObject = Type.Object({});

export const ModelId = Type.String({
  minLength: 1,
  description: 'Exact id from the authenticated model list.',
});

export const TokenCount = Type.Integer({ minimum: 0 });

export const Stream = Type.Boolean({ default: false, description: 'Answer with server-sent events.' });
