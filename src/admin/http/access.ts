/**
 * Who calls, and whether that role may. The Unix socket needs no credential, because only the gateway's own user can open
 * it. A port requires the admin secret, an operator's token or a session with every request, and that the request is meant
 * for it: a web page in the operator's browser could otherwise reach it under a name of its own (DNS rebinding), or from its
 * own origin.
 */
import { hash, timingSafeEqual } from 'node:crypto';
import { isIP } from 'node:net';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { isLoopback, type TrustedProxies } from '../../core/client-address.ts';
import { builtInOwner, type Operators } from '../../operators/operators.ts';
import type { Actor, Caller } from '../../operators/port.ts';
import { AdminError } from '../error.ts';
import { isOfConsole } from './console.ts';
import type { AdminApp } from './framework.ts';
import { addSessions, endSession, requireCsrfToken, sessionOf } from './session.ts';

declare module 'fastify' {
  interface FastifyRequest {
    caller: Caller;
    /** A credential was sent, and it was wrong. Throws where the caller's address has sent too many of these. */
    wrongCredential(): Promise<void>;
    /** For what goes on for long: whether the caller may still have it. */
    stillAllowed(): Promise<boolean>;
  }
}

export interface AccessOptions {
  /** Null only for the Unix socket; a TCP caller is then refused whatever it sends. */
  readonly secret: string | null;
  /** Accepted `Host` names in addition to the loopback ones and to IP addresses, in lower case. */
  readonly hosts?: readonly string[];
  /**
   * False where what a browser sends could be read on its way: then nobody signs in here but over the loopback interface,
   * which is also where a tunnel ends (ssh, kubectl port-forward). True by default.
   */
  readonly browsers?: boolean;
  /** Opens the metrics and nothing else. */
  readonly metricsToken?: string | null;
  /** Who may say for whom a request is forwarded; nobody by default. */
  readonly proxies?: TrustedProxies | null;
}

const LOCALHOST = 'localhost';
/**
 * Beyond it, an address is refused with a 429 until the minute is over. A right credential is served all the same: many can
 * share an address, and one of them must not lock the others out. All are longer than anybody can try.
 */
const WRONG_CREDENTIALS_PER_MINUTE = 30;
const USER_AGENT_CHARACTERS_MAX = 200;
/** Whoever has the token for the metrics, which opens nothing else. */
const SCRAPER: Actor = { id: 'metrics', name: 'metrics', role: 'viewer', accountId: null, via: 'token' };

/** Requires, before anything else of a request is looked at, that its sender may send it. */
export async function addAccessControl(app: AdminApp, options: AccessOptions, operators: Operators): Promise<void> {
  const { secret } = options;
  await addSessions(app);
  app.decorateRequest('caller');
  app.decorateRequest('wrongCredential', async () => {});
  app.decorateRequest('stillAllowed', async () => true);
  app.addHook('onRequest', async (request) => {
    request.caller = callerOf(request, secret === null && !overTcp(request) ? builtInOwner('socket') : null, options);
  });
  if (secret === null) {
    app.addHook('onRequest', async (request) => {
      if (!overTcp(request)) return;
      throw new AdminError('forbidden', 'this listener accepts Unix socket connections only');
    });
    return;
  }
  const wrongCredentials = app.createRateLimit({ max: WRONG_CREDENTIALS_PER_MINUTE, timeWindow: 60_000 });
  app.addHook('onRequest', async (request, reply) => {
    const { access, roles, action } = request.routeOptions.config;
    if (access === 'open') return;
    const ofConsole = isOfConsole(request);
    // Whoever scrapes has a name of its own for this machine, and its credential is what no web page has.
    if (access !== 'metrics') requireOwnHost(request, options.hosts ?? []);
    requireOwnOrigin(request);
    const inTheClear = options.browsers === false && !isLoopback(request.socket.remoteAddress ?? '');
    if (inTheClear && (ofConsole || action === 'session.create')) throw noBrowsers();
    request.wrongCredential = async () => {
      const tried = await wrongCredentials(request);
      if (!tried.isAllowed && tried.isExceeded) throw tooManyTries(reply, tried.ttlInSeconds);
    };
    // The console is for everybody, and signing in is too.
    if (roles === 'public' || ofConsole) return;
    const actor = await identify(request, options, operators);
    request.stillAllowed = async () => {
      const now = await identify(request, options, operators);
      // Whoever has got another account since does not go on reading the first one.
      return now !== null && now.accountId === actor?.accountId && (roles?.includes(now.role) ?? false);
    };
    if (actor === null) {
      // The browser forgets it, and so does not come with it again.
      if (sessionOf(request) !== null) endSession(reply);
      if (request.headers.authorization !== undefined || sessionOf(request) !== null) await request.wrongCredential();
      void reply.header('www-authenticate', 'Bearer');
      throw new AdminError(
        'unauthorized',
        'sign in, or send "Authorization: Bearer <secret>" with an operator token or the secret in admin.secret',
      );
    }
    request.caller = callerOf(request, actor, options);
  });
  requireCsrfToken(app);
  app.addHook('onRequest', async ({ caller: { actor }, routeOptions, is404 }) => {
    const { roles } = routeOptions.config;
    // What is not there is not there for anybody who has signed in.
    if (roles === 'public' || is404) return;
    if (actor !== null && roles?.includes(actor.role)) return;
    const wanted = roles?.join(' or ') ?? 'nobody';
    throw new AdminError(
      'forbidden',
      `this needs the role ${wanted}; ${actor?.name ?? 'you'} is ${actor?.role ?? 'nobody'}`,
    );
  });
}

/** A credential in a header is meant for this request; a cookie is only what the browser has. */
async function identify(
  request: FastifyRequest,
  { secret, metricsToken = null }: AccessOptions,
  operators: Operators,
): Promise<Actor | null> {
  const { authorization } = request.headers;
  if (authorization === undefined) {
    const cookie = sessionOf(request);
    return cookie === null ? null : ((await operators.session(cookie))?.actor ?? null);
  }
  const sent = /^Bearer (\S+)$/i.exec(authorization)?.[1];
  if (sent === undefined) return null;
  if (secret !== null && sameSecret(sent, secret)) return builtInOwner('secret');
  const scrapes = request.routeOptions.config.access === 'metrics' && metricsToken !== null;
  if (scrapes && sameSecret(sent, metricsToken)) return SCRAPER;
  return operators.authenticate(sent);
}

export function overTcp(request: FastifyRequest): boolean {
  return request.socket.remoteAddress !== undefined;
}

/** Null over the Unix socket. */
export function clientAddress({ socket, headers }: FastifyRequest, { proxies }: AccessOptions): string | null {
  const peer = socket.remoteAddress;
  if (peer === undefined || !proxies) return peer ?? null;
  const forwarded = headers[proxies.header];
  return proxies.clientAddress(peer, Array.isArray(forwarded) ? forwarded.join(',') : (forwarded ?? null));
}

function callerOf(request: FastifyRequest, actor: Actor | null, options: AccessOptions): Caller {
  const userAgent = request.headers['user-agent']?.slice(0, USER_AGENT_CHARACTERS_MAX) ?? null;
  return { actor, from: { address: clientAddress(request, options), userAgent, requestId: request.id } };
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

function noBrowsers(): AdminError {
  return new AdminError(
    'forbidden',
    'the console is served on this machine, and through a tunnel to it, only, unless its listener has TLS (GATEWAY_ADMIN_TLS=self-signed, or GATEWAY_ADMIN_TLS_CERT and GATEWAY_ADMIN_TLS_KEY) or is behind a proxy that has (GATEWAY_ADMIN_PROXY=on); the API is open with a bearer token',
  );
}

/** Digests have equal lengths, so the comparison does not even reveal how long the secret is. */
function sameSecret(sent: string, secret: string): boolean {
  return timingSafeEqual(hash('sha256', sent, 'buffer'), hash('sha256', secret, 'buffer'));
}

function tooManyTries(reply: FastifyReply, waitSeconds: number): AdminError {
  void reply.header('retry-after', String(waitSeconds));
  return new AdminError('rate_limited', `too many wrong credentials from this address: try again in ${waitSeconds} s`);
}
