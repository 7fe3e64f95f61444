/** The client over TLS: the server must prove its name, and a session is used again. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { getCACertificates, setDefaultCACertificates, type TLSSocket } from 'node:tls';
import { certificateOfLocalhost } from '../../../support/certificate.ts';
import { answer, BODIES, ClientFixture, TIMEOUTS } from './fixture.ts';

const trusted = certificateOfLocalhost();
const stranger = certificateOfLocalhost();
const usual = getCACertificates('default');

before(() => setDefaultCACertificates([...usual, trusted.cert]));
after(() => setDefaultCACertificates(usual));

describe('https', () => {
  test('a server that proves its name is asked, by that name and for HTTP/1.1, and asked again on the same connection', async () => {
    await using fixture = await ClientFixture.start({ ...trusted, ALPNProtocols: ['h2', 'http/1.1'] }, 'localhost');
    const { heard, connection } = await fixture.asked();
    const socket = connection.socket as TLSSocket;
    assert.equal(socket.alpnProtocol, 'http/1.1');
    assert.equal(socket.servername, 'localhost');
    assert.match(connection.text, /^POST \/p HTTP\/1\.1\r\nhost: localhost:\d+\r\n/);
    connection.say(answer('hello'));
    assert.equal(await heard.over, 'end');
    await fixture.freed();
    assert.equal(heard.content, 'hello');
    const second = fixture.ask();
    await connection.requests(2);
    connection.say(answer('again'));
    assert.equal(await second.heard.over, 'end');
    assert.equal(fixture.server.connections, 1);
  });

  test('a second connection takes up the session of the first', async () => {
    await using fixture = await ClientFixture.start(trusted, 'localhost');
    const first = await fixture.asked();
    first.connection.say(answer('', 'connection: close'));
    await first.heard.over;
    const second = await fixture.asked();
    assert.equal((second.connection.socket as TLSSocket).isSessionReused(), true);
  });

  test('a server that proves another name is not asked', async () => {
    await using fixture = await ClientFixture.start(trusted, '127.0.0.1');
    assert.equal(await fixture.ask().heard.over, 'unreachable (ERR_TLS_CERT_ALTNAME_INVALID)');
  });

  test('a server that nobody vouches for is not asked', async () => {
    await using fixture = await ClientFixture.start(stranger, 'localhost');
    assert.match(
      await fixture.ask().heard.over,
      /^unreachable \((DEPTH_ZERO_SELF_SIGNED_CERT|CERT_SIGNATURE_FAILURE)\)$/,
    );
  });

  test('a large answer arrives whole, through pauses, and a close behind it loses nothing', async () => {
    await using fixture = await ClientFixture.start(trusted, 'localhost');
    const { heard, handle, connection } = await fixture.asked();
    const pieces = Array.from({ length: 50_000 }, (_, index) => `<${index}>`);
    const chunks = pieces.map((piece) => `${piece.length.toString(16)}\r\n${piece}\r\n`);
    let pauses = 0;
    heard.onPiece = () => {
      pauses += 1;
      handle.pause();
      setImmediate(() => handle.resume());
    };
    connection.say(`HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${chunks.join('')}0\r\n\r\n`);
    connection.end();
    assert.equal(await heard.over, 'end');
    assert.ok(heard.content === pieces.join(''), 'in its order');
    assert.ok(pauses > 3, `${pauses} pauses`);
  });

  // The client's own time-out would close the connection as well.
  const patient = { ...TIMEOUTS, connectMs: 2 ** 31 - 1 };
  for (const [size, body] of Object.entries(BODIES)) {
    test(`an abort in the middle of the handshake closes the connection (a ${size} body)`, async () => {
      await using plain = await ClientFixture.start();
      const origin = plain.server.origin().replace('http:', 'https:');
      const { handle, heard } = plain.ask({ origin, body, timeouts: patient });
      const connection = await plain.server.next();
      handle.abort();
      await connection.closed;
      assert.equal(heard.outcome, null);
    });

    test(`an abort before the handshake leaves no connection (a ${size} body)`, async () => {
      await using plain = await ClientFixture.start();
      const origin = plain.server.origin().replace('http:', 'https:');
      plain.ask({ origin, body, timeouts: patient }).handle.abort();
      await plain.freed();
      const other = plain.ask({ origin, timeouts: patient });
      // That of the first, if it got so far.
      const connection = await plain.server.next();
      other.handle.abort();
      await connection.closed;
      assert.equal(other.heard.outcome, null);
    });

    test(`a reset in the middle of the handshake is the end of the call, not one of a kept connection (a ${size} body)`, async () => {
      await using plain = await ClientFixture.start();
      const { heard } = plain.ask({ origin: plain.server.origin().replace('http:', 'https:'), body });
      (await plain.server.next()).reset();
      assert.match(await heard.over, /^unreachable \(/);
      assert.equal(plain.server.connections, 1);
    });
  }
});
