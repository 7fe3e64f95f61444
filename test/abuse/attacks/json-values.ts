/** Bodies of millions of tiny values, up to the largest body that is taken, from keys with and without credit. */
import type { CreatedKey } from '../../../src/admin/keys/schema.ts';
import { type Arena, MODEL } from '../arena.ts';
import { errorCode, send } from '../client.ts';
import { type Attack, summed } from '../trial.ts';

/** A little less than `limits.body_bytes`. */
const LARGEST = 33_500_000;
/** Each with how many are sent at once: what waits to be judged has to be somewhere. */
const SIZES = [
  [3_000_000, 4],
  [12_000_000, 3],
  [LARGEST, 1],
] as const;
const POOR = '0.000001';
const WITHIN_MS = 20_000;

type Filling = (bytes: number) => string;
const list =
  (piece: string): Filling =>
  (bytes) =>
    `[${`${piece},`.repeat(Math.floor(bytes / (piece.length + 1)))}${piece}]`;

const FILLINGS: Readonly<Record<string, { readonly member: string; readonly value: Filling }>> = {
  'empty objects as messages': { member: 'messages', value: list('{}') },
  'empty lists': { member: 'extra', value: list('[]') },
  numbers: { member: 'extra', value: list('1') },
  'empty strings as tools': { member: 'tools', value: list('""') },
  'tiny content parts': {
    member: 'messages',
    value: (bytes) => `[{"role":"user","content":${list('{"type":"text","text":""}')(bytes)}}]`,
  },
  'members of one object': { member: 'metadata', value: (bytes) => `{${members(bytes)}}` },
  'lists within lists': { member: 'extra', value: (bytes) => '['.repeat(bytes / 2) + ']'.repeat(bytes / 2) },
};

function members(bytes: number): string {
  const pieces: string[] = [];
  for (let length = 0, number = 0; length < bytes - 20; number++) {
    const piece = `"k${number.toString(36)}":0`;
    pieces.push(piece);
    length += piece.length + 1;
  }
  return pieces.join(',');
}

function bodyOf(member: string, value: string): Buffer {
  const others = member === 'messages' ? '' : '"messages":[{"role":"user","content":"Hello"}],';
  return Buffer.from(`{"model":"${MODEL}",${others}"${member}":${value}}`);
}

async function sendSome(
  arena: Arena,
  keys: readonly CreatedKey[],
  name: string,
  body: Buffer,
  atOnce: number,
): Promise<void> {
  const answers = await Promise.all(
    Array.from({ length: atOnce }, (_none, index) => {
      const key = keys[index % keys.length];
      if (key === undefined) throw new Error('nobody asks');
      return send(key, '/v1/chat/completions', body, { withinMs: WITHIN_MS });
    }),
  );
  const what = `${(body.length / 1e6).toFixed(1)} MB of ${name}, ${atOnce} at once`;
  const slowest = Math.round(Math.max(...answers.map(({ ms }) => ms)));
  const codes = answers.map(errorCode);
  arena.figure(`${what}: ${summed(codes)}; ${slowest} ms`);
  const wrong = codes.filter((code) => !/^(400|402|413)\b/.test(code));
  if (wrong.length > 0) arena.fault(`${what}: expected a refusal, got ${summed(wrong)}`);
}

export const JSON_VALUES: Attack = {
  name: 'millions of JSON values',
  tags: 'F43',
  run: async (arena) => {
    arena.provider.answer = (call) => call.reset();
    const keys = [await arena.key({ credit: POOR }), await arena.key()];
    for (const [size, atOnce] of SIZES) {
      for (const [name, { member, value }] of Object.entries(FILLINGS)) {
        if (!arena.goesOn) return;
        await sendSome(arena, keys, name, bodyOf(member, value(size)), atOnce);
      }
    }
  },
};
