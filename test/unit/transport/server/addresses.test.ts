/** Which connections make room for others, by the addresses of their clients. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { describe, type TestContext, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import { clientNetwork } from '../../../../src/core/client-address.ts';
import { type ClientConnection, ClientConnections } from '../../../../src/transport/server/client-connections.ts';
import { echo, gatedServer, type ServerFixture, sendText, serverFixture } from './fixture.ts';
import { received, secureServer, session, tls } from './secure-fixture.ts';

const GET = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';
const ATTACKER = '127.0.0.66';

interface Client {
  readonly socket: Socket;
  readonly closed: Promise<unknown>;
  text: string;
}

/** A client with an address of its own; all of 127.0.0.0/8 is this machine. */
async function client(t: TestContext, port: number, localAddress: string): Promise<Client> {
  const socket = connect({ port, host: '127.0.0.1', localAddress });
  t.after(() => socket.destroy());
  const made: Client = { socket, closed: new Promise((resolve) => socket.once('close', resolve)), text: '' };
  socket.on('error', () => {});
  socket.on('data', (chunk) => {
    made.text += chunk.toString('latin1');
  });
  await once(socket, 'connect');
  return made;
}

async function clients(t: TestContext, end: ServerFixture, address: string, count: number): Promise<Client[]> {
  const made: Client[] = [];
  for (let i = 0; i < count; i++) made.push(await client(t, end.port, address));
  while (end.server.connections < count) await turn();
  return made;
}

async function answered(made: Client, wanted: RegExp): Promise<void> {
  while (!wanted.test(made.text)) {
    assert.ok(!made.socket.destroyed, `closed after: ${made.text}`);
    await turn();
  }
}

const LINUX = process.platform !== 'linux' && 'only Linux has all of 127.0.0.0/8 without further ado';

describe('[F32] nearly all connections that can be served are open:', { skip: LINUX }, () => {
  test('those of the busiest address without a request close first, those idle for longest before', async (t) => {
    await using end = await serverFixture(echo, { connections: 20 });
    const other = await client(t, end.port, '127.0.0.2');
    other.socket.write(GET);
    await answered(other, /GET \/ \.$/);
    const silent = await clients(t, end, ATTACKER, 17);
    assert.equal(end.server.connections, 18);
    // A tenth is free still; with the next ones, the first of the attacker's go.
    const late = [await client(t, end.port, '127.0.0.3'), await client(t, end.port, '127.0.0.4')];
    for (const made of late) {
      made.socket.write(GET);
      await answered(made, /GET \/ \.$/);
    }
    await Promise.all(silent.slice(0, 2).map(({ closed }) => closed));
    assert.equal(end.server.connections, 18);
    other.text = '';
    other.socket.write(GET);
    await answered(other, /^HTTP\/1\.1 200 [\s\S]*GET \/ \.$/);
    assert.deepEqual(
      silent.slice(2).map(({ socket }) => socket.destroyed),
      silent.slice(2).map(() => false),
    );
    assert.deepEqual(end.refused, []);
  });

  test('clients of one address that connect at the same moment are all served, up to the limit', async (t) => {
    await using end = await serverFixture(echo, { connections: 20 });
    const made = await clients(t, end, '127.0.0.2', 20);
    for (const { socket } of made) socket.write(GET);
    for (const one of made) await answered(one, /GET \/ \.$/);
    assert.deepEqual(end.refused, []);
  });

  test('a flood of silent connections from one address leaves room for all others', async (t) => {
    const LIMIT = 40;
    await using end = await serverFixture(echo, { connections: LIMIT });
    for (let i = 0; i < 3 * LIMIT; i++) {
      await client(t, end.port, ATTACKER);
      const other = await client(t, end.port, `127.0.1.${1 + (i % 20)}`);
      other.socket.write(GET);
      await answered(other, /^HTTP\/1\.1 200 [\s\S]*GET \/ \.$/);
      assert.ok(end.server.connections <= LIMIT, `${end.server.connections} are open`);
      other.socket.destroy();
    }
    assert.deepEqual(end.refused, []);
  });

  test('those with a request are left alone, whosever they are', async (t) => {
    const { end, next } = await gatedServer({ connections: 10 });
    await using _ = end;
    const busy = await clients(t, end, ATTACKER, 8);
    for (const { socket } of busy) socket.write(GET);
    const exchanges = [];
    for (const _one of busy) exchanges.push(await next());
    const idle = await client(t, end.port, '127.0.0.2');
    while (end.server.connections < 9) await turn();
    const late = await client(t, end.port, '127.0.0.3');
    late.socket.write(GET);
    const { response } = await next();
    sendText(response, 'late');
    await answered(late, /late$/);
    // Of the busiest address none was idle.
    await idle.closed;
    for (const exchange of exchanges) sendText(exchange.response, 'busy');
    for (const made of busy) await answered(made, /busy$/);
  });

  test('those of a trusted proxy are left alone: they are those of many clients', async (t) => {
    await using end = await serverFixture(echo, { connections: 10 }, { isProxy: (address) => address === ATTACKER });
    const ofProxy = await clients(t, end, ATTACKER, 9);
    const silent = await client(t, end.port, '127.0.0.2');
    while (end.server.connections < 10) await turn();
    const late = await client(t, end.port, '127.0.0.3');
    late.socket.write(GET);
    await answered(late, /GET \/ \.$/);
    await silent.closed;
    for (const { socket } of ofProxy) assert.equal(socket.destroyed, false);
  });

  test('with TLS as well, whether the handshake is complete or not', async (t) => {
    const end = await secureServer(t, echo, { connections: 10 });
    const other = await session(t, end.port);
    assert.equal((await received(other.request({ ':path': '/' }))).status, 200);
    const options = { port: end.port, host: '127.0.0.1', servername: 'localhost', ca: tls.cert };
    const secure = connectTls({ ...options, localAddress: ATTACKER, ALPNProtocols: ['http/1.1'] } as typeof options);
    secure.on('error', () => {});
    t.after(() => secure.destroy());
    const closed = new Promise((resolve) => secure.once('close', resolve));
    await once(secure, 'secureConnect');
    const silent = await clients(t, end, ATTACKER, 8);
    for (let i = 0; i < 2; i++) await session(t, end.port);
    await closed;
    await silent[0]?.closed;
    assert.equal((await received(other.request({ ':path': '/' }))).status, 200);
  });
});

describe('[F32] an address has as many connections as it may have:', { skip: LINUX }, () => {
  test('further ones are refused with the reason, then closed at once; others are served', async (t) => {
    await using end = await serverFixture(echo, { connectionsPerAddress: 3 });
    const served = await clients(t, end, ATTACKER, 3);
    const refused = await client(t, end.port, ATTACKER);
    refused.socket.write(GET);
    await refused.closed;
    assert.match(refused.text, /^HTTP\/1\.1 503 [\s\S]*\r\nConnection: close\r\n\r\ntoo_many_of_address$/);
    // Those that are refused hold places too, as long as they say nothing.
    await clients(t, end, ATTACKER, 8);
    const dropped = await client(t, end.port, ATTACKER);
    await dropped.closed;
    assert.equal(dropped.text, '');
    for (const made of [...served, await client(t, end.port, '127.0.0.2')]) {
      made.socket.write(GET);
      await answered(made, /^HTTP\/1\.1 200 [\s\S]*GET \/ \.$/);
    }
    served[0]?.socket.destroy();
  });

  test('a trusted proxy may have any number', async (t) => {
    await using end = await serverFixture(echo, { connectionsPerAddress: 1 }, { isProxy: () => true });
    for (const made of await clients(t, end, ATTACKER, 5)) {
      made.socket.write(GET);
      await answered(made, /^HTTP\/1\.1 200 [\s\S]*GET \/ \.$/);
    }
  });
});

test('[F32] the busiest address is the one with the most connections, if one of them is idle', () => {
  const connections = new ClientConnections<ClientConnection & { readonly name: string }>();
  const made = (name: string, address: string | null, idleSinceRound: number | null) => {
    const connection = { name, address, idleSinceRound, destroy: () => {} };
    connections.add(connection);
    return connection;
  };
  made('proxy', null, 0);
  assert.equal(connections.idleOfBusiest(), null);
  made('one', 'a', 1);
  const busy = ['b', 'b', 'b'].map((address) => made('busy', address, null));
  made('later', 'c', 5);
  const longest = made('longest', 'c', 4);
  assert.equal(connections.idleOfBusiest()?.name, 'longest');
  assert.equal(connections.delete(longest), true);
  assert.equal(connections.delete(longest), false);
  assert.equal(connections.idleOfBusiest()?.name, 'one');
  for (const connection of busy) connections.delete(connection);
  assert.deepEqual([connections.size, connections.sizeOf('b'), connections.sizeOf('c')], [3, 0, 1]);
});

test('[F32] one client is an IPv4 address, or 64 bits of IPv6', () => {
  for (const [address, network] of [
    ['192.0.2.7', '192.0.2.7'],
    ['::ffff:192.0.2.7', '192.0.2.7'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['', ''],
  ] as const) {
    assert.equal(clientNetwork(address), network);
  }
});
