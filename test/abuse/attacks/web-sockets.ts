/**
 * A thousand WebSockets that are opened and left alone, handshakes that never end, frames that cannot be, messages without end, and
 * clients that ask and read nothing; others come and want to be served.
 */
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { WebSocket } from 'ws';
import type { CreatedKey } from '../../../src/admin/keys/schema.ts';
import { webSocketOf } from '../../support/socket-client.ts';
import { SPEECH } from '../../support/upstreams/spoken.ts';
import { type Arena, MODEL } from '../arena.ts';
import { errorCode, send } from '../client.ts';
import { type Attack, summed } from '../trial.ts';

const KEYS = 16;
/** As many as one key may have by default, so that one more is refused. */
const OF_A_KEY = 64;
const IDLE = KEYS * OF_A_KEY;
const HANDSHAKES = 20;
const FRAMES = 4;
const NEVER_READING = 4;
const NEWCOMER_EVERY_MS = 100;
const PIECE = Buffer.alloc(16_384, 0x78);

/** Whether it was let in. */
async function open(key: CreatedKey, held: Set<WebSocket>): Promise<boolean> {
  const webSocket = webSocketOf(key);
  webSocket.on('error', () => undefined);
  const opened = once(webSocket, 'open').then(
    () => true,
    () => false,
  );
  const refused = once(webSocket, 'unexpected-response').then(
    () => false,
    () => false,
  );
  const isOpen = await Promise.race([opened, refused]);
  if (isOpen) held.add(webSocket);
  else webSocket.terminate();
  webSocket.once('close', () => held.delete(webSocket));
  return isOpen;
}

/** Never complete. */
function slowHandshake(arena: Arena): () => void {
  const { hostname, port } = new URL(arena.origin);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => undefined);
  socket.write('GET /v1/responses HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n');
  return () => socket.destroy();
}

/** A frame of the largest length that is sent piece by piece, or one that cannot be. */
async function badFrames(arena: Arena, key: CreatedKey): Promise<void> {
  while (arena.goesOn) {
    const webSocket = webSocketOf(key);
    webSocket.on('error', () => undefined);
    const upgraded = once(webSocket, 'upgrade').catch(() => []);
    const [response] = await upgraded;
    if (response !== undefined) {
      const head = Buffer.from([0x81, 0xff, 0, 0, 0, 0, 1, 0xf0, 0, 0, 0, 0, 0, 0]);
      response.socket.write(arena.random.chance(50) ? head : Buffer.from([0xf3, 0xff, 1, 2, 3]));
      for (let i = 0; i < 20 && arena.goesOn; i++) {
        response.socket.write(PIECE);
        await delay(20);
      }
    }
    webSocket.terminate();
    await delay(100);
  }
}

async function neverReading(arena: Arena, key: CreatedKey): Promise<void> {
  const held = new Set<WebSocket>();
  while (arena.goesOn) {
    if (held.size === 0 && !(await open(key, held))) return;
    for (const webSocket of held) {
      webSocket.pause();
      const input = 'some words '.repeat(1_000);
      const create = { type: 'response.create', model: MODEL, input, max_output_tokens: 2_000 };
      if (webSocket.bufferedAmount < 1_000_000) {
        webSocket.send(JSON.stringify(create));
        webSocket.send(JSON.stringify({ type: 'response.steer', previous_response_id: 'r', input }));
        webSocket.ping();
      }
    }
    await delay(25);
  }
  for (const webSocket of held) webSocket.terminate();
}

export const WEB_SOCKETS: Attack = {
  name: 'WebSockets',
  tags: 'R80',
  settings: () => ({ limits: { headers_timeout: 5, connections: 4_000, websockets: IDLE + 20 } }),
  run: async (arena) => {
    arena.provider.answer = (call) => {
      if (call.requestLine.includes('/responses')) {
        const { opening, text, closing } = SPEECH.responses;
        call.stream([...opening, ...Array.from({ length: 50 }, () => text('some words '.repeat(700))), ...closing]);
      } else call.reply(200, SPEECH.chat.whole('Hello.'));
    };
    const held = new Set<WebSocket>();
    const keys = await Promise.all(Array.from({ length: KEYS }, () => arena.key()));
    const [reader = await arena.key(), sender = await arena.key()] = await Promise.all([arena.key(), arena.key()]);
    const handshakes = Array.from({ length: HANDSHAKES }, () => slowHandshake(arena));
    let refused = 0;
    for (const key of keys) {
      const opened = await Promise.all(Array.from({ length: OF_A_KEY + 1 }, () => open(key, held)));
      refused += opened.filter((isOpen) => !isOpen).length;
    }
    arena.figure(`${held.size} idle WebSockets, ${refused} refused`);
    const busy = [
      ...Array.from({ length: NEVER_READING }, () => neverReading(arena, reader)),
      ...Array.from({ length: FRAMES }, () => badFrames(arena, sender)),
    ];
    const codes: string[] = [];
    while (arena.goesOn) {
      const body = SPEECH.chat.request({ model: MODEL, max_tokens: 16 });
      codes.push(errorCode(await send(keys[0] ?? reader, SPEECH.chat.path, body)));
      await delay(NEWCOMER_EVERY_MS);
    }
    await Promise.all(busy);
    const idle = [...held].filter(({ readyState }) => readyState === WebSocket.OPEN).length;
    for (const webSocket of held) webSocket.terminate();
    for (const end of handshakes) end();
    arena.figure(`requests beside them: ${summed(codes)}`);
    if (idle !== IDLE || refused !== KEYS) arena.fault(`${idle} idle WebSockets are open, and ${refused} were refused`);
    const unserved = codes.filter((code) => code !== '200');
    if (unserved.length > 0) arena.fault(`${unserved.length} of ${codes.length} requests failed: ${summed(unserved)}`);
  },
};
