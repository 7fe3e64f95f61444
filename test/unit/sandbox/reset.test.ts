import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { test } from 'node:test';
import { reset } from '../../../src/sandbox/reset.ts';

async function connected(t: { after(clean: () => void): void }): Promise<{ near: Socket; far: Socket }> {
  const server = createServer().listen(0, '127.0.0.1');
  t.after(() => server.close());
  await once(server, 'listening');
  const arrived = once(server, 'connection') as Promise<[Socket]>;
  const near = connect((server.address() as AddressInfo).port, '127.0.0.1');
  await once(near, 'connect');
  const [far] = await arrived;
  for (const socket of [near, far]) socket.on('error', () => {});
  return { near, far };
}

test('the other side sees a reset', async (t) => {
  const { near, far } = await connected(t);
  const failed = new Promise<NodeJS.ErrnoException>((resolve) => far.once('error', resolve));
  reset(near);
  t.assert.equal((await failed).code, 'ECONNRESET');
});

test('a connection whose end is on its way is closed, and its process can exit', async (t) => {
  const { near, far } = await connected(t);
  const closed = [near, far].map((socket) => once(socket, 'close'));
  near.end();
  reset(near);
  far.destroy();
  await Promise.all(closed);
});
