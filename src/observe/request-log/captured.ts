/** What was captured of requests: compressed for the store, and read again for the operator. */
import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import type { Capture } from '../../core/capture.ts';
import { DAY_MS } from '../../core/time.ts';
import type { CapturedContent } from './store.ts';

const compress = promisify(gzip);
const decompress = promisify(gunzip);

/** Off the thread that serves. */
export async function capturedContent(id: string, capture: Capture, nowMs: number): Promise<CapturedContent> {
  const { keepDays, cut } = capture;
  const [request, response] = await Promise.all([compress(capture.request), compress(capture.response)]);
  return { id, expiresAtMs: nowMs + keepDays * DAY_MS, request, response, cut };
}

/** A row of a store. */
export function capturedIn(row: Readonly<Record<string, unknown>>): CapturedContent {
  const { id, expires_at_ms, request, response, cut } = row;
  if (!(request instanceof Uint8Array && response instanceof Uint8Array))
    throw new TypeError('captured content is bytes');
  return { id: String(id), expiresAtMs: Number(expires_at_ms), request, response, cut: Boolean(Number(cut)) };
}

/** The text of one side, as the client sent or got it. */
export async function textOf(bytes: Uint8Array): Promise<string> {
  return (await decompress(bytes)).toString('utf8');
}
