/** A call that is given up, held up or left waiting, in each of its states. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { CallTimeouts } from '../../../../src/transport/client.ts';
import { type Asked, answer, ClientFixture, Heard, TIMEOUTS } from './fixture.ts';

const CHUNKED_HEAD = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n';
const SHORT_MS = 40;

/** By when whatever was to be called has been called: a later call on the same client has run its whole course. */
async function another(fixture: ClientFixture): Promise<void> {
  const { heard, connection } = await fixture.asked();
  connection.say(answer('another', 'connection: close'));
  assert.equal(await heard.over, 'end');
}

/** A call whose answer has begun; not the first one, where this process was held up for longer than the head may take. */
async function begun(fixture: ClientFixture, timeouts: CallTimeouts): Promise<Asked> {
  for (;;) {
    const asked = await fixture.asked({ timeouts });
    asked.connection.say(CHUNKED_HEAD);
    await Promise.race([asked.heard.begun, asked.heard.over]);
    if (asked.heard.outcome === null) return asked;
  }
}

describe('an abort', () => {
  test('before anything was done opens nothing that stays, and tells nothing', async () => {
    await using fixture = await ClientFixture.start();
    const { heard, handle } = fixture.ask();
    handle.abort();
    handle.abort();
    handle.resume();
    const late = fixture.ask();
    const connection = await fixture.server.next();
    await Promise.race([connection.closed, connection.requests(1)]);
    late.handle.abort();
    await connection.closed;
    assert.deepEqual([heard.outcome, late.heard.outcome], [null, null]);
  });

  test('of a call that waits for its turn leaves the idle connection to others', async () => {
    await using fixture = await ClientFixture.start();
    const { heard, connection } = await fixture.asked();
    connection.say(answer('x'));
    await heard.over;
    await fixture.freed();
    const waiting = fixture.ask();
    waiting.handle.abort();
    await another(fixture);
    const second = fixture.ask();
    await connection.requests(2);
    connection.say(answer('y'));
    assert.equal(await second.heard.over, 'end');
    assert.equal(waiting.heard.outcome, null);
    assert.equal(fixture.server.connections, 2);
  });

  const states: Readonly<Record<string, string>> = {
    'before the answer': '',
    'in the middle of the head': 'HTTP/1.1 200 OK\r\nx',
    'between the head and the content': CHUNKED_HEAD,
    'in the middle of the content': `${CHUNKED_HEAD}3\r\nab`,
    'before the last chunk': `${CHUNKED_HEAD}2\r\nab\r\n`,
  };
  for (const [when, bytes] of Object.entries(states)) {
    test(`${when} closes the connection, and nothing is called after it`, async () => {
      await using fixture = await ClientFixture.start();
      const { heard, handle, connection } = await fixture.asked();
      connection.say(bytes);
      if (bytes.startsWith(CHUNKED_HEAD)) await heard.begun;
      if (bytes.includes('ab')) await heard.until('ab');
      handle.abort();
      await connection.closed;
      await another(fixture);
      assert.equal(heard.outcome, null);
    });
  }

  test('while a large body is being written closes the connection', async () => {
    await using fixture = await ClientFixture.start();
    const piece = Buffer.alloc(16 * 1_024 * 1_024, 0x61);
    const { heard, handle } = fixture.ask({ body: [piece, piece, piece] });
    const connection = await fixture.server.next();
    connection.socket.pause();
    await another(fixture);
    handle.abort();
    connection.socket.resume();
    await connection.closed;
    assert.ok(connection.text.length < 3 * piece.length);
    assert.equal(heard.outcome, null);
  });

  test('while content is handed over: nothing further, although more had arrived', async () => {
    await using fixture = await ClientFixture.start();
    const { heard, handle, connection } = await fixture.asked();
    heard.onPiece = () => handle.abort();
    connection.say(`${CHUNKED_HEAD}1\r\na\r\n1\r\nb\r\n1\r\n`);
    await connection.closed;
    await another(fixture);
    assert.deepEqual([heard.pieces, heard.outcome], [['ab'], null]);
  });

  test('while the head is handed over', async () => {
    await using fixture = await ClientFixture.start();
    class Aborting extends Heard {
      override onHead(status: number, head: Parameters<Heard['onHead']>[1]): void {
        super.onHead(status, head);
        handle.abort();
      }
    }
    const { heard, handle } = fixture.ask({}, new Aborting());
    const connection = await fixture.server.next();
    connection.say(`${CHUNKED_HEAD}5\r\nnever\r\n`);
    await connection.closed;
    await another(fixture);
    assert.deepEqual([heard.status, heard.content, heard.outcome], [200, '', null]);
  });

  test('after the end does nothing to the next call on the connection', async () => {
    await using fixture = await ClientFixture.start();
    const { heard, handle, connection } = await fixture.asked();
    connection.say(answer('x'));
    await heard.over;
    await fixture.freed();
    const second = fixture.ask();
    await connection.requests(2);
    handle.pause();
    handle.abort();
    connection.say(answer('y'));
    assert.equal(await second.heard.over, 'end');
    assert.equal(second.heard.content, 'y');
  });
});

describe('a pause', () => {
  test('holds up what arrives during it, piece by piece, and the end', async () => {
    await using fixture = await ClientFixture.start();
    const { heard, handle, connection } = await fixture.asked();
    heard.onPiece = () => handle.pause();
    connection.say(`${CHUNKED_HEAD}1\r\na\r\n`);
    await heard.until('a');
    for (const [bytes, before, after] of [
      ['1\r\nb\r\n', 'a', 'ab'],
      ['1\r\nc\r\n0\r\n\r\n', 'ab', 'abc'],
    ] as const) {
      connection.say(bytes);
      await another(fixture);
      assert.equal(heard.content, before);
      handle.resume();
      await heard.until(after);
    }
    assert.equal(heard.outcome, null);
    handle.resume();
    assert.equal(heard.outcome, 'end');
    await fixture.freed();
    const second = fixture.ask();
    await connection.requests(2);
    connection.say(answer('y'));
    assert.equal(await second.heard.over, 'end', 'the connection is as good as before');
  });

  test('that ends while the piece is handed over is none', async () => {
    await using fixture = await ClientFixture.start();
    const { heard, handle, connection } = await fixture.asked();
    heard.onPiece = () => {
      handle.pause();
      handle.resume();
    };
    connection.say(`${CHUNKED_HEAD}1\r\na\r\n1\r\nb\r\n0\r\n\r\n`);
    assert.equal(await heard.over, 'end');
    assert.equal(heard.content, 'ab');
  });

  test('at the last piece holds up the end of an answer with a length', async () => {
    await using fixture = await ClientFixture.start();
    const { heard, handle, connection } = await fixture.asked();
    heard.onPiece = () => handle.pause();
    connection.say(answer('all'));
    await heard.until('all');
    await another(fixture);
    assert.equal(heard.outcome, null);
    handle.resume();
    assert.equal(heard.outcome, 'end');
  });

  for (const how of ['end', 'reset'] as const) {
    test(`loses nothing when the server closes meanwhile (${how})`, async () => {
      await using fixture = await ClientFixture.start();
      const { heard, handle, connection } = await fixture.asked();
      connection.say('HTTP/1.1 200 OK\r\n\r\na');
      await heard.until('a');
      handle.pause();
      connection.say('b'.repeat(100_000));
      // All of it has left the server, so it is here, or on its way in order.
      await new Promise<void>((resolve) => connection.socket.write('c', () => resolve()));
      connection[how]();
      await another(fixture);
      assert.deepEqual([heard.content, heard.outcome], ['a', null]);
      handle.resume();
      assert.match(await heard.over, how === 'end' ? /^end$/ : /^broken \((?:ECONNRESET|closed early)\)$/);
      if (how === 'end') assert.equal(heard.content, `a${'b'.repeat(100_000)}c`);
    });
  }

  test('holds the server up', async () => {
    await using fixture = await ClientFixture.start();
    const large = Buffer.alloc(32 * 1_024 * 1_024, 0x62);
    const { heard, handle, connection } = await fixture.asked();
    connection.say('HTTP/1.1 200 OK\r\n\r\na');
    await heard.until('a');
    handle.pause();
    let sent = false;
    connection.socket.end(large, () => {
      sent = true;
    });
    // As much passes on another connection meanwhile.
    const witness = await fixture.asked();
    witness.connection.say('HTTP/1.1 200 OK\r\n\r\n');
    witness.connection.socket.end(large);
    assert.equal(await witness.heard.over, 'end');
    assert.deepEqual([heard.content, sent], ['a', false]);
    handle.resume();
    assert.equal(await heard.over, 'end');
    assert.equal(heard.content.length, large.length + 1);
  });

  test('does not survive an abort', async () => {
    await using fixture = await ClientFixture.start();
    const { heard, handle, connection } = await fixture.asked();
    heard.onPiece = () => handle.pause();
    connection.say(`${CHUNKED_HEAD}1\r\na\r\n`);
    await heard.until('a');
    connection.say('1\r\nb\r\n0\r\n\r\n');
    handle.abort();
    handle.resume();
    await connection.closed;
    assert.deepEqual([heard.content, heard.outcome], ['a', null]);
  });
});

describe('a time-out', () => {
  test('for the head: reported, and the connection is closed', async () => {
    await using fixture = await ClientFixture.start();
    const timeouts = { ...TIMEOUTS, firstByteMs: SHORT_MS };
    for (const bytes of ['', 'HTTP/1.1 200 OK\r\nx: ']) {
      const { heard, connection } = await fixture.asked({ timeouts });
      connection.say(bytes);
      assert.equal(await heard.over, 'first_byte_timeout (ETIMEDOUT)');
      await connection.closed;
    }
  });

  test('[F31] for the head is not renewed by informational responses', async () => {
    await using fixture = await ClientFixture.start();
    const timeouts = { ...TIMEOUTS, firstByteMs: 400 };
    const { heard, connection } = await fixture.asked({ timeouts });
    const witness = await fixture.asked({ timeouts });
    connection.say('HTTP/1.1 102 Processing\r\n\r\n');
    // It comes when most of the time is over, by the clock of a call that has less.
    const earlier = await fixture.asked({ timeouts: { ...timeouts, firstByteMs: 200 } });
    await earlier.heard.over;
    connection.say('HTTP/1.1 103 Early Hints\r\n\r\n');
    assert.equal(await witness.heard.over, 'first_byte_timeout (ETIMEDOUT)');
    const later = await fixture.asked({ timeouts: { ...timeouts, firstByteMs: 200 } });
    await later.heard.over;
    assert.equal(heard.outcome, 'first_byte_timeout (ETIMEDOUT)');
  });

  test('[F31] is not needed for a server that never stops to announce its response', async () => {
    await using fixture = await ClientFixture.start();
    const { heard, connection } = await fixture.asked();
    connection.say('HTTP/1.1 102 Processing\r\n\r\n'.repeat(1_000));
    assert.equal(await heard.over, 'broken (too_large)');
    await connection.closed;
  });

  test('for the head does not end an answer that has begun', async () => {
    await using fixture = await ClientFixture.start();
    const { heard, connection } = await begun(fixture, { ...TIMEOUTS, firstByteMs: 1_000 });
    const witness = await fixture.asked({ timeouts: { ...TIMEOUTS, firstByteMs: 1_010 } });
    assert.equal(await witness.heard.over, 'first_byte_timeout (ETIMEDOUT)');
    connection.say('1\r\na\r\n0\r\n\r\n');
    assert.equal(await heard.over, 'end');
  });

  test('between bytes of the answer: what came is told first', async () => {
    await using fixture = await ClientFixture.start();
    const { heard, connection } = await fixture.asked({ timeouts: { ...TIMEOUTS, idleMs: SHORT_MS } });
    connection.say(`${CHUNKED_HEAD}1\r\na\r\n`);
    assert.equal(await heard.over, 'idle_timeout (ETIMEDOUT)');
    assert.equal(heard.content, 'a');
    await connection.closed;
  });

  test('between bytes of the answer counts from the last of them', async () => {
    await using fixture = await ClientFixture.start();
    const timeouts = { ...TIMEOUTS, idleMs: 400 };
    const { heard, connection } = await fixture.asked({ timeouts });
    connection.say(CHUNKED_HEAD);
    let enough = false;
    // From the first turn on: the witness may need longer than this to come so far.
    const saying = (async (): Promise<void> => {
      while (!enough) {
        connection.say('1\r\na\r\n');
        await new Promise((resolve) => setImmediate(resolve));
      }
    })();
    try {
      await heard.begun;
      const witness = await fixture.asked({ timeouts });
      witness.connection.say(CHUNKED_HEAD);
      assert.equal(await witness.heard.over, 'idle_timeout (ETIMEDOUT)');
    } finally {
      enough = true;
    }
    await saying;
    connection.say('0\r\n\r\n');
    assert.equal(await heard.over, 'end');
  });

  test('does not count while the answer is held up from this side, and counts anew after it', async () => {
    await using fixture = await ClientFixture.start();
    const timeouts = { ...TIMEOUTS, idleMs: SHORT_MS };
    const { heard, handle, connection } = await fixture.asked({ timeouts });
    heard.onPiece = () => handle.pause();
    connection.say(`${CHUNKED_HEAD}1\r\na\r\n`);
    await heard.until('a');
    for (let n = 0; n < 2; n++) {
      const witness = await fixture.asked({ timeouts });
      witness.connection.say(CHUNKED_HEAD);
      assert.equal(await witness.heard.over, 'idle_timeout (ETIMEDOUT)');
    }
    assert.equal(heard.outcome, null);
    handle.resume();
    assert.equal(await heard.over, 'idle_timeout (ETIMEDOUT)');
  });

  test('for the connection', async () => {
    await using fixture = await ClientFixture.start();
    // A server that never answers the handshake.
    const origin = fixture.server.origin().replace('http:', 'https:');
    const { heard } = fixture.ask({ origin, timeouts: { ...TIMEOUTS, connectMs: SHORT_MS } });
    const connection = await fixture.server.next();
    assert.equal(await heard.over, 'connect_timeout (ETIMEDOUT)');
    await connection.closed;
  });

  test('is not told to a program that was itself held up, when the answer was there in time', async () => {
    await using fixture = await ClientFixture.start();
    const inTime = answer('in time', 'connection: close');
    for (;;) {
      const askedAtMs = performance.now();
      const { heard, connection } = await fixture.asked({ timeouts: { ...TIMEOUTS, firstByteMs: 300 } });
      await new Promise<void>((resolve) => connection.socket.write(inTime, () => resolve()));
      // Where the program was held up before this, it was not there in time.
      if (performance.now() - askedAtMs > 150 || heard.outcome !== null) continue;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 400);
      assert.equal(await heard.over, 'end');
      break;
    }
  });

  test('for the connection is not told to a program that was itself held up while it was made', async () => {
    await using fixture = await ClientFixture.start();
    const { heard } = fixture.ask({ timeouts: { ...TIMEOUTS, connectMs: SHORT_MS } });
    // By now it is asked for, and the system makes it; that it is made is told with the next turn of the event loop.
    for (let tick = 0; tick < 5; tick++) await new Promise<void>((resolve) => process.nextTick(resolve));
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5 * SHORT_MS);
    const connection = await Promise.race([fixture.server.next(), heard.over]);
    assert(typeof connection !== 'string', String(connection));
    await Promise.race([connection.requests(1), heard.over]);
    assert.equal(heard.outcome, null);
    connection.say(answer('made', 'connection: close'));
    assert.equal(await heard.over, 'end');
  });

  test('of one call does not disturb the others', async () => {
    await using fixture = await ClientFixture.start();
    const patient = await fixture.asked();
    const hasty = await fixture.asked({ timeouts: { ...TIMEOUTS, firstByteMs: SHORT_MS } });
    const later = await fixture.asked({ timeouts: { ...TIMEOUTS, firstByteMs: 3 * SHORT_MS } });
    const ended: string[] = [];
    const end = async (name: string, { heard }: typeof hasty): Promise<void> => {
      assert.equal(await heard.over, 'first_byte_timeout (ETIMEDOUT)');
      ended.push(name);
    };
    await Promise.all([end('later', later), end('hasty', hasty)]);
    assert.deepEqual(ended, ['hasty', 'later']);
    assert.equal(patient.heard.outcome, null);
    patient.connection.say(answer('at last'));
    assert.equal(await patient.heard.over, 'end');
  });
});
