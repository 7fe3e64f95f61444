/** What a target does not take is lost. Requests go on without it, so the operator would not notice otherwise. */
import { format, inspect } from 'node:util';
import { DiagLogLevel, diag } from '@opentelemetry/api';
import type { Log } from '../../core/log.ts';
import { printable } from '../../lib/printable.ts';

/** The little that exporters of every signal have in common. */
interface Exporter<Items> {
  export(items: Items, done: (result: ExportResult) => void): void;
}

interface ExportResult {
  /** 0 where the target has taken them. */
  readonly code: number;
  readonly error?: ExportError;
}

type ExportError = Error & { readonly code?: unknown };

const WARN_MS = 60_000;
const REASON_CHARACTERS_MAX = 300;

/** `timeoutMs`: what a whole export may take. The SDK gives up one that goes on beyond it, but is not told so here. */
export function warnOfLoss<Items>(
  exporter: Exporter<Items>,
  signal: 'traces' | 'metrics',
  timeoutMs: number,
  log: Log,
): void {
  const warn = onceAMinute((error: ExportError | undefined) =>
    // Not the error itself: it carries what the target answered, at any length.
    log.warn(
      { signal, reason: error && shown(error.message), code: error?.code },
      'the OTLP target does not take what it is sent; requests go on',
    ),
  );
  const send = exporter.export.bind(exporter);
  exporter.export = (items, done) => {
    const late = setTimeout(() => warn(new Error(`no complete answer within ${timeoutMs} ms`)), timeoutMs).unref();
    send(items, (result) => {
      clearTimeout(late);
      if (result.code !== 0) warn(result.error);
      done(result);
    });
  };
}

/**
 * What the SDK finds by itself, such as spans that it drops because the target is too slow for the traffic, and what the target
 * says about those that it has rejected.
 */
export function warnOfDrops(log: Log): void {
  const nothing = (): void => {};
  const warn = onceAMinute((message: string, ...details: readonly unknown[]) =>
    log.warn(
      { reason: shown(format(message, ...details.map(detail))) },
      'a problem with what is sent over OTLP; requests go on',
    ),
  );
  const logger = { error: nothing, warn, info: nothing, debug: nothing, verbose: nothing };
  diag.setLogger(logger, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true });
}

function onceAMinute<Cause extends readonly unknown[]>(warn: (...cause: Cause) => void): (...cause: Cause) => void {
  let warnedAt = Number.NEGATIVE_INFINITY;
  return (...cause) => {
    const now = performance.now();
    if (now - warnedAt < WARN_MS) return;
    warnedAt = now;
    warn(...cause);
  };
}

/** Of a warning of the SDK. Bytes are an answer of the target, which may have any length. */
function detail(value: unknown): string {
  if (typeof value === 'string') return value;
  if (value instanceof Error) return value.message;
  if (value instanceof Uint8Array) return new TextDecoder().decode(value.subarray(0, REASON_CHARACTERS_MAX));
  return inspect(value, { breakLength: Number.POSITIVE_INFINITY, maxStringLength: REASON_CHARACTERS_MAX });
}

function shown(reason: string): string {
  return printable(reason.slice(0, REASON_CHARACTERS_MAX)).slice(0, REASON_CHARACTERS_MAX).toWellFormed();
}
