/** Heads are read strictly, and the same way wherever their bytes are cut. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { Http1Error } from '../../../../src/transport/errors.ts';
import { field, type Head, HeadReader } from '../../../../src/transport/lean/head.ts';

const SEED = 20_261_001;
const BYTES_MAX = 1_024;

type Read = { readonly head: Head; readonly behind: string } | string | null;

/** The head in these pieces and what stands behind it, the code of the fault, or null for an incomplete one. */
function read(pieces: readonly string[], reader = new HeadReader(BYTES_MAX)): Read {
  try {
    for (const [index, piece] of pieces.entries()) {
      const before = `before${index}`;
      const head = reader.push(Buffer.from(before + piece, 'latin1'), before.length);
      const rest = pieces.slice(index + 1).join('');
      if (head) return { head, behind: (before + piece).slice(reader.rest) + rest };
    }
    return null;
  } catch (error) {
    assert.ok(error instanceof Http1Error);
    return error.code;
  }
}

function headOf(pieces: readonly string[]): Head {
  const found = read(pieces);
  assert.ok(found !== null && typeof found !== 'string', String(found));
  return found.head;
}

describe('a head', () => {
  test('is its start line and its fields as they came, without the white space around values', () => {
    const text = 'GET / HTTP/1.1\r\nHost: a\r\nX-Two:\t b c \t\r\nempty:\r\nhost:  d\r\n\r\nbehind';
    assert.deepEqual(read([text]), {
      head: {
        startLine: 'GET / HTTP/1.1',
        fields: ['Host', 'a', 'X-Two', 'b c', 'empty', '', 'host', 'd'],
      },
      behind: 'behind',
    });
    const head = headOf([text]);
    assert.deepEqual([field(head, 'host'), field(head, 'x-two'), field(head, 'x-three')], ['a', 'b c', undefined]);
    assert.deepEqual(headOf(['HTTP/1.1 200 OK\r\n\r\n']), { startLine: 'HTTP/1.1 200 OK', fields: [] });
  });

  test('keeps the bytes above ASCII in its values', () => {
    assert.equal(field(headOf(['GET / HTTP/1.1\r\nx: \xe9\xff\r\n\r\n']), 'x'), '\xe9\xff');
  });

  for (const [what, text] of [
    ['a bare LF behind a line', 'GET / HTTP/1.1\r\nhost: a\nx: y\r\n\r\n'],
    ['a bare LF behind the start line', 'GET / HTTP/1.1\nhost: a\r\n\r\n'],
    ['nothing but bare LFs', 'GET / HTTP/1.1\nhost: a\n\n'],
    ['a bare CR in a value', 'GET / HTTP/1.1\r\nhost: a\rb\r\n\r\n'],
    ['a CR before a CRLF', 'GET / HTTP/1.1\r\nhost: a\r\r\n\r\n'],
    ['a folded line', 'GET / HTTP/1.1\r\nhost: a\r\n b\r\n\r\n'],
    ['a folded line with a tab', 'GET / HTTP/1.1\r\nhost: a\r\n\tb: c\r\n\r\n'],
    ['a folded line behind the start line', 'GET / HTTP/1.1\r\n host: a\r\n\r\n'],
    ['a space before the colon', 'GET / HTTP/1.1\r\nhost : a\r\n\r\n'],
    ['a tab before the colon', 'GET / HTTP/1.1\r\nhost\t: a\r\n\r\n'],
    ['a name that is empty', 'GET / HTTP/1.1\r\n: a\r\n\r\n'],
    ['a name that is no token', 'GET / HTTP/1.1\r\nho(st): a\r\n\r\n'],
    ['a name above ASCII', 'GET / HTTP/1.1\r\nh\xf6st: a\r\n\r\n'],
    ['a line without a colon', 'GET / HTTP/1.1\r\nhost\r\n\r\n'],
    ['a NUL in a value', 'GET / HTTP/1.1\r\nhost: a\0b\r\n\r\n'],
    ['a NUL in a name', 'GET / HTTP/1.1\r\nho\0st: a\r\n\r\n'],
    ['a control character in a value', 'GET / HTTP/1.1\r\nhost: a\x1bb\r\n\r\n'],
    ['a DEL in a value', 'GET / HTTP/1.1\r\nhost: a\x7fb\r\n\r\n'],
    ['a NUL in the start line', 'GET /\0 HTTP/1.1\r\n\r\n'],
    ['an empty start line', '\r\nGET / HTTP/1.1\r\n\r\n'],
    ['nothing', '\r\n\r\n'],
    ['a tab behind its framing', 'POST / HTTP/1.1\r\nTransfer-Encoding: chunked \t \r\n\r\n'],
    ['a TLS handshake', '\x16\x03\x01\x02\x00\x01'],
  ] as const) {
    test(`with ${what} is malformed, however it is cut`, () => {
      assert.equal(read([text]), 'malformed');
      assert.equal(read([...text]), 'malformed');
    });
  }

  test('that can never become one is not waited for', () => {
    for (const text of ['\n', 'GET / HTTP/1.1\n', 'GET / HTTP/1.1\r\nhost: a\r\n\0', 'GET\rx'])
      assert.equal(read([text]), 'malformed');
    assert.equal(read(['GET / HTTP/1.1\r', '\nhost: a\r\n', '\r']), null);
  });

  test('may be as large as the limit and not larger, however it is cut', () => {
    const start = 'GET / HTTP/1.1\r\nx: ';
    const fits = `${start}${'y'.repeat(BYTES_MAX - start.length)}\r\n\r\n`;
    const larger = fits.replace('y', 'yy');
    for (const cut of [(text: string) => [text], (text: string) => [...text], (text: string) => [`${text}behind`]]) {
      assert.equal(typeof read(cut(fits)), 'object');
      assert.equal(read(cut(larger)), 'too_large');
    }
    assert.equal(read(['x'.repeat(100_000)]), 'too_large');
    assert.equal(read([start, 'y'.repeat(BYTES_MAX)]), 'too_large');
  });

  test('may have one empty line before it where that is allowed', () => {
    const reader = (): HeadReader => new HeadReader(BYTES_MAX, { skipsEmptyLine: true });
    for (const pieces of [['\r\nGET / HTTP/1.1\r\n\r\n'], [...'\r\nGET / HTTP/1.1\r\n\r\n']]) {
      assert.deepEqual(read(pieces, reader()), { head: { startLine: 'GET / HTTP/1.1', fields: [] }, behind: '' });
      assert.equal(read(['\r\n', ...pieces], reader()), 'malformed');
    }
    const waiting = reader();
    assert.equal(read(['\r', '\n'], waiting), null);
    assert.equal(waiting.begun, false, 'an empty line is no beginning of a head');
    assert.equal(read(['G'], waiting), null);
    assert.equal(waiting.begun, true);
  });

  test('is the same one wherever it is cut, and so is the next one of the connection', () => {
    const token = fc.stringMatching(/^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,12}$/);
    const value = fc.stringMatching(/^[!-~\x80-\xff]([\t -~\x80-\xff]{0,20}[!-~\x80-\xff])?$/);
    const start = fc.stringMatching(/^[!-~][ -~\x80-\xff]{0,30}$/);
    const head = fc.record({ start, fields: fc.array(fc.tuple(token, value), { maxLength: 6 }) });
    const cuts = fc.array(fc.nat({ max: 400 }), { maxLength: 8 });
    fc.assert(
      fc.property(fc.array(head, { minLength: 1, maxLength: 3 }), cuts, (heads, places) => {
        const text = heads
          .map(({ start: line, fields }) => `${[line, ...fields.map(([n, v]) => `${n}: ${v}`)].join('\r\n')}\r\n\r\n`)
          .join('');
        const reader = new HeadReader(BYTES_MAX);
        let rest = cut(text, places);
        for (const { start: line, fields } of heads) {
          const found = read(rest, reader);
          assert.ok(found !== null && typeof found !== 'string');
          assert.deepEqual(found.head, { startLine: line, fields: fields.flat() });
          rest = [found.behind];
        }
        assert.deepEqual(rest, ['']);
      }),
      { seed: SEED, numRuns: 300 },
    );
  });
});

function cut(text: string, places: readonly number[]): string[] {
  const sorted = [...new Set(places)].filter((at) => at > 0 && at < text.length).sort((a, b) => a - b);
  return [0, ...sorted].map((from, index) => text.slice(from, sorted[index] ?? text.length));
}
