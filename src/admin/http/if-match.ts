/** Nobody overwrites what somebody else has changed meanwhile: `ETag` on what is read, `If-Match` on what is changed (RFC 9110). */
import type { FastifyRequest } from 'fastify';
import type { OtherVersion } from '../../ledger/port.ts';
import { Type } from '../../lib/schema-builder.ts';
import { AdminError } from '../error.ts';
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

/** The refusal of a change that was made to an older version. */
export function changedMeanwhile(what: string, { version }: OtherVersion): AdminError {
  return new AdminError(
    'precondition_failed',
    `${what} has been changed meanwhile: it is at version ${version}; read it again`,
  );
}
