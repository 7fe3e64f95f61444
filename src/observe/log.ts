/** The process's log: one JSON line per event on standard error, written off the request's path. */
import { type DestinationStream, destination, type LevelWithSilent, type LoggerOptions, pino } from 'pino';
import type { Log } from '../core/log.ts';

/**
 * How much is collected for one write, and how long the first line may wait for it. A busy gateway logs thousands of
 * requests per second, and a write of its own for each took 8 % of W1's CPU. Only the lines of requests wait.
 */
const WRITE_BYTES = 8_192;
const WRITE_WITHIN_MS = 200;

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

export interface LogStream extends DestinationStream {
  /** Writes what was collected. Absent where nothing is. */
  flush?(): void;
}

export function openLog(level: LevelWithSilent, stream: LogStream = new StandardError()): Log {
  const options: LoggerOptions = {
    level,
    base: null,
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    formatters: { level: (label) => ({ level: label }) },
  };
  const log = pino({ ...options, redact: { paths: REDACTED, censor: '[redacted]' } }, stream);
  // Looking for what to redact in a line that can hold no secret took 12 % of W1's main thread.
  const access = pino(options, stream);
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
    access: (fields) => access.info(fields, 'request'),
  };
}

/** Collects lines; the first that waits starts the time for all of them. */
class StandardError implements LogStream {
  readonly #stream = destination({ fd: 2, sync: false, minLength: WRITE_BYTES });
  readonly #onTime = (): void => {
    this.#waiting = false;
    this.flush();
  };
  #waiting = false;

  constructor() {
    // pino does the same for the main thread; a worker thread's last lines are as good.
    process.once('exit', () => this.#stream.flushSync());
  }

  write(line: string): void {
    this.#stream.write(line);
    if (this.#waiting) return;
    this.#waiting = true;
    setTimeout(this.#onTime, WRITE_WITHIN_MS).unref();
  }

  flush(): void {
    this.#stream.flush();
  }
}
