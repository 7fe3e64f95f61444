import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { type Change, change, changeInPieces, replaceValues } from '../../../../src/wire/json/edit.ts';
import { layoutAt, objectLayout } from '../../../../src/wire/json/scan.ts';

const NAMES = ['model', 'max_tokens', 'stream_options', 'a"b', 'ü', 'x\\'];
const CHILDREN = ['include_usage', 'model', 'ü'];

const scalar = fc.oneof(fc.string({ unit: 'grapheme' }), fc.double({ noNaN: true }), fc.boolean(), fc.constant(null));
const inner = fc.dictionary(fc.constantFrom(...CHILDREN, ...NAMES), scalar, { noNullPrototype: true });
const member = fc.oneof(scalar, inner, fc.array(fc.oneof(scalar, inner), { maxLength: 4 }));
const object = fc.dictionary(fc.constantFrom(...NAMES, 'other'), member, { noNullPrototype: true });
const changes = fc.uniqueArray(
  fc.record({
    name: fc.constantFrom(...NAMES),
    child: fc.option(fc.constantFrom(...CHILDREN), { nil: undefined }),
    value: member,
    removed: fc.boolean(),
  }),
  { selector: (entry) => entry.name, maxLength: 4 },
);

/** As it is written; null where there is none. */
function memberText(bytes: Buffer, name: string): string | null {
  const layout = objectLayout(bytes.toString('latin1'), 0, { depthMax: 100, membersMax: 100, scalarMax: 100 });
  assert.ok(layout !== null && typeof layout === 'object');
  const member = layout.members.find((one) => one.name === name);
  return member === undefined ? null : bytes.toString('utf8', member.valueStart, member.valueEnd);
}

describe('change', () => {
  test('gives the edited object, and leaves every other member byte for byte', () => {
    fc.assert(
      fc.property(object, changes, fc.constantFrom('', ' ', '\t'), fc.boolean(), (value, wanted, indent, escaped) => {
        let text = JSON.stringify(value, null, indent);
        if (escaped)
          text = text.replace(/[\u0080-\uffff]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);
        const bytes = Buffer.from(text);
        const list = wanted.map(
          ({ name, child, value: next, removed }): Change => ({
            path: child === undefined ? [name] : [name, child],
            json: child === undefined && removed ? null : JSON.stringify(next),
          }),
        );
        const result = change(bytes, list);
        const expected = JSON.parse(text);
        for (const { name, child, value: next, removed } of wanted) {
          const copy = JSON.parse(JSON.stringify(next));
          if (child === undefined && removed) {
            delete expected[name];
          } else if (child === undefined) {
            expected[name] = copy;
          } else {
            const old = expected[name];
            const isParent = typeof old === 'object' && old !== null && !Array.isArray(old);
            expected[name] = { ...(isParent ? old : {}), [child]: copy };
          }
        }
        assert.deepEqual(JSON.parse(result.toString()), expected);
        assert.equal(memberText(result, 'other'), memberText(bytes, 'other'));
        assert.deepEqual(Buffer.concat(changeInPieces(bytes, list)), result);
      }),
    );
  });

  test('numbers, order and white space elsewhere stay as written', () => {
    const bytes = Buffer.from('{ "t" : 1.0e+2, "model":"a" ,\n "n": {"model":"a", "big":12345678901234567890}}');
    const result = change(bytes, [
      { path: ['model'], json: '"b"' },
      { path: ['max_tokens'], json: '5' },
      { path: ['n', 'x'], json: 'true' },
    ]);
    assert.equal(
      result.toString(),
      '{"max_tokens":5, "t" : 1.0e+2, "model":"b" ,\n "n": {"x":true,"model":"a", "big":12345678901234567890}}',
    );
  });

  test('an empty object takes a member without a comma; no change is the same memory', () => {
    const bytes = Buffer.from('{ }');
    assert.equal(change(bytes, [{ path: ['a'], json: '1' }]).toString(), '{"a":1 }');
    assert.equal(change(bytes, []), bytes);
  });
});

test('values inside lists and objects are replaced where they are, and nothing else changes by a byte', () => {
  const bytes = Buffer.from(
    '{"m" : [1, {"ü":12345678901234567890.50}, [{}], {"t":[ {"x":{"a":1}} ,{"y":"\\"}]"} ]}],"z":{ }}',
  );
  const layout = layoutAt(bytes.toString('latin1'), 0);
  assert.ok(layout);
  const replaced = replaceValues(
    bytes,
    [
      { path: ['z'], json: '"ä"' },
      { path: ['m', 3, 't', 1], json: '{"y":2}' },
      { path: ['m', 3, 't', 0, 'x'], json: '[]' },
      { path: ['m', 0], json: 'a number is not found' },
      { path: ['m', 4, 't'], json: 'nor is what is not there' },
      { path: ['n', 0], json: 'nor is what is not there' },
    ],
    layout,
  );
  assert.equal(
    replaced.toString(),
    '{"m" : [1, {"ü":12345678901234567890.50}, [{}], {"t":[ {"x":[]} ,{"y":2} ]}],"z":"ä"}',
  );
});
