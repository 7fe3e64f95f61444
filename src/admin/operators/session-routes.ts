import type { FastifyReply, FastifyRequest } from 'fastify';
import { SESSION_MS } from '../../operators/operators.ts';
import type { Actor } from '../../operators/port.ts';
import { AdminError } from '../error.ts';
import { acting } from '../http/audit.ts';
import type { AdminApp } from '../http/framework.ts';
import { ANYONE } from '../http/roles.ts';
import { beginSession, csrfTokenOf, endSession, sessionOf } from '../http/session.ts';
import type { View } from '../http/view.ts';
import type { AdminService } from '../service.ts';
import { Session, SignedOut, SignInBody } from './session-schema.ts';

export function addSessionRoutes(app: AdminApp, service: AdminService): void {
  const { access } = service;

  app.post(
    '/session',
    {
      config: { roles: 'public', action: 'session.create' },
      schema: { summary: 'Sign in: a token for a session', body: SignInBody, response: { 200: Session } },
    },
    async (request, reply) => {
      const signedIn = await access.signIn(request.body.token);
      if (signedIn === null) {
        await request.wrongCredential();
        throw new AdminError(
          'unauthorized',
          'the token is not valid: a sign-in link can be used once, within 15 minutes (make one with "gateway operators link")',
        );
      }
      const { actor, text, expiresAtMs } = signedIn;
      request.caller = { ...request.caller, actor };
      await acting(service, request).trail.change({ action: 'session.create', target: actor.id }, async () => {});
      beginSession(request, reply, text, Math.floor(SESSION_MS / 1_000));
      return view(request, reply, actor, expiresAtMs);
    },
  );

  app.get(
    '/session',
    { config: { roles: ANYONE }, schema: { summary: 'Who is signed in', response: { 200: Session } } },
    async (request, reply) => {
      const { actor } = request.caller;
      if (actor === null) throw new AdminError('unauthorized', 'nobody is signed in');
      const session = actor.via === 'session' ? await access.session(sessionOf(request) ?? '') : null;
      return view(request, reply, actor, session?.expiresAtMs ?? null);
    },
  );

  app.delete(
    '/session',
    {
      config: { roles: ANYONE, action: 'session.end' },
      schema: { summary: 'Sign out', response: { 200: SignedOut } },
    },
    async (request, reply) => {
      const { actor } = request.caller;
      const text = sessionOf(request);
      await acting(service, request).trail.change({ action: 'session.end', target: actor?.id ?? null }, async () => {
        if (text !== null) await access.signOut(text);
      });
      endSession(reply);
      return { ended: text === null ? 0 : 1 };
    },
  );

  app.delete(
    '/sessions',
    {
      config: { roles: ANYONE, action: 'session.end_all' },
      schema: { summary: 'End all sessions of the caller', response: { 200: SignedOut } },
    },
    async (request, reply) => {
      const { actor } = request.caller;
      if (actor === null) throw new AdminError('unauthorized', 'nobody is signed in');
      const change = { action: 'session.end_all', target: actor.id, after: (ended: number) => ({ ended }) };
      const ended = await acting(service, request).trail.change(change, () => access.signOutEverywhere(actor.id));
      endSession(reply);
      return { ended };
    },
  );
}

function view(
  request: FastifyRequest,
  reply: FastifyReply,
  { id, name, role, accountId, via }: Actor,
  expiresAtMs: number | null,
): View<typeof Session> {
  return {
    operator: { id, name, role, account_id: accountId },
    csrf_token: via === 'session' ? csrfTokenOf(request, reply) : null,
    expires_at: expiresAtMs === null ? null : new Date(expiresAtMs).toISOString(),
  };
}
