/** What was captured of requests: compressed for the store, and read again for the operator. */
import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import type { Capture } from '../../core/capture.ts';
import { DAY_MS } from '../../core/time.ts';
import { bytes, flag, integer, type Row, text } from '../../storage/columns.ts';
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
export function capturedIn(row: Row): CapturedContent {
  return {
    id: text(row, 'id'),
    expiresAtMs: integer(row, 'expires_at_ms'),
    request: bytes(row, 'request'),
    response: bytes(row, 'response'),
    cut: flag(row, 'cut'),
  };
}

/** The text of one side, as the client sent or got it. */
export async function textOf(compressed: Uint8Array): Promise<string> {
  return (await decompress(compressed)).toString('utf8');
}
