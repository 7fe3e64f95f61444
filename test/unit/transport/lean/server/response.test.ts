/** In how many writes a response is sent, and what is in each. */
import assert from 'node:assert/strict';
import { Socket } from 'node:net';
import { describe, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { headerLines } from '../../../../../src/transport/head-lines.ts';
import { HeadReader } from '../../../../../src/transport/lean/head.ts';
import { LeanRequest, readRequestHead } from '../../../../../src/transport/lean/server/request.ts';
import { LeanResponse, type ResponseChannel } from '../../../../../src/transport/lean/server/response.ts';

/** Remembers what would be written, each write on its own. */
class WrittenSocket extends Socket {
  readonly writes: string[] = [];
  corks = 0;

  override write(bytes: string | Uint8Array): boolean {
    this.writes.push(typeof bytes === 'string' ? bytes : Buffer.from(bytes).toString('latin1'));
    return true;
  }

  override cork(): void {
    this.corks += 1;
  }
}

function responseOn(socket: Socket, start = 'GET / HTTP/1.1'): LeanResponse {
  const channel: ResponseChannel = {
    socket,
    keepAliveLines: 'Connection: keep-alive\r\n',
    keepsAlive: () => true,
    responseEnded: () => {},
  };
  const head = new HeadReader(1_000).push(Buffer.from(`${start}\r\nHost: x\r\n\r\n`), 0);
  assert.ok(head);
  const parsed = readRequestHead(head, 200);
  return new LeanResponse(new LeanRequest(parsed, null, { remoteAddress: '', readBody: () => {} }), channel);
}

describe('the writes of an answer', () => {
  test('a small whole one is one write', () => {
    const socket = new WrittenSocket();
    responseOn(socket).send(200, ['a', 'b'], Buffer.alloc(16 * 1_024, 'x'));
    assert.equal(socket.writes.length, 1);
    assert.match(
      socket.writes.join(''),
      /^HTTP\/1\.1 200 OK\r\na: b\r\ncontent-length: 16384\r\nDate: .*\r\nConnection: keep-alive\r\n\r\nx/,
    );
    assert.equal(socket.writes[0]?.split('\r\n\r\n')[1], 'x'.repeat(16 * 1_024));
  });

  test('a large whole one is not copied: head and body go out corked', () => {
    const socket = new WrittenSocket();
    responseOn(socket).send(200, [], Buffer.alloc(16 * 1_024 + 1, 'x'));
    assert.deepEqual([socket.writes.length, socket.corks, socket.writes[1]?.length], [2, 1, 16 * 1_024 + 1]);
  });

  test('a stream is one write for each go of the loop; the head goes with the first, the end with the last', async () => {
    const socket = new WrittenSocket();
    const response = responseOn(socket);
    response.writeHead(200, ['a', 'b']);
    assert.equal(response.headersSent, true);
    assert.deepEqual(socket.writes, []);
    response.write(Buffer.from('fir'));
    response.write(Buffer.alloc(0));
    response.write(Buffer.from('st'));
    assert.deepEqual(socket.writes, []);
    await turn();
    response.write(Buffer.from('x'.repeat(30)));
    await turn();
    response.write(Buffer.from('la'));
    response.end(Buffer.from('st'));
    await turn();
    const [first, ...rest] = socket.writes;
    assert.match(
      first ?? '',
      /^HTTP\/1\.1 200 OK\r\na: b\r\nDate: .*\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n$/,
    );
    assert.deepEqual(rest, [`1e\r\n${'x'.repeat(30)}\r\n`, '4\r\nlast\r\n0\r\n\r\n']);
  });

  test('a stream may have no bytes, or its head at once', () => {
    const socket = new WrittenSocket();
    const empty = responseOn(socket);
    empty.writeHead(200, []);
    empty.end(Buffer.alloc(0));
    const early = responseOn(socket);
    early.writeHead(200, []);
    early.flushHeaders();
    early.flushHeaders();
    early.end(Buffer.alloc(0));
    assert.equal(socket.writes.length, 3);
    assert.match(socket.writes[0] ?? '', /\r\n\r\n0\r\n\r\n$/);
    assert.match(socket.writes[1] ?? '', /chunked\r\n\r\n$/);
    assert.equal(socket.writes[2], '0\r\n\r\n');
  });

  test('who was told to stop for what has gone out since is told to go on', async () => {
    const socket = new WrittenSocket();
    const response = responseOn(socket);
    response.writeHead(200, []);
    let drained = 0;
    assert.equal(response.write(Buffer.alloc(socket.writableHighWaterMark)), false);
    response.onDrain(() => drained++);
    await turn();
    await turn();
    assert.equal(drained, 1);
  });

  test('a large piece of a stream is not copied', async () => {
    const socket = new WrittenSocket();
    const response = responseOn(socket);
    response.writeHead(200, []);
    response.write(Buffer.alloc(20_000, 'x'));
    await turn();
    assert.deepEqual([socket.corks, socket.writes[1]?.length, socket.writes[2]], [1, 20_000, '\r\n']);
    assert.match(socket.writes[0] ?? '', /\r\n\r\n4e20\r\n$/);
  });

  test('an answer is given once', () => {
    const socket = new WrittenSocket();
    const response = responseOn(socket);
    response.send(200, [], Buffer.from('once'));
    response.send(500, [], Buffer.from('twice'));
    response.writeHead(200, []);
    response.write(Buffer.from('twice'));
    response.end(Buffer.from('twice'));
    response.flushHeaders();
    assert.equal(socket.writes.length, 1);
  });

  test('HEAD has the head alone', () => {
    const socket = new WrittenSocket();
    responseOn(socket, 'HEAD / HTTP/1.1').send(200, [], Buffer.from('body'));
    const stream = responseOn(socket, 'HEAD / HTTP/1.1');
    stream.writeHead(200, []);
    stream.write(Buffer.from('body'));
    stream.end(Buffer.from('body'));
    assert.equal(socket.writes.length, 2);
    assert.match(socket.writes[0] ?? '', /\r\ncontent-length: 4\r\n[\s\S]*\r\n\r\n$/);
    assert.match(socket.writes[1] ?? '', /\r\n\r\n$/);
  });

  test('the demand of another protocol is part of the Connection line', () => {
    const socket = new WrittenSocket();
    const response = responseOn(socket);
    response.requireUpgrade('HTTP/1.1');
    response.send(426, [], Buffer.alloc(0));
    assert.match(
      socket.writes[0] ?? '',
      /^HTTP\/1\.1 426 Upgrade Required\r\n[\s\S]*Upgrade: HTTP\/1\.1\r\nConnection: Upgrade\r\n/,
    );
  });

  test('a value with a line end in it is thrown out before anything is sent', () => {
    for (const value of ['a\r\nb: c', 'a\nb', 'a\rb', 'a\0b', 'a\u0100b', 'a\x7fb']) {
      assert.throws(() => headerLines(['content-type', value]), TypeError);
    }
    assert.equal(headerLines(['content-type', 'a;\tb=\xe9']), 'content-type: a;\tb=\xe9\r\n');
    assert.equal(headerLines(['x', 7]), 'x: 7\r\n');
  });
});
