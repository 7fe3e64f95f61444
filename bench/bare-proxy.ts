/**
 * What Node can do at best: `node:http` in front, undici `dispatch` behind, no logic in between.
 * `node bench/bare-proxy.ts PORT UPSTREAM_ORIGIN [--parse] [--cert FILE --key FILE]`; with `--parse`, one JSON.parse of
 * the body; with a certificate, `node:https` in front.
 */
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { parseArgs } from 'node:util';
import { type Dispatcher, Pool } from 'undici';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { parse: { type: 'boolean', default: false }, cert: { type: 'string' }, key: { type: 'string' } },
});
const [portText, upstreamOrigin] = positionals;
if (!portText || !upstreamOrigin) throw new Error('usage: bare-proxy.ts PORT UPSTREAM_ORIGIN [--parse] [--cert --key]');
const parses = values.parse;
const PASSED_HEADERS = ['content-type', 'content-length'];
const upstream = new Pool(upstreamOrigin, { pipelining: 1, keepAliveTimeout: 60_000, allowH2: false });

class Forward implements Dispatcher.DispatchHandler {
  readonly #response: ServerResponse;
  #controller: Dispatcher.DispatchController | undefined;

  constructor(response: ServerResponse) {
    this.#response = response;
    response.on('close', () => {
      if (!response.writableFinished) this.#controller?.abort(new Error('The client went away.'));
    });
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Readonly<Record<string, string | string[] | undefined>>,
  ): void {
    for (const name of PASSED_HEADERS) {
      const value = headers[name];
      if (value !== undefined) this.#response.setHeader(name, value);
    }
    this.#response.writeHead(status);
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#response.write(chunk)) return;
    controller.pause();
    this.#response.once('drain', () => controller.resume());
  }

  onResponseEnd(): void {
    this.#response.end();
  }

  onResponseError(): void {
    if (this.#response.headersSent) this.#response.destroy();
    else this.#response.writeHead(502).end();
  }
}

function forward(request: IncomingMessage, response: ServerResponse, body: Buffer): void {
  if (parses && body.length > 0) JSON.parse(body.toString());
  upstream.dispatch(
    {
      path: request.url ?? '/',
      method: request.method ?? 'GET',
      headers: { 'content-type': 'application/json', authorization: 'Bearer bench' },
      body: body.length > 0 ? body : null,
    },
    new Forward(response),
  );
}

function serve(request: IncomingMessage, response: ServerResponse): void {
  const parts: Buffer[] = [];
  request.on('data', (part: Buffer) => parts.push(part));
  request.on('end', () => forward(request, response, parts.length === 1 && parts[0] ? parts[0] : Buffer.concat(parts)));
}

const server =
  values.cert === undefined || values.key === undefined
    ? createServer(serve)
    : createSecureServer({ cert: readFileSync(values.cert), key: readFileSync(values.key) }, serve);
server.listen({ port: Number(portText), host: '127.0.0.1', backlog: 4096 });
