/** The part of the config file that says how often the ledger is audited. */
import { HOUR_MS } from '../core/time.ts';
import { Type } from '../lib/schema-builder.ts';
import { closed } from './schema-parts.ts';

const DEFAULT_HOURS = 24;
const MAX_HOURS = 24 * 366;

export const AuditSchema = Type.Optional(
  Type.Object(
    {
      every_hours: Type.Optional(
        Type.Number({
          minimum: 0,
          maximum: MAX_HOURS,
          description: `How often every balance is computed again from its entries; 0: only on request. Default ${DEFAULT_HOURS}.`,
        }),
      ),
    },
    { ...closed, description: 'The audit of the ledger. One of the gateways on a database runs it, beside requests.' },
  ),
);

export interface FileAudit {
  readonly every_hours?: number;
}

/** Null: only on request. */
export function auditEveryMs({ every_hours: hours = DEFAULT_HOURS }: FileAudit = {}): number | null {
  return hours === 0 ? null : Math.max(1, Math.round(hours * HOUR_MS));
}
