/**
 * Requests from web pages of other origins (the Fetch standard's CORS protocol). Credentials are header fields that a page sets
 * itself, never cookies, so that an origin that is allowed gets no more than what it has a key for.
 */
import type { IncomingRequest, RawHeaders, RequestHandler, ServerResponse } from '../transport/server.ts';
import { newRequestId } from './request-id.ts';

/** Every origin. */
const ANY = '*';
/** As long as browsers keep the answer to a preflight at most (Firefox; Chromium keeps it for two hours). */
const PREFLIGHT_SECONDS = 86_400;
const METHODS = 'GET, POST, DELETE';
/** What a page may send is for the key to decide; this bounds only what is repeated. */
const FIELD_NAMES = /^[\w!#$%&'*+.^`|~, -]{1,4000}$/;
const NO_CONTENT = new Uint8Array();

/** `origins` as browsers write them, or `*`. Where there are none, nothing is added to a request's way. */
export function withCors(handler: RequestHandler, origins: readonly string[]): RequestHandler {
  if (origins.length === 0) return handler;
  const everyone = origins.includes(ANY);
  const allowed = new Set(origins);
  const { onRequest, onUpgrade, refusal } = handler;
  return {
    refusal,
    // A page cannot open one: browsers let it send no credential with a WebSocket.
    onUpgrade,
    onRequest: (request, response) => {
      const origin = request.headers.first('origin');
      const allow = origin === null ? null : everyone ? ANY : allowed.has(origin.toLowerCase()) ? origin : null;
      if (allow !== null && isPreflight(request)) {
        response.send(200, preflightHeaders(request, allow), NO_CONTENT);
        return;
      }
      onRequest(request, everyone && allow === null ? response : addTo(response, allow));
    },
  };
}

function isPreflight({ method, headers }: IncomingRequest): boolean {
  return method === 'OPTIONS' && headers.first('access-control-request-method') !== null;
}

function preflightHeaders({ headers }: IncomingRequest, allow: string): RawHeaders {
  const wanted = headers.get('access-control-request-headers');
  return [
    'x-request-id',
    newRequestId(),
    'access-control-allow-origin',
    allow,
    'access-control-allow-methods',
    METHODS,
    ...(wanted !== null && FIELD_NAMES.test(wanted) ? ['access-control-allow-headers', wanted] : []),
    'access-control-max-age',
    PREFLIGHT_SECONDS,
    'vary',
    'origin, access-control-request-method, access-control-request-headers',
  ];
}

/** Adds to a response that this origin may read it, and all of its header fields; to any that it depends on the origin. */
function addTo(response: ServerResponse, allow: string | null): ServerResponse {
  const { send, writeHead } = response;
  response.send = (status, headers, content) => send.call(response, status, withAccess(headers, allow), content);
  response.writeHead = (status, headers) => writeHead.call(response, status, withAccess(headers, allow));
  return response;
}

function withAccess(headers: RawHeaders, allow: string | null): RawHeaders {
  if (allow !== null) {
    const names = headers.filter((_, index) => index % 2 === 0).join(', ');
    headers.push('access-control-allow-origin', allow, 'access-control-expose-headers', names);
  }
  if (allow !== ANY) headers.push('vary', 'origin');
  return headers;
}
