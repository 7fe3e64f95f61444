/** The content of a message: the same however its bytes are cut, and refused where its framing can be read in two ways. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import type { Framing } from '../../../../src/transport/framing.ts';
import { BodyReader } from '../../../../src/transport/lean/body.ts';

interface Reading {
  readonly content: string;
  readonly done: boolean;
  /** What was not touched. */
  readonly rest: string;
}

/** Each part is what one read of the socket gave. */
function read(framing: Framing, parts: readonly Buffer[], stopsAtEach = false): Reading {
  const reader = new BodyReader(framing);
  const pieces: Buffer[] = [];
  const rest: Buffer[] = [];
  const onData = (piece: Buffer): boolean => {
    assert.ok(piece.length > 0, 'an empty piece');
    pieces.push(piece);
    return !stopsAtEach;
  };
  for (const part of parts) {
    let at = 0;
    for (let before = -1; before < at && at < part.length; ) {
      before = at;
      const given = pieces.length;
      at = reader.push(part, at, onData);
      if (stopsAtEach) assert.ok(pieces.length <= given + 1, 'a piece behind the one that stopped the reading');
    }
    if (reader.done) rest.push(part.subarray(at));
    else assert.equal(at, part.length);
  }
  return {
    content: Buffer.concat(pieces).toString('latin1'),
    done: reader.done,
    rest: Buffer.concat(rest).toString('latin1'),
  };
}

function cut(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const places = [...new Set(cuts.map((place) => place % (bytes.length + 1)))].sort((a, b) => a - b);
  return [0, ...places].map((from, index) => bytes.subarray(from, places[index] ?? bytes.length));
}

function everyByteAlone(bytes: Buffer): Buffer[] {
  return [...bytes].map((byte) => Buffer.of(byte));
}

const CHUNKED = { kind: 'chunked' } as const;
const anyBytes = fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes));
const cuts = fc.array(fc.nat(), { maxLength: 12 });
const extension = fc.constantFrom('', ';a', ';a=b', ';a;b=c', ';name="quoted; \t \\" text"', `;${'x'.repeat(1_024)}`);
const trailer = fc.constantFrom('', 'x: y\r\n', 'Digest: abc=\r\nx-Empty:\r\n', `x: ${'y'.repeat(8_000)}\r\n`);
const size = (bytes: number): fc.Arbitrary<string> =>
  fc
    .tuple(fc.constantFrom('', '0', '000'), fc.boolean())
    .map(([zeros, upper]) => zeros + (upper ? bytes.toString(16).toUpperCase() : bytes.toString(16)));
const chunk = fc
  .uint8Array({ minLength: 1, maxLength: 300 })
  .chain((bytes) => fc.tuple(fc.constant(Buffer.from(bytes)), size(bytes.length), extension));

describe('content', () => {
  test('in chunks is the same wherever its bytes are cut, and what follows is left alone', () => {
    fc.assert(
      fc.property(
        fc.array(chunk, { maxLength: 6 }),
        trailer,
        anyBytes,
        cuts,
        fc.boolean(),
        (chunks, trailer, next, cuts, stops) => {
          const wire = Buffer.concat([
            ...chunks.flatMap(([bytes, size, extension]) => [
              Buffer.from(`${size}${extension}\r\n`),
              bytes,
              Buffer.from('\r\n'),
            ]),
            Buffer.from(`0\r\n${trailer}\r\n`),
            next,
          ]);
          const content = Buffer.concat(chunks.map(([bytes]) => bytes)).toString('latin1');
          const expected = { content, done: true, rest: next.toString('latin1') };
          assert.deepEqual(read(CHUNKED, [wire], stops), expected);
          assert.deepEqual(read(CHUNKED, cut(wire, cuts), stops), expected);
          assert.deepEqual(read(CHUNKED, everyByteAlone(wire), stops), expected);
        },
      ),
    );
  });

  test('of a known length ends there, wherever its bytes are cut', () => {
    fc.assert(
      fc.property(anyBytes, anyBytes, cuts, (bytes, next, cuts) => {
        const expected = { content: bytes.toString('latin1'), done: true, rest: next.toString('latin1') };
        const framing = { kind: 'length', bytes: bytes.length } as const;
        assert.deepEqual(read(framing, cut(Buffer.concat([bytes, next]), cuts)), expected);
      }),
    );
  });

  test('of length 0 is complete before any byte', () => {
    assert.equal(new BodyReader({ kind: 'length', bytes: 0 }).done, true);
  });

  test('without a length is everything until the close', () => {
    const reader = new BodyReader({ kind: 'until_close' });
    const bytes = Buffer.from('0\r\n\r\n');
    assert.equal(
      reader.push(bytes, 1, (piece) => assert.equal(piece.toString(), '\r\n\r\n')),
      bytes.length,
    );
    assert.equal(reader.done, false);
    assert.equal(reader.end(), true);
  });

  test('that is cut off by a close is not complete', () => {
    for (const [framing, bytes] of [
      [{ kind: 'length', bytes: 3 }, 'ab'],
      [CHUNKED, ''],
      [CHUNKED, '3\r\nabc'],
      [CHUNKED, '3\r\nabc\r\n'],
      [CHUNKED, '3\r\nabc\r\n0\r\n'],
      [CHUNKED, '3\r\nabc\r\n0\r\nx: y\r\n'],
    ] as const) {
      const reader = new BodyReader(framing);
      reader.push(Buffer.from(bytes), 0, () => {});
      assert.equal(reader.end(), false, bytes);
    }
  });

  test('is given as parts of what was read, not as copies', () => {
    const wire = Buffer.from('5\r\nhello\r\n');
    new BodyReader(CHUNKED).push(wire, 0, (piece) => assert.equal(piece.buffer, wire.buffer));
    const whole = Buffer.from('hello');
    new BodyReader({ kind: 'length', bytes: 5 }).push(whole, 0, (piece) => assert.equal(piece, whole));
  });
});

describe('chunks that are not as they should be are refused', () => {
  const cases: Readonly<Record<string, string>> = {
    'no size': '\r\nabc',
    'an extension without a size': ';a\r\nabc',
    'a size that is not hexadecimal': '3g\r\nabc',
    'a size with a sign': '+3\r\nabc',
    'a negative size': '-3\r\nabc',
    'a size with a prefix': '0x3\r\nabc',
    'a space before the size': ' 3\r\nabc',
    'a space behind the size': '3 \r\nabc',
    'a tab behind the size': '3\t;a\r\nabc',
    'an underscore in the size': '1_0\r\nabc',
    'a size beyond 2^53': '20000000000000\r\nabc',
    'a size that would overflow to a small one': '100000000000000000000000000000003\r\nabc',
    'a size of endless zeros': `${'0'.repeat(17)}`,
    'a line feed alone behind the size': '3\nabc\r\n',
    'a carriage return alone behind the size': '3\rabc\r\n',
    'a line feed alone behind an extension': '3;a\nabc\r\n',
    'NUL in an extension': '3;a\0b\r\nabc\r\n',
    'DEL in an extension': '3;a\x7fb\r\nabc\r\n',
    'an endless extension': `3;${'a'.repeat(1_025)}`,
    'an extension without a name': '3;\r\nabc\r\n',
    'an extension that ends in a semicolon': '3;a;\r\nabc\r\n',
    'an extension that begins with its value': '3;=a\r\nabc\r\n',
    'an extension without its value': '3;a=\r\nabc\r\n',
    'a quoted extension that does not end': '3;a="b\r\nabc\r\n',
    'text behind a quoted extension': '3;a="b"c\r\nabc\r\n',
    'a space in an extension': '3;a b\r\nabc\r\n',
    'Content-Length in a trailer': '0\r\nContent-Length: 5\r\n\r\n',
    'Transfer-Encoding in a trailer': '0\r\nx: y\r\ntransfer-encoding: chunked\r\n\r\n',
    'more content than the size says': '3\r\nabcd\r\n',
    'less content than the size says': '3\r\nab\r\n0\r\n\r\n',
    'a line feed alone behind the content': '3\r\nabc\n0\r\n\r\n',
    'a carriage return alone behind the content': '3\r\nabc\r0\r\n\r\n',
    'a trailer without a colon': '0\r\nabc\r\n\r\n',
    'a trailer without a name': '0\r\n: abc\r\n\r\n',
    'a space before the colon of a trailer': '0\r\nx : y\r\n\r\n',
    'a folded trailer': '0\r\nx: y\r\n z\r\n\r\n',
    'NUL in a trailer': '0\r\nx: \0\r\n\r\n',
    'a line feed alone in a trailer': '0\r\nx: y\nz: a\r\n\r\n',
    'an endless trailer': `0\r\n${'x: y\r\n'.repeat(2_000)}`,
    'an endless line in a trailer': `0\r\nx: ${'y'.repeat(9_000)}`,
    'a trailer that is over its bound': `0\r\nx: ${'y'.repeat(9_000)}\r\n\r\n`,
  };
  for (const [what, wire] of Object.entries(cases)) {
    test(what, () => {
      const refused = { name: 'Http1Error' };
      assert.throws(() => read(CHUNKED, [Buffer.from(wire, 'latin1')]), refused);
      assert.throws(() => read(CHUNKED, everyByteAlone(Buffer.from(wire, 'latin1'))), refused);
    });
  }
});
