/** The document that clients and the console's types are made from says what the routes really take and give. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { adminApp } from '../../../src/admin/http/app.ts';
import { adminFixture } from '../../support/admin-fixture.ts';

interface Operation {
  readonly summary?: string;
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: object }>> };
  readonly responses: Readonly<
    Record<
      string,
      {
        readonly description: string;
        readonly headers?: Readonly<Record<string, object>>;
        readonly content?: Readonly<Record<string, { readonly schema: object }>>;
      }
    >
  >;
}

interface Document {
  readonly openapi: string;
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, object>> };
}

const SECRET = 'admin-secret-for-tests-0123456789abcdef';
const JSON_TYPE = 'application/json';

async function served(t: Parameters<typeof adminFixture>[0]) {
  const { adminService } = adminFixture(t, {
    refreshModelLists: async () => ({
      asked: [{ provider: 'a', models: 2 }],
      failed: [{ provider: 'b', reason: 'x' }],
    }),
  });
  const app = await adminApp(adminService, { secret: SECRET });
  t.after(() => app.close());
  const send = async (method: 'GET' | 'POST' | 'PATCH' | 'DELETE', url: string, body?: object) => {
    const answer = await app.inject({
      method,
      url,
      headers: { authorization: `Bearer ${SECRET}` },
      ...(body !== undefined && { payload: body }),
    });
    return { status: answer.statusCode, body: answer.json() };
  };
  const document: Document = (await send('GET', '/admin/v1/openapi.json')).body;
  return { send, document, routes: app.declaredRoutes };
}

describe('the OpenAPI document of the admin API', () => {
  test('lists every route with a summary, its schemas by name, and the error envelope', async (t) => {
    const { document, routes } = await served(t);
    assert.equal(document.openapi, '3.1.0');
    const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({ name: `${method.toUpperCase()} ${path}`, operation })),
    );
    const described = routes.filter(({ url }) => url.startsWith('/admin/') && !url.endsWith('/openapi.json'));
    assert.deepEqual(
      operations.map(({ name }) => name).sort(),
      described.map(({ method, url }) => `${method} ${url.replaceAll(/:(\w+)/g, '{$1}')}`).sort(),
    );
    for (const { name, operation } of operations) {
      assert.ok(operation.summary, name);
      for (const [status, { content, description }] of Object.entries(operation.responses)) {
        assert.ok(description, name);
        assert.equal(content === undefined, status.startsWith('3'), `${name} ${status}`);
        for (const { schema } of Object.values(content ?? {})) {
          assert.match(JSON.stringify(schema), /^\{"\$ref":"#\/components\/schemas\/\w+"\}$/, name);
        }
      }
      assert.deepEqual(operation.responses.default?.content?.[JSON_TYPE]?.schema, {
        $ref: '#/components/schemas/Error',
      });
    }
  });

  test('says of every route what it answers where nothing is wrong', async (t) => {
    const { document } = await served(t);
    for (const [path, methods] of Object.entries(document.paths)) {
      for (const [method, { responses }] of Object.entries(methods)) {
        const described = Object.keys(responses).filter((status) => /^[23]\d\d$/.test(status));
        assert.ok(described.length > 0, `${method} ${path}`);
      }
    }
    const at = (path: string, method: string, status: string) => {
      const { headers = {}, content = {} } = document.paths[path]?.[method]?.responses[status] ?? {};
      return { headers: Object.keys(headers), types: Object.keys(content) };
    };
    const events = 'text/event-stream';
    assert.deepEqual(at('/admin/v1/requests/stream', 'get', '200'), { headers: [], types: [events] });
    assert.deepEqual(at('/admin/v1/playground', 'post', '200'), {
      headers: ['x-playground-status', 'x-playground-request-id'],
      types: [JSON_TYPE, events],
    });
    for (const payers of ['keys', 'accounts']) {
      const types = [JSON_TYPE, 'text/csv', 'text/html'];
      assert.deepEqual(at(`/admin/v1/${payers}/{id}/statement`, 'get', '200'), {
        headers: ['content-disposition'],
        types,
      });
    }
    for (const path of ['/admin/v1/oidc/login', '/admin/v1/oidc/callback']) {
      assert.deepEqual(at(path, 'get', '302'), { headers: ['location'], types: [] });
    }
  });

  test('names the events of the live stream, and what they hold', async (t) => {
    const { document } = await served(t);
    const { items } = document.components.schemas.RequestEvents as {
      readonly items: { readonly anyOf: readonly { readonly properties: Readonly<Record<string, object>> }[] };
    };
    assert.deepEqual(
      items.anyOf.map(({ properties: { event, data } }) => [event, data]),
      [
        [
          { enum: ['request'], type: 'string' },
          {
            type: 'string',
            contentMediaType: JSON_TYPE,
            contentSchema: { $ref: '#/components/schemas/Request' },
          },
        ],
        [
          { enum: ['more'], type: 'string' },
          { type: 'string', contentMediaType: JSON_TYPE, contentSchema: { type: 'object', properties: {} } },
        ],
      ],
    );
  });

  test('what every route answers has the shape that the document states', async (t) => {
    const { send, document } = await served(t);
    const ajv = new Ajv2020({ strict: false });
    ajv.addSchema(document, 'document');
    const check = (path: string, method: string, { status, body }: { status: number; body: unknown }) => {
      const { responses } = document.paths[path]?.[method] ?? { responses: {} };
      const key = String(status) in responses ? String(status) : 'default';
      const pointer = ['paths', path, method, 'responses', key, 'content', JSON_TYPE, 'schema']
        .map((part) => part.replaceAll('~', '~0').replaceAll('/', '~1'))
        .map(encodeURIComponent)
        .join('/');
      const valid = ajv.getSchema(`document#/${pointer}`);
      assert.ok(valid !== undefined, `${method} ${path} ${status}`);
      assert.ok(valid(body), `${method} ${path} ${status}: ${ajv.errorsText(valid.errors)}`);
      return body as { id: string; prefix: string };
    };
    const credit = check('/admin/v1/keys', 'post', await send('POST', '/admin/v1/keys', { mode: 'credit', credit: 1 }));
    const budget = check(
      '/admin/v1/keys',
      'post',
      await send('POST', '/admin/v1/keys', { mode: 'token_budget', budget: 5, models: ['a/b'], label: 'x' }),
    );
    check('/admin/v1/keys', 'post', await send('POST', '/admin/v1/keys', { mode: 'nope' }));
    check('/admin/v1/keys', 'get', await send('GET', '/admin/v1/keys'));
    for (const { id } of [credit, budget]) {
      check('/admin/v1/keys/{id}', 'get', await send('GET', `/admin/v1/keys/${id}`));
      check('/admin/v1/keys/{id}', 'patch', await send('PATCH', `/admin/v1/keys/${id}`, { rpm_limit: 5 }));
      check('/admin/v1/keys/{id}/secrets', 'post', await send('POST', `/admin/v1/keys/${id}/secrets`));
    }
    const named = { name: 'org', credit_cap: { amount: 5, period: 'day' }, labels: { tier: 'gold' } };
    const org = check('/admin/v1/accounts', 'post', await send('POST', '/admin/v1/accounts', named));
    const team = { name: 'team', parent: org.id, token_cap: '500/month' };
    const { id: teamId } = check('/admin/v1/accounts', 'post', await send('POST', '/admin/v1/accounts', team));
    check('/admin/v1/accounts', 'get', await send('GET', '/admin/v1/accounts'));
    check('/admin/v1/accounts/{id}', 'get', await send('GET', `/admin/v1/accounts/${org.id}`));
    check('/admin/v1/accounts/{id}', 'get', await send('GET', '/admin/v1/accounts/nobody'));
    check('/admin/v1/accounts/{id}', 'patch', await send('PATCH', `/admin/v1/accounts/${teamId}`, { rpm_limit: 5 }));
    const moved = await send('POST', `/admin/v1/accounts/${teamId}/move`, { parent: org.id });
    check('/admin/v1/accounts/{id}/move', 'post', moved);
    const bought = await send('POST', `/admin/v1/accounts/${org.id}/credit`, { amount: '5' });
    check('/admin/v1/accounts/{id}/credit', 'post', bought);
    const paidFor = { mode: 'credit', account: teamId, cap: '2', period: 'week' };
    check('/admin/v1/keys', 'post', await send('POST', '/admin/v1/keys', paidFor));
    const joined = await send('POST', `/admin/v1/accounts/${teamId}/keys`, { key: budget.id });
    check('/admin/v1/accounts/{id}/keys', 'post', joined);
    const paid = await send('POST', `/admin/v1/keys/${credit.id}/credit`, { amount: '0.5' });
    check('/admin/v1/keys/{id}/credit', 'post', paid);
    check(
      '/admin/v1/keys/{id}/secrets/{prefix}',
      'delete',
      await send('DELETE', `/admin/v1/keys/${credit.id}/secrets/${credit.prefix}`),
    );
    check('/admin/v1/keys/{id}', 'delete', await send('DELETE', `/admin/v1/keys/${credit.id}`));
    check('/admin/v1/keys/{id}', 'get', await send('GET', '/admin/v1/keys/unknown'));
    const made = await send('POST', '/admin/v1/operators', { name: 'ann', role: 'viewer' });
    check('/admin/v1/operators', 'post', made);
    check('/admin/v1/operators', 'get', await send('GET', '/admin/v1/operators'));
    const { id: operatorId } = made.body.operator;
    const operator = `/admin/v1/operators/${operatorId}`;
    check('/admin/v1/operators/{id}', 'patch', await send('PATCH', operator, { role: 'operator' }));
    check('/admin/v1/operators/{id}', 'get', await send('GET', operator));
    check('/admin/v1/operators/{id}/tokens', 'post', await send('POST', `${operator}/tokens`, { label: 'ci' }));
    const token = `${operator}/tokens/${made.body.token_id}`;
    check('/admin/v1/operators/{id}/link', 'post', await send('POST', `${operator}/link`));
    check('/admin/v1/session', 'get', await send('GET', '/admin/v1/session'));
    check('/admin/v1/session', 'post', await send('POST', '/admin/v1/session', { token: made.body.token }));
    check('/admin/v1/session', 'post', await send('POST', '/admin/v1/session', { token: 'x' }));
    check('/admin/v1/sessions', 'delete', await send('DELETE', '/admin/v1/sessions'));
    check('/admin/v1/session', 'delete', await send('DELETE', '/admin/v1/session'));
    check('/admin/v1/operators/{id}/tokens/{token_id}', 'delete', await send('DELETE', token));
    check('/admin/v1/operators/{id}', 'delete', await send('DELETE', operator));
    check('/admin/v1/audit-trail', 'get', await send('GET', '/admin/v1/audit-trail?limit=3'));
    check('/admin/v1/audit', 'get', await send('GET', '/admin/v1/audit'));
    check('/admin/v1/audit/last', 'get', await send('GET', '/admin/v1/audit/last'));
    check('/admin/v1/usage', 'get', await send('GET', '/admin/v1/usage?by=model,day'));
    check('/admin/v1/usage', 'get', await send('GET', '/admin/v1/usage?by=colour'));
    check('/admin/v1/requests', 'get', await send('GET', '/admin/v1/requests?limit=5'));
    check('/admin/v1/requests', 'get', await send('GET', '/admin/v1/requests?status=nine'));
    check('/admin/v1/requests/running', 'get', await send('GET', '/admin/v1/requests/running'));
    check('/admin/v1/requests/{id}', 'get', await send('GET', '/admin/v1/requests/req_none'));
    check('/admin/v1/health', 'get', await send('GET', '/admin/v1/health'));
    check('/admin/v1/model-lists', 'get', await send('GET', '/admin/v1/model-lists'));
    check('/admin/v1/model-lists', 'post', await send('POST', '/admin/v1/model-lists'));
  });
});
