/** What the public listener needs of a gateway where it refuses every request by itself. */
import { type Clock, systemClock } from '../../src/core/clock.ts';
import { NO_OBSERVER } from '../../src/core/request-record.ts';
import type { Gateway } from '../../src/exchange/gateway.ts';

export const REFUSING_GATEWAY = {
  clock: systemClock() as Clock,
  observer: NO_OBSERVER,
  policy: () => ({ requestLog: { clientAddress: false } }),
} as Gateway;
