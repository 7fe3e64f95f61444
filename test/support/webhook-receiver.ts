/** A receiver of webhooks: a real server on this machine, with a certificate that it signs itself, or by http. */
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { type Certificate, certificateOfLocalhost } from './certificate.ts';

export interface Received {
  readonly id: string;
  readonly body: { readonly type: string; readonly timestamp: string; readonly data: Record<string, unknown> };
}

export interface WebhookReceiver {
  readonly url: string;
  /** The authority that signs its certificate. */
  readonly ca: string;
  readonly received: readonly Received[];
  /** What it answers from now on. */
  answer(status: number, headers?: Record<string, string>): void;
  /** Resolves with the first that fits, when it is there. */
  until(fits: (one: Received) => boolean): Promise<Received>;
}

/** Whoever calls it without a valid signature fails the test. Without a certificate it speaks http. */
export async function webhookReceiver(
  t: { after(end: () => void): void },
  secret: () => string,
  certificate: Certificate | null = certificateOfLocalhost(),
): Promise<WebhookReceiver> {
  const received: Received[] = [];
  const waiting = new Set<() => void>();
  let answer: { status: number; headers: Record<string, string> } = { status: 204, headers: {} };
  const listener: RequestListener = async (request, response) => {
    const body = await text(request);
    const { 'webhook-id': id, 'webhook-timestamp': at, 'webhook-signature': signature } = request.headers;
    const bytes = Buffer.from(secret().replace('whsec_', ''), 'base64');
    const expected = createHmac('sha256', bytes).update(`${id}.${at}.${body}`).digest('base64');
    assert.equal(signature, `v1,${expected}`);
    received.push({ id: String(id), body: JSON.parse(body) });
    response.writeHead(answer.status, answer.headers).end();
    for (const wake of [...waiting]) wake();
  };
  const server = certificate === null ? createServer(listener) : createSecureServer(certificate, listener);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return {
    url: `${certificate === null ? 'http' : 'https'}://localhost:${(server.address() as AddressInfo).port}/hook`,
    ca: certificate?.cert ?? '',
    received,
    answer: (status, headers = {}) => {
      answer = { status, headers };
    },
    until: (fits) =>
      new Promise((found) => {
        const wake = (): void => {
          const one = received.find(fits);
          if (one === undefined) return;
          waiting.delete(wake);
          found(one);
        };
        waiting.add(wake);
        wake();
      }),
  };
}
