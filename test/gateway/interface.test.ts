/** The public surface as clients meet it: the document, the catalog, token counts, the open routes, the first start. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Ajv2020, type AnySchema, type ValidateFunction } from 'ajv/dist/2020.js';
import { COMMON_STATUSES, ENDPOINTS, type EndpointName, onlyCounts } from '../../src/core/endpoints.ts';
import { UsageSummary } from '../../src/endpoints/usage-schema.ts';
import { ChatRequest } from '../../src/wire/chat/schema.ts';
import { CountRequest, MessageRequest } from '../../src/wire/messages/schema.ts';
import { ResponsesRequest } from '../../src/wire/responses/schema.ts';
import { account, auditClean, bodyOf, GENERATIONS, POSTS, refusal, say, visit } from '../support/requests.ts';
import { call, startedGateway, withGatedGateway } from '../support/started-gateway.ts';

const NAMES = Object.keys(ENDPOINTS) as EndpointName[];

const { gateway } = await withGatedGateway();
const credit = await gateway.creditKey();
const budget = await gateway.tokenKey();

interface Operation {
  readonly parameters?: readonly { readonly name: string; readonly schema: object }[];
  readonly security: readonly object[];
  readonly requestBody?: { readonly content: { readonly 'application/json': { readonly schema: object } } };
  readonly responses: Readonly<Record<string, { readonly headers: object; readonly content: object }>>;
}

interface Document {
  readonly openapi: string;
  readonly info: { readonly version: string };
  readonly servers: readonly { readonly url: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

async function fetchDocument(origin = gateway.origin): Promise<Document> {
  const response = await call(`${origin}/openapi.json`);
  assert.equal(response.status, 200);
  assert.match(response.headers.get('content-type') ?? '', /^application\/json/);
  return (await response.json()) as Document;
}

function operationOf(document: Document, name: EndpointName): Operation {
  const { path, method } = ENDPOINTS[name];
  const operation = document.paths[path]?.[method.toLowerCase()];
  assert.ok(operation, `${method} ${path} is documented`);
  return operation;
}

describe('the machine-readable description', () => {
  test('[R59] OpenAPI 3.1, version 1.0.0, without a credential, the same at both origins', async () => {
    const document = await fetchDocument(credit.origin);
    assert.match(document.openapi, /^3\.1\./);
    assert.equal(document.info.version, '1.0.0');
    assert.deepEqual(await fetchDocument(budget.origin), document);
    assert.deepEqual(
      document.servers.map(({ url }) => url),
      ['/', '/token'],
    );
    const paths = new Set(Object.values(ENDPOINTS).map(({ path }) => path));
    assert.deepEqual(Object.keys(document.paths).toSorted(), [...paths].toSorted());
  });

  test('[R59] every operation lists its statuses, headers and credentials', async () => {
    const document = await fetchDocument();
    for (const name of NAMES) {
      const { statuses, credentials, credentialOptional } = ENDPOINTS[name];
      const operation = operationOf(document, name);
      const expected = [200, ...statuses, ...COMMON_STATUSES].map(String);
      assert.deepEqual(Object.keys(operation.responses).toSorted(), expected.toSorted(), name);
      for (const { headers } of Object.values(operation.responses)) assert.ok('x-request-id' in headers);
      for (const status of ['429', '503']) assert.ok('Retry-After' in (operation.responses[status]?.headers ?? {}));
      const schemes = operation.security.flatMap((scheme) => Object.keys(scheme));
      assert.deepEqual(schemes, [...credentials]);
      assert.equal(operation.security.length, schemes.length + (credentialOptional ? 1 : 0));
      const parameters = (operation.parameters ?? []).map((parameter) => parameter.name);
      assert.equal(
        parameters.includes('Idempotency-Key'),
        name === 'compact' || GENERATIONS.some((one) => one === name),
      );
      assert.equal(parameters.includes('compat-version'), ENDPOINTS[name].envelope === 'B');
    }
  });

  test('[R59] its schemas are the very ones that validate', async () => {
    const document = await fetchDocument();
    for (const [name, schema] of [
      ['chat', ChatRequest],
      ['responses', ResponsesRequest],
      ['messages', MessageRequest],
      ['count_tokens', CountRequest],
    ] as const) {
      const documented = operationOf(document, name).requestBody?.content['application/json'].schema;
      assert.deepEqual(documented, JSON.parse(JSON.stringify(schema)), name);
    }
    assert.deepEqual(
      operationOf(document, 'usage').responses['200']?.content,
      JSON.parse(JSON.stringify({ 'application/json': { schema: UsageSummary } })),
    );
  });

  test('[R59] live responses of every endpoint, good and bad, are as documented', async () => {
    const document = await fetchDocument();
    const ajv = new Ajv2020({ strict: false });
    ajv.addSchema(document as AnySchema, 'gateway');
    const documented = (name: EndpointName, status: number): ValidateFunction => {
      const { path, method } = ENDPOINTS[name];
      const steps = [
        'paths',
        path,
        method.toLowerCase(),
        'responses',
        String(status),
        'content',
        'application/json',
        'schema',
      ];
      const pointer = steps.map((step) => encodeURIComponent(step.replaceAll('/', '~1'))).join('/');
      return ajv.compile({ $ref: `gateway#/${pointer}` });
    };
    const check = async (name: EndpointName, status: number, response: Response): Promise<void> => {
      const body: unknown = await response.json();
      assert.equal(response.status, status, `${name}: ${JSON.stringify(body)}`);
      const valid = documented(name, status);
      assert.ok(valid(body), `${name} ${status}: ${ajv.errorsText(valid.errors)} in ${JSON.stringify(body)}`);
    };
    const poor = await gateway.creditKey({ credit: '0' });
    const scoped = await gateway.creditKey({ models: ['sandbox/tiny'] });
    const slow = await gateway.creditKey({ rpm_limit: 1 });
    await visit(slow, 'usage');
    for (const name of NAMES) {
      const { path, method } = ENDPOINTS[name];
      // Nothing runs in the background that could be cancelled.
      const served = name === 'cancel_response' ? 400 : 200;
      await check(name, served, await visit(credit, name));
      await check(name, served, await visit(budget, name));
      await check(name, 401, await call(credit.origin + path, { method, key: 'none' }));
      await check(name, 405, await call(credit.origin + path, { method: 'PUT' }));
      await check(name, 429, await visit(slow, name));
      if (!POSTS.includes(name)) continue;
      await check(name, 400, await visit(credit, name, { body: '{}' }));
      await check(name, 403, await visit(scoped, name));
      await check(name, 404, await say(credit, name, 'Hi', { model: 'none' }));
      if (onlyCounts(name)) continue;
      await check(name, 402, await visit(poor, name));
      await check(name, 502, await say(credit, name, '[[status=500]]'));
      const headers = { 'Idempotency-Key': 'documented' };
      const conflict = await visit(credit, name, { headers, body: bodyOf(name, `only ${name}`) });
      await check(name, name === 'chat' ? 200 : 409, conflict);
    }
    await check('messages', 504, await say(credit, 'messages', '[[status=504]]'));
    await auditClean(gateway);
  });
});

describe('the catalog', () => {
  interface Listed {
    readonly id: string;
    readonly capabilities: Record<string, unknown>;
    readonly pricing: Record<string, unknown>;
  }

  async function listed(): Promise<Map<string, Listed>> {
    const { data } = (await (await visit(credit, 'models')).json()) as { data: Listed[] };
    return new Map(data.map((model) => [model.id, model]));
  }

  test('[R57] the sandbox models are listed with their prices, limits and capabilities', async () => {
    const models = await listed();
    const common = { object: 'model', pricing: { input: 1, output: 4 } };
    for (const [id, provider, context_window, max_output_tokens, images] of [
      ['sandbox/alpha', 'sandbox-a', 128_000, 64_000, true],
      ['sandbox/beta', 'sandbox-b', 128_000, 64_000, true],
      ['sandbox/tiny', 'sandbox-a', 2_048, 256, false],
    ] as const) {
      const model = models.get(id);
      assert.ok(model);
      assert.partialDeepStrictEqual(model, { id, ...common, provider, context_window, max_output_tokens });
      for (const name of ['tools', 'images', 'reasoning', 'structured_output', 'streaming']) {
        assert.equal(typeof model.capabilities[name], 'boolean', name);
      }
      assert.equal(model.capabilities.images, images);
    }
    assert.deepEqual(models.get('sandbox/alpha')?.capabilities.formats, ['chat', 'responses']);
    assert.deepEqual(models.get('sandbox/beta')?.capabilities.formats, ['messages']);
  });

  test('[R57] fields that are not known are left out, not null', async () => {
    const model = (await listed()).get('gated/one');
    assert.ok(model);
    assert.equal('display_name' in model, false);
    assert.equal('tagline' in model, false);
    assert.equal((await listed()).get('gated/two')?.pricing.cache_write, 2);
  });

  test('[R57] a request for what the model lacks is a 400 that names it', async () => {
    const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } };
    const messages = [{ role: 'user', content: [{ type: 'text', text: 'See' }, image] }];
    const error = await refusal(
      say(credit, 'chat', '', { model: 'sandbox/tiny', messages }),
      'chat',
      400,
      'invalid_request',
    );
    assert.match(error.message, /images/);
    assert.equal(error.param, 'messages[0].content[1]');
    assert.equal((await say(credit, 'chat', '', { messages })).status, 200);
    await auditClean(gateway);
  });
});

describe('count_tokens', () => {
  async function count(said: string, extra: object = {}): Promise<number> {
    const response = await say(credit, 'count_tokens', said, extra);
    const body = (await response.json()) as { input_tokens: number };
    assert.equal(response.status, 200, JSON.stringify(body));
    assert.deepEqual(Object.keys(body), ['input_tokens']);
    return body.input_tokens;
  }

  test("[R58] is the provider's own count where it offers one", async () => {
    const said = 'How many tokens is this sentence, told by the provider?';
    const response = await say(credit, 'messages', said);
    const { usage: told } = (await response.json()) as { usage: { input_tokens: number } };
    assert.equal(await count(said), told.input_tokens);
  });

  test('[R58] otherwise the local counter, which also answers for a provider that fails', async () => {
    const local = await count('Hello', { model: 'sandbox/alpha' });
    assert.ok(local > 0);
    assert.ok((await count('Hello '.repeat(100), { model: 'sandbox/alpha' })) > local);
    for (const failure of ['[[status=500]]', '[[status=429]]', '[[status=400]]', '[[fail-after=0]]']) {
      assert.ok((await count(failure)) > 0, failure);
    }
  });

  test('[R69] takes fields that only generation knows, and judges neither them nor their price', async () => {
    const generation = {
      max_tokens: 'many',
      stream: 'yes',
      temperature: 9,
      metadata: 7,
      service_tier: 'priority',
      speed: 'fast',
      inference_geo: 'us',
      container: 'container_1',
      models: ['another'],
      stop_sequences: 3,
    };
    for (const model of ['sandbox/alpha', 'sandbox/beta']) {
      assert.equal(await count('Hello there', { model, ...generation }), await count('Hello there', { model }));
    }
    const thinking = { type: 'enabled', budget_tokens: 2_000 };
    assert.ok((await count('Hello', { model: 'sandbox/tiny', thinking, stream: true })) > 0);
    await refusal(say(credit, 'count_tokens', '', { messages: [] }), 'count_tokens', 400, 'invalid_request');
  });

  test('[R58] is never charged, creates nothing, and counts in the rate limit', async () => {
    for (const make of [gateway.creditKey, gateway.tokenKey]) {
      const key = await make({ rpm_limit: 2 });
      const before = await account(gateway, key);
      assert.equal((await visit(key, 'count_tokens')).headers.get('x-ratelimit-remaining-requests'), '1');
      assert.equal((await visit(key, 'count_tokens')).headers.get('x-ratelimit-remaining-requests'), '0');
      await refusal(visit(key, 'count_tokens'), 'count_tokens', 429, 'rate_limit_exceeded');
      assert.deepEqual(await account(gateway, key), before);
    }
    const poor = await gateway.creditKey({ credit: '0' });
    assert.equal((await visit(poor, 'count_tokens')).status, 200);
    await auditClean(gateway);
  });
});

describe('routes without a credential', () => {
  test('[R45] GET and HEAD on both bare origins', async () => {
    for (const path of ['/', '/token']) {
      for (const method of ['GET', 'HEAD']) {
        const response = await call(gateway.origin + path, { method });
        assert.equal(response.status, 200, `${method} ${path}`);
        const text = await response.text();
        assert.equal(text === '', method === 'HEAD');
      }
    }
  });

  test('GET /healthz says that the process is alive, GET /readyz that it can serve', async () => {
    const alive = await call(`${gateway.origin}/healthz`);
    assert.deepEqual([alive.status, await alive.json()], [200, { status: 'ok' }]);
    const ready = await call(`${gateway.origin}/readyz`);
    assert.deepEqual([ready.status, await ready.json()], [200, { status: 'ready' }]);
    for (const path of ['/healthz', '/readyz']) {
      const head = await call(gateway.origin + path, { method: 'HEAD' });
      assert.deepEqual([head.status, await head.text()], [200, ''], `HEAD ${path}`);
    }
  });
});

describe('what a start prints', () => {
  test('the first prints two keys and requests that work as pasted, later ones no secret', async () => {
    const first = await startedGateway();
    const text = first.printed.join('\n');
    const keys = text.match(/mg_[ct]_[0-9A-Za-z]{40}/g) ?? [];
    assert.equal(new Set(keys).size, 2);
    assert.ok(keys.some((key) => key.startsWith('mg_c_')) && keys.some((key) => key.startsWith('mg_t_')));
    const requests = [...text.matchAll(/^curl (\S+) -H 'Authorization: Bearer (\S+)' .* -d '(.+)'$/gm)];
    assert.equal(requests.length, 2);
    for (const [, url = '', key = '', body = ''] of requests) {
      const response = await call(url, { key, body });
      assert.equal(response.status, 200);
      const streamed = await call(url, { key, body: { ...JSON.parse(body), stream: true } });
      assert.match(streamed.headers.get('content-type') ?? '', /^text\/event-stream/);
      await streamed.text();
    }
    for (const base of [`${first.origin}/v1`, `${first.origin}/token/v1`]) assert.ok(text.includes(base));
    await auditClean(first);
    await first.stop();
    const second = await startedGateway({ dataDir: first.dataDir });
    assert.doesNotMatch(second.printed.join('\n'), /mg_[ct]_/);
    assert.equal((await second.admin.listKeys()).length, 2, 'no new keys either');
    await second.stop();
    await first[Symbol.asyncDispose]();
  });

  test('[F55] a first start with a real provider prints keys at a terminal only; elsewhere a command makes them', async () => {
    const config = 'providers: { up: { kind: openai, base_url: "http://127.0.0.1:9/v1", api_key: x } }\n';
    const collected = await startedGateway({ config });
    const text = collected.printed.join('\n');
    assert.doesNotMatch(text, /mg_[a-z]_|token=/);
    assert.match(text, /Create one: npx gateway keys create --mode credit --credit 5/);
    assert.deepEqual(await collected.admin.listKeys(), [], 'a key that nobody has seen is of no use');
    await collected.stop();
    await using atTerminal = await startedGateway({ dataDir: collected.dataDir, config, terminal: true });
    assert.equal(new Set(atTerminal.printed.join('\n').match(/mg_[ct]_[0-9A-Za-z]{40}/g)).size, 2);
  });
});
