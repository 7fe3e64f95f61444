/**
 * Writes what the console knows of the admin API, from the document that the routes make: its types
 * (console/src/api/schema.ts), and which roles each operation is for (console/src/api/roles.ts).
 */
import { writeFileSync } from 'node:fs';
import openapiTypescript, { type OpenAPI3 } from 'openapi-typescript';
import { openApiDocument } from '../src/admin/http/openapi.ts';
import type { AdminService } from '../src/admin/service.ts';

export const CONSOLE_TYPES = new URL('../console/src/api/schema.ts', import.meta.url);
export const CONSOLE_ROLES = new URL('../console/src/api/roles.ts', import.meta.url);

const HEADER = '/** Made by `npm run console:types` from the OpenAPI document of the admin API. Do not edit. */\n';

/** The routes are only described, never called: no operation of the service is reached. */
async function document(): Promise<OpenAPI3> {
  const service: AdminService = new Proxy({} as AdminService, { get: () => service });
  const made: object = structuredClone(await openApiDocument(service));
  return made as OpenAPI3;
}

export async function consoleTypes(): Promise<string> {
  return openapiTypescript(await document(), { commentHeader: HEADER, alphabetize: true });
}

/** Operations that need no credential are not in it. */
export async function consoleRoles(): Promise<string> {
  const { paths = {} } = await document();
  const lines = Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations as Readonly<Record<string, { readonly 'x-roles'?: readonly string[] }>>).flatMap(
      ([method, { 'x-roles': roles }]) =>
        roles === undefined ? [] : [`  '${method} ${path}': [${roles.map((role) => `'${role}'`).join(', ')}],`],
    ),
  );
  return `${HEADER}\nexport const ROLES = {\n${lines.sort().join('\n')}\n} as const;\n`;
}

if (import.meta.main) {
  writeFileSync(CONSOLE_TYPES, await consoleTypes());
  writeFileSync(CONSOLE_ROLES, await consoleRoles());
}
