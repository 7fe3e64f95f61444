/** The part of the config file about the request log. */
import type { RequestLogPolicy } from '../core/policy.ts';
import { DAY_MS } from '../core/time.ts';
import { Type } from '../lib/schema-builder.ts';
import { closed } from './schema-parts.ts';

const MIB = 1024 ** 2;

export const RequestLogSchema = Type.Optional(
  Type.Object(
    {
      enabled: Type.Optional(Type.Boolean({ description: 'Whether requests are logged. Default: true.' })),
      keep_days: Type.Optional(
        Type.Number({ minimum: 0.01, maximum: 3650, description: 'How long a request is kept. Default 30.' }),
      ),
      max_bytes: Type.Optional(
        Type.Integer({
          minimum: MIB,
          maximum: 1024 ** 5,
          description: 'The most that the log may take; the oldest requests leave first. Default 2 GiB.',
        }),
      ),
      client_address: Type.Optional(
        Type.Boolean({ description: 'Whether the address of the client is kept. Default: false.' }),
      ),
    },
    { ...closed, description: 'One record per request, without prompt and answer, for `gateway requests`.' },
  ),
);

export interface FileRequestLog {
  readonly enabled?: boolean;
  readonly keep_days?: number;
  readonly max_bytes?: number;
  readonly client_address?: boolean;
}

export function requestLogOf(file: FileRequestLog = {}): RequestLogPolicy {
  return {
    enabled: file.enabled ?? true,
    keepMs: Math.round((file.keep_days ?? 30) * DAY_MS),
    maxBytes: file.max_bytes ?? 2048 * MIB,
    clientAddress: file.client_address ?? false,
  };
}
