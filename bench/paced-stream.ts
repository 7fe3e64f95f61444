/** One paced stream, read as it arrives: when its first byte came, and how far its chunks were apart. */
import { type Agent, request } from 'node:http';
import { MARK } from './requests.ts';

export interface PacedStream {
  readonly firstByteMs: number;
  /** Between each chunk and the next; chunks that arrive together are 0 apart. */
  readonly gapsMs: readonly number[];
}

export interface PacedOrder {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly agent: Agent;
  readonly chunks: number;
  /** What the last bytes of a complete stream contain. */
  readonly terminal: string;
}

const MARK_BYTE = MARK.charCodeAt(0);

/** Rejects where the stream is refused or not complete. */
export function readPaced(order: PacedOrder): Promise<PacedStream> {
  const { url, body, agent, chunks, terminal } = order;
  return new Promise((resolve, reject) => {
    const arrivalsMs: number[] = [];
    let firstMs: number | null = null;
    let tail = '';
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body), ...order.headers };
    const call = request(url, { method: 'POST', agent, headers }, (response) => {
      response.on('error', reject);
      response.on('data', (data: Buffer) => {
        const nowMs = performance.now();
        firstMs ??= nowMs;
        for (const byte of data) if (byte === MARK_BYTE) arrivalsMs.push(nowMs);
        tail = (tail + data.toString('latin1')).slice(-200);
      });
      response.on('end', () => {
        if (response.statusCode !== 200 || arrivalsMs.length !== chunks || !tail.includes(terminal)) {
          reject(new Error(`status ${response.statusCode}, ${arrivalsMs.length} of ${chunks} chunks: ${tail}`));
          return;
        }
        const gapsMs = arrivalsMs.slice(1).map((atMs, index) => atMs - (arrivalsMs[index] ?? atMs));
        resolve({ firstByteMs: (firstMs ?? startedAtMs) - startedAtMs, gapsMs });
      });
    });
    call.on('error', reject);
    const startedAtMs = performance.now();
    call.end(body);
  });
}
