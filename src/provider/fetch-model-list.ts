/** Fetches a provider's model list: one cheap call that also tests the address, the credential and the clock. */
import type { Dispatcher } from 'undici';
import { errorCode } from '../lib/error-code.ts';
import { arrayAt, isObject, parseJson } from '../lib/json.ts';
import { hasMoreValues } from '../lib/json-values.ts';
import { request } from '../transport/client/undici.ts';
import { ANSWER_VALUES_MAX } from '../wire/json/answer-values.ts';
import type { ModelList } from './adapters.ts';

const ANSWER_BYTES_MAX = 16 * 1_024 * 1_024;
/** A Date header has whole seconds, cut off. */
const HALF_SECOND_MS = 500;

export type ModelListResult = Unreachable | Answered;

interface Unreachable {
  readonly kind: 'unreachable';
  /** The error code, e.g. `ECONNREFUSED`, or a sentence. */
  readonly reason: string;
}

export interface Answered {
  readonly kind: 'answered';
  readonly status: number;
  readonly body: string;
  readonly tookMs: number;
  /** How far our clock is ahead of the provider's; null where its answer has no date. */
  readonly skewMs: number | null;
  /** Null where the answer is not a model list, or only a part of one. */
  readonly ids: ReadonlySet<string> | null;
}

export async function fetchModelList(
  { origin, path, headers }: ModelList['destination'],
  dispatcher: Dispatcher,
  timeoutMs: number,
  nowMs: () => number,
): Promise<ModelListResult> {
  const startedAtMs = nowMs();
  try {
    const response = await request(dispatcher, {
      origin,
      path,
      method: 'GET',
      headers,
      signal: AbortSignal.timeout(timeoutMs),
    });
    const headersAtMs = nowMs();
    const { date } = response.headers;
    const theirsMs = typeof date === 'string' ? Date.parse(date) : Number.NaN;
    const bytes = await readBytes(response.body);
    return {
      kind: 'answered',
      status: response.statusCode,
      body: bytes.toString(),
      tookMs: headersAtMs - startedAtMs,
      skewMs: Number.isNaN(theirsMs) ? null : (startedAtMs + headersAtMs) / 2 - (theirsMs + HALF_SECOND_MS),
      ids: response.statusCode === 200 ? idsIn(bytes) : null,
    };
  } catch (error) {
    return { kind: 'unreachable', reason: reasonOf(error, timeoutMs) };
  }
}

async function readBytes(body: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > ANSWER_BYTES_MAX) break;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function idsIn(list: Buffer): ReadonlySet<string> | null {
  const parsed = hasMoreValues(list, ANSWER_VALUES_MAX) ? undefined : parseJson(list.toString());
  // Some servers send the list bare.
  const entries = Array.isArray(parsed) ? parsed : isObject(parsed) ? arrayAt(parsed, 'data') : undefined;
  if (!entries || (isObject(parsed) && parsed.has_more === true)) return null;
  const ids = entries.flatMap((entry: unknown) => (isObject(entry) && typeof entry.id === 'string' ? [entry.id] : []));
  return ids.length === 0 ? null : new Set(ids);
}

/** Whether the list has the model, under its own name or one that the provider treats as the same. */
export function includesModel(ids: ReadonlySet<string>, upstreamModel: string): boolean {
  if ([upstreamModel, `models/${upstreamModel}`, `${upstreamModel}:latest`].some((name) => ids.has(name))) return true;
  // An alias stands for the newest dated version, which alone is listed.
  const dated = `${upstreamModel.replace(/-latest$/, '')}-`;
  return [...ids].some((id) => id.startsWith(dated) && /^\d{4}-?\d{2}-?\d{2}$/.test(id.slice(dated.length)));
}

function reasonOf(error: unknown, timeoutMs: number): string {
  if (!(error instanceof Error)) return String(error);
  if (error.name === 'TimeoutError') return `no answer within ${timeoutMs / 1000} s`;
  const inner = error instanceof AggregateError ? error.errors[0] : error;
  return errorCode(inner) ?? error.message;
}
