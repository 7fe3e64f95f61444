/** Answers as servers give them: what is taken, what its content is, and what is refused as broken. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { answer, BODY, ClientFixture } from './fixture.ts';

const CHUNKED_HEAD = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n';
const BROKEN = /^broken \((?:malformed|closed early)\)$/;

describe('an answer', () => {
  test('is told with its status and its fields', async () => {
    await using fixture = await ClientFixture.start();
    const { heard, connection } = await fixture.asked();
    connection.say(
      'HTTP/1.1 429 Too Many\r\nContent-Type:  text/plain \r\nretry-After: 3\r\ncontent-length: 2\r\n\r\nno',
    );
    assert.equal(await heard.over, 'end');
    assert.equal(heard.status, 429);
    assert.equal(heard.field('content-type'), 'text/plain');
    assert.equal(heard.field('retry-after'), '3');
    assert.equal(heard.content, 'no');
  });

  const taken: Readonly<Record<string, readonly [string, number, string]>> = {
    'of no content': ['HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n', 200, ''],
    'without a reason': ['HTTP/1.1 200\r\ncontent-length: 1\r\n\r\nx', 200, 'x'],
    'with an empty reason': ['HTTP/1.1 200 \r\ncontent-length: 1\r\n\r\nx', 200, 'x'],
    'without any field': ['HTTP/1.1 204 No Content\r\n\r\n', 204, ''],
    '304': ['HTTP/1.1 304 Not Modified\r\ncontent-length: 5\r\n\r\n', 304, ''],
    'behind 100 Continue': [`HTTP/1.1 100 Continue\r\n\r\n${answer('x')}`, 200, 'x'],
    'behind 103 and 100 twice': [
      `HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\nHTTP/1.1 100\r\nx: y\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n${answer('x')}`,
      200,
      'x',
    ],
    'behind 102 and 103': [
      `HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </a>\r\ncontent-length: 7\r\n\r\n${answer('x')}`,
      200,
      'x',
    ],
    'in chunks': [
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n2\r\nab\r\n1;a=b\r\nc\r\n0\r\nx: y\r\n\r\n',
      200,
      'abc',
    ],
    'of an unusual status': ['HTTP/1.1 799 Hm\r\ncontent-length: 1\r\n\r\nx', 799, 'x'],
    'with a head of nearly 64 KB': [answer('x', `x-long: ${'y'.repeat(65_000)}`), 200, 'x'],
  };
  for (const [what, [bytes, status, content]] of Object.entries(taken)) {
    for (const how of ['at once', 'byte by byte'] as const) {
      if (how === 'byte by byte' && bytes.length > 1_000) continue;
      test(`${what} is taken, ${how}`, async () => {
        await using fixture = await ClientFixture.start();
        const { heard, connection } = await fixture.asked();
        if (how === 'at once') connection.say(bytes);
        else await sayEachByte(connection.say.bind(connection), bytes);
        assert.equal(await heard.over, 'end');
        assert.deepEqual([heard.status, heard.content], [status, content]);
      });
    }
  }

  test('whose content reads like 100 Continue is not changed, on a connection that is used again', async () => {
    await using fixture = await ClientFixture.start();
    const text = 'HTTP/1.1 100 Continue\r\n\r\n';
    const first = await fixture.asked();
    const { connection } = first;
    let { heard } = first;
    for (const requests of [2, 3]) {
      connection.say(`HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: ${2 * text.length}\r\n\r\n`);
      connection.say(text);
      await heard.until(text);
      connection.say(text);
      assert.equal(await heard.over, 'end');
      assert.equal(heard.content, text + text);
      await fixture.freed();
      heard = fixture.ask().heard;
      await connection.requests(requests);
    }
    connection.say(answer('x'));
    assert.equal(await heard.over, 'end');
  });

  test('without a length ends with the connection', async () => {
    await using fixture = await ClientFixture.start();
    for (const version of ['1.1', '1.0']) {
      const { heard, connection } = await fixture.asked();
      connection.say(`HTTP/${version} 200 OK\r\n\r\nab`);
      await heard.until('ab');
      assert.equal(heard.outcome, null);
      connection.say('cd');
      connection.end();
      assert.equal(await heard.over, 'end');
      assert.equal(heard.content, 'abcd');
    }
  });

  test('piece by piece is told piece by piece', async () => {
    await using fixture = await ClientFixture.start();
    const { heard, connection } = await fixture.asked();
    connection.say('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n');
    await heard.begun;
    for (const piece of ['a', 'bc', 'def']) {
      connection.say(`${piece.length}\r\n${piece}\r\n`);
      await heard.until(piece);
    }
    assert.equal(heard.outcome, null);
    connection.say('0\r\n\r\n');
    assert.equal(await heard.over, 'end');
    assert.deepEqual(heard.pieces, ['a', 'bc', 'def']);
  });
});

describe('a broken answer', () => {
  const malformed: Readonly<Record<string, string>> = {
    'no HTTP': 'SSH-2.0-OpenSSH\r\n\r\n',
    'HTTP/2': 'HTTP/2 200 OK\r\n\r\n',
    'HTTP/1.2': 'HTTP/1.2 200 OK\r\ncontent-length: 0\r\n\r\n',
    'HTTP/0.9': '<html></html>\r\n\r\n',
    'lower case': 'http/1.1 200 OK\r\ncontent-length: 0\r\n\r\n',
    'a status of two digits': 'HTTP/1.1 20 OK\r\n\r\n',
    'a status of four digits': 'HTTP/1.1 2000 OK\r\n\r\n',
    'a status below 100': 'HTTP/1.1 099 OK\r\n\r\n',
    'two spaces before the status': 'HTTP/1.1  200 OK\r\n\r\n',
    '101': 'HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n',
    'lengths that differ': answer('x', 'content-length: 2'),
    'the same length twice': answer('x', 'content-length: 1'),
    'a list of lengths': 'HTTP/1.1 200 OK\r\ncontent-length: 1, 1\r\n\r\nx',
    'a negative length': 'HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\nx',
    'a length with a sign': 'HTTP/1.1 200 OK\r\ncontent-length: +1\r\n\r\nx',
    'a hexadecimal length': 'HTTP/1.1 200 OK\r\ncontent-length: 0x1\r\n\r\nx',
    'an empty length': 'HTTP/1.1 200 OK\r\ncontent-length:\r\n\r\nx',
    'a length beyond 2^53': 'HTTP/1.1 200 OK\r\ncontent-length: 9007199254740993\r\n\r\nx',
    'a length and chunks': answer('0\r\n\r\n', 'transfer-encoding: chunked'),
    'another coding': 'HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n',
    'chunks twice': 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n',
    identity: 'HTTP/1.1 200 OK\r\ntransfer-encoding: identity\r\n\r\nx',
    'a bare LF in its head': 'HTTP/1.1 200 OK\nx: y\r\n\r\n',
    'a folded field': answer('x', 'x: y\r\n z'),
    'a space before a colon': answer('x', 'x : y'),
    'NUL in a field': answer('x', 'x: \0'),
    'a length in the trailer': `${CHUNKED_HEAD}1\r\nx\r\n0\r\ncontent-length: 1\r\n\r\n`,
    'a chunk extension with a bare LF': `${CHUNKED_HEAD}1;a\nb\r\nx\r\n0\r\n\r\n`,
    'a chunk extension with a control character': `${CHUNKED_HEAD}1;a=\0\r\nx\r\n0\r\n\r\n`,
    'a chunk without a size': 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n\r\n',
  };
  for (const [what, bytes] of Object.entries(malformed)) {
    test(`${what} is refused, and the connection is closed`, async () => {
      await using fixture = await ClientFixture.start();
      const { heard, connection } = await fixture.asked();
      connection.say(bytes);
      // Where a length was announced, undici's error says only that so many bytes did not come.
      assert.match(await heard.over, BROKEN);
      await connection.closed;
    });
  }

  for (const field of ['content-length: 1', 'transfer-encoding: chunked']) {
    test(`${field} in the trailer is refused`, async () => {
      await using fixture = await ClientFixture.start();
      const { heard, connection } = await fixture.asked();
      connection.say(`${CHUNKED_HEAD}1\r\nx\r\n0\r\n${field}\r\n\r\n`);
      assert.match(await heard.over, BROKEN);
    });
  }

  test('a head of more than 64 KB is refused, also one that never ends', async () => {
    await using fixture = await ClientFixture.start();
    for (const bytes of [answer('x', `x: ${'y'.repeat(70_000)}`), `HTTP/1.1 200 OK\r\n${'x: y\r\n'.repeat(40_000)}`]) {
      const { heard, connection } = await fixture.asked();
      connection.say(bytes);
      assert.equal(await heard.over, 'broken (too_large)');
      await connection.closed;
    }
  });

  for (const how of ['end', 'reset'] as const) {
    const code = how === 'end' ? 'closed early' : 'ECONNRESET';
    const broken: Readonly<Record<string, string>> = {
      'before the answer': '',
      'in the middle of its head': 'HTTP/1.1 200 OK\r\ncontent-le',
      'behind a 103': 'HTTP/1.1 103 Early Hints\r\n\r\n',
      'before all of its length': 'HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nab',
      'before its last chunk': 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nab\r\n',
      'before the end of its last chunk': 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n',
    };
    for (const [when, bytes] of Object.entries(broken)) {
      test(`a connection that is over (${how}) ${when}: what came is told, and that it broke`, async () => {
        await using fixture = await ClientFixture.start();
        const { heard, connection } = await fixture.asked();
        connection.say(bytes);
        // A reset must not overtake what was sent before it.
        if (bytes.includes('ab')) await heard.until('ab');
        connection[how]();
        assert.equal(await heard.over, `broken (${code})`);
        assert.equal(heard.content, bytes.includes('ab') ? 'ab' : '');
      });
    }
  }

  test('the content before what is malformed is told', async () => {
    await using fixture = await ClientFixture.start();
    const { heard, connection } = await fixture.asked();
    connection.say('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nab\r\n!\r\n');
    assert.equal(await heard.over, 'broken (malformed)');
    assert.equal(heard.content, 'ab');
  });

  test('a listener that throws breaks its own call and no other', async () => {
    await using fixture = await ClientFixture.start();
    const other = await fixture.asked();
    const { heard, connection } = await fixture.asked();
    heard.onPiece = () => {
      throw new RangeError('a fault of the listener');
    };
    connection.say('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nx');
    assert.equal(await heard.over, 'broken (RangeError)');
    await connection.closed;
    other.connection.say(answer(BODY.toString()));
    assert.equal(await other.heard.over, 'end');
  });
});

/** Each in a segment of its own, as far as the system lets them be. */
async function sayEachByte(say: (bytes: string) => void, bytes: string): Promise<void> {
  for (const byte of bytes) {
    say(byte);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

test('an answer is the same to the byte wherever its reads are cut, and whenever it is held up', async () => {
  for (let cut = 1; cut <= 40; cut += 3) {
    await using fixture = await ClientFixture.start();
    const pieces = Array.from({ length: 60 }, (_, index) => `${index}`.repeat(1 + ((index * cut) % 97)));
    const chunks = pieces.map((piece) => `${piece.length.toString(16)}\r\n${piece}\r\n`).join('');
    const bytes = `${CHUNKED_HEAD}${chunks}0\r\n\r\n`;
    const { heard, handle, connection } = await fixture.asked();
    let heldUp = 0;
    heard.onPiece = () => {
      if (heard.pieces.length % 4 !== 0) return;
      heldUp += 1;
      handle.pause();
      setImmediate(() => handle.resume());
    };
    for (let at = 0; at < bytes.length; at += cut * 7) {
      connection.say(bytes.slice(at, at + cut * 7));
      if (at % 5 !== 0) await turn();
    }
    assert.equal(await heard.over, 'end');
    assert.equal(heard.content, pieces.join(''));
    assert.ok(heldUp > 0 || heard.pieces.length < 4);
  }
});
