import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { isObject, type Json } from '../../../../src/lib/json.ts';
import { FORMATS } from '../../../../src/wire/formats.ts';
import { type OptionalFields, omitNulls } from '../../../../src/wire/json/omit-nulls.ts';
import { parseBody } from '../../../../src/wire/json/parse-request.ts';

const FIELDS: OptionalFields = {
  optional: ['a', 'b'],
  inside: {
    list: { optional: ['a'], by: { member: 'type', values: { other: { optional: ['c'] } } } },
    one: { optional: ['a'], inside: { one: { optional: ['b'] } } },
  },
};

function omitted(text: string, fields = FIELDS): string {
  return omitNulls(parseBody(Buffer.from(text)), fields).bytes.toString();
}

describe('[R62] an optional member that is null', () => {
  test('is cut out wherever it is, and nothing else changes by a byte', () => {
    const cases: readonly (readonly [string, string])[] = [
      ['{"a":null}', '{}'],
      ['{ "a" : null }', '{ }'],
      ['{"a":null,"b":null}', '{}'],
      ['{"a":null,"x":1.50}', '{"x":1.50}'],
      ['{"x":1e2,"a":null}', '{"x":1e2}'],
      ['{"x":1, "a":null , "b":null, "y":2}', '{"x":1, "y":2}'],
      ['{"a" : null,\n "b" : null,\n "x" : 3}', '{\n "x" : 3}'],
      ['{"one":{"a":null,"one":{"b":null,"a":null}}}', '{"one":{"one":{"a":null}}}'],
      [
        '{"list":[{"a":null},{"a":1},{"type":"other","a":null,"c":null},null]}',
        '{"list":[{},{"a":1},{"type":"other","a":null},null]}',
      ],
    ];
    for (const [text, expected] of cases) assert.equal(omitted(text), expected);
  });

  test('stays where the schema does not know it, requires it, or leaves the content to the client', () => {
    for (const text of [
      '{"x":null}',
      '{"list":[null,1,"null"],"free":{"a":null}}',
      '{"x":"null","one":[[{"a":null}]]}',
      '{"\\u0061":1}',
    ]) {
      assert.equal(omitted(text), text);
    }
  });

  test('is found when its name is escaped', () => {
    assert.equal(omitted('{"\\u0061":null,"x":1}'), '{"x":1}');
  });

  test('keeps the bytes that were received beside those that are sent', () => {
    const bytes = Buffer.from('{"a":null,"x":1}');
    const parsed = omitNulls(parseBody(bytes), FIELDS);
    assert.deepEqual([parsed.received, parsed.body], [bytes, { x: 1 }]);
    const untouched = parseBody(Buffer.from('{"x":"null"}'));
    assert.equal(omitNulls(untouched, FIELDS), untouched);
  });

  test('is the only thing that a body loses, whatever the body', () => {
    const name = fc.constantFrom('a', 'b', 'x', 'list', 'one', 'type', 'näme');
    const { value } = fc.letrec<{ value: Json }>((tie) => ({
      value: fc.oneof(
        { maxDepth: 4 },
        fc.constantFrom<Json>(null, null, 1, 'null', 'other', '"', true),
        fc.array(tie('value'), { maxLength: 3 }),
        fc.dictionary(name, tie('value'), { maxKeys: 5 }),
      ),
    }));
    fc.assert(
      fc.property(fc.dictionary(name, value, { maxKeys: 6 }), fc.constantFrom(undefined, 1), (body, space) => {
        const bytes = Buffer.from(JSON.stringify(body, null, space));
        assert.deepEqual(omitNulls(parseBody(bytes), FIELDS).body, plainly(JSON.parse(bytes.toString()), FIELDS));
      }),
      { numRuns: 500 },
    );
  });
});

/** The same, done on the parsed value. */
function plainly(value: Json, fields: OptionalFields): Json {
  if (Array.isArray(value)) return value.map((item) => (isObject(item) ? plainly(item, fields) : item));
  if (!isObject(value)) return value;
  const variant = fields.by && value[fields.by.member];
  const { optional, inside } = (typeof variant === 'string' && fields.by?.values[variant]) || fields;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name, member]) => member !== null || !optional.includes(name))
      .map(([name, member]) => [name, inside?.[name] ? plainly(member ?? null, inside[name]) : member]),
  ) as Json;
}

describe('[R62] the optional fields of the formats', () => {
  const MINIMAL = {
    chat: { model: 'm', messages: [{ role: 'user', content: 'Hi' }] },
    responses: { model: 'm', input: 'Hi' },
    messages: { model: 'm', messages: [{ role: 'user', content: 'Hi' }] },
  } as const;

  for (const name of ['chat', 'responses', 'messages'] as const) {
    const format = FORMATS[name];
    const read = (body: object) => {
      const parsed = omitNulls(parseBody(Buffer.from(JSON.stringify(body))), format.optionalFields);
      return { ...parsed, info: format.validateRequest(parsed.body, parsed.bytes, { betas: false }) };
    };

    test(`${name}: each of them may be null, and is then as if it were absent`, () => {
      const { info } = read(MINIMAL[name]);
      for (const field of format.optionalFields.optional) {
        const { body, info: withNull } = read({ ...MINIMAL[name], [field]: null });
        assert.deepEqual([body, withNull], [MINIMAL[name], info], field);
      }
    });

    test(`${name}: null for a required field is refused by name`, () => {
      for (const field of ['model', format.inputField]) {
        assert.throws(() => read({ ...MINIMAL[name], [field]: null }), { param: field });
      }
    });
  }

  test('what SDKs send inside messages, items and tools may be null too; a tool needs its name', () => {
    const validated = (name: 'chat' | 'responses' | 'messages', body: object): Json => {
      const format = FORMATS[name];
      const parsed = omitNulls(
        parseBody(Buffer.from(JSON.stringify({ ...MINIMAL[name], ...body }))),
        format.optionalFields,
      );
      format.validateRequest(parsed.body, parsed.bytes, { betas: false });
      return parsed.body;
    };
    const call = { id: 'c', type: 'function', function: { name: 'f', arguments: '{"x":null}' } };
    assert.deepEqual(
      validated('chat', {
        messages: [
          { role: 'user', content: [{ type: 'image_url', image_url: { url: 'u', detail: null } }], name: null },
          { role: 'assistant', content: null, refusal: null, tool_calls: [call], function_call: null },
          { role: 'tool', tool_call_id: 'c', content: 'ok', name: null },
        ],
        tools: [
          { type: 'function', function: { name: 'f', description: null, parameters: { default: null }, strict: null } },
        ],
        stop: null,
      }),
      {
        model: 'm',
        messages: [
          { role: 'user', content: [{ type: 'image_url', image_url: { url: 'u' } }] },
          { role: 'assistant', tool_calls: [call] },
          { role: 'tool', tool_call_id: 'c', content: 'ok' },
        ],
        tools: [{ type: 'function', function: { name: 'f', parameters: { default: null } } }],
      },
    );
    assert.deepEqual(
      validated('responses', {
        input: [
          { type: null, role: 'user', content: [{ type: 'input_image', image_url: 'u', file_id: null, detail: null }] },
          { type: 'reasoning', id: 'r', summary: [], content: null, encrypted_content: null, status: null },
          { type: 'function_call', id: null, call_id: 'c', name: 'f', arguments: '{}', status: null },
          { type: 'function_call_output', call_id: 'c', output: 'ok', id: null },
        ],
        tools: [{ type: 'function', name: 'f', description: null, parameters: null, strict: null }],
        reasoning: { effort: null, summary: null },
        text: { format: { type: 'json_schema', name: 'n', schema: { const: null }, description: null, strict: null } },
      }),
      {
        model: 'm',
        input: [
          { role: 'user', content: [{ type: 'input_image', image_url: 'u' }] },
          { type: 'reasoning', id: 'r', summary: [] },
          { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' },
          { type: 'function_call_output', call_id: 'c', output: 'ok' },
        ],
        tools: [{ type: 'function', name: 'f' }],
        reasoning: {},
        text: { format: { type: 'json_schema', name: 'n', schema: { const: null } } },
      },
    );
    const char = { type: 'char_location', cited_text: 't', document_index: 0, document_title: null };
    assert.deepEqual(
      validated('messages', {
        system: [{ type: 'text', text: 's', cache_control: null }],
        messages: [
          { role: 'user', content: [{ type: 'text', text: 't', citations: null, cache_control: null }] },
          {
            role: 'assistant',
            content: [{ type: 'tool_use', id: 'c', name: 'f', input: { a: null }, cache_control: null }],
          },
          { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c', content: null, is_error: null }] },
          { role: 'assistant', content: [{ type: 'text', text: 't', citations: [char] }] },
        ],
        tools: [{ name: 'f', type: null, description: null, input_schema: { type: 'object', default: null } }],
        metadata: { user_id: null },
      }),
      {
        model: 'm',
        system: [{ type: 'text', text: 's' }],
        messages: [
          { role: 'user', content: [{ type: 'text', text: 't' }] },
          { role: 'assistant', content: [{ type: 'tool_use', id: 'c', name: 'f', input: { a: null } }] },
          { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c' }] },
          { role: 'assistant', content: [{ type: 'text', text: 't', citations: [char] }] },
        ],
        tools: [{ name: 'f', input_schema: { type: 'object', default: null } }],
        metadata: {},
      },
    );
    for (const [name, tools, param] of [
      ['chat', [{ type: 'function', function: { name: null } }], 'tools[0].function.name'],
      ['chat', [{ type: 'function', function: null }], 'tools[0].function'],
      ['responses', [{ type: 'function', name: null }], 'tools[0].name'],
      ['messages', [{ name: null, input_schema: {} }], 'tools[0].name'],
      ['messages', [{ name: 'f', input_schema: null }], 'tools[0].input_schema'],
    ] as const) {
      assert.throws(() => validated(name, { tools }), { param }, `${name} ${param}`);
    }
  });
});
