/**
 * The console: one page with its scripts and styles, as files of the build in `console/dist`. They are the same for
 * everybody and need no credential; what they show comes from the API, which asks for one.
 */
import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fastifyStatic from '@fastify/static';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { contentSecurityPolicy } from '../../lib/content-security-policy.ts';
import { CONSOLE_BUILD, consoleIsBuilt, HOW_TO_BUILD } from '../console-build.ts';
import { AdminError } from '../error.ts';
import type { AdminApp } from './framework.ts';

/** For whoever asks without a browser. */
const WHAT_IT_IS = `This is the operator's port of a Model Gateway. Models are served on its other port.
A browser gets the console here; "gateway operators link" prints a link that signs in.
Programs use /admin/v1 with "Authorization: Bearer TOKEN" (/admin/v1/openapi.json describes it); /metrics is for Prometheus.
`;

const PUBLIC = { config: { roles: 'public' }, schema: { hide: true } } as const;
const NONCE_PLACE = '__CSP_NONCE__';

/**
 * Whether it asks for a page or a file of the console and not for the API or a probe. The route that serves it says so: a
 * path can be written in many ways (`/%61dmin`), and the router knows them all.
 */
export function isOfConsole({ is404, url, routeOptions }: FastifyRequest): boolean {
  return !/^\/(admin|metrics|healthz|readyz)(?:[/?]|$)/.test(is404 ? url : (routeOptions.url ?? url));
}

export function noSuchPage(): AdminError {
  return new AdminError('not_found', 'no such page or file; the API is below /admin/v1');
}

/** Serves the page for its own paths (`/keys/key_1`) too: which of them exist, the page knows. */
export class Console {
  readonly #build: string;
  readonly #page: string | null;

  constructor(build: string = CONSOLE_BUILD) {
    this.#build = build;
    this.#page = consoleIsBuilt(build) ? readFileSync(join(build, 'index.html'), 'utf8') : null;
  }

  async addTo(app: AdminApp): Promise<void> {
    const root = join(this.#build, 'assets');
    const names = new Set(this.#page === null ? [] : readdirSync(root));
    if (this.#page !== null) {
      // Their names are digests of what they hold.
      await app.register(fastifyStatic, { serve: false, root, immutable: true, maxAge: '365d', preCompressed: true });
    }
    app.get('/assets/:name', PUBLIC, (request, reply) => {
      const { name } = request.params as { readonly name: string };
      return names.has(name) ? reply.sendFile(name) : this.serve(request, reply);
    });
  }

  /** The page for its own paths; what else is asked for there does not exist. */
  serve(request: FastifyRequest, reply: FastifyReply): FastifyReply {
    const { method, url, headers } = request;
    const page = method === 'GET' && !url.startsWith('/assets/') && (headers.accept ?? '').includes('text/html');
    if (page) return this.#send(reply);
    if (method === 'GET' && url === '/')
      return reply.type('text/plain; charset=utf-8').serializer(String).send(WHAT_IT_IS);
    return reply.send(noSuchPage());
  }

  #send(reply: FastifyReply): FastifyReply {
    const nonce = randomBytes(16).toString('base64');
    void reply.header('content-security-policy', contentSecurityPolicy(nonce)).serializer(String);
    if (this.#page === null) return reply.code(503).type('text/plain; charset=utf-8').send(`${HOW_TO_BUILD}\n`);
    return reply.type('text/html; charset=utf-8').send(this.#page.replaceAll(NONCE_PLACE, nonce));
  }
}
