/** The part of the config file that says for how long usage records are kept. */
import { DAY_MS } from '../core/time.ts';
import { Type } from '../lib/schema-builder.ts';
import { closed } from './schema-parts.ts';

const MAX_DAYS = 36_500;

export const UsageRecordsSchema = Type.Optional(
  Type.Object(
    {
      keep_days: Type.Optional(
        Type.Number({
          minimum: 1,
          maximum: MAX_DAYS,
          description:
            'How long the usage record of each single request is kept. Usage reports and totals do not need it, and stay. Default: for ever.',
        }),
      ),
    },
    { ...closed, description: 'The record of each request that was answered, from which usage reports are made.' },
  ),
);

export interface FileUsageRecords {
  readonly keep_days?: number;
}

/** Null: for ever. */
export function usageKeepMs({ keep_days: days }: FileUsageRecords = {}): number | null {
  return days === undefined ? null : Math.round(days * DAY_MS);
}
