/** Records of requests that were never made, with every member filled in as the test wants it. */
import { ENDPOINTS, type EndpointName, type Format } from '../../src/core/endpoints.ts';
import { AttemptRecord, RequestRecord } from '../../src/core/request-record.ts';
import { entryOf, type RequestEntry } from '../../src/observe/request-log/entry.ts';
import { idAt } from '../../src/observe/request-log/store.ts';

let serial = 0;

export interface RecordParts {
  readonly atMs?: number;
  readonly keyId?: string | null;
  readonly model?: string;
  readonly providers?: readonly string[];
  readonly format?: Format;
  readonly endpoint?: EndpointName;
  readonly status?: number;
  readonly condition?: RequestRecord['condition'];
  readonly durationMs?: number;
  readonly costNanos?: bigint;
  change?(record: RequestRecord): void;
}

export function requestRecord(parts: RecordParts = {}): RequestRecord {
  const atMs = parts.atMs ?? Date.now();
  serial += 1;
  const id = `${idAt(atMs)}${serial.toString(16).padStart(20, '0')}`;
  const record = new RequestRecord(id, ENDPOINTS[parts.endpoint ?? parts.format ?? 'chat'], atMs);
  record.keyId = parts.keyId === undefined ? 'key_1' : parts.keyId;
  record.askedModel = parts.model ?? 'tested';
  record.model = record.askedModel;
  record.status = parts.status ?? 200;
  record.condition = parts.condition ?? null;
  record.costNanos = parts.costNanos ?? null;
  record.endedAt = record.receivedAt + (parts.durationMs ?? 5);
  for (const provider of parts.providers ?? ['one']) {
    record.attempts.push(
      new AttemptRecord({ provider, upstreamModel: 'm', format: 'chat', weight: 1 }, 'passthrough', 1, 0),
    );
  }
  parts.change?.(record);
  return record;
}

export function requestEntry(parts: RecordParts = {}): RequestEntry {
  return entryOf(requestRecord(parts));
}
