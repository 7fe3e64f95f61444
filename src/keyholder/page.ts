/**
 * The key holder's page, `/account` on the public listener: the key is posted once, a sealed cookie of an hour stands for it
 * afterwards. Every look at the key counts in its rate limit, as a look at `/v1/usage` does.
 */
import { randomBytes } from 'node:crypto';
import type { TrustedProxies } from '../core/client-address.ts';
import { GatewayError } from '../core/conditions.ts';
import { failureOf } from '../core/failure.ts';
import { digestOfKey, keyPrefix } from '../core/key.ts';
import { RequestRecord } from '../core/request-record.ts';
import { countAgainstRateLimit } from '../exchange/admit.ts';
import { authenticateDigest } from '../exchange/authenticate.ts';
import { storeFailed } from '../exchange/gateway.ts';
import type { Caller } from '../exchange/request.ts';
import type { Pages } from '../http/app.ts';
import { readBody } from '../http/body.ts';
import { clientAddress } from '../http/http-request.ts';
import { errorBody, failureHeaders } from '../http/reply.ts';
import { newRequestId } from '../http/request-id.ts';
import { contentSecurityPolicy } from '../lib/content-security-policy.ts';
import { isObject, parseJson, stringAt } from '../lib/json.ts';
import type { IncomingRequest, RawHeaders, ServerResponse } from '../transport/server.ts';
import { NONCE_PLACE, PageFiles } from './files.ts';
import { type HolderSources, lookUp } from './look-up.ts';
import { type HolderSession, SessionCookies } from './session.ts';
import { statementView } from './statement.ts';
import { SignInThrottle } from './throttle.ts';

const BODY_BYTES_MAX = 4_096;
const ASSETS = '/account/assets/';
const NOT_BUILT = 'This page is not built: run "npm ci && npm run console:build" in a checkout.';

/** On every answer: nothing of it is kept by caches or framed, and it tells no other place where the reader was. */
const COMMON: readonly string[] = [
  ...['x-content-type-options', 'nosniff', 'referrer-policy', 'no-referrer'],
  ...['cross-origin-resource-policy', 'same-origin', 'cross-origin-opener-policy', 'same-origin'],
];

export interface KeyholderOptions extends HolderSources {
  readonly installationSecret: string;
  /** Whether browsers reach the listener by TLS. */
  readonly secure: boolean;
  /** Who tells where a request comes from; null where nobody does. */
  readonly proxies: TrustedProxies | null;
  /** The sessions that were signed out, at whichever gateway. */
  readonly ended: {
    has(id: string): Promise<boolean>;
    add(id: string, endsAtMs: number, nowMs: number): Promise<void>;
  };
}

interface Answer {
  /** Sent as JSON. */
  readonly body: object;
  readonly cookie?: string;
}

/** What is no JSON. */
interface Document {
  readonly text: string;
  readonly headers: readonly string[];
}

type Action = (request: IncomingRequest, record: RequestRecord, origin: string | null) => Promise<Answer | Document>;

export class KeyholderPage implements Pages {
  readonly #options: KeyholderOptions;
  readonly #cookies: SessionCookies;
  readonly #throttle = new SignInThrottle();
  readonly #actions: Readonly<Record<string, Readonly<Record<string, Action>>>>;
  #files: PageFiles | null = null;

  constructor(options: KeyholderOptions) {
    this.#options = options;
    this.#cookies = new SessionCookies(options.installationSecret, options.secure);
    this.#actions = {
      '/account/session': {
        POST: (request, record) => this.#signIn(request, record),
        DELETE: (request) => this.#signOut(request),
      },
      '/account/data': { GET: (request, record, origin) => this.#look(request, record, origin) },
      '/account/statement': { GET: (request, record) => this.#statement(request, record) },
    };
  }

  serve(request: IncomingRequest, response: ServerResponse, path: string, origin: string | null): boolean {
    if (!path.startsWith('/account') || !this.#options.gateway.policy().accountPage) return false;
    if (path === '/account' || path.startsWith(ASSETS)) {
      if (request.method !== 'GET') return false;
      this.#sendFile(request, response, path);
      return true;
    }
    const actions = Object.hasOwn(this.#actions, path) ? this.#actions[path] : undefined;
    const action =
      actions !== undefined && Object.hasOwn(actions, request.method) ? actions[request.method] : undefined;
    if (action === undefined) return false;
    void this.#act(action, request, response, origin);
    return true;
  }

  async #act(action: Action, request: IncomingRequest, response: ServerResponse, origin: string | null): Promise<void> {
    const { inFlight, log } = this.#options.gateway;
    const record = new RequestRecord(newRequestId(), null, 0);
    inFlight.requestStarted();
    try {
      if (isCrossSite(request)) throw new GatewayError('invalid_request', { message: 'Open /account itself.' });
      const answer = await action(request, record, origin);
      if ('text' in answer) {
        const headers = [...commonHeaders(record.requestId), ...answer.headers];
        response.send(200, headers, Buffer.from(answer.text));
      } else {
        const headers = jsonHeaders(record.requestId);
        if (answer.cookie !== undefined) headers.push('set-cookie', answer.cookie);
        response.send(200, headers, Buffer.from(JSON.stringify(answer.body)));
      }
    } catch (err) {
      if (!(err instanceof GatewayError)) log.error({ err, requestId: record.requestId }, 'unexpected failure');
      const failure = failureOf(null, err);
      const headers = [...jsonHeaders(record.requestId), ...failureHeaders(failure)];
      response.send(failure.status, headers, errorBody('A', failure, record.requestId));
    } finally {
      inFlight.requestEnded();
    }
  }

  /** A key that does not exist counts for its address; a key that does counts in its own rate limit. */
  async #signIn(request: IncomingRequest, record: RequestRecord): Promise<Answer> {
    const { gateway, installationSecret } = this.#options;
    const nowMs = gateway.clock.nowMs();
    const body = await readBody(request, BODY_BYTES_MAX);
    if (body instanceof GatewayError) throw body;
    const sent = parseJson(body.toString());
    const text = isObject(sent) ? stringAt(sent, 'key')?.trim() : undefined;
    if (text === undefined || text === '') {
      throw new GatewayError('invalid_request', { message: 'Send { "key": "<API_KEY>" }.', param: 'key' });
    }
    try {
      const digest = digestOfKey(installationSecret, text);
      if (digest === null) throw new GatewayError('invalid_credentials', { message: NOT_A_KEY });
      await this.#caller(digest, request, record);
      const cookie = this.#cookies.issue(digest, keyPrefix(text), nowMs);
      return { body: { signed_in: true }, cookie };
    } catch (error) {
      if (error instanceof GatewayError && error.condition === 'invalid_credentials')
        this.#noteWrongKey(request, nowMs);
      throw error;
    }
  }

  /** Throws where its address has sent too many. Whoever has a key is let in all the same: many can share an address. */
  #noteWrongKey(request: IncomingRequest, nowMs: number): void {
    const address = clientAddress(request, this.#options.proxies);
    const waitMs = this.#throttle.waitMs(address, nowMs);
    if (waitMs === 0) {
      this.#throttle.failed(address, nowMs);
      return;
    }
    const retryAfterS = Math.ceil(waitMs / 1_000);
    const message = `Too many keys were tried from this address. Try again in ${retryAfterS} s.`;
    throw new GatewayError('rate_limit_exceeded', { message, retryAfterS });
  }

  /** The cookie is worth nothing afterwards, whoever has kept it. */
  async #signOut(request: IncomingRequest): Promise<Answer> {
    const { gateway, ended } = this.#options;
    const nowMs = gateway.clock.nowMs();
    const session = this.#cookies.read(request.headers.get('cookie'), nowMs);
    if (session !== null) await ended.add(session.id, session.endsAtMs, nowMs).catch(storeFailed);
    return { body: { signed_in: false }, cookie: this.#cookies.clear() };
  }

  async #look(request: IncomingRequest, record: RequestRecord, origin: string | null): Promise<Answer> {
    const session = await this.#session(request);
    const { key } = await this.#caller(session.digest, request, record);
    const body = await lookUp(this.#options, key, session, origin);
    if (body === null) throw new GatewayError('invalid_credentials', { message: SIGN_IN });
    return { body };
  }

  /** Of the key of the session, whatever is asked for: no other can be named. */
  async #statement(request: IncomingRequest, record: RequestRecord): Promise<Answer | Document> {
    const { digest } = await this.#session(request);
    const { key } = await this.#caller(digest, request, record);
    const query = new URLSearchParams(request.target.split('?')[1] ?? '');
    const month = query.get('month') ?? '';
    if (!/^\d{4}-(0[1-9]|1[0-2])$/.test(month)) throw invalidQuery('month', 'a month like 2026-10');
    const format = query.get('format') ?? 'json';
    if (!['json', 'csv', 'html'].includes(format)) throw invalidQuery('format', 'json, csv or html');
    const written = await this.#options.statement(key.id, month).catch(storeFailed);
    if (written === null) throw new GatewayError('invalid_request', { message: NO_STATEMENT });
    if (format === 'json') {
      return { body: await statementView(written, this.#options.ledger, key).catch(storeFailed) };
    }
    if (format === 'csv') {
      const name = `attachment; filename="statement-${month}.csv"`;
      return {
        text: written.csv(),
        headers: ['content-type', 'text/csv; charset=utf-8', 'content-disposition', name],
      };
    }
    const { text, policy } = written.html();
    return { text, headers: ['content-type', 'text/html; charset=utf-8', 'content-security-policy', policy] };
  }

  async #session(request: IncomingRequest): Promise<HolderSession> {
    const { gateway, ended } = this.#options;
    const session = this.#cookies.read(request.headers.get('cookie'), gateway.clock.nowMs());
    if (session !== null && !(await ended.has(session.id).catch(storeFailed))) return session;
    throw new GatewayError('invalid_credentials', { message: SIGN_IN });
  }

  async #caller(digest: string, request: IncomingRequest, record: RequestRecord): Promise<Caller> {
    const { gateway, proxies } = this.#options;
    const sent = { record, clientAddress: clientAddress(request, proxies) };
    return countAgainstRateLimit(gateway, sent, await authenticateDigest(gateway, digest, sent));
  }

  #sendFile(request: IncomingRequest, response: ServerResponse, path: string): void {
    this.#files ??= new PageFiles();
    const headers: RawHeaders = ['x-request-id', newRequestId(), ...COMMON];
    if (path === '/account') {
      const { page } = this.#files;
      const nonce = randomBytes(16).toString('base64');
      headers.push(
        'content-security-policy',
        contentSecurityPolicy(nonce),
        'cache-control',
        'no-store',
        'content-type',
      );
      if (page === null) response.send(503, [...headers, 'text/plain; charset=utf-8'], Buffer.from(`${NOT_BUILT}\n`));
      else {
        const text = page.replaceAll(NONCE_PLACE, nonce);
        response.send(200, [...headers, 'text/html; charset=utf-8'], Buffer.from(text));
      }
      return;
    }
    const file = this.#files.find(path.slice(ASSETS.length), request.headers.get('accept-encoding'));
    if (file === null) {
      response.send(
        404,
        [...headers, 'content-type', 'text/plain; charset=utf-8'],
        Buffer.from('There is no such file.\n'),
      );
      return;
    }
    // Their names are digests of what they hold.
    headers.push('content-type', file.type, 'cache-control', 'public, max-age=31536000, immutable');
    headers.push('vary', 'accept-encoding');
    if (file.encoding !== null) headers.push('content-encoding', file.encoding);
    response.send(200, headers, file.bytes);
  }
}

const NOT_A_KEY = 'This is not an API key of this gateway. Copy the whole key, as it was given to you.';
const SIGN_IN = 'You are not signed in, or the hour is over. Enter the API key again.';

const NO_STATEMENT = 'A statement is about credits, and this key pays with tokens: see its usage.';

function invalidQuery(param: string, expected: string): GatewayError {
  return new GatewayError('invalid_request', { message: `${param} must be ${expected}.`, param });
}

/** Browsers say where a call comes from; only the page itself may make one. */
function isCrossSite({ headers }: IncomingRequest): boolean {
  const site = headers.first('sec-fetch-site');
  return site !== null && site !== 'same-origin' && site !== 'none';
}

function jsonHeaders(requestId: string): RawHeaders {
  return [...commonHeaders(requestId), 'content-type', 'application/json'];
}

function commonHeaders(requestId: string): RawHeaders {
  return ['x-request-id', requestId, 'cache-control', 'no-store', ...COMMON];
}
