/** The public listener: routes only. What an operation does is in `exchange/` and `endpoints/`, how it is answered in `reply.ts`. */
import type { TrustedProxies } from '../core/client-address.ts';
import { GatewayError } from '../core/conditions.ts';
import {
  ENDPOINTS,
  type Endpoint,
  ORIGINS,
  parameterisedPath,
  pathBelowOrigin,
  RESPONSES_OVER_WEBSOCKET,
} from '../core/endpoints.ts';
import type { Mode } from '../core/key.ts';
import { RequestRecord } from '../core/request-record.ts';
import { countTokens } from '../endpoints/count-tokens.ts';
import { getModel, listModels } from '../endpoints/models.ts';
import { cancelResponse, deleteResponse, getResponse, listInputItems } from '../endpoints/stored-response.ts';
import { usage } from '../endpoints/usage.ts';
import type { Gateway } from '../exchange/gateway.ts';
import type { ClientRequest } from '../exchange/request.ts';
import { run } from '../exchange/run.ts';
import type { IncomingRequest, RequestHandler, ServerResponse } from '../transport/server.ts';
import { withCors } from './cors.ts';
import { HttpRequest } from './http-request.ts';
import { openApiBytes } from './openapi.ts';
import { REFERENCE_PATH, REFERENCE_SCRIPT_PATH, sendReference, sendReferenceScript } from './reference.ts';
import { isOfConnections, refusalOf } from './refusal.ts';
import { Reply } from './reply.ts';
import { newRequestId } from './request-id.ts';
import type { ResponseSockets } from './response-sockets.ts';
import { noteClient, serveRequest } from './serve-request.ts';

interface AppOptions {
  /** More headers than this are refused by the transport. */
  readonly headerCount: number;
  readonly gateway: Gateway;
  /** Whether the listener has TLS. */
  readonly secure: boolean;
  /** Who may say for whom a request is forwarded; nobody by default. */
  readonly proxies?: TrustedProxies | null;
  /** Origins whose pages may send requests; none by default. */
  readonly corsOrigins?: readonly string[];
  /** False until the store was read, while it is out of reach, and while the gateway drains. Never rejects. */
  ready(): Promise<boolean>;
  /** False while the gateway drains. */
  accepting(): boolean;
  /** Who serves the WebSockets. */
  readonly sockets: Pick<ResponseSockets, 'accept'>;
  /** Asked about paths that no endpoint has: whether it answers. */
  readonly pages: Pages | null;
}

/** What is served beside the endpoints, to browsers. */
export interface Pages {
  serve(request: IncomingRequest, response: ServerResponse, path: string, origin: string | null): Promise<boolean>;
}

const DRAINING = 'The gateway is shutting down and accepts no new work. Retry on another one.';

const NOT_READY = 'The gateway cannot serve now: its store is out of reach, or it is shutting down.';

/** Whether the process serves HTTP at all: a supervisor restarts it when this does not answer. */
const LIVENESS = '/healthz';
/** Whether it can serve requests: a load balancer sends it none while this is a 503. */
const READINESS = '/readyz';

type Handler = RequestHandler['onRequest'];

export function requestHandler(options: AppOptions): RequestHandler {
  const routes = routesOf(options);
  const onRequest: Handler = (request, response) => {
    const path = pathOf(request);
    // A connection that was busy when the drain began may still bring requests.
    if (!options.accepting() && path !== LIVENESS && path !== READINESS) {
      refuse(options, request, response, new GatewayError('service_unavailable', { message: DRAINING }));
      return;
    }
    const handler = (routes.get(path) ?? parameterisedRoute(routes, path))?.get(request.method) ?? elsewhere;
    handler(request, response);
  };
  const elsewhere: Handler = async (request, response) => {
    try {
      const origin = requestOrigin(request, options.secure);
      if (await options.pages?.serve(request, response, pathOf(request), origin)) return;
      refuseRoute(options, request, response);
    } catch (err) {
      options.gateway.log.error({ err }, 'unexpected failure');
      refuse(options, request, response, new GatewayError('internal_error'));
    }
  };
  const refusal: RequestHandler['refusal'] = (fault) => {
    const record = new RequestRecord(newRequestId(), null, options.gateway.clock.nowMs());
    const refused = refusalOf(record, fault, options.headerCount);
    // Whoever opens connections without end shall not write the log; that they are refused, it has by the minute.
    if (!isOfConnections(fault)) record.finish(options.gateway.observer);
    return refused;
  };
  const onUpgrade: RequestHandler['onUpgrade'] = (request, response) => {
    const path = pathOf(request);
    const mode = webSocketMode(path);
    if (!options.accepting()) {
      refuse(options, request, response, new GatewayError('service_unavailable', { message: DRAINING }));
    } else if (mode !== null) {
      const accept: Operation<typeof RESPONSES_OVER_WEBSOCKET> = (_gateway, opened, reply) =>
        options.sockets.accept(request, opened, response, reply);
      void serve(options, RESPONSES_OVER_WEBSOCKET, mode, accept, request, response);
    } else if (routes.has(path) || parameterisedRoute(routes, path) !== undefined) {
      response.requireUpgrade('HTTP/1.1');
      refuse(options, request, response, new GatewayError('upgrade_required'));
    } else refuseRoute(options, request, response);
  };
  return withCors({ onRequest, onUpgrade, refusal }, options.corsOrigins ?? []);
}

/** Of the origin where a WebSocket is served at this path; null for every other path. */
function webSocketMode(path: string): Mode | null {
  const { path: below } = RESPONSES_OVER_WEBSOCKET;
  const found = ORIGINS.find(({ prefix }) => path === prefix + below || path === `${prefix}/v1${below}`);
  return found?.mode ?? null;
}

/** By exact path and method; a route with a parameter by the path of its endpoint. */
type Routes = ReadonlyMap<string, ReadonlyMap<string, Handler>>;

function parameterisedRoute(routes: Routes, path: string): ReadonlyMap<string, Handler> | undefined {
  const relative = pathBelowOrigin(path);
  const prefix = path.slice(0, path.length - relative.length);
  const doubled = relative.startsWith('/v1/v1/') ? '/v1' : '';
  const pattern = parameterisedPath(relative.slice(doubled.length));
  return pattern === null ? undefined : routes.get(prefix + doubled + pattern);
}

function routesOf(options: AppOptions): Routes {
  const routes = new Map<string, Map<string, Handler>>();
  const add = (method: string, path: string, handler: Handler): void => {
    routes.set(path, (routes.get(path) ?? new Map<string, Handler>()).set(method, handler));
  };
  for (const { prefix, mode } of ORIGINS) {
    const route = <E extends Endpoint>(endpoint: E, operation: Operation<E>): void => {
      const handler: Handler = (request, response) => {
        void serve(options, endpoint, mode, operation, request, response);
      };
      add(endpoint.method, `${prefix}${endpoint.path}`, handler);
      // A client that appends the whole path itself, configured with a base URL that ends in /v1.
      add(endpoint.method, `${prefix}/v1${endpoint.path}`, handler);
    };
    route(ENDPOINTS.chat, run);
    route(ENDPOINTS.responses, run);
    route(ENDPOINTS.compact, run);
    route(ENDPOINTS.input_tokens, answeredAsJson(countTokens));
    route(ENDPOINTS.get_response, async (gateway, request, reply) => {
      const answer = await getResponse(gateway, request, reply);
      if (answer !== null) reply.json(answer.body);
    });
    route(ENDPOINTS.delete_response, answeredAsJson(deleteResponse));
    route(ENDPOINTS.cancel_response, answeredAsJson(cancelResponse));
    route(ENDPOINTS.input_items, answeredAsJson(listInputItems));
    route(ENDPOINTS.messages, run);
    route(ENDPOINTS.count_tokens, answeredAsJson(countTokens));
    route(ENDPOINTS.models, answeredAsJson(listModels));
    route(ENDPOINTS.get_model, answeredAsJson(getModel));
    route(ENDPOINTS.usage, answeredAsJson(usage));
    const bare: Handler = (request, response) => {
      const service = {
        object: 'service',
        name: 'model-gateway',
        openapi: `${prefix}/openapi.json`,
        docs: REFERENCE_PATH,
      };
      plainReply(request, response).json(service);
    };
    add('GET', prefix || '/', bare);
    add('HEAD', prefix || '/', bare);
    add('GET', `${prefix}/openapi.json`, (request, response) => {
      plainReply(request, response).send(200, 'application/json', openApiBytes());
    });
  }
  add('GET', REFERENCE_PATH, (request, response) => void sendReference(plainReply(request, response)));
  add('GET', REFERENCE_SCRIPT_PATH, (request, response) => {
    void sendReferenceScript(request, plainReply(request, response)).then((sent) => {
      if (!sent) refuseRoute(options, request, response);
    });
  });
  for (const method of ['GET', 'HEAD']) {
    add(method, LIVENESS, (request, response) => plainReply(request, response).json({ status: 'ok' }));
    add(method, READINESS, (request, response) => {
      const reply = plainReply(request, response);
      void options.ready().then((ready) => {
        if (ready) reply.json({ status: 'ready' });
        else reply.error(new GatewayError('service_unavailable', { message: NOT_READY }));
      });
    });
  }
  return routes;
}

function serve<E extends Endpoint>(
  { gateway, secure, proxies = null }: AppOptions,
  endpoint: E,
  originMode: Mode,
  operation: Operation<E>,
  incoming: IncomingRequest,
  response: ServerResponse,
): Promise<void> {
  const record = new RequestRecord(newRequestId(), endpoint, gateway.clock.nowMs());
  const reply = new Reply(response, record, endpoint, endpoint.envelope);
  return serveRequest(gateway, reply, async () => {
    noteClient(record, gateway, proxies, incoming);
    const request = new HttpRequest<E>(incoming, proxies, {
      endpoint,
      originMode,
      origin: requestOrigin(incoming, secure),
      path: pathOf(incoming),
      query: queryOf(incoming),
      record,
    });
    await operation(gateway, request, reply);
  });
}

/** What is done for a request to an endpoint. It answers, or throws what `reply.error` answers with. */
type Operation<E extends Endpoint> = (gateway: Gateway, request: HttpRequest<E>, reply: Reply) => Promise<void>;

interface JsonAnswer {
  readonly body: object;
  readonly headers?: Readonly<Record<string, string | number>>;
}

function answeredAsJson<E extends Endpoint>(
  operation: (gateway: Gateway, request: ClientRequest<E>) => Promise<JsonAnswer>,
): Operation<E> {
  return async (gateway, request, reply) => {
    const { body, headers } = await operation(gateway, request);
    reply.json(body, Object.entries(headers ?? {}).flat());
  };
}

function refuseRoute(options: AppOptions, request: IncomingRequest, response: ServerResponse): void {
  const path = pathOf(request);
  const relative = pathBelowOrigin(path);
  const endpoints = endpointsAt(relative);
  const [endpoint] = endpoints;
  const allow = endpoint ? endpoints.map(({ method }) => method).join(', ') : OPEN_PATHS[path];
  if (allow !== undefined) {
    const message = `This route accepts ${allow} only.`;
    refuse(options, request, response, new GatewayError('method_not_allowed', { message }), ['allow', allow]);
  } else {
    const message = `There is no route ${request.method} ${path.slice(0, 200)}.${missingVersion(path)}`;
    refuse(options, request, response, new GatewayError('not_found', { message }));
  }
}

/** Those of an exact path go before those with a parameter. */
function endpointsAt(path: string): readonly Endpoint[] {
  const rows: readonly Endpoint[] = Object.values(ENDPOINTS);
  const exact = rows.filter((row) => row.path === path);
  const pattern = exact.length > 0 ? null : parameterisedPath(path);
  return pattern === null ? exact : rows.filter((row) => row.path === pattern);
}

/** Where only that is missing, as from a client whose base URL must end in /v1. */
function missingVersion(path: string): string {
  const relative = pathBelowOrigin(path);
  const meant = `/v1${relative}`;
  if (endpointsAt(meant).length === 0) return '';
  const right = path.slice(0, path.length - relative.length) + meant;
  return ` /v1 is missing: the path is ${right.slice(0, 200)}. Use a base URL that ends in /v1.`;
}

/** What comes to no endpoint is observed all the same: its answer has an id, too. */
function refuse(
  { gateway, proxies = null }: AppOptions,
  request: IncomingRequest,
  response: ServerResponse,
  error: GatewayError,
  headers: readonly string[] = [],
): void {
  const reply = plainReply(request, response, gateway.clock.nowMs());
  noteClient(reply.record, gateway, proxies, request);
  reply.error(error, headers);
  reply.record.finish(gateway.observer);
}

/** The routes that need no credential, and the methods that they take. */
const OPEN_PATHS: Readonly<Record<string, string | undefined>> = Object.assign(Object.create(null), {
  ...Object.fromEntries(
    ORIGINS.flatMap(({ prefix }) => [
      [prefix || '/', 'GET, HEAD'],
      [`${prefix}/openapi.json`, 'GET'],
    ]),
  ),
  [REFERENCE_PATH]: 'GET',
  [LIVENESS]: 'GET, HEAD',
  [READINESS]: 'GET, HEAD',
});

function plainReply(request: IncomingRequest, response: ServerResponse, receivedAtMs = 0): Reply {
  const path = pathBelowOrigin(pathOf(request));
  const record = new RequestRecord(newRequestId(), null, receivedAtMs);
  return new Reply(response, record, null, /^\/v1\/messages(\/|$)/.test(path) ? 'B' : 'A');
}

/** A target in absolute form, as clients send it to proxies: a server takes it as the path of it. */
const ABSOLUTE = /^https?:\/\/([^/?#]*)/;
const HOST = /^[A-Za-z0-9._:[\]-]{1,255}$/;

function pathOf({ target }: IncomingRequest): string {
  const path = target.startsWith('/') ? target : target.replace(ABSOLUTE, '') || '/';
  const query = path.indexOf('?');
  const end = query === -1 ? path.length : query;
  return end === 0 ? '/' : path.slice(0, end);
}

function queryOf({ target }: IncomingRequest): string {
  const query = target.indexOf('?');
  return query === -1 ? '' : target.slice(query + 1);
}

/** The host of a target in absolute form counts over the Host header. */
function requestOrigin({ target, headers }: IncomingRequest, secure: boolean): string | null {
  const host = ABSOLUTE.exec(target)?.[1] ?? headers.first('host') ?? '';
  return HOST.test(host) ? `${secure ? 'https' : 'http'}://${host}` : null;
}
