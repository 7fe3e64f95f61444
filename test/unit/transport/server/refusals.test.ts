/** What could be read in two ways is refused, and nothing behind it is taken for a request. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { contentOf, type Handler, RawPeer, sendText, serverFixture } from './fixture.ts';

const SMUGGLED = 'GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n';

function post(...lines: string[]): string {
  return `${['POST / HTTP/1.1', 'Host: x', ...lines].join('\r\n')}\r\n\r\n`;
}

async function answerTo(bytes: string): Promise<{ text: string; refused: string[]; served: string[] }> {
  const served: string[] = [];
  const onRequest: Handler = (request, response) => {
    void contentOf(request).then((content) => {
      if (content === null) return;
      served.push(request.target);
      sendText(response, 'served');
    });
  };
  // What should have been refused and was served leaves a connection that is soon closed: the test ends, and red.
  await using end = await serverFixture(onRequest, { keepAliveTimeoutMs: 500 });
  const peer = await RawPeer.connect(end.port);
  const text = await peer.send(bytes).untilEnd();
  return { text, refused: end.refused, served };
}

describe('smuggling', () => {
  const chunked = 'Transfer-Encoding: chunked';
  for (const [what, bytes] of [
    ['Content-Length before Transfer-Encoding', `${post('Content-Length: 6', chunked)}0\r\n\r\nG`],
    ['Transfer-Encoding before Content-Length', `${post(chunked, 'Content-Length: 4')}5c\r\n`],
    ['two lengths that differ', `${post('Content-Length: 0', 'Content-Length: 44')}`],
    ['two lengths that agree', `${post('Content-Length: 5', 'Content-Length: 5')}hello`],
    ['a list of lengths', `${post('Content-Length: 5, 5')}hello`],
    ['a signed length', `${post('Content-Length: +5')}hello`],
    ['a negative length', post('Content-Length: -5')],
    ['a hexadecimal length', `${post('Content-Length: 0x5')}hello`],
    ['an empty length', post('Content-Length:')],
    ['a length with a space in it', `${post('Content-Length: 1 0')}hello`],
    ['a length beyond what a number holds', post('Content-Length: 9007199254740993')],
    ['an unknown coding', post('Transfer-Encoding: xchunked')],
    ['a coding before chunked', post('Transfer-Encoding: gzip, chunked')],
    ['a coding behind chunked', post('Transfer-Encoding: chunked, identity')],
    ['chunked twice', post(chunked, chunked)],
    ['chunked and another line of it', post(chunked, 'Transfer-Encoding: identity')],
    ['chunked in quotes', post('Transfer-Encoding: "chunked"')],
    ['chunked behind a control character', post('Transfer-Encoding: \x0bchunked')],
    ['chunked with a tab behind it', post('Transfer-Encoding: chunked\t')],
    ['chunked in HTTP/1.0', `${post(chunked).replace('HTTP/1.1', 'HTTP/1.0')}5\r\nhello\r\n0\r\n\r\n`],
    ['a space before the colon of a length', `${post('Content-Length : 5')}hello`],
    ['a folded line', post('X: y\r\n z')],
    ['a folded line of white space alone', post('X: y\r\n ')],
    ['an HTTP/0.9 version', 'GET / HTTP/0.9\r\nHost: x\r\n\r\n'],
    ['an HTTP/2.0 version', 'GET / HTTP/2.0\r\nHost: x\r\n\r\n'],
    ['a folded coding', post('Transfer-Encoding:\r\n chunked')],
    ['a bare LF before a coding', post('X: y\nTransfer-Encoding: chunked')],
    ['a bare CR before a coding', post('X: y\rTransfer-Encoding: chunked')],
    ['a NUL in a coding', post('Transfer-Encoding: chunked\0')],
    ['a chunk size that overflows', `${post(chunked)}10000000000000005\r\nhello\r\n0\r\n\r\n`],
    ['a chunk size with a prefix', `${post(chunked)}0x5\r\nhello\r\n0\r\n\r\n`],
    ['a chunk size with a space', `${post(chunked)}5 \r\nhello\r\n0\r\n\r\n`],
    ['an empty chunk size', `${post(chunked)}\r\nhello\r\n0\r\n\r\n`],
    ['a chunk size that ends in a bare LF', `${post(chunked)}5\nhello\r\n0\r\n\r\n`],
    ['a chunk that is longer than its size', `${post(chunked)}5\r\nhello!\r\n0\r\n\r\n`],
    ['a chunk that ends in a bare LF', `${post(chunked)}5\r\nhello\n0\r\n\r\n`],
    ['a bare LF in a chunk extension', `${post(chunked)}5;\nhello\r\n0\r\n\r\n`],
    ['a chunk extension without a name', `${post(chunked)}5;\r\nhello\r\n0\r\n\r\n`],
    ['a space in a chunk extension', `${post(chunked)}5;a b\r\nhello\r\n0\r\n\r\n`],
    ['a quoted chunk extension that does not end', `${post(chunked)}5;a="b\r\nhello\r\n0\r\n\r\n`],
    ['Content-Length in a trailer', `${post(chunked)}5\r\nhello\r\n0\r\nContent-Length: 5\r\n\r\n`],
    ['Transfer-Encoding in a trailer', `${post(chunked)}5\r\nhello\r\n0\r\nTransfer-Encoding: chunked\r\n\r\n`],
    ['Connection in a trailer', `${post(chunked)}5\r\nhello\r\n0\r\nConnection: close\r\n\r\n`],
    ['Host in a trailer', `${post(chunked)}5\r\nhello\r\n0\r\nX: y\r\nhost: y\r\n\r\n`],
    ['a folded trailer', `${post(chunked)}5\r\nhello\r\n0\r\nx: y\r\n z\r\n\r\n`],
    ['two hosts', post('Host: y')],
    ['a second request line', 'POST / HTTP/1.1\r\nPOST / HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['a space in the target', 'GET / /b HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['a tab for a space', 'GET\t/ HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['a byte above ASCII in the target', 'GET /\xff HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['a fragment in the target', 'GET /#a HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['a target that is none', 'GET x HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['no target', 'GET HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['a method in lower case', 'get / HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['an unknown method', 'FETCH / HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['a tunnel', 'CONNECT x:443 HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['another version', 'GET / HTTP/1.2\r\nHost: x\r\n\r\n'],
    ['no version', 'GET /\r\n\r\n'],
    ['the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
  ] as const) {
    test(`with ${what} is refused, and what follows is no request`, async () => {
      const { text, refused, served } = await answerTo(bytes + SMUGGLED);
      assert.deepEqual([refused, served], [['malformed'], []]);
      assert.match(text, /^HTTP\/1\.1 400 Bad Request\r\n[\s\S]*\r\nConnection: close\r\n\r\nmalformed$/);
    });
  }
});

describe('a refusal', () => {
  test('names a head that is too large, too many fields, and a missing host', async () => {
    const many = Array.from({ length: 200 }, (_, index) => `X-${index}: y`);
    assert.deepEqual((await answerTo(post(`X: ${'y'.repeat(33_000)}`))).refused, ['too_large']);
    assert.deepEqual((await answerTo(post(...many))).refused, ['too_many_fields']);
    assert.deepEqual((await answerTo('GET / HTTP/1.1\r\n\r\n')).refused, ['no_host']);
    const fits = await answerTo(post(`X: ${'y'.repeat(32_000)}`, 'Connection: close'));
    assert.deepEqual([fits.refused, fits.served], [[], ['/']]);
    const few = await answerTo(post(...many.slice(2), 'Connection: close'));
    assert.deepEqual([few.refused, few.served], [[], ['/']]);
  });

  test('comes behind the answers to what was good before it', async () => {
    const { text, refused } = await answerTo(`${SMUGGLED}${SMUGGLED}GET / HTTP/1.1\r\nbad\r\n\r\n`);
    assert.deepEqual(text.match(/served|malformed$/g), ['served', 'served', 'malformed']);
    assert.deepEqual(refused, ['malformed']);
  });

  test('is read by a client that does not stop sending', async () => {
    const { text } = await answerTo(`BAD\r\n\r\n${'x'.repeat(4_000_000)}`);
    assert.match(text, /malformed$/);
  });

  test('is told to a client that breaks off in a head, and nothing to one that sends nothing', async () => {
    await using end = await serverFixture((_request, response) => sendText(response, 'served'));
    const broken = await RawPeer.connect(end.port, true);
    broken.send('GET / HTTP/1.1\r\nHo').socket.end();
    assert.match(await broken.untilEnd(), /malformed$/);
    const silent = await RawPeer.connect(end.port, true);
    silent.socket.end();
    assert.equal(await silent.untilEnd(), '');
    assert.deepEqual(end.refused, ['malformed']);
  });
});
