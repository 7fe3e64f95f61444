/** Clients with HTTP/2 that ask for much and never open their window, and clients with HTTP/1.1 that never read. */
import { writeFileSync } from 'node:fs';
import { type ClientHttp2Session, connect } from 'node:http2';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import { certificateOf } from '../../support/certificate.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { SPEECH } from '../../support/upstreams/spoken.ts';
import { type Arena, MODEL } from '../arena.ts';
import { words } from '../money.ts';
import type { Attack } from '../trial.ts';

const SESSIONS = 4;
const STREAMS = 6;
/** What a provider without an end sends until the buffers of the system are full is ten megabytes for this one. */
const PLAIN = 1;
/** Of every time limit that concerns a client. */
const LIMIT_S = 3;
/** After the limits, on a busy machine. */
const CLOSED_WITHIN_MS = LIMIT_S * 1_000 + 12_000;

function request(): string {
  return JSON.stringify(SPEECH.chat.request({ model: MODEL, stream: true }));
}

/** Resolves when the gateway has closed it. */
function neverOpened(arena: Arena, key: string): { readonly closed: Promise<void>; end(): void } {
  const session: ClientHttp2Session = connect(arena.origin, {
    rejectUnauthorized: false,
    settings: { initialWindowSize: 0 },
  });
  session.on('error', () => undefined);
  const closed = new Promise<void>((done) => session.once('close', () => done()));
  for (let index = 0; index < STREAMS; index++) {
    const whole = index % 2 === 0;
    const stream = session.request(
      whole
        ? { ':path': '/openapi.json' }
        : {
            ':method': 'POST',
            ':path': SPEECH.chat.path,
            authorization: `Bearer ${key}`,
            'content-type': 'application/json',
          },
      { endStream: whole },
    );
    stream.on('error', () => undefined);
    if (!whole) stream.end(request());
  }
  return { closed, end: () => session.destroy() };
}

function neverReading(arena: Arena, key: string): { readonly closed: Promise<void>; end(): void } {
  const { hostname, port } = new URL(arena.origin);
  const socket = connectTls({
    host: hostname,
    port: Number(port),
    rejectUnauthorized: false,
    ALPNProtocols: ['http/1.1'],
  });
  socket.on('error', () => undefined);
  socket.pause();
  const body = request();
  socket.write(
    `POST ${SPEECH.chat.path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
  const closed = new Promise<void>((done) => socket.once('close', () => done()));
  // A socket that is paused does not notice its end by itself.
  setTimeout(() => socket.resume(), LIMIT_S * 1_000 + 2_000);
  return { closed, end: () => socket.destroy() };
}

async function openCount(ends: readonly Promise<void>[], withinMs: number): Promise<number> {
  let open = ends.length;
  for (const end of ends) void end.then(() => (open -= 1));
  for (const untilMs = Date.now() + withinMs; open > 0 && Date.now() < untilMs; ) await delay(100);
  return open;
}

export const NEVER_READING: Attack = {
  name: 'clients that never read',
  tags: 'F46',
  settings: () => {
    const folder = temporaryFolder('gateway-abuse-tls');
    const { key, cert } = certificateOf('127.0.0.1');
    const files = { cert: join(folder, 'cert.pem'), key: join(folder, 'key.pem') };
    writeFileSync(files.cert, cert);
    writeFileSync(files.key, key);
    return {
      tls: files,
      streams: { total: LIMIT_S },
      limits: { headers_timeout: LIMIT_S, body_timeout: LIMIT_S, keep_alive_timeout: LIMIT_S },
    };
  },
  run: async (arena) => {
    const frame = SPEECH.chat.text(words(1_000));
    arena.provider.answer = (call) => {
      call.streamHead();
      for (const piece of SPEECH.chat.opening) call.chunk(piece);
      const next = (): void => {
        // As fast as the gateway takes it, and without an end.
        while (!call.socket.destroyed && call.chunk(frame));
      };
      call.socket.on('drain', next);
      next();
    };
    const { key } = await arena.key();
    const sessions = Array.from({ length: SESSIONS }, () => neverOpened(arena, key));
    const plain = Array.from({ length: PLAIN }, () => neverReading(arena, key));
    const openedMs = Date.now();
    const [http2, http1] = await Promise.all([
      openCount(
        sessions.map(({ closed }) => closed),
        CLOSED_WITHIN_MS,
      ),
      openCount(
        plain.map(({ closed }) => closed),
        CLOSED_WITHIN_MS,
      ),
    ]);
    const seconds = ((Date.now() - openedMs) / 1_000).toFixed(1);
    arena.figure(
      `${SESSIONS} HTTP/2 sessions with ${STREAMS} streams each and ${PLAIN} HTTP/1.1 connections; after ${seconds} s ${http2} and ${http1} were open`,
    );
    if (http2 > 0)
      arena.fault(
        `${http2} of ${SESSIONS} HTTP/2 sessions that never read were not closed within ${seconds} s, with limits of ${LIMIT_S} s`,
      );
    if (http1 > 0)
      arena.fault(`${http1} of ${PLAIN} HTTP/1.1 connections that never read were not closed within ${seconds} s`);
    for (const { end } of [...sessions, ...plain]) end();
  },
};
