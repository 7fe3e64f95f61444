/**
 * An operation of the admin API is one row: where it is, who may call it, what it takes and gives, and what does it. The
 * application, its OpenAPI document and the client are all made from these rows.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { TSchema } from 'typebox';
import { Type } from '../../lib/schema-builder.ts';
import type { AdminService } from '../service.ts';
import { acting } from './audit.ts';
import type { Change } from './audit-trail.ts';
import type { AdminApp } from './framework.ts';
import { IfMatch, versionIn } from './if-match.ts';
import type { Reach } from './reach.ts';
import type { OperatorRole } from './roles.ts';
import type { ObjectSchema } from './validate.ts';
import type { View } from './view.ts';

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
/** Method and path, as a request line has them. */
type RequestLine = `${Method} /${string}`;

/** The names of the parameters in a path. */
export type ParametersOf<Path extends string> = Path extends `${infer First}/${infer Rest}`
  ? ParametersOf<First> | ParametersOf<Rest>
  : Path extends `:${infer Name}`
    ? Name
    : never;

type Given<Path extends string, Query extends TSchema, Body extends TSchema> = {
  readonly [Name in ParametersOf<Path>]: string;
} & {
  readonly query: View<Query>;
  readonly body: View<Body>;
  /** The version that `If-Match` names. */
  readonly version: number | undefined;
};

interface Exchange {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

/** What the audit trail keeps of a change, besides who made it and when. */
interface Recorded<Given = never, Answer = never> {
  /** The id of what is changed; by default the first parameter of the path, and null where it has none. */
  target?(given: Given): string;
  before?(admin: AdminService, given: Given): Promise<unknown>;
  /** Without secrets. */
  after?(answer: Answer, given: Given): unknown;
  /** The id of what was made. */
  made?(answer: Answer): string;
}

interface Route<
  At extends RequestLine = RequestLine,
  Query extends TSchema = ObjectSchema,
  Body extends TSchema = ObjectSchema,
  Answer extends TSchema = TSchema,
> {
  readonly at: At;
  readonly roles: readonly OperatorRole[];
  /** Absent where an account-admin may not call it. */
  readonly accountAdmin?: Reach;
  /** What the audit trail calls it, where it changes something. */
  readonly action?: string;
  /** `itself`: the handler writes the entry. */
  readonly recorded?: Recorded<Given<At, Query, Body>, View<Answer>> | 'itself';
  readonly summary: string;
  readonly query?: Query;
  readonly body?: Body;
  readonly bodyLimit?: number;
  readonly ifMatch?: true;
  /** 200 by default. */
  readonly status?: 201;
  readonly answer: Answer;
  /** What the OpenAPI document says of the answer, where it is more than JSON of the schema `answer`. */
  readonly documented?: object;
  /** `admin` acts for whoever sent the request. Whoever answers it by itself gives the reply back. */
  handle(
    admin: AdminService,
    given: Given<At, Query, Body>,
    exchange: Exchange,
  ): Promise<View<Answer> | FastifyReply | undefined>;
}

/** The row itself; the types of its handler follow from its schemas. */
export function route<
  const At extends RequestLine,
  Query extends ObjectSchema,
  Body extends ObjectSchema,
  Answer extends TSchema,
>(row: Route<At, Query, Body, Answer>): Route<At, Query, Body, Answer> {
  return row;
}

/** The answer is what the trail keeps. */
export const AS_ANSWERED = { after: (answer: unknown) => answer };

/** Any row, with whatever schemas. */
type AnyRoute = Omit<Route, 'handle' | 'recorded'> & {
  readonly recorded?: Recorded | 'itself';
  handle(admin: AdminService, given: never, exchange: Exchange): Promise<unknown>;
};

export function addRoute(app: AdminApp, service: AdminService, row: AnyRoute): void {
  const {
    at,
    roles,
    accountAdmin,
    action,
    recorded = {},
    summary,
    query,
    body,
    bodyLimit,
    ifMatch,
    status = 200,
  } = row;
  const { method, path } = partsOf(at);
  const names = [...path.matchAll(/:(\w+)/g)].map(([, name = '']) => name);
  const params = Type.Object(Object.fromEntries(names.map((name) => [name, Type.String()])));
  app.route({
    method,
    url: path,
    config: {
      roles: accountAdmin === undefined ? roles : [...roles, 'account-admin'],
      ...(action !== undefined && { action }),
    },
    ...(bodyLimit !== undefined && { bodyLimit }),
    schema: {
      summary,
      ...(names.length > 0 && { params }),
      ...(query !== undefined && { querystring: query }),
      ...(ifMatch && { headers: IfMatch }),
      ...(body !== undefined && { body }),
      response: { [status]: row.documented ?? row.answer },
    },
    handler: async (request, reply) => {
      const version = ifMatch ? versionIn(request) : undefined;
      const admin = acting(service, request);
      if (accountAdmin !== undefined) await admin.requireReach(accountAdmin, Object(request.params));
      const given = { ...Object(request.params), query: request.query, body: request.body, version } as never;
      const act = () => row.handle(admin, given, { request, reply });
      const target = names[0] === undefined ? null : String(Reflect.get(Object(request.params), names[0]));
      const view = await (action === undefined || recorded === 'itself'
        ? act()
        : admin.trail.change(changeOf(action, target, recorded, admin, given), act));
      if (view === reply || reply.sent) return reply;
      if (hasVersion(view)) void reply.header('etag', `"${view.version}"`);
      return reply.code(status).send(view);
    },
  });
}

function changeOf(
  action: string,
  target: string | null,
  recorded: Recorded,
  admin: AdminService,
  given: never,
): Change<unknown> {
  return {
    action,
    target: recorded.target?.(given) ?? target,
    before: async () => recorded.before?.(admin, given),
    after: (answer) => recorded.after?.(answer as never, given),
    made: (answer) => recorded.made?.(answer as never) ?? null,
  };
}

export function partsOf(at: RequestLine): { readonly method: Method; readonly path: string } {
  const [method = '', path = ''] = at.split(' ');
  return { method: method as Method, path };
}

/** What has a version carries it as its `ETag`. */
function hasVersion(view: unknown): view is { readonly version: number } {
  return typeof Reflect.get(Object(view), 'version') === 'number';
}
