/** The process's log: one JSON line per event on standard error, or one for people at a terminal, written off the request's path. */
import { type DestinationStream, type LevelWithSilent, type LoggerOptions, pino } from 'pino';
import type { Log } from '../core/log.ts';
import { descriptor, LineWriter } from './line-writer.ts';
import { terminalLine } from './terminal-log.ts';

const REDACTED = [
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
];

interface LogStream extends DestinationStream {
  /** Writes what was collected. Absent where nothing is. */
  flush?(): void;
}

export function openLog(level: LevelWithSilent, stream: LogStream = standardError()): Log {
  const options: LoggerOptions = {
    level,
    base: null,
    timestamp: () => `,"time":"${timestamp()}"`,
    formatters: { level: (label) => ({ level: label }) },
    redact: { paths: REDACTED, censor: '[redacted]' },
  };
  const log = pino(options, stream);
  const toldAccess = log.isLevelEnabled('info');
  const line =
    (name: 'debug' | 'info' | 'warn' | 'error') =>
    (fields: object, message: string): void => {
      log[name](fields, message);
      stream.flush?.();
    };
  return {
    debug: line('debug'),
    info: line('info'),
    warn: line('warn'),
    error: line('error'),
    // Looking for what to redact in a line that can hold no secret took 12 % of W1's main thread. Only these lines wait for others.
    access: (fields) => {
      if (toldAccess) stream.write(accessLine(fields));
    },
  };
}

/** As pino writes a line. */
function accessLine(fields: object): string {
  return `{"level":"info","time":"${timestamp()}",${JSON.stringify(fields).slice(1, -1)},"msg":"request"}\n`;
}

let lastMs = 0;
let lastText = '';

/** Of one millisecond there are several lines in a busy gateway. */
function timestamp(): string {
  const nowMs = Date.now();
  if (nowMs !== lastMs) {
    lastMs = nowMs;
    lastText = new Date(nowMs).toISOString();
  }
  return lastText;
}

function standardError(): LogStream {
  const lines = new LineWriter(descriptor(2));
  process.once('exit', () => lines.flushSync());
  if (process.stderr.isTTY !== true) return lines;
  return { write: (line) => lines.write(terminalLine(line)), flush: () => lines.flush() };
}
