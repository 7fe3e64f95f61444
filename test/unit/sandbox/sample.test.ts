import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Ajv } from 'ajv';
import { sampleOf } from '../../../src/sandbox/sample.ts';

const SCHEMAS: Readonly<Record<string, object>> = {
  flat: {
    type: 'object',
    properties: { city: { type: 'string' }, days: { type: 'integer', minimum: 3 }, metric: { type: 'boolean' } },
    required: ['city', 'days', 'metric'],
    additionalProperties: false,
  },
  nested: {
    type: 'object',
    properties: {
      places: { type: 'array', minItems: 2, items: { $ref: '#/$defs/place' } },
      unit: { enum: ['km', 'mi'] },
      kind: { const: 'route' },
      note: { anyOf: [{ type: 'string', minLength: 20 }, { type: 'null' }] },
      short: { type: ['string', 'null'], maxLength: 3 },
    },
    required: ['places', 'unit', 'kind', 'note', 'short'],
    $defs: { place: { type: 'object', properties: { lat: { type: 'number', maximum: -5 } }, required: ['lat'] } },
  },
  optional: { type: 'object', properties: { city: { type: 'string' } } },
};

describe('sandbox arguments', () => {
  for (const [name, schema] of Object.entries(SCHEMAS)) {
    test(`fit the schema, and are the same each time: ${name}`, () => {
      const validate = new Ajv({ allowUnionTypes: true }).compile(schema);
      assert.ok(validate(sampleOf(schema)), JSON.stringify(validate.errors));
      assert.deepEqual(sampleOf(schema), sampleOf(schema));
    });
  }

  test('a schema that refers to itself, or is none, still ends', () => {
    const endless = { type: 'object', properties: { next: { $ref: '#' } }, required: ['next'] };
    assert.ok(JSON.stringify(sampleOf(endless)).length < 200);
    for (const schema of [undefined, null, 'x', 5, [], {}, { $ref: '#/nowhere' }]) assert.equal(sampleOf(schema), null);
  });

  test('a property called __proto__ is an ordinary one', () => {
    const schema = JSON.parse(
      '{"type":"object","required":["__proto__"],"properties":{"__proto__":{"type":"string"}}}',
    );
    assert.equal(JSON.stringify(sampleOf(schema)), '{"__proto__":"simulated"}');
  });
});
