/** One address takes all connections and does nothing with them; others come and want to be served. */
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { SPEECH } from '../../support/upstreams/spoken.ts';
import { type Arena, MODEL } from '../arena.ts';
import { errorCode, send } from '../client.ts';
import { type Attack, summed } from '../trial.ts';

const CONNECTIONS_MAX = 60;
const IDLE = 80;
const SILENT = 20;
const HEADERS_S = 2;
/** After the time limit, on a busy machine. */
const CLOSED_WITHIN_MS = HEADERS_S * 1_000 + 8_000;
const NEWCOMER_EVERY_MS = 100;
/** Another one than the attacker's and the bystander's, where the system has more than one. */
const NEWCOMER = process.platform === 'linux' ? { localAddress: '127.0.0.3' } : {};

function open(arena: Arena): Socket {
  const { hostname, port } = new URL(arena.origin);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => undefined);
  return socket;
}

/** What a connection got that sent nothing; null where it was not closed. */
async function silent(arena: Arena): Promise<string | null> {
  const socket = open(arena);
  let received = '';
  socket.on('data', (piece: Buffer) => {
    received += piece.toString('latin1');
  });
  const closed = new Promise<true>((done) => socket.once('close', () => done(true)));
  const end = await Promise.race([closed, delay(CLOSED_WITHIN_MS, false as const, { ref: false })]);
  socket.destroy();
  return end ? received : null;
}

async function checkSilent(arena: Arena): Promise<void> {
  const ends = await Promise.all(Array.from({ length: SILENT }, () => silent(arena)));
  const said = ends.filter((end) => end !== null && end !== '');
  const kept = ends.filter((end) => end === null).length;
  arena.figure(
    `${SILENT} silent connections: ${kept} not closed, ${said.length} got an answer that they had not asked for`,
  );
  if (said.length > 0) arena.fault(`${said.length} silent connections were told: ${said[0]?.split('\r\n')[0]}`);
  if (kept > 0) arena.fault(`${kept} silent connections were not closed within ${CLOSED_WITHIN_MS / 1_000} s`);
}

/** Opened again as soon as they are closed. */
function keepIdle(arena: Arena, held: Set<Socket>): void {
  const socket = open(arena);
  held.add(socket);
  socket.resume();
  socket.write('GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n');
  socket.once('close', () => {
    held.delete(socket);
    if (arena.goesOn) setTimeout(() => arena.goesOn && keepIdle(arena, held), 250);
  });
}

export const IDLE_CONNECTIONS: Attack = {
  name: 'idle and silent connections',
  tags: 'R87',
  settings: () => ({ limits: { connections: CONNECTIONS_MAX, headers_timeout: HEADERS_S, keep_alive_timeout: 60 } }),
  run: async (arena) => {
    arena.provider.answer = (call) => call.reply(200, SPEECH.chat.whole('Hello.'));
    const key = await arena.key();
    const silence = checkSilent(arena);
    await delay(arena.leftMs / 3);
    const held = new Set<Socket>();
    for (let count = 0; count < IDLE; count++) keepIdle(arena, held);
    await delay(500);
    const codes: string[] = [];
    while (arena.goesOn) {
      const body = SPEECH.chat.request({ model: MODEL, max_tokens: 16 });
      codes.push(errorCode(await send(key, SPEECH.chat.path, body, NEWCOMER)));
      await delay(NEWCOMER_EVERY_MS);
    }
    for (const socket of held) socket.destroy();
    await silence;
    arena.figure(`newcomers beside ${IDLE} idle connections, of ${CONNECTIONS_MAX}: ${summed(codes)}`);
    const refused = codes.filter((code) => code !== '200');
    if (refused.length > 0)
      arena.fault(`${refused.length} of ${codes.length} newcomers were not served: ${summed(refused)}`);
  },
};
