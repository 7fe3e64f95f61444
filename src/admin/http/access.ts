/**
 * Who may call. The Unix socket needs no credential, because only the gateway's own user can open it. A port requires
 * the admin secret with every request, and that the request is meant for it: a web page in the operator's browser
 * could otherwise reach it under a name of its own (DNS rebinding), or from its own origin.
 */
import { hash, timingSafeEqual } from 'node:crypto';
import { isIP } from 'node:net';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AdminError } from '../api.ts';
import type { AdminApp } from './framework.ts';

export interface AccessOptions {
  /** Null only for the Unix socket; a TCP caller is then refused whatever it sends. */
  readonly secret: string | null;
  /** Accepted `Host` names in addition to the loopback ones and to IP addresses, in lower case. */
  readonly hosts?: readonly string[];
  /** Opens the metrics and nothing else. */
  readonly metricsToken?: string | null;
}

const LOCALHOST = 'localhost';
/** Beyond it, an address waits for the end of the minute: a secret is not to be had by trying. */
const WRONG_CREDENTIALS_PER_MINUTE = 30;

/** Requires, before anything else of a request is looked at, that its sender may send it. */
export function addAccessControl(app: AdminApp, options: AccessOptions): void {
  const { secret } = options;
  if (secret === null) {
    app.addHook('onRequest', async (request) => {
      if (!overTcp(request)) return;
      throw new AdminError('forbidden', 'this listener accepts Unix socket connections only');
    });
    return;
  }
  const wrongCredentials = app.createRateLimit({ max: WRONG_CREDENTIALS_PER_MINUTE - 1, timeWindow: 60_000 });
  app.addHook('onRequest', async (request, reply) => {
    const access = request.routeOptions.config?.access;
    if (access === 'open') return;
    // Whoever scrapes has a name of its own for this machine, and its credential is what no web page has.
    if (access !== 'metrics') requireOwnHost(request, options.hosts ?? []);
    requireOwnOrigin(request);
    const tried = await wrongCredentials(request, { increment: false });
    if (!tried.isAllowed && tried.isExceeded) throw tooManyTries(reply, tried.ttlInSeconds);
    if (holds(request, secret)) return;
    if (access === 'metrics' && options.metricsToken && holds(request, options.metricsToken)) return;
    await wrongCredentials(request);
    void reply.header('www-authenticate', 'Bearer');
    throw new AdminError('unauthorized', 'send "Authorization: Bearer <secret>" with the secret in admin.secret');
  });
}

export function overTcp(request: FastifyRequest): boolean {
  return request.socket.remoteAddress !== undefined;
}

/** A name can be made to lead here by whoever owns it; an address cannot. */
function requireOwnHost(request: FastifyRequest, hosts: readonly string[]): void {
  const name = (request.headers.host ?? '').replace(/:\d{1,5}$/, '').toLowerCase();
  const address = name.startsWith('[') && name.endsWith(']') ? name.slice(1, -1) : name;
  if (isIP(address) !== 0 || name === LOCALHOST || hosts.includes(name)) return;
  const names = [LOCALHOST, ...hosts].join(', ');
  throw new AdminError(
    'forbidden',
    `the Host header must name this listener: an IP address or one of ${names} (add yours to GATEWAY_ADMIN_ALLOWED_HOSTS)`,
  );
}

function requireOwnOrigin(request: FastifyRequest): void {
  const { origin, host } = request.headers;
  // A proxy in front may have spoken TLS with the browser.
  if (origin === undefined || origin === `http://${host}` || origin === `https://${host}`) return;
  throw new AdminError('forbidden', 'requests from another origin are not accepted');
}

function holds(request: FastifyRequest, secret: string): boolean {
  const sent = /^Bearer (\S+)$/i.exec(request.headers.authorization ?? '')?.[1];
  return sent !== undefined && sameSecret(sent, secret);
}

/** Digests have equal lengths, so the comparison does not even reveal how long the secret is. */
function sameSecret(sent: string, secret: string): boolean {
  return timingSafeEqual(hash('sha256', sent, 'buffer'), hash('sha256', secret, 'buffer'));
}

function tooManyTries(reply: FastifyReply, waitSeconds: number): AdminError {
  void reply.header('retry-after', String(waitSeconds));
  return new AdminError('rate_limited', `too many wrong credentials from this address: try again in ${waitSeconds} s`);
}
