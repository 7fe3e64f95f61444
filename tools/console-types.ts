/** Writes console/src/api/schema.ts: the console's types of the admin API, from the document that the routes make. */
import { writeFileSync } from 'node:fs';
import openapiTypescript, { type OpenAPI3 } from 'openapi-typescript';
import { openApiDocument } from '../src/admin/http/openapi.ts';
import type { AdminService } from '../src/admin/service.ts';

export const CONSOLE_TYPES = new URL('../console/src/api/schema.ts', import.meta.url);

/** The routes are only described, never called: no operation of the service is reached. */
export async function consoleTypes(): Promise<string> {
  const service: AdminService = new Proxy({} as AdminService, { get: () => service });
  const document: object = structuredClone(await openApiDocument(service));
  const text = await openapiTypescript(document as OpenAPI3, {
    commentHeader: '/** Made by `npm run console:types` from the OpenAPI document of the admin API. Do not edit. */\n',
    alphabetize: true,
  });
  return text;
}

if (import.meta.main) writeFileSync(CONSOLE_TYPES, await consoleTypes());
