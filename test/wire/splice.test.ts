import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { type Change, change, locate } from '../../src/wire/splice.ts';

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
  }),
  { selector: (entry) => entry.name, maxLength: 4 },
);

describe('change', () => {
  test('gives the edited object, and leaves every other member byte for byte', () => {
    fc.assert(
      fc.property(object, changes, fc.constantFrom('', ' ', '\t'), fc.boolean(), (value, wanted, indent, escaped) => {
        let text = JSON.stringify(value, null, indent);
        if (escaped)
          text = text.replace(/[\u0080-\uffff]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);
        const bytes = Buffer.from(text);
        const list = wanted.map(
          ({ name, child, value: next }): Change => ({
            path: child === undefined ? [name] : [name, child],
            json: JSON.stringify(next),
          }),
        );
        const result = change(bytes, list);
        const expected = JSON.parse(text);
        for (const { name, child, value: next } of wanted) {
          const copy = JSON.parse(JSON.stringify(next));
          if (child === undefined) {
            expected[name] = copy;
          } else {
            const old = expected[name];
            const isParent = typeof old === 'object' && old !== null && !Array.isArray(old);
            expected[name] = { ...(isParent ? old : {}), [child]: copy };
          }
        }
        assert.deepEqual(JSON.parse(result.toString()), expected);
        const before = locate(bytes, ['other']).other;
        const after = locate(result, ['other']).other;
        assert.equal(
          before && bytes.toString('utf8', before.start, before.end),
          after && result.toString('utf8', after.start, after.end),
        );
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

test('locate finds members at their own path only', () => {
  const bytes = Buffer.from(
    '{"x":{"model":1},"s":"\\"model\\":2","model":[3],"stream_options":{"include_usage":true}}',
  );
  const found = locate(bytes, ['model', 'stream_options.include_usage', 'absent', 'x.y', 's.t']);
  const text = (range: { start: number; end: number } | null) =>
    range && bytes.toString('utf8', range.start, range.end);
  assert.equal(text(found.model), '[3]');
  assert.equal(text(found['stream_options.include_usage']), 'true');
  assert.equal(found.absent, null);
  assert.equal(found['x.y'], null);
  assert.equal(found['s.t'], null);
});
