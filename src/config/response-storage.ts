/** The part of the config file that says whether and for how long responses are kept. */
import type { ResponseStorage } from '../core/policy.ts';
import { HOUR_MS } from '../core/time.ts';
import { Type } from '../lib/schema-builder.ts';
import { closed } from './schema-parts.ts';

const MIB = 1024 ** 2;
const MAX_HOURS = 24 * 365;

export const ResponseStorageSchema = Type.Optional(
  Type.Object(
    {
      store: Type.Optional(
        Type.Boolean({
          description:
            'Whether responses are kept, unless a request says `store: false`. false: `previous_response_id` and item references are refused. Default: true.',
        }),
      ),
      keep_hours: Type.Optional(
        Type.Number({
          minimum: 0.001,
          maximum: MAX_HOURS,
          description: 'How long a response is kept after its last use. Default 24.',
        }),
      ),
      record_bytes: Type.Optional(
        Type.Integer({
          minimum: 1024,
          maximum: 16 * MIB,
          description: 'The most that one response may have, with the input that was new in it. Default 1 MiB.',
        }),
      ),
      key_bytes: Type.Optional(
        Type.Integer({
          minimum: 1024,
          maximum: 1024 * MIB,
          description: 'The most that all responses of a key may have; the oldest leave first. Default 64 MiB.',
        }),
      ),
    },
    { ...closed, description: 'Responses that the gateway keeps for the keys that received them.' },
  ),
);

export interface FileResponseStorage {
  readonly store?: boolean;
  readonly keep_hours?: number;
  readonly record_bytes?: number;
  readonly key_bytes?: number;
}

export function responseStorageOf(file: FileResponseStorage = {}): ResponseStorage {
  return {
    store: file.store ?? true,
    keepMs: Math.round((file.keep_hours ?? 24) * HOUR_MS),
    recordBytes: file.record_bytes ?? MIB,
    keyBytes: file.key_bytes ?? 64 * MIB,
  };
}
