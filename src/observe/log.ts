/** The process's log: one JSON line per event on standard error, written off the request's path. */
import { type DestinationStream, destination, type LevelWithSilent, pino } from 'pino';
import type { Log } from '../core/log.ts';

export function openLog(level: LevelWithSilent, stream: DestinationStream = destination({ fd: 2, sync: false })): Log {
  return pino(
    {
      level,
      base: null,
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
      redact: {
        paths: [
          'authorization',
          '*.authorization',
          '*["x-api-key"]',
          'apiKey',
          '*.apiKey',
          'token',
          '*.token',
          'cookie',
          '*.cookie',
          '*["set-cookie"]',
        ],
        censor: '[redacted]',
      },
    },
    stream,
  );
}
