/** Fastify as the admin API uses it: the project's own validator, types, request ids and error envelope. */
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type FastifyTypeProvider,
  fastify,
} from 'fastify';
import type { TSchema } from 'typebox';
import { type Log, NO_LOG } from '../../core/log.ts';
import { hasMoreValues } from '../../lib/json-values.ts';
import { AdminError } from '../error.ts';
import { asAdminError, BODY_BYTES_MAX, envelope, STATUS } from './errors.ts';
import { type ObjectSchema, validBody, validQuery } from './validate.ts';
import type { View } from './view.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /**
     * `open`: for everyone who reaches the listener. `metrics`: also with the token for metrics. Every other route needs
     * the credential of an operator.
     */
    readonly access?: 'open' | 'metrics';
  }
}

/** Handlers get and give what the schemas of their route say. */
interface SchemaTypes extends FastifyTypeProvider {
  readonly validator: this['schema'] extends TSchema ? View<this['schema']> : unknown;
  readonly serializer: this['schema'] extends TSchema ? View<this['schema']> : unknown;
}

export type AdminApp = FastifyInstance<Server, IncomingMessage, ServerResponse, FastifyBaseLogger, SchemaTypes>;

/** Enough for the largest import; only an import and the playground take a body that could have so many. */
const JSON_VALUES_MAX = 200_000;

/** Without routes and without access control. */
export function newApp(): AdminApp {
  const app = fastify<Server, IncomingMessage, ServerResponse, FastifyBaseLogger, SchemaTypes>({
    bodyLimit: BODY_BYTES_MAX,
    genReqId: () => randomUUID(),
    exposeHeadRoutes: false,
    routerOptions: { maxParamLength: 1_000 },
    frameworkErrors: (error, request, reply) => {
      void reply.header('x-request-id', request.id).header('cache-control', 'no-store');
      refuse(error, request, reply, NO_LOG);
    },
    schemaController: { compilersFactory: { buildValidator: notLoaded, buildSerializer: notLoaded } },
  });
  app.setValidatorCompiler<ObjectSchema>(validator);
  app.setSerializerCompiler(serializer);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, async (_request: FastifyRequest, body: Buffer) =>
    parseJson(body),
  );
  return app;
}

/** The framework's own would bring a second validator, and a serializer that drops what a schema does not name. */
function notLoaded(): never {
  throw new TypeError('validator and serializer are set');
}

function validator({ schema, httpPart }: { schema: ObjectSchema; httpPart?: string }) {
  const check = httpPart === 'body' ? validBody : validQuery;
  return (value: object) => {
    try {
      return { value: check(schema, value) };
    } catch (error) {
      return { error: asAdminError(error) };
    }
  };
}

function serializer(): (value: unknown) => string {
  return (value) => `${JSON.stringify(value)}\n`;
}

function parseJson(body: Buffer): unknown {
  if (hasMoreValues(body, JSON_VALUES_MAX)) {
    throw new AdminError('invalid_input', `the body has more than ${JSON_VALUES_MAX} JSON values`);
  }
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch {
    throw new AdminError('invalid_input', 'the body is not valid JSON in UTF-8');
  }
}

export function refuse(error: unknown, request: FastifyRequest, reply: FastifyReply, log: Log): void {
  const known = asAdminError(error, request.method);
  if (known.code === 'internal' || known.code === 'unavailable') {
    log.error({ err: known.cause ?? known, requestId: request.id }, 'admin request failed');
  }
  // An unread body would be parsed as the next request.
  if (!request.raw.complete) void reply.header('connection', 'close');
  if (known.code === 'unavailable') void reply.header('retry-after', '1');
  void reply
    .code(STATUS[known.code])
    .type('application/json; charset=utf-8')
    .serializer(serializer())
    .send(envelope(known, request.id));
}
