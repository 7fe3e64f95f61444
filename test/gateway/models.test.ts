/** The model list and one model of it: who sees what, how ids are written, and what clients of either format read. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { CatalogModel, CatalogModelList } from '../../src/endpoints/models-schema.ts';
import { refusal } from '../support/requests.ts';
import { call, withGateway } from '../support/started-gateway.ts';

const CONFIG = `
sandbox: true
providers:
  own:
    kind: openai
    base_url: http://127.0.0.1:9/v1
    api_key: unused
model_lists: false
models:
  - id: own/public/one
    public: true
    targets: [{ provider: own, model: one }]
    pricing: { input: 1, output: 2 }
    created: 1700000000
  - id: own/hidden
    display_name: Hidden
    targets: [{ provider: own, model: two }]
    pricing: { input: 1, output: 2 }
`;

const gateway = await withGateway({ config: CONFIG });
const credit = await gateway.creditKey();
const budget = await gateway.tokenKey();

async function model(url: string, sent: Parameters<typeof call>[1] = {}): Promise<CatalogModel> {
  const response = await call(url, sent);
  assert.equal(response.status, 200, url);
  return (await response.json()) as CatalogModel;
}

async function list(url: string, sent: Parameters<typeof call>[1] = {}): Promise<CatalogModelList> {
  const response = await call(url, sent);
  assert.equal(response.status, 200);
  return (await response.json()) as CatalogModelList;
}

describe('[R57] GET /v1/models/{id}', () => {
  test('gives the entry of the list, however the slashes of the id are written, at both origins', async () => {
    for (const { origin, key } of [credit, budget]) {
      const listed = (await list(`${origin}/v1/models`, { key })).data.find(({ id }) => id === 'own/public/one');
      assert.ok(listed);
      for (const id of ['own/public/one', 'own%2Fpublic%2Fone', 'own%2fpublic/one', 'own/public/one?beta=true']) {
        assert.deepEqual(await model(`${origin}/v1/models/${id}`, { key }), listed, id);
        assert.deepEqual(await model(`${origin}/v1/v1/models/${id}`, { key }), listed, id);
      }
    }
  });

  test('shows what the list shows: public models to anyone, the others to keys that may use them', async () => {
    const url = `${gateway.origin}/v1/models`;
    assert.equal((await model(`${url}/own/public/one`)).id, 'own/public/one');
    await refusal(call(`${url}/own/hidden`), 'get_model', 404, 'model_not_found');
    assert.equal((await model(`${url}/own/hidden`, { key: credit.key })).display_name, 'Hidden');
    const scoped = await gateway.creditKey({ provider_scope: 'sandbox-a' });
    await refusal(call(`${url}/own/hidden`, { key: scoped.key }), 'get_model', 404, 'model_not_found');
    const entitled = await gateway.creditKey({ models: ['own/hidden'] });
    await refusal(call(`${url}/own/public/one`, { key: entitled.key }), 'get_model', 404, 'model_not_found');
  });

  test('an unknown id is a 404 that names it; so is one that is no text, or only looks like a property', async () => {
    for (const [id, named] of [
      ['no/such', '"no/such"'],
      ['own', '"own"'],
      ['own/public/one/', null],
      ['own%2', '""'],
      ['%ff', '""'],
      ['__proto__', '"__proto__"'],
      [`${'x'.repeat(2_000)}`, 'xxx"'],
    ] as const) {
      const asked = call(`${gateway.origin}/v1/models/${id}`, { key: credit.key });
      if (named === null) await refusal(asked, 'get_model', 404, 'not_found');
      else assert.ok((await refusal(asked, 'get_model', 404, 'model_not_found')).message.includes(named), id);
    }
  });
});

describe("[R57] what Anthropic's clients read", () => {
  const FIELDS = ['type', 'created_at', 'max_input_tokens', 'max_tokens'];
  const anthropic: readonly Record<string, string>[] = [
    { 'anthropic-version': '2023-06-01' },
    { 'x-api-key': credit.key },
    { 'x-api-key': credit.key, 'anthropic-version': '2023-06-01' },
  ];

  test('is in the entries of both routes for who sends anthropic-version or x-api-key, and for nobody else', async () => {
    for (const headers of anthropic) {
      const one = await model(`${gateway.origin}/v1/models/own/public/one`, { headers });
      assert.deepEqual(
        [one.type, one.created_at, one.display_name, one.object],
        ['model', '2023-11-14T22:13:20Z', 'own/public/one', 'model'],
      );
      const { data } = await list(`${gateway.origin}/v1/models`, { headers });
      assert.deepEqual(
        data.find(({ id }) => id === one.id),
        one,
      );
    }
    for (const sent of [{}, { key: credit.key }]) {
      const { data, ...rest } = await list(`${gateway.origin}/v1/models`, sent);
      assert.deepEqual(rest, { object: 'list' });
      for (const entry of data) for (const field of FIELDS) assert.equal(field in entry, false, field);
    }
  });

  test('is not in the list itself, whatever was sent', async () => {
    const none = await gateway.creditKey({ provider_scope: 'sandbox-a', models: ['own/hidden'] });
    for (const headers of [{}, ...anthropic]) {
      const sent = 'x-api-key' in headers ? { headers } : { headers, key: credit.key };
      const { data, ...rest } = await list(`${gateway.origin}/v1/models?limit=1`, sent);
      assert.deepEqual(rest, { object: 'list' });
      assert.ok(data.length > 1);
    }
    const headers = { 'anthropic-version': '2023-06-01' };
    const empty = await list(`${gateway.origin}/v1/models`, { headers, key: none.key });
    assert.deepEqual(empty, { object: 'list', data: [] });
  });
});
