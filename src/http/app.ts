/** The public listener: routes only. What a route does stands in `exchange/`, what it answers in `reply.ts`. */
import { GatewayError } from '../core/conditions.ts';
import { ENDPOINTS, type Endpoint, type EndpointName } from '../core/endpoints.ts';
import type { Mode } from '../core/key.ts';
import { countTokens } from '../endpoints/count-tokens.ts';
import { listModels } from '../endpoints/list-models.ts';
import { usageSummary } from '../endpoints/usage.ts';
import { takePlace } from '../exchange/admit.ts';
import { authenticate, type Caller } from '../exchange/authenticate.ts';
import type { Gateway } from '../exchange/gateway.ts';
import type { Arrival, GenerationEndpoint } from '../exchange/request.ts';
import { run } from '../exchange/run.ts';
import { storeFailed } from '../exchange/store-failed.ts';
import type { IncomingRequest, RequestHandler, ServerResponse } from '../transport/server.ts';
import { readBody } from './body.ts';
import { openApiBytes } from './openapi.ts';
import { refusalOf } from './refusal.ts';
import { Reply } from './reply.ts';
import { newRequestId } from './request-id.ts';

export interface AppOptions {
  /** More headers than this are refused by the transport. */
  readonly headerCount: number;
  readonly gateway: Gateway;
  /** False while the gateway drains or its store is out of reach. */
  ready(): boolean;
  /** False while the gateway drains. */
  accepting(): boolean;
}

const ORIGINS: readonly { readonly prefix: string; readonly mode: Mode }[] = [
  { prefix: '', mode: 'credit' },
  { prefix: '/token', mode: 'token_budget' },
];

/** More of a client's own request id is not logged. */
const CLIENT_ID_CHARACTERS_MAX = 200;

interface Visit {
  readonly endpoint: Endpoint;
  readonly caller: Caller | null;
  readonly request: IncomingRequest;
  readonly reply: Reply;
  readonly receivedAtMs: number;
}

const DRAINING = 'The gateway is shutting down and takes no new work. Retry on another one.';

type Handler = RequestHandler['onRequest'];

export function requestHandler(options: AppOptions): RequestHandler {
  const routes = routesOf(options);
  const onRequest: Handler = (request, response) => {
    const path = pathOf(request);
    // A connection that was busy when the drain began may still bring requests.
    if (!options.accepting() && path !== '/healthz') {
      plainReply(request, response).error(new GatewayError('service_unavailable', { message: DRAINING }));
      return;
    }
    const handler = routes.get(path)?.get(request.method) ?? refuseRoute;
    handler(request, response);
  };
  return { onRequest, refusal: (fault) => refusalOf(fault, options.headerCount) };
}

/** By exact path and method: no route has a parameter. */
type Routes = ReadonlyMap<string, ReadonlyMap<string, Handler>>;

function routesOf(options: AppOptions): Routes {
  const routes = new Map<string, Map<string, Handler>>();
  const add = (method: string, path: string, handler: Handler): void => {
    routes.set(path, (routes.get(path) ?? new Map<string, Handler>()).set(method, handler));
  };
  for (const { prefix, mode } of ORIGINS) {
    for (const endpoint of Object.values(ENDPOINTS)) {
      const handler: Handler = (request, response) => {
        void serve(options, endpoint, mode, request, response);
      };
      add(endpoint.method, `${prefix}${endpoint.path}`, handler);
      // A client that appends the whole path itself, configured with a base URL that ends in /v1.
      add(endpoint.method, `${prefix}/v1${endpoint.path}`, handler);
    }
    const bare: Handler = (request, response) => {
      const service = { object: 'service', name: 'model-gateway', openapi: `${prefix}/openapi.json` };
      plainReply(request, response).json(service);
    };
    add('GET', prefix || '/', bare);
    add('HEAD', prefix || '/', bare);
    add('GET', `${prefix}/openapi.json`, (request, response) => {
      plainReply(request, response).whole(200, 'application/json', openApiBytes());
    });
  }
  add('GET', '/healthz', (request, response) => {
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
  request: IncomingRequest,
  response: ServerResponse,
): Promise<void> {
  const { gateway } = options;
  const receivedAtMs = gateway.clock.nowMs();
  const reply = new Reply(response, newRequestId(), endpoint, endpoint.envelope);
  gateway.live.enter();
  try {
    const { headers } = request;
    const clientsId = headers.get('x-request-id');
    if (clientsId !== null) {
      const fields = { requestId: reply.requestId, clientRequestId: clientsId.slice(0, CLIENT_ID_CHARACTERS_MAX) };
      gateway.log.info(fields, 'the client has a request id of its own');
    }
    const found = authenticate(gateway, endpoint, mode, headers);
    const caller = found instanceof Promise ? await found : found;
    await ROUTES[endpoint.name](gateway, { endpoint, caller, request, reply, receivedAtMs });
  } catch (error) {
    if (!(error instanceof GatewayError))
      gateway.log.error({ err: error, requestId: reply.requestId }, 'unexpected failure');
    else if (error.cause !== undefined)
      gateway.log.warn({ err: error.cause, requestId: reply.requestId, condition: error.condition }, error.message);
    reply.error(error);
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
    reply.json(usage.body, [
      ...(usage.creditRemaining === null ? [] : ['x-service-credit-remaining', usage.creditRemaining]),
      ...(usage.tokensRemaining === null ? [] : ['x-ratelimit-remaining-tokens', usage.tokensRemaining]),
    ]);
  },
};

function generate(gateway: Gateway, visit: Visit): Promise<void> {
  const arrival = arrive(gateway, visit);
  if (arrival instanceof Promise) return arrival.then((late) => run(gateway, late, visit.reply));
  return run(gateway, arrival, visit.reply);
}

function arrive(gateway: Gateway, visit: Visit): Arrival | Promise<Arrival> {
  const { endpoint, caller } = visit;
  if (!caller || !hasFormat(endpoint)) throw new GatewayError('invalid_credentials');
  const body = readBody(visit.request, gateway.policy().limits.bodyBytes);
  if (body instanceof Promise) return body.then((late) => arrivalOf(visit, endpoint, caller, late));
  return arrivalOf(visit, endpoint, caller, body);
}

function hasFormat(endpoint: Endpoint): endpoint is GenerationEndpoint {
  return endpoint.format !== null;
}

function arrivalOf(visit: Visit, endpoint: GenerationEndpoint, caller: Caller, body: Buffer | GatewayError): Arrival {
  const failed = body instanceof GatewayError;
  return {
    requestId: visit.reply.requestId,
    endpoint,
    path: pathOf(visit.request),
    caller,
    headers: visit.request.headers,
    body: failed ? null : body,
    bodyProblem: failed ? body : null,
    receivedAtMs: visit.receivedAtMs,
  };
}

function refuseRoute(request: IncomingRequest, response: ServerResponse): void {
  const path = pathOf(request);
  const relative = path.startsWith('/token/') ? path.slice('/token'.length) : path;
  const endpoint = Object.values(ENDPOINTS).find((row) => row.path === relative);
  const reply = plainReply(request, response);
  if (endpoint?.name === 'responses' && request.headers.first('upgrade') !== null) {
    response.requireUpgrade('HTTP/1.1');
    reply.error(new GatewayError('upgrade_required'));
  } else if (endpoint) {
    reply.error(new GatewayError('method_not_allowed', { message: `This route takes ${endpoint.method} only.` }), [
      'allow',
      endpoint.method,
    ]);
  } else if (OPEN_PATHS[path] !== undefined) {
    const allow = OPEN_PATHS[path];
    reply.error(new GatewayError('method_not_allowed', { message: `This route takes ${allow} only.` }), [
      'allow',
      allow,
    ]);
  } else {
    reply.error(
      new GatewayError('not_found', { message: `There is no route ${request.method} ${path.slice(0, 200)}.` }),
    );
  }
}

/** The routes that need no credential, and the methods that they take. */
const OPEN_PATHS: Readonly<Record<string, string | undefined>> = Object.assign(Object.create(null), {
  '/': 'GET, HEAD',
  '/token': 'GET, HEAD',
  '/openapi.json': 'GET',
  '/token/openapi.json': 'GET',
  '/healthz': 'GET',
});

function plainReply(request: IncomingRequest, response: ServerResponse): Reply {
  return new Reply(response, newRequestId(), null, /^(\/token)?\/v1\/messages(\/|$)/.test(pathOf(request)) ? 'B' : 'A');
}

function pathOf({ target }: IncomingRequest): string {
  const query = target.indexOf('?');
  return query === -1 ? target : target.slice(0, query);
}
