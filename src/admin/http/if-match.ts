/** Nobody overwrites what somebody else has changed meanwhile: `ETag` on what is read, `If-Match` on what is changed (RFC 9110). */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Type } from '../../lib/schema-builder.ts';
import { AdminError } from '../api.ts';
import type { AdminApp } from './framework.ts';
import { isSafe } from './roles.ts';

/** The headers of a route that takes it. Only such a route may be sent one. */
export const IfMatch = Type.Object({
  'if-match': Type.Optional(
    Type.String({
      description:
        'The ETag of the version that is to be changed. Where it has been changed since, nothing is done, and the answer is a 412.',
    }),
  ),
});

/** The answer with the `ETag` of the version that it shows. */
export function tagged<View extends { readonly version: number }>(reply: FastifyReply, view: View): View {
  void reply.header('etag', `"${view.version}"`);
  return view;
}

/** The version that `If-Match` names. */
export function versionIn({ headers }: Pick<FastifyRequest, 'headers'>): number | undefined {
  const tag = headers['if-match'];
  if (tag === undefined || tag === '*') return undefined;
  const version = /^"([0-9]{1,15})"$/.exec(tag)?.[1];
  if (version !== undefined) return Number(version);
  throw new AdminError(
    'invalid_input',
    `If-Match must be one ETag of a key or account, like "3" (with the quotes), or *`,
  );
}

/** A precondition that a route does not know would be ignored, and the change made all the same. */
export function refuseUnknownPreconditions(app: AdminApp): void {
  app.addHook('preValidation', async ({ headers, method, routeOptions, is404 }) => {
    if (headers['if-match'] === undefined || isSafe(method) || is404) return;
    if (routeOptions.schema?.headers === IfMatch) return;
    throw new AdminError('invalid_input', `${method} ${routeOptions.url} takes no If-Match: leave it out`);
  });
}
