/** What the client writes, and which connection it writes it on. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, test } from 'node:test';
import { HttpClient } from '../../../../src/transport/client/http-client.ts';
import { freePort } from '../../../support/free-port.ts';
import { answer, BODY, ClientFixture, destinationOf, Heard, RawServer, TIMEOUTS } from './fixture.ts';

describe('a request', () => {
  test('is written in these bytes', async () => {
    await using fixture = await ClientFixture.start();
    const headers = { 'content-type': 'application/json', authorization: 'Bearer sk-1', 'X-Latin': 'caf\xe9\t!' };
    const { connection } = await fixture.asked({ path: '/v1/chat/completions?a=b', headers });
    const { host } = new URL(fixture.server.origin());
    assert.equal(
      connection.text,
      `POST /v1/chat/completions?a=b HTTP/1.1\r\nhost: ${host}\r\nconnection: keep-alive\r\n` +
        'content-type: application/json\r\nauthorization: Bearer sk-1\r\nX-Latin: caf\xe9\t!\r\n' +
        `content-length: ${BODY.length}\r\n\r\n${BODY}`,
    );
  });

  test('goes where it is sent, also with headers that another one had', async () => {
    await using fixture = await ClientFixture.start();
    await using elsewhere = await ClientFixture.start();
    const headers = { 'x-a': 'b' };
    const origin = elsewhere.server.origin();
    const first = await fixture.asked({ path: '/one', headers });
    assert.match(first.connection.text, /^POST \/one HTTP/);
    const second = await fixture.asked({ path: '/two', headers });
    assert.match(second.connection.text, /^POST \/two HTTP/);
    fixture.ask({ path: '/two', headers, origin });
    const connection = await elsewhere.server.next();
    await connection.requests(1);
    assert.ok(connection.text.startsWith(`POST /two HTTP/1.1\r\nhost: ${new URL(origin).host}\r\n`));
  });

  for (const bytes of [0, 1, 16_384, 16_385, 5_000_000]) {
    test(`has its whole body, also one of ${bytes} bytes`, async () => {
      await using fixture = await ClientFixture.start();
      const body = Buffer.from('b'.repeat(bytes));
      const pieces = [body, Buffer.from('}')];
      // Whole or in pieces, the server sees the same.
      for (const sent of [Buffer.concat(pieces), pieces]) {
        const { heard } = fixture.ask({ body: sent });
        const connection = await fixture.server.next();
        await connection.requests(1);
        assert.ok(connection.text.endsWith(`content-length: ${bytes + 1}\r\n\r\n${body}}`));
        connection.say(answer('ok', 'connection: close'));
        assert.equal(await heard.over, 'end');
      }
    });
  }

  const unfit: Readonly<Record<string, Record<string, string>>> = {
    'CR in a value': { 'x-a': 'b\rc' },
    'LF in a value': { 'anthropic-beta': 'b\nx-injected: yes' },
    'NUL in a value': { 'x-a': 'b\0' },
    'a character that Latin-1 has not in a value': { 'x-a': '世' },
    'CRLF in a name': { 'x-a: b\r\nx-c': 'd' },
    'a space in a name': { 'x a': 'b' },
    'no name': { '': 'b' },
    'a length of its own': { 'Content-Length': '0' },
    'a coding of its own': { 'transfer-encoding': 'chunked' },
    'a host of its own': { host: 'elsewhere' },
  };
  for (const [what, headers] of Object.entries(unfit)) {
    test(`with ${what} is not sent`, async () => {
      await using fixture = await ClientFixture.start();
      const { heard } = fixture.ask({ headers });
      assert.equal(heard.outcome, null, 'the caller has its handle first');
      assert.equal(await heard.over, 'unreachable (ERR_INVALID_CHAR)');
      assert.equal(fixture.server.connections, 0);
    });
  }

  for (const path of ['', 'p', '/a b', '/a\r\nx: y', '/世']) {
    test(`to the path ${JSON.stringify(path)} is not sent`, async () => {
      await using fixture = await ClientFixture.start();
      assert.equal(await fixture.ask({ path }).heard.over, 'unreachable (ERR_INVALID_CHAR)');
      assert.equal(fixture.server.connections, 0);
    });
  }

  test('goes to an IPv6 address', async (t) => {
    const server = await RawServer.start(null, '::1').catch(() => null);
    if (server === null) {
      t.skip('this machine has no IPv6');
      return;
    }
    await using _server = server;
    const client = new HttpClient();
    const heard = new Heard();
    const origin = server.origin('[::1]');
    client.send({ destination: destinationOf({ origin }), body: BODY, timeouts: TIMEOUTS }, heard);
    const connection = await server.next();
    await connection.requests(1);
    assert.ok(connection.text.includes(`\r\nhost: ${new URL(origin).host}\r\n`));
    connection.say(answer('six'));
    assert.equal(await heard.over, 'end');
    await client.close();
  });

  test('that reaches nobody fails with the name that the system has for it', async () => {
    await using fixture = await ClientFixture.start();
    const origin = `http://127.0.0.1:${await freePort()}`;
    assert.equal(await fixture.ask({ origin }).heard.over, 'unreachable (ECONNREFUSED)');
    assert.match(
      await fixture.ask({ origin: 'http://name.invalid' }).heard.over,
      /^unreachable \((ENOTFOUND|EAI_AGAIN)\)$/,
    );
  });
});

describe('a connection', () => {
  test('has one call at a time: what is asked meanwhile opens another', async () => {
    await using fixture = await ClientFixture.start();
    const asked = await Promise.all([1, 2, 3, 4, 5].map(() => fixture.asked()));
    assert.equal(fixture.server.connections, 5);
    for (const { connection, heard } of asked) {
      connection.say(answer('hello'));
      assert.equal(await heard.over, 'end');
    }
    await fixture.freed();
    const again = asked.map(() => fixture.ask());
    await Promise.all(asked.map(({ connection }) => connection.requests(2)));
    assert.equal(fixture.server.connections, 5);
    for (const { connection } of asked) connection.say(answer('again'));
    assert.deepEqual(await Promise.all(again.map(({ heard }) => heard.over)), Array(5).fill('end'));
  });

  test('carries a hundred calls without a warning', async () => {
    await using fixture = await ClientFixture.start();
    const warnings: Error[] = [];
    const note = (warning: Error): unknown => warnings.push(warning);
    process.on('warning', note);
    const { heard, connection } = await fixture.asked();
    connection.say(answer('0'));
    await heard.over;
    await fixture.freed();
    for (let n = 1; n <= 100; n++) {
      const { heard } = fixture.ask();
      await connection.requests(n + 1);
      connection.say(answer(String(n)));
      assert.equal(await heard.over, 'end');
      await fixture.freed();
      assert.equal(heard.content, String(n));
    }
    process.off('warning', note);
    assert.deepEqual(warnings, []);
    assert.equal(fixture.server.connections, 1);
  });

  const closing: Readonly<Record<string, string>> = {
    'the server says close': answer('x', 'Connection: Close'),
    'the server says close among others': answer('x', 'connection: foo, close'),
    'the server keeps it for a second only': answer('x', 'Keep-Alive: timeout=1, max=100'),
    'the server does not keep it': answer('x', 'keep-alive: timeout=0'),
    'something comes behind the answer': `${answer('x')}HTTP/1.1 200 OK\r\n\r\n`,
    'something comes behind the last chunk':
      'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\nmore',
    'content is announced where there can be none': 'HTTP/1.1 204 No Content\r\ncontent-length: 3\r\n\r\n',
  };
  for (const [what, bytes] of Object.entries(closing)) {
    test(`is closed when ${what}`, async () => {
      await using fixture = await ClientFixture.start();
      const { heard, connection } = await fixture.asked();
      connection.say(bytes);
      assert.equal(await heard.over, 'end');
      assert.equal(heard.content, bytes.includes('204') ? '' : 'x');
      await connection.closed;
      await fixture.asked();
      assert.equal(fixture.server.connections, 2);
    });
  }

  test('is closed before the server would close it by its own hint', async () => {
    await using fixture = await ClientFixture.start();
    const soon = await fixture.asked();
    const late = await fixture.asked();
    late.connection.say(answer('x', 'keep-alive: timeout=600'));
    soon.connection.say(answer('x', 'keep-alive: timeout=2'));
    await Promise.all([soon.heard.over, late.heard.over]);
    await soon.connection.closed;
    assert.equal(late.connection.socket.destroyed, false);
  });

  const strange: Readonly<
    Record<string, (connection: Awaited<ReturnType<ClientFixture['asked']>>['connection']) => void>
  > = {
    'bytes that nobody asked for': (connection) => connection.say('HTTP/1.1 408 Request Timeout\r\n\r\n'),
    'an end': (connection) => connection.end(),
    'a reset': (connection) => connection.reset(),
  };
  for (const [what, happen] of Object.entries(strange)) {
    test(`that gets ${what} while it is idle is not used again`, async () => {
      await using fixture = await ClientFixture.start();
      const { heard, connection } = await fixture.asked();
      connection.say(answer('x'));
      await heard.over;
      await fixture.freed();
      happen(connection);
      await connection.closed;
      const second = await fixture.asked();
      second.connection.say(answer('fresh'));
      assert.equal(await second.heard.over, 'end');
      assert.equal(second.heard.content, 'fresh');
    });
  }

  test('whose close is already waiting to be seen is not used for what is asked in the same turn', async () => {
    await using fixture = await ClientFixture.start();
    const { heard, connection } = await fixture.asked();
    connection.say(answer('x'));
    await heard.over;
    await fixture.freed();
    connection.end();
    // The loop is blocked until the close has surely arrived, as by a long collection of garbage.
    await new Promise((resolve) => setImmediate(resolve));
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 50);
    const second = fixture.ask();
    const other = await fixture.server.next();
    await other.requests(1);
    other.say(answer('fresh'));
    assert.equal(await second.heard.over, 'end');
  });

  test('that is idle does not keep the process alive, and can still be used then', async () => {
    await using server = await RawServer.start();
    const script = `
    import { HttpClient } from ${JSON.stringify(new URL('../../../../src/transport/client/http-client.ts', import.meta.url).href)};
    const client = new HttpClient();
    const timeouts = ${JSON.stringify(TIMEOUTS)};
    const ask = () => client.send(
      { destination: ${JSON.stringify(destinationOf({ origin: server.origin() }))}, body: Buffer.from('{}'), timeouts },
      { onHead() {}, onData() {}, onEnd() {}, onFailure({ kind }) { console.log(kind); } },
    );
    process.once('beforeExit', ask);
    ask();`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: 'inherit' });
    const exited = once(child, 'exit');
    const connection = await server.next();
    await connection.requests(1);
    connection.say(answer('1'));
    // The second comes when nothing was left to wait for; it finds the connection still there.
    await connection.requests(2);
    connection.say(answer('2'));
    assert.deepEqual(await exited, [0, null]);
    assert.equal(server.connections, 1);
  });
});

describe('close', () => {
  test('ends every connection, and tells the calls that are under way', async () => {
    await using fixture = await ClientFixture.start();
    const idle = await fixture.asked();
    idle.connection.say(answer('x'));
    await idle.heard.over;
    await fixture.freed();
    const reused = fixture.ask();
    const asking = await fixture.asked();
    const answering = await fixture.asked();
    answering.connection.say('HTTP/1.1 200 OK\r\n\r\nhalf');
    await answering.heard.until('half');
    const waiting = fixture.ask();
    await fixture.client.close();
    for (const { heard } of [reused, asking, answering]) assert.equal(heard.outcome, 'broken (closed here)');
    assert.equal(waiting.heard.outcome, 'unreachable (closed here)');
    await Promise.all([idle, asking, answering].map(({ connection }) => connection.closed));
  });
});
