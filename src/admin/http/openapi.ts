/** The OpenAPI document of the admin API, made from the schemas that its routes validate with. */
import fastifySwagger from '@fastify/swagger';
import type { AdminService } from '../service.ts';
import { addRoutes } from './all-routes.ts';
import { ErrorEnvelope } from './errors.ts';
import { newApp } from './framework.ts';
import type { RouteRoles } from './roles.ts';

type Json = Readonly<Record<string, unknown>>;

const SECURITY = 'admin_secret';
let document: Promise<Json> | null = null;

/** It is the same for every caller, and made when the first one asks. */
export function openApiDocument(service: AdminService): Promise<Json> {
  document ??= describe(service);
  return document;
}

/** From an application of its own, which serves nobody: the one that does is spared the collector. */
async function describe(service: AdminService): Promise<Json> {
  const app = newApp();
  await app.register(fastifySwagger, {
    openapi: {
      openapi: '3.1.0',
      info: { title: 'Model Gateway: admin API', version: '1', license: { name: 'MIT', identifier: 'MIT' } },
      components: { securitySchemes: { [SECURITY]: { type: 'http', scheme: 'bearer' } } },
      security: [{ [SECURITY]: [] }],
    },
    transform: ({ schema, url, route }) => ({
      schema: { ...schema, response: withErrors(schema.response), 'x-roles': rolesOf(route.config?.roles) },
      url,
    }),
  });
  addRoutes(app, service);
  await app.ready();
  const made = withComponents(app.swagger() as unknown as Json);
  await app.close();
  return made;
}

/** Who may call it; absent where no credential is needed. */
function rolesOf(roles: RouteRoles | undefined): readonly string[] | undefined {
  return roles === 'public' ? undefined : roles;
}

function withErrors(responses: unknown): Json {
  return { ...(responses as Json), default: { description: 'Any error.', ...ErrorEnvelope } };
}

/** Moves every schema with a title into the components, where generated types get their names from. */
function withComponents(made: Json): Json {
  const schemas: Record<string, unknown> = {};
  const move = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(move);
    if (typeof value !== 'object' || value === null) return value;
    const moved = Object.fromEntries(Object.entries(value).map(([name, member]) => [name, move(member)]));
    const { title } = moved;
    if (typeof title !== 'string' || !('type' in moved || 'anyOf' in moved)) return moved;
    schemas[title] = moved;
    return { $ref: `#/components/schemas/${title}` };
  };
  const paths = move(made.paths);
  return { ...made, paths, components: { ...(made.components as Json), schemas } };
}
