/** The public listener: routes only. What a route does stands in `exchange/`, what it answers in `reply.ts`. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { GatewayError } from '../core/conditions.ts';
import { ENDPOINTS, type Endpoint, type EndpointName } from '../core/endpoints.ts';
import type { Mode } from '../core/key.ts';
import type { Limits } from '../core/policy.ts';
import { takePlace } from '../exchange/admit.ts';
import type { Arrival } from '../exchange/arrival.ts';
import { authenticate, type Caller } from '../exchange/authenticate.ts';
import { countTokens } from '../exchange/count-tokens.ts';
import type { Gateway } from '../exchange/gateway.ts';
import { RequestHeaders } from '../exchange/headers.ts';
import { listModels } from '../exchange/list-models.ts';
import { run } from '../exchange/run.ts';
import { storeFailed } from '../exchange/store-failed.ts';
import { usageSummary } from '../exchange/usage-summary.ts';
import { readBody } from './body.ts';
import { installParserErrors, refusedForHeaders } from './hardening.ts';
import { openApiDocument } from './openapi.ts';
import { Reply } from './reply.ts';
import { newRequestId } from './request-id.ts';

export interface AppOptions {
  /** How long a client may take to send the headers of a request, and to send all of it. */
  readonly timeouts: Pick<Limits, 'headersTimeoutMs' | 'bodyTimeoutMs'>;
  readonly gateway: Gateway;
  /** Keys the digests of API keys. */
  readonly installationSecret: string;
  /** False while the gateway drains or its store is out of reach. */
  ready(): boolean;
  /** False while the gateway drains. */
  accepting(): boolean;
}

const ORIGINS: readonly { readonly prefix: string; readonly mode: Mode }[] = [
  { prefix: '', mode: 'credit' },
  { prefix: '/token', mode: 'token_budget' },
];

/** How often clients that send too slowly are looked for. */
const SLOW_CHECK_MS_MAX = 5_000;
/** Longer than the idle time of the usual load balancers, which must be the ones to close. */
const KEEP_ALIVE_MS = 75_000;
/** More of a client's own request id is not logged. */
const CLIENT_ID_CHARACTERS_MAX = 200;

interface Visit {
  readonly endpoint: Endpoint;
  readonly caller: Caller | null;
  readonly headers: RequestHeaders;
  readonly request: IncomingMessage;
  readonly reply: Reply;
  readonly receivedAtMs: number;
}

const DRAINING = 'The gateway is shutting down and takes no new work. Retry on another one.';

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

export function buildServer(options: AppOptions): Server {
  const { headersTimeoutMs, bodyTimeoutMs } = options.timeouts;
  const routes = routesOf(options);
  const server = createServer(
    {
      keepAliveTimeout: KEEP_ALIVE_MS,
      requestTimeout: bodyTimeoutMs,
      headersTimeout: headersTimeoutMs,
      connectionsCheckingInterval: Math.ceil(Math.min(SLOW_CHECK_MS_MAX, headersTimeoutMs / 4)),
      maxHeaderSize: 32 * 1_024,
      // Node's own refusal has neither an envelope nor a request id.
      requireHostHeader: false,
      noDelay: true,
    },
    (request, response) => {
      if (refusedForHeaders(request)) return;
      // A connection that was busy when the drain began may still bring requests.
      if (!options.accepting()) {
        response.shouldKeepAlive = false;
        if (pathOf(request) !== '/healthz') {
          plainReply(request, response).error(new GatewayError('service_unavailable', { message: DRAINING }));
          request.resume();
          return;
        }
      }
      const handler = routes.get(`${request.method} ${pathOf(request)}`);
      if (handler) handler(request, response);
      else refuseRoute(request, response);
    },
  );
  installParserErrors(server);
  return server;
}

/** By method and exact path: no route has a parameter. */
function routesOf(options: AppOptions): ReadonlyMap<string, Handler> {
  const routes = new Map<string, Handler>();
  for (const { prefix, mode } of ORIGINS) {
    for (const endpoint of Object.values(ENDPOINTS)) {
      const handler: Handler = (request, response) => {
        void serve(options, endpoint, mode, request, response);
      };
      routes.set(`${endpoint.method} ${prefix}${endpoint.path}`, handler);
      // A client that appends the whole path itself, configured with a base URL that ends in /v1.
      routes.set(`${endpoint.method} ${prefix}/v1${endpoint.path}`, handler);
    }
    const bare: Handler = (request, response) => {
      const service = { object: 'service', name: 'model-gateway', openapi: `${prefix}/openapi.json` };
      plainReply(request, response).json(service);
    };
    routes.set(`GET ${prefix || '/'}`, bare);
    routes.set(`HEAD ${prefix || '/'}`, bare);
    routes.set(`GET ${prefix}/openapi.json`, (request, response) => {
      plainReply(request, response).json(openApiDocument());
    });
  }
  routes.set('GET /healthz', (request, response) => {
    const reply = plainReply(request, response);
    if (options.ready()) reply.json({ status: 'ok' });
    else reply.error(new GatewayError('service_unavailable'));
  });
  return routes;
}

async function serve(
  options: AppOptions,
  endpoint: Endpoint,
  mode: Mode,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { gateway } = options;
  const receivedAtMs = gateway.clock.nowMs();
  const reply = new Reply(response, newRequestId(), endpoint, endpoint.envelope);
  gateway.live.enter();
  try {
    const headers = new RequestHeaders(request.rawHeaders);
    const clientsId = headers.get('x-request-id');
    if (clientsId !== null) {
      const fields = { requestId: reply.requestId, clientRequestId: clientsId.slice(0, CLIENT_ID_CHARACTERS_MAX) };
      gateway.log.info(fields, 'the client has a request id of its own');
    }
    const found = authenticate(gateway, options.installationSecret, endpoint, mode, headers);
    const caller = found instanceof Promise ? await found : found;
    await ROUTES[endpoint.name](gateway, { endpoint, caller, headers, request, reply, receivedAtMs });
  } catch (error) {
    if (!(error instanceof GatewayError))
      gateway.log.error({ err: error, requestId: reply.requestId }, 'unexpected failure');
    else if (error.cause !== undefined)
      gateway.log.warn({ err: error.cause, requestId: reply.requestId, condition: error.condition }, error.message);
    reply.error(error);
    // An unread body is drained, so that the client gets to read the answer.
    request.resume();
  } finally {
    gateway.live.leave();
  }
}

const ROUTES: Readonly<Record<EndpointName, (gateway: Gateway, visit: Visit) => Promise<void>>> = {
  chat: generate,
  responses: generate,
  messages: generate,
  count_tokens: async (gateway, visit) => {
    visit.reply.json({ input_tokens: await countTokens(gateway, await arrive(gateway, visit), visit.reply.notes) });
  },
  models: async (gateway, { caller, reply }) => {
    const known = caller && (await takePlace(gateway, caller, (rate) => Object.assign(reply.notes, { rate })));
    reply.json(listModels(gateway, known));
  },
  usage: async (gateway, { caller, reply }) => {
    if (!caller) throw new GatewayError('invalid_credentials');
    await takePlace(gateway, caller, (rate) => Object.assign(reply.notes, { rate }));
    const summary = await gateway.ledger.summary(caller.key.id).catch(storeFailed);
    if (!summary) throw new GatewayError('invalid_credentials');
    const usage = usageSummary(summary, gateway.policy().usdPerCredit, gateway.clock.nowMs());
    reply.json(usage.body, {
      ...(usage.creditRemaining === null ? {} : { 'x-service-credit-remaining': usage.creditRemaining }),
      ...(usage.tokensRemaining === null ? {} : { 'x-ratelimit-remaining-tokens': usage.tokensRemaining }),
    });
  },
};

async function generate(gateway: Gateway, visit: Visit): Promise<void> {
  return run(gateway, await arrive(gateway, visit), visit.reply);
}

async function arrive(gateway: Gateway, visit: Visit): Promise<Arrival> {
  const { endpoint, caller, headers, request, reply, receivedAtMs } = visit;
  if (!caller || endpoint.format === null) throw new GatewayError('invalid_credentials');
  const body = await readBody(request, gateway.policy().limits.bodyBytes);
  return {
    requestId: reply.requestId,
    endpoint: { ...endpoint, format: endpoint.format },
    path: pathOf(request),
    caller,
    headers,
    body: body instanceof GatewayError ? null : body,
    bodyProblem: body instanceof GatewayError ? body : null,
    receivedAtMs,
  };
}

function refuseRoute(request: IncomingMessage, response: ServerResponse): void {
  const path = pathOf(request);
  const relative = path.startsWith('/token/') ? path.slice('/token'.length) : path;
  const endpoint = Object.values(ENDPOINTS).find((row) => row.path === relative);
  const reply = plainReply(request, response);
  if (endpoint?.name === 'responses' && request.headers.upgrade !== undefined) {
    reply.error(new GatewayError('upgrade_required'), { upgrade: 'HTTP/1.1', connection: 'Upgrade' });
  } else if (endpoint) {
    reply.error(new GatewayError('method_not_allowed', { message: `This route takes ${endpoint.method} only.` }), {
      allow: endpoint.method,
    });
  } else if (OPEN_PATHS[path] !== undefined) {
    const allow = OPEN_PATHS[path];
    reply.error(new GatewayError('method_not_allowed', { message: `This route takes ${allow} only.` }), { allow });
  } else {
    reply.error(
      new GatewayError('not_found', { message: `There is no route ${request.method} ${path.slice(0, 200)}.` }),
    );
  }
  request.resume();
}

/** The routes that need no credential, and the methods that they take. */
const OPEN_PATHS: Readonly<Record<string, string | undefined>> = Object.assign(Object.create(null), {
  '/': 'GET, HEAD',
  '/token': 'GET, HEAD',
  '/openapi.json': 'GET',
  '/token/openapi.json': 'GET',
  '/healthz': 'GET',
});

function plainReply(request: IncomingMessage, response: ServerResponse): Reply {
  return new Reply(response, newRequestId(), null, /^(\/token)?\/v1\/messages(\/|$)/.test(pathOf(request)) ? 'B' : 'A');
}

function pathOf(request: IncomingMessage): string {
  const url = request.url ?? '/';
  const query = url.indexOf('?');
  return query === -1 ? url : url.slice(0, query);
}
