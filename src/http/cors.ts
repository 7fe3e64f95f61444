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
  const { onRequest, refusal } = handler;
  return {
    refusal,
    onRequest: (request, response) => {
      const origin = request.headers.first('origin');
      const allow = origin === null ? null : everyone ? ANY : allowed.has(origin.toLowerCase()) ? origin : null;
      if (allow !== null && isPreflight(request)) {
        response.send(200, preflightHeaders(request, allow), NO_CONTENT);
        return;
      }
      onRequest(request, everyone && allow === null ? response : new CorsResponse(response, allow));
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
class CorsResponse implements ServerResponse {
  readonly #response: ServerResponse;
  readonly #allow: string | null;

  constructor(response: ServerResponse, allow: string | null) {
    this.#response = response;
    this.#allow = allow;
  }

  get headersSent(): boolean {
    return this.#response.headersSent;
  }

  get closed(): boolean {
    return this.#response.closed;
  }

  onClose(listener: () => void): void {
    this.#response.onClose(listener);
  }

  onDrain(listener: () => void): void {
    this.#response.onDrain(listener);
  }

  requireUpgrade(protocol: string): void {
    this.#response.requireUpgrade(protocol);
  }

  send(status: number, headers: RawHeaders, content: Uint8Array): void {
    this.#response.send(status, this.#added(headers), content);
  }

  writeHead(status: number, headers: RawHeaders): void {
    this.#response.writeHead(status, this.#added(headers));
  }

  flushHeaders(): void {
    this.#response.flushHeaders();
  }

  write(bytes: Buffer): boolean {
    return this.#response.write(bytes);
  }

  end(bytes: Uint8Array, lingerMs?: number): void {
    this.#response.end(bytes, lingerMs);
  }

  destroy(): void {
    this.#response.destroy();
  }

  #added(headers: RawHeaders): RawHeaders {
    if (this.#allow !== null) {
      const names = headers.filter((_, index) => index % 2 === 0).join(', ');
      headers.push('access-control-allow-origin', this.#allow, 'access-control-expose-headers', names);
    }
    if (this.#allow !== ANY) headers.push('vary', 'origin');
    return headers;
  }
}
