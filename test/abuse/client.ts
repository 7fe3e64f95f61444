/** Requests of an attacker, each on a connection of its own, and what comes back. */
import { request } from 'node:http';
import type { CreatedKey } from '../../src/admin/keys/schema.ts';

export interface Answer {
  /** 0 where none came. */
  readonly status: number;
  readonly requestId: string;
  readonly text: string;
  /** Whether the response came to its own end. */
  readonly complete: boolean;
  readonly ms: number;
}

export interface SendOptions {
  readonly headers?: Readonly<Record<string, string>>;
  /** Told of each piece; leaves where it says so. */
  enough?(piece: Buffer): boolean;
  /** Leaves after so much time. */
  readonly withinMs?: number;
  readonly localAddress?: string;
}

const WITHIN_MS = 30_000;

/** One POST. Never rejects. */
export function send(
  key: CreatedKey,
  path: string,
  body: object | string | Buffer,
  { headers, enough, withinMs = WITHIN_MS, localAddress }: SendOptions = {},
): Promise<Answer> {
  const bytes =
    typeof body === 'string' || Buffer.isBuffer(body) ? Buffer.from(body) : Buffer.from(JSON.stringify(body));
  const sentMs = performance.now();
  return new Promise((done) => {
    const pieces: Buffer[] = [];
    let status = 0;
    let requestId = '';
    const end = (complete: boolean): void =>
      done({ status, requestId, complete, text: Buffer.concat(pieces).toString(), ms: performance.now() - sentMs });
    const sent = request(key.origin + path, {
      method: 'POST',
      agent: false,
      ...(localAddress === undefined ? {} : { localAddress }),
      headers: {
        authorization: `Bearer ${key.key}`,
        'content-type': 'application/json',
        'content-length': bytes.length,
        ...headers,
      },
      signal: AbortSignal.timeout(withinMs),
    });
    sent.once('response', (response) => {
      status = response.statusCode ?? 0;
      requestId = String(response.headers['x-request-id'] ?? '');
      response.on('data', (piece: Buffer) => {
        pieces.push(piece);
        if (enough?.(piece) === true) sent.destroy();
      });
      response.once('close', () => end(response.complete));
      response.on('error', () => undefined);
    });
    sent.once('error', () => {
      if (status === 0) end(false);
    });
    sent.end(bytes);
  });
}

/** The code of an error in either envelope. */
export function errorCode({ status, text }: Answer): string {
  return `${status} ${/"code":\s*"(\w+)"/.exec(text)?.[1] ?? /"type":\s*"(\w+_error)"/.exec(text)?.[1] ?? ''}`.trim();
}
