/** What the head of a response says about its connection: where the content ends, and whether another request may follow. */
import { Http1Error } from '../../errors.ts';
import { announcesClose, type Framing, isChunked, once } from '../../framing.ts';
import { isNamed } from '../../header-list.ts';
import type { Head } from '../head.ts';

export interface ResponseHead {
  readonly status: number;
  readonly framing: Framing;
  /** How long the connection may wait for the next request; 0: it may not be used again. */
  readonly keepMs: number;
}

/** Where the server does not say how long it keeps a connection. */
const KEEP_MS_DEFAULT = 10_000;
const KEEP_MS_MAX = 600_000;
/** A request must not be on its way when the server closes: so much earlier is the connection given up. */
const KEEP_MARGIN_MS = 1_000;
const STATUS_LINE = /^HTTP\/1\.[01] [1-9][0-9][0-9](?: |$)/;
const LENGTH = /^[0-9]{1,16}$/;
const TIMEOUT = /(?:^|[,; \t])timeout=([0-9]{1,9})/i;
const NO_CONTENT: Framing = { kind: 'length', bytes: 0 };
const CHUNKED: Framing = { kind: 'chunked' };
const UNTIL_CLOSE: Framing = { kind: 'until_close' };

/** Throws an Http1Error for what is not a response, or could be read in two ways. */
export function readResponseHead(head: Head): ResponseHead {
  const { startLine } = head;
  if (!STATUS_LINE.test(startLine)) throw new Http1Error('malformed', 'invalid status line');
  const old = startLine.startsWith('HTTP/1.0');
  const status = Number(startLine.slice(9, 12));
  let coding: string | null = null;
  let length: string | null = null;
  let closes = false;
  let keepMs = KEEP_MS_DEFAULT;
  const { fields } = head;
  for (let i = 0; i < fields.length; i += 2) {
    const name = fields[i] ?? '';
    const value = fields[i + 1] ?? '';
    if (isNamed(name, 'transfer-encoding')) {
      coding = once(coding, value);
    } else if (isNamed(name, 'content-length')) {
      length = once(length, value);
    } else if (isNamed(name, 'connection')) {
      if (announcesClose(value)) closes = true;
    } else if (isNamed(name, 'keep-alive')) {
      keepMs = readHintMs(value);
    }
  }
  if (old || closes) keepMs = 0;
  const framing = framingOf(coding, length, old);
  if (status >= 200 && status !== 204 && status !== 304) {
    return { status, framing, keepMs: framing.kind === 'until_close' ? 0 : keepMs };
  }
  // A server that announces content here may send it as well, where the next response is expected.
  const announced = coding !== null || (framing.kind === 'length' && framing.bytes > 0);
  return { status, framing: NO_CONTENT, keepMs: announced ? 0 : keepMs };
}

function framingOf(coding: string | null, length: string | null, old: boolean): Framing {
  if (isChunked(coding, length, old)) return CHUNKED;
  if (length === null) return UNTIL_CLOSE;
  const bytes = LENGTH.test(length) ? Number(length) : Number.NaN;
  if (!Number.isSafeInteger(bytes)) throw new Http1Error('malformed', 'invalid Content-Length');
  return { kind: 'length', bytes };
}

function readHintMs(value: string): number {
  const seconds = TIMEOUT.exec(value)?.[1];
  if (seconds === undefined) return KEEP_MS_DEFAULT;
  return Math.min(KEEP_MS_MAX, Math.max(0, Number(seconds) * 1_000 - KEEP_MARGIN_MS));
}
