import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { GatewayError } from '../../../../src/core/conditions.ts';
import { parseBody } from '../../../../src/wire/json/parse-request.ts';

function refusal(bytes: Buffer | string): GatewayError {
  try {
    parseBody(Buffer.from(bytes));
  } catch (error) {
    assert.ok(error instanceof GatewayError);
    assert.equal(error.condition, 'invalid_request');
    return error;
  }
  throw new assert.AssertionError({ message: 'was not refused' });
}

const TYPE_OF_MCP = 'input[1][0].tools[0].tools[1].type';

function insideString(text: string, index: number): boolean {
  return (text.slice(0, index).replaceAll(/\\./g, '').split('"').length - 1) % 2 === 1;
}

describe('parseBody', () => {
  test('any JSON object comes out as JSON.parse reads it, with the place of every member', () => {
    const value = fc.dictionary(fc.string({ unit: 'grapheme' }), fc.jsonValue({ stringUnit: 'grapheme' }), {
      noNullPrototype: true,
    });
    fc.assert(
      fc.property(value, fc.constantFrom(undefined, 2), (object, indent) => {
        const bytes = Buffer.from(JSON.stringify(object, null, indent));
        if (bytes.includes('__proto__')) return;
        const { body, layout } = parseBody(bytes);
        assert.deepEqual(body, JSON.parse(bytes.toString()));
        for (const [index, name] of Object.keys(JSON.parse(bytes.toString())).entries()) {
          const member = layout.members[index];
          assert.ok(member);
          const text = bytes.toString('utf8', member.valueStart, member.valueEnd);
          assert.deepEqual(JSON.parse(text), JSON.parse(bytes.toString())[name]);
        }
      }),
    );
  });

  test('[F43] more values than the limit are refused by it, at every depth', () => {
    // A large body is counted in another way than a small one.
    for (const model of ['m', 'm'.repeat(2 ** 20)]) {
      const body = Buffer.from(JSON.stringify({ model, x: { y: Array.from({ length: 997 }, () => ({})) } }));
      assert.equal(Object.keys(parseBody(body, 1_001).body).length, 2);
      assert.throws(() => parseBody(body, 1_000), {
        condition: 'invalid_request',
        message: 'The request body has more than 1000 JSON values.',
      });
    }
  });

  test('[F43] values are counted as they are, however they are written', () => {
    const countOf = (value: unknown): number =>
      typeof value === 'object' && value !== null
        ? Object.values(value).reduce((sum: number, item) => sum + countOf(item), 1)
        : 1;
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.constantFrom(0, 2), (object, indent) => {
        const bytes = Buffer.from(JSON.stringify(object, null, indent));
        if (bytes.includes('\\u') || bytes.includes('__proto__')) return;
        const values = countOf(object);
        parseBody(bytes, values);
        assert.throws(() => parseBody(bytes, values - 1), /JSON values/);
      }),
    );
  });

  test('[F22] what is not a JSON object in UTF-8 is refused', () => {
    for (const bytes of [
      '',
      ' ',
      '{',
      '{"a"',
      '{"a":}',
      '{"a":1,}',
      '{"a":NaN}',
      'undefined',
      '{"a":1} x',
      "{'a':1}",
      '\ufeff{}',
    ]) {
      assert.equal(refusal(bytes).message, 'The request body is not valid JSON.');
    }
    for (const bytes of ['[]', '1', '"x"', 'null', 'true']) {
      assert.equal(refusal(bytes).message, 'The request body must be a JSON object.');
    }
    assert.match(refusal(Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d])).message, /UTF-8/);
  });

  test('[F22] JSON 100,000 deep is refused, closed or not, in arrays and objects', () => {
    for (const open of ['[', '{"a":', '[{"b":']) {
      assert.match(refusal(`{"x":${open.repeat(100_000)}`).message, /deeper/);
    }
    assert.match(refusal(`{"x":${'['.repeat(100_000)}${']'.repeat(100_000)}}`).message, /deeper/);
    parseBody(Buffer.from(`{"x":${'['.repeat(255)}${']'.repeat(255)}}`));
    assert.match(refusal(`{"x":${'['.repeat(256)}${']'.repeat(256)}}`).message, /deeper/);
    const wide = `{"x":"${'['.repeat(1000)}\\"${'{'.repeat(1000)}"}`;
    parseBody(Buffer.from(wide));
  });

  test('[F22] a number of more digits than any has is refused, wherever it stands', () => {
    const digits = '1'.repeat(101);
    for (const text of [
      `{"a":${digits}}`,
      `{"a":[1,-${digits}]}`,
      `{"a":{"b":0.${digits} }}`,
      `{"a":[ ${digits}\n]}`,
    ]) {
      assert.match(refusal(text).message, /a number of more than 100 characters/);
    }
    const { body } = parseBody(Buffer.from(`{"a":[${'1'.repeat(100)},"${digits}",true${' '.repeat(200)},null]}`));
    assert.deepEqual(body.a, [Number('1'.repeat(100)), digits, true, null]);
  });

  test('[F22] a member named __proto__ is refused wherever it stands, however it is written', () => {
    assert.equal(refusal('{"__proto__":{}}').param, '__proto__');
    assert.equal(refusal('{"a":[{"\\u005f_proto__":1}]}').param, 'a[0].__proto__');
    assert.equal(parseBody(Buffer.from('{"a":"__proto__"}')).body.a, '__proto__');
  });

  test('[F22] a top-level member given twice is refused by name', () => {
    assert.equal(refusal('{"model":"a","x":[{"model":1}],"mod\\u0065l":"b"}').param, 'model');
    assert.equal(refusal('{"größe":1,"größe":1}').param, 'größe');
  });

  test('[R60] a member given twice is refused by its path, at any depth and however it is written', () => {
    const refused: readonly (readonly [body: string, param: string])[] = [
      ['{"x":{"a":1,"a":1}}', 'x.a'],
      ['{"messages":[{},{"content":[{"type":"tool_addition","t\\u0079pe":"text"}]}]}', 'messages[1].content[0].type'],
      ['{"input":[[1,2],[{"tools":[{"tools":[{"type":"function"},{"type":"mcp","type":null}]}]}]]}', TYPE_OF_MCP],
      ['{"thinking" : { "type" : "enabled" , "budget" : [ { } ] , "type" : "disabled" } }', 'thinking.type'],
      ['{"a":{"":1,"":2}}', 'a.'],
      ['{"a":"\\"b\\":1,","c":{"größe":{"b":2},"größe":{"b":2}}}', 'c.größe'],
      ['{"a":{"1":1,"b":{"1":1},"1":2}}', 'a.1'],
      ['{"a":{"__proto__":1,"__proto__":2}}', 'a.__proto__'],
      [
        `{"a":${'[{"b":'.repeat(100)}{"c":1,"c":1}${'}]'.repeat(100)}}`,
        `${`a${'[0].b'.repeat(100)}.c`.slice(0, 299)}…`,
      ],
    ];
    for (const [body, param] of refused) {
      const error = refusal(body);
      assert.equal(error.param, param);
      assert.match(error.message, /given more than once/);
    }
    for (const body of [
      '{"a":{"b":1},"c":{"b":1}}',
      '{"a":[{"b":1},{"b":1}]}',
      '{"a":"b","b":{"a":"\\"b\\":1,\\"b\\":1"}}',
    ]) {
      parseBody(Buffer.from(body));
    }
  });

  test('[R60] a repeated member is found in any body, wherever it is put', () => {
    const tree = fc.dictionary(fc.string(), fc.jsonValue(), { noNullPrototype: true, minKeys: 1 });
    fc.assert(
      fc.property(tree, fc.nat(), (object, choice) => {
        const text = JSON.stringify(object);
        if (text.includes('__proto__') || text.includes('\\u')) return;
        const objects = [...text.matchAll(/\{(?="((?:[^"\\]|\\.)*)":)/g)].filter(
          ({ index }) => !insideString(text, index),
        );
        const chosen = objects[choice % objects.length];
        if (chosen === undefined) return;
        const again = `{"${chosen[1]}":null,`;
        const error = refusal(text.slice(0, chosen.index) + again + text.slice(chosen.index + 1));
        assert.match(error.message, /given more than once/);
      }),
    );
  });

  test('[F22] lone surrogates are refused with their place, pairs are text', () => {
    assert.equal(refusal('{"messages":[{"content":"\\ud83d"}]}').param, 'messages[0].content');
    assert.equal(refusal('{"a":[["x\\uDE00"]]}').param, 'a[0][0]');
    assert.equal(parseBody(Buffer.from('{"a":"\\ud83d\\ude00"}')).body.a, '😀');
  });

  test('[F22] thousands of top-level members are refused', () => {
    const members = Array.from({ length: 1025 }, (_, i) => `"k${i}":0`).join(',');
    assert.match(refusal(`{${members}}`).message, /more than 1024 fields/);
  });
});
