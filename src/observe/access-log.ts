/** One line of the process's log per request, when it has ended. No prompt, no answer, no credential. */
import type { Log } from '../core/log.ts';
import type { RequestObserver, RequestRecord } from '../core/request-record.ts';
import { inputTokens } from '../core/usage.ts';

export class AccessLog implements RequestObserver {
  readonly #log: Log;
  readonly #enabled: () => boolean;

  constructor(log: Log, enabled: () => boolean) {
    this.#log = log;
    this.#enabled = enabled;
  }

  started(): void {}

  finished(record: RequestRecord): void {
    if (this.#enabled()) this.#log.access(fieldsOf(record));
  }
}

/** Absent where it does not apply. */
function fieldsOf(record: RequestRecord): object {
  const { receivedAt, usage, attempts } = record;
  const since = (at: number | null): number | undefined => (at === null ? undefined : Math.round(at - receivedAt));
  return {
    requestId: record.requestId,
    keyId: record.keyId,
    clientRequestId: record.clientRequestId ?? undefined,
    clientAddress: record.clientAddress ?? undefined,
    endpoint: record.endpoint,
    webSocket: record.webSocket || undefined,
    model: record.askedModel ?? undefined,
    provider: attempts.at(-1)?.provider,
    attempts: attempts.length,
    status: record.status,
    condition: record.condition ?? undefined,
    stopped: record.stopped ?? undefined,
    streamed: record.streamed,
    durationMs: since(record.endedAt),
    firstByteMs: since(record.firstContentAt ?? record.firstByteAt),
    inputTokens: usage === null ? undefined : inputTokens(usage.tokens),
    outputTokens: usage?.tokens.output,
    costNanos: record.costNanos === null ? undefined : String(record.costNanos),
    bytesIn: record.bytesIn,
    bytesOut: record.bytesOut,
  };
}
