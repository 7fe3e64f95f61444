import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LeanRequest } from '../../../../../src/transport/lean/server/request.ts';
import { echo, RawPeer, serverFixture } from '../../server/fixture.ts';

test('a connection knows a head again that differs in the length of its content at most', async () => {
  const seen: LeanRequest[] = [];
  await using end = await serverFixture('lean', (request, response) => {
    assert.ok(request instanceof LeanRequest);
    seen.push(request);
    echo(request, response);
  });
  const peer = await RawPeer.connect(end.port);
  const post = (content: string, more = ''): string =>
    `POST /p HTTP/1.1\r\nHost: x\r\ncontent-length: ${content.length}\r\nA: 1\r\n${more}\r\n${content}`;
  const asked = [post('one'), post('two'), post('and three'), post('4', 'B: 2\r\n'), post(''), post('six'), post('7')];
  for (const [index, bytes] of asked.entries()) {
    peer.send(bytes);
    const content = bytes.slice(bytes.indexOf('\r\n\r\n') + 4);
    await peer.until(new RegExp(`(POST /p [^.]*\\.[^]*){${index}}POST /p ${content}\\.$`));
  }
  const [one, two, three, four, five, six, seven] = seen.map(({ head }) => head);
  // Kept from the second request on.
  assert.notEqual(one, two);
  assert.equal(two, three);
  assert.notEqual(three, four);
  assert.notEqual(five, six, 'without content a request is framed in another way');
  assert.equal(six, seven);
  assert.equal(four?.headers.get('b'), '2');
  assert.deepEqual(three?.headers.raw, ['Host', 'x', 'A', '1']);
  peer.socket.destroy();
});
