/**
 * Every route of the served OpenAPI document, at both origins, with generated ids, queries, headers and credentials: the
 * status is one that the document lists for the route, and the answer is what it documents for that status.
 */
import assert from 'node:assert/strict';
import { afterEach, describe, test } from 'node:test';
import fc from 'fast-check';
import { ENDPOINTS, type EndpointName } from '../../src/core/endpoints.ts';
import { Documented } from '../support/documented.ts';
import { anyCharacter, fuzz } from '../support/fuzz.ts';
import { auditClean, bodyOf, POSTS } from '../support/requests.ts';
import { call, withGateway } from '../support/started-gateway.ts';

const gateway = await withGateway();
const keys = [await gateway.creditKey({ credit: '1000' }), await gateway.tokenKey()] as const;
const revoked = await gateway.creditKey();
await gateway.admin.changeKey(revoked.id, { status: 'revoked' });
const documented = await Documented.of(gateway.origin);
const NAMES = Object.keys(ENDPOINTS) as EndpointName[];

afterEach(() => auditClean(gateway));

type Key = (typeof keys)[number];

async function storedId(key: Key): Promise<string> {
  const body = bodyOf('responses', 'Hello', { max_output_tokens: 20 });
  const response = await call(`${key.origin}/v1/responses`, { method: 'POST', key: key.key, body });
  return ((await response.json()) as { id: string }).id;
}
const stored = await Promise.all(keys.map(storedId));

/** Ids that exist, that do not, and that no server should be asked for. */
const ids = fc.oneof(
  fc.constantFrom('sandbox/alpha', 'sandbox%2Fbeta', 'sandbox/none', 'resp_unknown', ...stored),
  fc.string({ minLength: 1, maxLength: 40 }).map(encodeURIComponent),
  fc.string({ unit: anyCharacter, minLength: 1, maxLength: 12 }).map((text) => encodeURIComponent(text.toWellFormed())),
);
const queries = fc.oneof(
  fc.constantFrom(
    '',
    '?beta=true',
    '?limit=1000',
    '?limit=x',
    '?include[]=a&stream=true',
    '?api-version=2026-01-01',
    '?',
  ),
  fc.webQueryParameters({ size: 'small' }).map((text) => `?${text}`),
);
const headers = fc.dictionary(
  fc.constantFrom(
    'anthropic-version',
    'anthropic-beta',
    'openai-beta',
    'user-agent',
    'x-stainless-retry-count',
    'accept',
  ),
  fc.string({ unit: 'grapheme-ascii', maxLength: 30 }),
  { noNullPrototype: true },
);
const credentials = fc.constantFrom<'own' | 'other' | 'revoked' | 'unknown' | 'malformed' | 'none' | 'both'>(
  ...(['own', 'own', 'own', 'other', 'revoked', 'unknown', 'malformed', 'none', 'both'] as const),
);

function credentialsOf(kind: string, key: Key): Record<string, string> {
  const bearer = (value: string) => ({ authorization: `Bearer ${value}` });
  switch (kind) {
    case 'own':
      return bearer(key.key);
    case 'other':
      return bearer(key === keys[0] ? keys[1].key : keys[0].key);
    case 'revoked':
      return bearer(revoked.key);
    case 'unknown':
      return bearer(`${key.key.slice(0, -4)}0000`);
    case 'malformed':
      return bearer('not a key');
    case 'both':
      return { ...bearer(key.key), 'x-api-key': key.key };
    default:
      return {};
  }
}

for (const name of NAMES) {
  describe(`[R59] ${ENDPOINTS[name].method} ${ENDPOINTS[name].path}`, () => {
    test('is answered as documented, whatever id, query, headers and credentials it comes with', (t) => {
      const { path, method, envelope } = ENDPOINTS[name];
      const input = fc.record({
        key: fc.constantFrom(...keys),
        id: ids,
        query: queries,
        extra: headers,
        kind: credentials,
      });
      return fuzz(t, input, async ({ key, id, query, extra, kind }) => {
        const url = key.origin + path.replace('{id}', id) + query;
        const body = POSTS.includes(name) ? bodyOf(name, 'Hello [[tokens=3]]') : undefined;
        const sent = { ...extra, ...credentialsOf(kind, key) };
        const response = await call(url, { method, headers: sent, ...(body === undefined ? {} : { body }) });
        const { status, body: answer } = await documented.checked(name, response, `${method} ${url} ${kind}`);
        if (status !== 200) {
          assert.equal((answer as { type?: string }).type, envelope === 'B' ? 'error' : undefined);
          assert.ok(typeof (answer as { error?: { message?: unknown } }).error?.message === 'string');
        }
        if (kind === 'own' && POSTS.includes(name)) assert.equal(status, 200, `${url} ${JSON.stringify(extra)}`);
        if (['revoked', 'unknown', 'malformed', 'other'].includes(kind)) assert.notEqual(status, 200, `${kind} ${url}`);
      });
    });
  });
}
