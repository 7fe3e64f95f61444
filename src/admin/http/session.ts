/** The session of a browser: a cookie that scripts cannot read, and a token against requests of other pages. */
import { TLSSocket } from 'node:tls';
import fastifyCookie from '@fastify/cookie';
import fastifyCsrfProtection from '@fastify/csrf-protection';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { AdminApp } from './framework.ts';
import { isSafe } from './roles.ts';

const SESSION_COOKIE = 'gateway_session';

const COOKIE = { path: '/', httpOnly: true, sameSite: 'strict' } as const;

export async function addSessions(app: AdminApp): Promise<void> {
  await app.register(fastifyCookie);
  await app.register(fastifyCsrfProtection, {
    // The token is derived from the session's own secret, so that it ends with the session.
    cookieKey: SESSION_COOKIE,
    cookieOpts: COOKIE,
    getToken: ({ headers }) => {
      const sent = headers['x-csrf-token'];
      return typeof sent === 'string' ? sent : undefined;
    },
  });
}

/** After it is known who calls: a browser sends the cookie with requests of any page, the token only with those of ours. */
export function requireCsrfToken(app: AdminApp): void {
  app.addHook('onRequest', (request, reply, done) => {
    if (request.caller.actor?.via !== 'session' || isSafe(request.method)) done();
    else app.csrfProtection(request, reply, done);
  });
}

export function sessionOf(request: FastifyRequest): string | null {
  return request.cookies[SESSION_COOKIE] ?? null;
}

/** `secure`: whether the browser speaks TLS. Behind a proxy the listener speaks plain HTTP; a browser that came through TLS says so. */
export function beginSession(
  request: FastifyRequest,
  reply: FastifyReply,
  text: string,
  maxAgeS: number,
  secure: boolean = request.raw.socket instanceof TLSSocket ||
    (request.headers.origin?.startsWith('https://') ?? false),
): void {
  void reply.setCookie(SESSION_COOKIE, text, { ...COOKIE, secure, maxAge: maxAgeS });
  request.cookies[SESSION_COOKIE] = text;
}

export function endSession(reply: FastifyReply): void {
  void reply.clearCookie(SESSION_COOKIE, COOKIE);
}

/** Null where the caller has no session. */
export function csrfTokenOf(request: FastifyRequest, reply: FastifyReply): string | null {
  return sessionOf(request) === null ? null : reply.generateCsrf();
}
