/** Bodies in chunks of a few bytes, sent as fast as they are taken, with and without a credential. */
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { CreatedKey } from '../../../src/admin/keys/schema.ts';
import type { Arena } from '../arena.ts';
import { type Attack, summed } from '../trial.ts';

const CONNECTIONS = 12;
const BYTES_EACH = 12_000_000;
const CHUNKS_AT_ONCE = 10_000;
const WITHIN_MS = 10_000;
const POOR = '0.000001';

interface Sent {
  readonly path: string;
  readonly key: CreatedKey | null;
  readonly chunkBytes: number;
  /** Chunks of a request, where several are pipelined; null: one without an end. */
  readonly chunks: number | null;
}

function headOf({ path, key }: Sent): string {
  const credential = key === null ? '' : `Authorization: Bearer ${key.key}\r\n`;
  return `POST ${path} HTTP/1.1\r\nHost: a\r\n${credential}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`;
}

/** The status of the first answer, and how it ended. */
function flood(arena: Arena, what: Sent): Promise<string> {
  const { hostname, port } = new URL(arena.origin);
  const chunk = `${what.chunkBytes.toString(16)}\r\n${' '.repeat(what.chunkBytes)}\r\n`;
  const head = headOf(what);
  const piece = Buffer.from(
    what.chunks === null ? chunk.repeat(CHUNKS_AT_ONCE) : `${head}${chunk.repeat(what.chunks)}0\r\n\r\n`,
  );
  return new Promise((done) => {
    const socket = connect(Number(port), hostname);
    let status = 'no answer';
    let sent = 0;
    const late = setTimeout(() => socket.destroy(new Error('late')), WITHIN_MS);
    let end = 'closed';
    const write = (): void => {
      while (sent < BYTES_EACH && !socket.destroyed) {
        sent += piece.length;
        if (!socket.write(piece)) return;
      }
    };
    socket.on('error', (error) => {
      if (error.message === 'late') end = 'open';
    });
    socket.on('data', (bytes) => {
      if (status === 'no answer') status = bytes.toString('latin1').slice(9, 12);
    });
    socket.on('close', () => {
      clearTimeout(late);
      done(`${status} ${end}`);
    });
    socket.on('drain', write);
    socket.on('connect', () => {
      if (what.chunks === null) socket.write(head);
      write();
    });
  });
}

export const TINY_CHUNKS: Attack = {
  name: 'bodies in tiny chunks',
  tags: 'F33',
  run: async (arena) => {
    const path = '/v1/chat/completions';
    const kinds: readonly Sent[] = [
      { path, key: null, chunkBytes: 1, chunks: null },
      { path: '/nowhere', key: null, chunkBytes: 1, chunks: null },
      { path, key: null, chunkBytes: 1, chunks: 4_000 },
      { path, key: await arena.key(), chunkBytes: 1, chunks: null },
      { path, key: await arena.key({ credit: POOR }), chunkBytes: 1, chunks: null },
    ];
    for (const what of kinds) {
      if (!arena.goesOn) return;
      const seen = await Promise.all(Array.from({ length: CONNECTIONS }, () => flood(arena, what)));
      const name = `${what.key === null ? 'no key' : 'a key'}, ${what.path}, ${what.chunks ?? 'endless'} chunks`;
      arena.figure(`${name}: ${summed(seen)}`);
      if (seen.some((end) => end.endsWith('open'))) arena.fault(`${name}: a connection was not ended`);
      await delay(100);
    }
  },
};
