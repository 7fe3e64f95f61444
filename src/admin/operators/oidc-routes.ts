import type { FastifyReply, FastifyRequest } from 'fastify';
import { SESSION_MS } from '../../operators/operators.ts';
import { AdminError } from '../error.ts';
import { acting } from '../http/audit.ts';
import type { AdminApp } from '../http/framework.ts';
import { beginSession } from '../http/session.ts';
import type { AdminService } from '../service.ts';
import type { OidcProblem, OidcSignIn } from './oidc.ts';
import { SignInWays } from './session-schema.ts';

const COOKIE = 'gateway_oidc';
/** Lax: the provider's page leads the browser back, and the cookie has to come with it. */
const COOKIE_OPTIONS = { path: '/admin/v1/oidc', httpOnly: true, sameSite: 'lax' } as const;
const BEGUN_S = 600;

const REASONS: Readonly<Record<OidcProblem | 'revoked', string>> = {
  no_role: 'no claim gives a role',
  revoked: 'the operator is revoked',
  failed: 'the answer of the provider is not valid',
};

/** Without a body. */
function redirect(description: string, location: string) {
  return { description, type: 'null', headers: { location: { type: 'string', description: location } } } as const;
}

export function addOidcRoutes(app: AdminApp, service: AdminService): void {
  app.get(
    '/sign-in',
    {
      config: { roles: 'public' },
      schema: { summary: 'Ways to sign in other than with a token', response: { 200: SignInWays } },
    },
    async () => ({ oidc: service.oidc !== null }),
  );

  app.get(
    '/oidc/login',
    {
      config: { roles: 'public' },
      schema: {
        summary: 'To the OpenID Connect provider',
        response: { 302: redirect('To the page of the provider.', 'Where one signs in.') },
      },
    },
    async (_request, reply) => {
      const oidc = required(service.oidc);
      const { address, sealed } = await oidc.begin().catch((cause: unknown) => {
        throw new AdminError('unavailable', 'the OpenID Connect provider does not answer; try again', { cause });
      });
      void reply.setCookie(COOKIE, sealed, { ...COOKIE_OPTIONS, secure: isSecure(oidc), maxAge: BEGUN_S });
      return reply.redirect(address, 302);
    },
  );

  app.get(
    '/oidc/callback',
    {
      config: { roles: 'public', action: 'session.create' },
      schema: {
        summary: 'Back from the OpenID Connect provider: a session, or a page that says why not',
        response: {
          302: redirect(
            'To the console: signed in, with the cookie of the session, or not.',
            `\`/\`, or where nobody was signed in \`/#problem=\` and one of ${Object.keys(REASONS).join(', ')}.`,
          ),
        },
      },
    },
    async (request, reply) => {
      const oidc = required(service.oidc);
      void reply.clearCookie(COOKIE, COOKIE_OPTIONS);
      const query = request.url.includes('?') ? request.url.slice(request.url.indexOf('?')) : '';
      // What is wrong with an answer of the provider is for the log; the page says what to do.
      let problem: unknown = null;
      const identity = await oidc.finish(query, request.cookies[COOKIE] ?? '').catch((error: unknown) => {
        problem = error;
        return 'failed' as const;
      });
      if (typeof identity === 'string') return refuse(request, reply, identity, problem);
      const signedIn = await service.access.signInFromOutside(identity);
      if (signedIn === null) return refuse(request, reply, 'revoked', null);
      const { actor, text } = signedIn;
      request.caller = { ...request.caller, actor };
      await acting(service, request).trail.change({ action: 'session.create', target: actor.id }, async () => {});
      beginSession(request, reply, text, Math.floor(SESSION_MS / 1_000), isSecure(oidc));
      return reply.redirect('/', 302);
    },
  );
}

function required(oidc: OidcSignIn | null): OidcSignIn {
  if (oidc === null) throw new AdminError('not_found', 'sign-in through OpenID Connect is not set up');
  return oidc;
}

function isSecure({ settings }: OidcSignIn): boolean {
  return settings.redirect.startsWith('https:');
}

async function refuse(
  request: FastifyRequest,
  reply: FastifyReply,
  problem: OidcProblem | 'revoked',
  cause: unknown,
): Promise<FastifyReply> {
  await request.wrongCredential();
  const why = cause instanceof Error ? `: ${cause.message}` : '';
  request.refusal = new AdminError('unauthorized', `OpenID Connect: ${REASONS[problem]}${why}`);
  return reply.redirect(`/#problem=${problem}`, 302);
}
