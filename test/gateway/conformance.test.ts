/**
 * Requests that are generated from the served OpenAPI document: what its schemas refuse is a 400, every answer has a status
 * that the document lists and is what it documents for it, and nothing is charged but what is answered.
 */
import assert from 'node:assert/strict';
import { afterEach, describe, test } from 'node:test';
import fc from 'fast-check';
import { ENDPOINTS, type EndpointName } from '../../src/core/endpoints.ts';
import { Documented, type Schema } from '../support/documented.ts';
import { fuzz } from '../support/fuzz.ts';
import { auditClean, bodyOf, POSTS } from '../support/requests.ts';
import { call, withGateway } from '../support/started-gateway.ts';

const gateway = await withGateway();
const key = await gateway.creditKey({ credit: '1000' });
const documented = await Documented.of(gateway.origin);

afterEach(() => auditClean(gateway));

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
  const { properties = {}, required = [] } = documented.requestSchema(name);
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

const CHOICES = new Set<unknown>(['auto', 'none', 'required', null, undefined]);

/** Whether what a response repeats of this request is known to the Open Responses schemas. */
function repeatsKnown(body: unknown): boolean {
  const { tool_choice: choice, tools } = body as { readonly tool_choice?: unknown; readonly tools?: unknown };
  return CHOICES.has(choice) && (tools === undefined || tools === null);
}

/** The status, after the answer has been held against the document. */
async function answered(name: EndpointName, body: unknown): Promise<number> {
  const { path, envelope } = ENDPOINTS[name];
  const text = JSON.stringify(body);
  const response = await call(key.origin + path, { method: 'POST', key: key.key, body: text });
  const { status, body: answer } = await documented.checked(name, response, text, repeatsKnown(body));
  if (status !== 200) assert.equal((answer as { type?: string }).type, envelope === 'B' ? 'error' : undefined, text);
  return status;
}

for (const name of POSTS) {
  describe(`[R59] ${name}, by its document`, () => {
    test('whatever its schema takes is answered as documented; what it does not take is a 400', (t) =>
      fuzz(t, bodiesOf(name), async (body) => {
        const status = await answered(name, body);
        if (!documented.takes(name, body)) assert.equal(status, 400, JSON.stringify(body));
        else assert.ok(status === 200 || status === 400 || status === 404, `${status}: ${JSON.stringify(body)}`);
      }));

    test('a member of another type is a 400, or allowed by the schema', (t) => {
      const schema = documented.requestSchema(name);
      const members = fc.constantFrom(...Object.keys(schema.properties ?? {}));
      const values = fc.oneof(fc.constantFrom<unknown>('', -1, 1.5, true, [], {}, [null], [7]), fc.jsonValue());
      return fuzz(t, fc.tuple(members, values), async ([member, value]) => {
        const body = { ...bodyOf(name), [member]: value };
        const status = await answered(name, body);
        const omitted = value === null && !(schema.required ?? []).includes(member);
        if (!omitted && !documented.takes(name, body)) assert.equal(status, 400, JSON.stringify(body));
      });
    });

    test('[R62] every optional member may be null', async () => {
      const { properties = {}, required = [] } = documented.requestSchema(name);
      const nulls = Object.keys(properties).filter((member) => !required.includes(member));
      assert.ok(nulls.length > 0);
      const none = Object.fromEntries(nulls.map((member) => [member, null]));
      assert.equal(await answered(name, { ...bodyOf(name), ...none }), 200);
    });
  });
}
