/**
 * The routes of the key holder's page: the key is posted once, a sealed cookie of an hour stands for it afterwards. Every look
 * at the key counts in its rate limit, as a look at `/v1/usage` does.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import fastifyCookie from '@fastify/cookie';
import fastifyRateLimit from '@fastify/rate-limit';
import fastifyStatic from '@fastify/static';
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify';
import { GatewayError } from '../core/conditions.ts';
import { failureOf } from '../core/failure.ts';
import { digestOfKey, keyPrefix } from '../core/key.ts';
import { RequestRecord } from '../core/request-record.ts';
import { MONTH } from '../core/time.ts';
import { countAgainstRateLimit } from '../exchange/admit.ts';
import { authenticateDigest } from '../exchange/authenticate.ts';
import { storeFailed } from '../exchange/gateway.ts';
import type { Caller } from '../exchange/request.ts';
import { errorBody } from '../http/reply.ts';
import { newRequestId } from '../http/request-id.ts';
import { contentSecurityPolicy } from '../lib/content-security-policy.ts';
import { isObject, parseJson, stringAt } from '../lib/json.ts';
import { type HolderSources, lookUp } from './look-up.ts';
import { COOKIE, type HolderSession, LIFE_MS, SealedSessions } from './session.ts';
import { statementView } from './statement.ts';

/** As deep below the package in `dist` as in `src`. */
const BUILD = fileURLToPath(new URL('../../console/dist/account', import.meta.url));
const NOT_BUILT = 'This page is not built: run "npm ci && npm run console:build" in a checkout.';
const NO_FILE = 'There is no such file.';
const BODY_BYTES_MAX = 4_096;
const NONCE_PLACE = '__CSP_NONCE__';
const NOT_A_KEY = 'This is not an API key of this gateway. Copy the whole key, as it was given to you.';
const SIGN_IN = 'You are not signed in, or the hour is over. Enter the API key again.';
const NO_STATEMENT = 'A statement is about credits, and this key pays with tokens: see its usage.';

/** How often an address may post keys that do not exist in a minute. Each serving thread counts for itself. */
const WRONG_KEYS = { max: 10, timeWindow: 60_000 };
const ADDRESSES_MAX = 10_000;

/** What the listener knows of the request that is being answered, beyond its head. */
export const RECEIVED = new AsyncLocalStorage<{
  /** The origin that it was sent to; null where that cannot be told. */
  readonly origin: string | null;
  readBody(bytesMax: number): Promise<Buffer | GatewayError>;
}>();

const JSON_TYPE = 'application/json';

/** Every answer has them: nothing of it is framed or kept by caches, and it tells no other place where the reader was. */
const HEADERS = {
  'content-type': JSON_TYPE,
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
};

export interface KeyholderAppOptions extends HolderSources {
  readonly installationSecret: string;
  /** Whether browsers reach the listener by TLS. */
  readonly secure: boolean;
  /** The sessions that were signed out, at whichever gateway. */
  readonly ended: {
    has(id: string): Promise<boolean>;
    add(id: string, endsAtMs: number, nowMs: number): Promise<void>;
  };
}

export async function keyholderApp(options: KeyholderAppOptions): Promise<FastifyInstance> {
  const { log } = options.gateway;
  const app = fastify({ genReqId: newRequestId, exposeHeadRoutes: false });
  app.addHook('onRequest', async (request, reply) => {
    void reply.headers({ 'x-request-id': request.id, ...HEADERS });
  });
  app.setErrorHandler((error, request, reply) => {
    if (!(error instanceof GatewayError)) log.error({ err: error, requestId: request.id }, 'unexpected failure');
    const failure = failureOf(null, error);
    const { retryAfterS, mayRetry } = failure;
    if (retryAfterS !== null) void reply.header('retry-after', retryAfterS);
    if (!mayRetry) void reply.header('x-should-retry', 'false');
    void reply
      .code(failure.status)
      .type(JSON_TYPE)
      .send(errorBody('A', failure, request.id));
  });
  await app.register(fastifyCookie);
  await app.register(fastifyRateLimit, { global: false, cache: ADDRESSES_MAX });
  await addFiles(app);
  await app.register(async (routes) => addRoutes(routes, options));
  return app;
}

function addRoutes(app: FastifyInstance, options: KeyholderAppOptions): void {
  const { gateway, installationSecret, ended } = options;
  const sessions = new SealedSessions(installationSecret);
  const cookie = { path: '/account', httpOnly: true, sameSite: 'strict', secure: options.secure } as const;
  const wrongKeys = app.createRateLimit(WRONG_KEYS);
  /** Throws where its address has sent too many. Whoever has a key is let in all the same: many can share an address. */
  const noteWrongKey = async (request: FastifyRequest): Promise<void> => {
    const tried = await wrongKeys(request);
    if (tried.isAllowed || !tried.isExceeded) return;
    const retryAfterS = tried.ttlInSeconds;
    const message = `Too many keys were tried from this address. Try again in ${retryAfterS} s.`;
    throw new GatewayError('rate_limit_exceeded', { message, retryAfterS });
  };
  const callerOf = async (digest: string, { id, ip }: FastifyRequest): Promise<Caller> => {
    const sent = { record: new RequestRecord(id, null, 0), clientAddress: ip };
    return countAgainstRateLimit(gateway, sent, await authenticateDigest(gateway, digest, sent));
  };
  const sentSession = ({ cookies }: FastifyRequest): HolderSession | null =>
    sessions.open(cookies[COOKIE] ?? '', gateway.clock.nowMs());
  const sessionOf = async (request: FastifyRequest): Promise<HolderSession> => {
    const session = sentSession(request);
    if (session !== null && !(await ended.has(session.id).catch(storeFailed))) return session;
    throw new GatewayError('invalid_credentials', { message: SIGN_IN });
  };

  /** Browsers say where a call comes from; only the page itself may make one. */
  app.addHook('onRequest', async ({ headers }) => {
    if (['', 'none', 'same-origin'].includes(String(headers['sec-fetch-site']))) return;
    throw new GatewayError('invalid_request', { message: 'Open /account itself.' });
  });
  /** A key that does not exist counts for its address; a key that does counts in its own rate limit. */
  app.post('/account/session', async (request, reply) => {
    const body = await RECEIVED.getStore()?.readBody(BODY_BYTES_MAX);
    if (body instanceof GatewayError) throw body;
    const sent = parseJson(String(body));
    const text = isObject(sent) ? stringAt(sent, 'key')?.trim() : undefined;
    if (text === undefined || text === '') {
      throw new GatewayError('invalid_request', { message: 'Send { "key": "<API_KEY>" }.', param: 'key' });
    }
    try {
      const digest = digestOfKey(installationSecret, text);
      if (digest === null) throw new GatewayError('invalid_credentials', { message: NOT_A_KEY });
      const nowMs = gateway.clock.nowMs();
      await callerOf(digest, request);
      const sealed = sessions.seal(digest, keyPrefix(text), nowMs);
      void reply.setCookie(COOKIE, sealed, { ...cookie, maxAge: LIFE_MS / 1_000 });
      return json({ signed_in: true });
    } catch (error) {
      if (error instanceof GatewayError && error.condition === 'invalid_credentials') await noteWrongKey(request);
      throw error;
    }
  });
  /** The cookie is worth nothing afterwards, whoever has kept it. */
  app.delete('/account/session', async (request, reply) => {
    const session = sentSession(request);
    if (session !== null) await ended.add(session.id, session.endsAtMs, gateway.clock.nowMs()).catch(storeFailed);
    void reply.setCookie(COOKIE, '', { ...cookie, maxAge: 0 });
    return json({ signed_in: false });
  });
  app.get('/account/data', async (request) => {
    const session = await sessionOf(request);
    const { key } = await callerOf(session.digest, request);
    const view = await lookUp(options, key, session, RECEIVED.getStore()?.origin ?? null);
    if (view === null) throw new GatewayError('invalid_credentials', { message: SIGN_IN });
    return json(view);
  });
  /** It is about the key of the session, whatever is asked for: no other can be named. */
  app.get('/account/statement', async (request, reply) => {
    const { digest } = await sessionOf(request);
    const { key } = await callerOf(digest, request);
    const { month = '', format = 'json' } = request.query as Readonly<Record<string, string | undefined>>;
    if (!new RegExp(MONTH).test(month)) throw invalidQuery('month', 'a month like 2026-10');
    if (!['json', 'csv', 'html'].includes(format)) throw invalidQuery('format', 'json, csv or html');
    const written = await options.statement(key.id, month).catch(storeFailed);
    if (written === null) throw new GatewayError('invalid_request', { message: NO_STATEMENT });
    if (format === 'json') {
      return json(await statementView(written, options.ledger, key).catch(storeFailed));
    }
    if (format === 'csv') {
      void reply.header('content-disposition', `attachment; filename="statement-${month}.csv"`);
      return reply.type('text/csv; charset=utf-8').send(written.csv());
    }
    const { text, policy } = written.html();
    return reply.header('content-security-policy', policy).type('text/html; charset=utf-8').send(text);
  });
}

/** As bytes: the framework would add a charset to the type of a text. */
function json(body: object): Buffer {
  return Buffer.from(JSON.stringify(body));
}

function invalidQuery(param: string, expected: string): GatewayError {
  return new GatewayError('invalid_request', { message: `${param} must be ${expected}.`, param });
}

/** The page and its files, as the build of the console made them: the same for everybody. */
async function addFiles(app: FastifyInstance): Promise<void> {
  const [file, root] = [join(BUILD, 'index.html'), join(BUILD, 'assets')];
  const page = existsSync(file) ? readFileSync(file, 'utf8') : null;
  const names = new Set(page === null ? [] : readdirSync(root).filter((name) => /\.(?:js|css|svg)$/.test(name)));
  if (page !== null) {
    // Their names are digests of what they hold.
    const caching = { immutable: true, maxAge: '365d', etag: false, lastModified: false, acceptRanges: false };
    await app.register(fastifyStatic, { serve: false, root, preCompressed: true, ...caching });
  }
  app.get('/account', (_request, reply) => {
    const nonce = randomBytes(16).toString('base64');
    void reply.header('content-security-policy', contentSecurityPolicy(nonce));
    if (page === null) sendText(reply, 503, NOT_BUILT);
    else void reply.type('text/html; charset=utf-8').send(page.replaceAll(NONCE_PLACE, nonce));
  });
  app.get('/account/assets/:name', (request, reply) => {
    const { name } = request.params as { readonly name: string };
    if (names.has(name)) void reply.sendFile(name);
    else sendText(reply, 404, NO_FILE);
  });
  app.setNotFoundHandler((_request, reply) => sendText(reply, 404, NO_FILE));
}

function sendText(reply: FastifyReply, status: number, text: string): void {
  void reply.code(status).type('text/plain; charset=utf-8').send(`${text}\n`);
}
