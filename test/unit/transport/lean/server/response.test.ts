/** What an answer looks like on the wire, and in how many writes it goes out. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { describe, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { HeadReader } from '../../../../../src/transport/lean/head.ts';
import { fieldLine } from '../../../../../src/transport/lean/head-lines.ts';
import { IncomingRequest, RequestKind } from '../../../../../src/transport/lean/server/request.ts';
import { Answer, type AnswerSide } from '../../../../../src/transport/lean/server/response.ts';
import { pending } from '../../../../support/pending.ts';
import { answerText, type Handler, RawPeer, serverEnd } from './ends.ts';

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

function answerOn(socket: Socket, start = 'GET / HTTP/1.1'): Answer {
  const side: AnswerSide = {
    socket,
    keepAliveLines: 'Connection: keep-alive\r\n',
    keepsAlive: () => true,
    answered: () => {},
  };
  const head = new HeadReader(1_000).push(Buffer.from(`${start}\r\nHost: x\r\n\r\n`), 0);
  assert.ok(head);
  return new Answer(new IncomingRequest(new RequestKind(head), null, { readBody: () => {} }), side);
}

describe('the writes of an answer', () => {
  test('a small whole one is one write', () => {
    const socket = new WrittenSocket();
    answerOn(socket).whole(200, 'a: b\r\n', Buffer.alloc(16 * 1_024, 'x'));
    assert.equal(socket.writes.length, 1);
    assert.match(
      socket.writes.join(''),
      /^HTTP\/1\.1 200 OK\r\na: b\r\ncontent-length: 16384\r\nDate: .*\r\nConnection: keep-alive\r\n\r\nx/,
    );
    assert.equal(socket.writes[0]?.split('\r\n\r\n')[1], 'x'.repeat(16 * 1_024));
  });

  test('a large whole one is not copied: head and body go out corked', () => {
    const socket = new WrittenSocket();
    answerOn(socket).whole(200, '', Buffer.alloc(16 * 1_024 + 1, 'x'));
    assert.deepEqual([socket.writes.length, socket.corks, socket.writes[1]?.length], [2, 1, 16 * 1_024 + 1]);
  });

  test('a stream is one write for each go of the loop; the head goes with the first, the end with the last', async () => {
    const socket = new WrittenSocket();
    const answer = answerOn(socket);
    answer.begin(200, 'a: b\r\n');
    assert.equal(answer.begun, true);
    assert.deepEqual(socket.writes, []);
    answer.write(Buffer.from('fir'));
    answer.write(Buffer.alloc(0));
    answer.write(Buffer.from('st'));
    assert.deepEqual(socket.writes, []);
    await turn();
    answer.write(Buffer.from('x'.repeat(30)));
    await turn();
    answer.write(Buffer.from('la'));
    answer.end(Buffer.from('st'));
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
    const empty = answerOn(socket);
    empty.begin(200, '');
    empty.end(Buffer.alloc(0));
    const early = answerOn(socket);
    early.begin(200, '');
    early.flush();
    early.flush();
    early.end(Buffer.alloc(0));
    assert.equal(socket.writes.length, 3);
    assert.match(socket.writes[0] ?? '', /\r\n\r\n0\r\n\r\n$/);
    assert.match(socket.writes[1] ?? '', /chunked\r\n\r\n$/);
    assert.equal(socket.writes[2], '0\r\n\r\n');
  });

  test('who was told to stop for what has gone out since is told to go on', async () => {
    const socket = new WrittenSocket();
    const answer = answerOn(socket);
    answer.begin(200, '');
    let drained = 0;
    assert.equal(answer.write(Buffer.alloc(socket.writableHighWaterMark)), false);
    answer.whenDrained(() => drained++);
    await turn();
    await turn();
    assert.equal(drained, 1);
  });

  test('a large piece of a stream is not copied', async () => {
    const socket = new WrittenSocket();
    const answer = answerOn(socket);
    answer.begin(200, '');
    answer.write(Buffer.alloc(20_000, 'x'));
    await turn();
    assert.deepEqual([socket.corks, socket.writes[1]?.length, socket.writes[2]], [1, 20_000, '\r\n']);
    assert.match(socket.writes[0] ?? '', /\r\n\r\n4e20\r\n$/);
  });

  test('an answer is given once', () => {
    const socket = new WrittenSocket();
    const answer = answerOn(socket);
    answer.whole(200, '', Buffer.from('once'));
    answer.whole(500, '', Buffer.from('twice'));
    answer.begin(200, '');
    answer.write(Buffer.from('twice'));
    answer.end(Buffer.from('twice'));
    answer.flush();
    assert.equal(socket.writes.length, 1);
  });

  test('HEAD has the head alone', () => {
    const socket = new WrittenSocket();
    answerOn(socket, 'HEAD / HTTP/1.1').whole(200, '', Buffer.from('body'));
    const stream = answerOn(socket, 'HEAD / HTTP/1.1');
    stream.begin(200, '');
    stream.write(Buffer.from('body'));
    stream.end(Buffer.from('body'));
    assert.equal(socket.writes.length, 2);
    assert.match(socket.writes[0] ?? '', /\r\ncontent-length: 4\r\n[\s\S]*\r\n\r\n$/);
    assert.match(socket.writes[1] ?? '', /\r\n\r\n$/);
  });

  test('the demand of another protocol is part of the Connection line', () => {
    const socket = new WrittenSocket();
    const answer = answerOn(socket);
    answer.demandUpgrade('HTTP/1.1');
    answer.whole(426, '', Buffer.alloc(0));
    assert.match(
      socket.writes[0] ?? '',
      /^HTTP\/1\.1 426 Upgrade Required\r\n[\s\S]*Upgrade: HTTP\/1\.1\r\nConnection: Upgrade\r\n/,
    );
  });

  test('a value with a line end in it is thrown out before anything is sent', () => {
    for (const value of ['a\r\nb: c', 'a\nb', 'a\rb', 'a\0b', 'a\u0100b', 'a\x7fb']) {
      assert.throws(() => fieldLine('content-type', value), TypeError);
    }
    assert.equal(fieldLine('content-type', 'a;\tb=\xe9'), 'content-type: a;\tb=\xe9\r\n');
    assert.equal(fieldLine('x', 7), 'x: 7\r\n');
  });
});

describe('an answer that a client reads', () => {
  const stream: Handler = (_request, answer) => {
    answer.begin(200, 'content-type: text/plain\r\n');
    answer.write(Buffer.from('some'));
    answer.end(Buffer.from('more'));
  };

  test('HTTP/1.0: closed after it, kept where it asks for that, and a stream ends with the connection', async () => {
    await using whole = await serverEnd((_request, answer) => answerText(answer, 'whole'));
    const closing = await RawPeer.connect(whole.port);
    closing.send('GET / HTTP/1.0\r\n\r\n');
    assert.match(await closing.untilEnd(), /^HTTP\/1\.1 200 OK\r\n[\s\S]*\r\nConnection: close\r\n\r\nwhole$/);
    const kept = await RawPeer.connect(whole.port);
    kept.send('GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n');
    assert.match(await kept.until(/whole$/), /\r\nConnection: keep-alive\r\n/);
    kept.send('GET / HTTP/1.0\r\n\r\n');
    assert.match(await kept.untilEnd(), /whole[\s\S]*close\r\n\r\nwhole$/);

    await using streamed = await serverEnd(stream);
    const peer = await RawPeer.connect(streamed.port);
    peer.send('GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n');
    const text = await peer.untilEnd();
    assert.match(text, /\r\nConnection: close\r\n\r\nsomemore$/);
    assert.doesNotMatch(text, /Transfer-Encoding|content-length/i);
  });

  test('that was cut cannot be taken for a complete one', async () => {
    for (const version of ['1.0', '1.1']) {
      await using end = await serverEnd((_request, answer) => {
        answer.begin(200, '');
        answer.write(Buffer.from('some'));
        setImmediate(() => answer.cut());
      });
      const peer = await RawPeer.connect(end.port);
      const failed = version === '1.0' ? once(peer.socket, 'error') : null;
      await peer.send(`GET / HTTP/${version}\r\nHost: x\r\n\r\n`).untilEnd();
      assert.doesNotMatch(peer.text, /0\r\n\r\n$/);
      const [error] = ((await failed) ?? []) as [NodeJS.ErrnoException?];
      if (version === '1.0') assert.equal(error?.code, 'ECONNRESET');
    }
  });

  test('without a length ends in a reset when its client closes its own side alone', async () => {
    await using end = await serverEnd((_request, answer) => {
      answer.begin(200, '');
      answer.write(Buffer.from('some'));
    });
    const peer = await RawPeer.connect(end.port, true);
    const failed = once(peer.socket, 'error');
    await peer.send('GET / HTTP/1.0\r\nHost: x\r\n\r\n').until(/some$/);
    peer.socket.end();
    const [error] = (await failed) as [NodeJS.ErrnoException];
    assert.equal(error.code, 'ECONNRESET');
  });

  test("is what Node's client takes it for", async () => {
    await using end = await serverEnd(stream);
    const response = await new Promise<IncomingMessage>((resolve) => {
      httpRequest({ port: end.port, host: '127.0.0.1', agent: false }, resolve).end();
    });
    const pieces = (await response.toArray()) as Buffer[];
    assert.equal(Buffer.concat(pieces).toString(), 'somemore');
    assert.equal(response.complete, true);
    assert.equal(response.headers['content-type'], 'text/plain');
  });

  test('says when the client reads too slowly, and when it goes on', async () => {
    const blocked = Promise.withResolvers<Answer>();
    const drained = Promise.withResolvers<void>();
    await using end = await serverEnd((_request, answer) => {
      answer.begin(200, '');
      // More than all buffers on the way hold.
      for (let i = 0; i < 40; i++) answer.write(Buffer.alloc(1_000_000, 'x'));
      assert.equal(answer.write(Buffer.from('x')), false);
      answer.whenDrained(() => drained.resolve());
      blocked.resolve(answer);
    });
    const peer = await RawPeer.connect(end.port);
    peer.socket.pause();
    peer.send('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    const answer = await blocked.promise;
    await turn();
    assert.equal(await pending(drained.promise), true);
    peer.socket.resume();
    await drained.promise;
    answer.end(Buffer.from('last'));
    while (!peer.text.endsWith('last\r\n0\r\n\r\n')) await turn();
    peer.socket.destroy();
  });

  test('is cut when its last bytes are not taken in time, and kept when they are', async () => {
    const LINGER_MS = 100;
    const begun = Promise.withResolvers<Answer>();
    await using end = await serverEnd((request, answer) => {
      answer.begin(200, '');
      if (request.kind.target === '/slow') {
        // More than all buffers on the way hold.
        while (answer.write(Buffer.alloc(1_000_000, 'x')));
        for (let i = 0; i < 40; i++) answer.write(Buffer.alloc(1_000_000, 'x'));
        begun.resolve(answer);
      }
      answer.end(Buffer.from('last'), LINGER_MS);
    });
    const quick = await RawPeer.connect(end.port);
    await quick.send('GET /quick HTTP/1.1\r\nHost: x\r\n\r\n').until(/last\r\n0\r\n\r\n$/);
    const slow = await RawPeer.connect(end.port);
    slow.socket.pause();
    slow.send('GET /slow HTTP/1.1\r\nHost: x\r\n\r\n');
    await begun.promise;
    // The quick client's time is over too by then, and its connection still serves.
    await new Promise((resolve) => setTimeout(resolve, 3 * LINGER_MS));
    slow.socket.resume();
    await slow.untilEnd();
    assert.doesNotMatch(slow.text.slice(-100), /last/);
    quick.text = '';
    await quick.send('GET /quick HTTP/1.1\r\nHost: x\r\n\r\n').until(/last\r\n0\r\n\r\n$/);
    quick.socket.destroy();
  });
});
