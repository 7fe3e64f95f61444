/** A server with TLS, and clients of HTTP/2 for it. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type ClientHttp2Session, type ClientHttp2Stream, connect } from 'node:http2';
import type { TestContext } from 'node:test';
import type { ServerLimits, ServerResponse } from '../../../../src/transport/server.ts';
import { type Certificate, certificateOfLocalhost } from '../../../support/certificate.ts';
import {
  type GatedServer,
  type Handler,
  type ServerFixture,
  type ServerFixtureOptions,
  serverFixture,
} from './fixture.ts';

export const tls: Certificate = certificateOfLocalhost();

/** Where this process was held up, the server may have given a handshake up: then there are others. */
const HANDSHAKES_MAX = 5;

export async function session(t: TestContext, port: number): Promise<ClientHttp2Session> {
  for (let tries = 1; ; tries += 1) {
    const client = newSession(t, port);
    const connected = once(client, 'connect');
    const closed = once(client, 'close').then(() => null);
    if (tries === HANDSHAKES_MAX) await connected;
    if ((await Promise.race([connected, closed]).catch(() => null)) !== null) return client;
  }
}

/** A request that has arrived, on a connection of its own: it is sent as soon as that is there. */
export async function asked(
  t: TestContext,
  { end, next }: GatedServer,
): Promise<{ client: ClientHttp2Session; stream: ClientHttp2Stream; response: ServerResponse }> {
  for (let tries = 1; ; tries += 1) {
    const client = newSession(t, end.port);
    const stream = client.request({ ':path': '/' });
    stream.on('error', () => {});
    const closed = new Promise<null>((resolve) => client.once('close', () => resolve(null)));
    const arrived = await Promise.race([next(), closed]);
    if (arrived !== null) return { client, stream, response: arrived.response };
    assert.notEqual(tries, HANDSHAKES_MAX, 'no request arrives');
  }
}

function newSession(t: TestContext, port: number): ClientHttp2Session {
  const client = connect(`https://localhost:${port}`, { ca: tls.cert, host: '127.0.0.1' });
  client.on('error', () => {});
  t.after(() => client.destroy());
  return client;
}

export interface Received {
  readonly status: number;
  readonly headers: Record<string, unknown>;
  readonly text: string;
}

export async function received(stream: ClientHttp2Stream): Promise<Received> {
  stream.on('error', () => {});
  const [headers] = (await once(stream, 'response')) as [Record<string, unknown>];
  let text = '';
  for await (const piece of stream) text += piece;
  return { status: Number(headers[':status']), headers, text };
}

export async function secureServer(
  t: TestContext,
  handler: Handler,
  limits: Partial<ServerLimits> = {},
  options: ServerFixtureOptions = {},
): Promise<ServerFixture> {
  const end = await serverFixture(handler, limits, { ...options, tls });
  t.after(() => end[Symbol.asyncDispose]());
  return end;
}
