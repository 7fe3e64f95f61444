/**
 * Requests that are generated from the served OpenAPI document: what its schemas refuse is a 400, every answer has a status
 * that the document lists and is what it documents for it, and nothing is charged but what is answered.
 */
import assert from 'node:assert/strict';
import { afterEach, describe, test } from 'node:test';
import { Ajv2020, type AnySchema, type ValidateFunction } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { ENDPOINTS, type EndpointName } from '../../src/core/endpoints.ts';
import { fuzz } from '../support/fuzz.ts';
import { auditClean, bodyOf, POSTS } from '../support/requests.ts';
import { call, withGateway } from '../support/started-gateway.ts';

interface Schema {
  readonly type?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly minLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
}

interface Operation {
  readonly requestBody?: { readonly content: { readonly 'application/json': { readonly schema: Schema } } };
  readonly responses: Readonly<Record<string, { readonly content: Readonly<Record<string, { schema: AnySchema }>> }>>;
}

const gateway = await withGateway();
const key = await gateway.creditKey({ credit: '1000' });
const document = (await (await call(`${gateway.origin}/openapi.json`)).json()) as {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
};
const ajv = new Ajv2020({ strict: false });
ajv.addSchema(document as AnySchema, 'gateway');
const compiled = new Map<string, ValidateFunction>();

afterEach(() => auditClean(gateway));

function operationOf(name: EndpointName): Operation {
  const { path, method } = ENDPOINTS[name];
  const operation = document.paths[path]?.[method.toLowerCase()];
  assert.ok(operation, `${method} ${path} is documented`);
  return operation;
}

/** The validator of what the document has at this place. */
function documented(name: EndpointName, ...steps: readonly string[]): ValidateFunction {
  const { path, method } = ENDPOINTS[name];
  const pointer = ['paths', path, method.toLowerCase(), ...steps, 'content', 'application/json', 'schema']
    .map((step) => encodeURIComponent(step.replaceAll('/', '~1')))
    .join('/');
  const known = compiled.get(pointer) ?? ajv.compile({ $ref: `gateway#/${pointer}` });
  compiled.set(pointer, known);
  return known;
}

/** Values that have the shape; conditions beyond it are left to the validator. */
function valuesOf(schema: Schema): fc.Arbitrary<unknown> {
  if (schema.const !== undefined) return fc.constant(schema.const);
  if (schema.enum) return fc.constantFrom(...schema.enum);
  if (schema.anyOf) return fc.oneof(...schema.anyOf.map(valuesOf));
  switch (schema.type) {
    case 'string':
      return fc.string({ minLength: schema.minLength ?? 0, maxLength: 12 });
    case 'integer':
      return fc.integer({ min: schema.minimum ?? -5, max: Math.min(schema.maximum ?? 300, 300) });
    case 'number':
      return fc.double({ min: schema.minimum ?? 0, max: schema.maximum ?? 10, noNaN: true });
    case 'boolean':
      return fc.boolean();
    case 'null':
      return fc.constant(null);
    case 'array':
      return fc.array(valuesOf(schema.items ?? {}), {
        minLength: schema.minItems ?? 0,
        maxLength: Math.min(schema.maxItems ?? 3, 3),
      });
    case 'object':
      return fc.record(
        Object.fromEntries(Object.entries(schema.properties ?? {}).map(([name, member]) => [name, valuesOf(member)])),
        { requiredKeys: [...(schema.required ?? [])] },
      );
    default:
      return fc.jsonValue({ maxDepth: 2 });
  }
}

/** A body that works, with some of the optional members that the document has, and with some that it does not have. */
function bodiesOf(name: EndpointName): fc.Arbitrary<Record<string, unknown>> {
  const { properties = {}, required = [] } = operationOf(name).requestBody?.content['application/json'].schema ?? {};
  const optional = Object.entries(properties).filter(([member]) => !required.includes(member));
  const extras = fc.dictionary(fc.constantFrom('x_extra', 'seed', 'trace'), fc.jsonValue({ maxDepth: 1 }));
  return fc
    .record(Object.fromEntries(optional.map(([member, schema]) => [member, valuesOf(schema)])), { requiredKeys: [] })
    .chain((members) =>
      fc.record({
        model: fc.constantFrom('sandbox/alpha', 'sandbox/beta', 'sandbox/tiny'),
        extras,
        members: fc.constant(members),
      }),
    )
    .map(({ model, extras: others, members }) => ({ ...bodyOf(name), ...others, ...members, model }));
}

/** The status, after the answer has been held against the document. */
async function answered(name: EndpointName, body: unknown): Promise<number> {
  const { path, envelope } = ENDPOINTS[name];
  const response = await call(key.origin + path, { method: 'POST', key: key.key, body: JSON.stringify(body) });
  const { status } = response;
  const text = await response.text();
  const shown = `${name} ${JSON.stringify(body)}: ${status} ${text.slice(0, 500)}`;
  const listed = operationOf(name).responses[String(status)];
  assert.ok(listed, shown);
  const type = response.headers.get('content-type') ?? '';
  if (type.startsWith('text/event-stream')) {
    assert.ok(status === 200 && 'text/event-stream' in listed.content, shown);
    assert.match(text, /data: \[DONE\]|"type":"(response\.(completed|incomplete)|message_stop)"/, shown);
    return status;
  }
  const answer: unknown = JSON.parse(text);
  const valid = documented(name, 'responses', String(status));
  assert.ok(valid(answer), `${shown}: ${ajv.errorsText(valid.errors)}`);
  if (status !== 200) assert.equal((answer as { type?: string }).type, envelope === 'B' ? 'error' : undefined, shown);
  return status;
}

for (const name of POSTS) {
  describe(`[R59] ${name}, by its document`, () => {
    test('whatever its schema takes is answered as documented; what it does not take is a 400', (t) =>
      fuzz(t, bodiesOf(name), async (body) => {
        const status = await answered(name, body);
        if (!documented(name, 'requestBody')(body)) assert.equal(status, 400, JSON.stringify(body));
        else assert.ok(status === 200 || status === 400 || status === 404, `${status}: ${JSON.stringify(body)}`);
      }));

    test('a member of another type is a 400, or allowed by the schema', (t) => {
      const schema = operationOf(name).requestBody?.content['application/json'].schema ?? {};
      const members = fc.constantFrom(...Object.keys(schema.properties ?? {}));
      const values = fc.oneof(fc.constantFrom<unknown>('', -1, 1.5, true, [], {}, [null], [7]), fc.jsonValue());
      return fuzz(t, fc.tuple(members, values), async ([member, value]) => {
        const body = { ...bodyOf(name), [member]: value };
        const status = await answered(name, body);
        const omitted = value === null && !(schema.required ?? []).includes(member);
        if (!omitted && !documented(name, 'requestBody')(body)) assert.equal(status, 400, JSON.stringify(body));
      });
    });

    test('[R62] every optional member may be null', async () => {
      const { properties = {}, required = [] } =
        operationOf(name).requestBody?.content['application/json'].schema ?? {};
      const nulls = Object.keys(properties).filter((member) => !required.includes(member));
      assert.ok(nulls.length > 0);
      const none = Object.fromEntries(nulls.map((member) => [member, null]));
      assert.equal(await answered(name, { ...bodyOf(name), ...none }), 200);
    });
  });
}
