/** Sends an alert to a webhook, signed as Standard Webhooks has it (https://www.standardwebhooks.com). */
import { createHmac, randomBytes } from 'node:crypto';
import { request } from 'node:https';
import { rootCertificates } from 'node:tls';
import type { Address } from '../core/public-address.ts';
import { checkedAddress, type Resolve } from './address.ts';

interface WebhookCall {
  readonly url: string;
  readonly secret: string;
  /** The same for every attempt, so that the receiver can tell a repeat. */
  readonly id: string;
  readonly body: string;
}

export interface WebhookOptions {
  /** Whether it may lead to this machine or into a private network. */
  readonly allowPrivate: boolean;
  /** Authorities that may sign its certificate besides the usual ones, PEM; null: no others. */
  readonly ca: string | null;
  readonly resolve?: Resolve;
  /** How long the receiver may take. */
  readonly timeoutMs?: number;
  nowMs(): number;
}

/** The receiver does not want it, now or ever: no further attempt is made. */
export class WebhookGone extends Error {
  override name = 'WebhookGone';
}

const TIMEOUT_MS = 15_000;
const SECRET_MARK = 'whsec_';
const SECRET_BYTES = 32;

export function newWebhookSecret(): string {
  return `${SECRET_MARK}${randomBytes(SECRET_BYTES).toString('base64')}`;
}

/** Null where the address can be a webhook's. */
export function wrongWebhookUrl(text: string): string | null {
  const url = URL.parse(text);
  if (url === null || url.protocol !== 'https:') return 'must be an https address';
  if (url.username !== '' || url.password !== '') return 'must not hold credentials: the signature proves who calls';
  return url.hash === '' ? null : 'must have no fragment';
}

export function signature(secret: string, id: string, timestamp: number, body: string): string {
  const key = secret.startsWith(SECRET_MARK)
    ? Buffer.from(secret.slice(SECRET_MARK.length), 'base64')
    : Buffer.from(secret);
  return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`;
}

/** Resolves when the receiver has answered with a 2xx. A redirect is a failure: it could lead anywhere. */
export async function callWebhook(call: WebhookCall, options: WebhookOptions): Promise<void> {
  const { allowPrivate, resolve, timeoutMs = TIMEOUT_MS } = options;
  const url = new URL(call.url);
  const late = new Error(`no answer within ${timeoutMs / 1_000} s`);
  const signal = AbortSignal.timeout(timeoutMs);
  // A name server may hang as well as a receiver.
  const address = await Promise.race([checkedAddress(url.hostname, allowPrivate, resolve), abortedBy(signal, late)]);
  const timestamp = Math.floor(options.nowMs() / 1_000);
  const status = await post(url, address, { ca: options.ca, signal, late }, call.body, {
    'content-type': 'application/json',
    'user-agent': 'model-gateway',
    'webhook-id': call.id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': signature(call.secret, call.id, timestamp, call.body),
  });
  if (status >= 200 && status < 300) return;
  if (status === 410) throw new WebhookGone('the receiver answered with status 410 (gone)');
  throw new Error(
    `the receiver answered with status ${status}${status < 400 ? ', and redirects are not followed' : ''}`,
  );
}

function post(
  url: URL,
  { address, family }: Address,
  { ca, signal, late }: { readonly ca: string | null; readonly signal: AbortSignal; readonly late: Error },
  body: string,
  headers: Readonly<Record<string, string>>,
): Promise<number> {
  return new Promise((done, failed) => {
    const call = request(url, {
      method: 'POST',
      agent: false,
      headers: { ...headers, 'content-length': Buffer.byteLength(body) },
      signal,
      // The name is not resolved again: it could have another address by now.
      lookup: (_host, options, found) =>
        options.all === true ? found(null, [{ address, family }]) : found(null, address, family),
      ...(ca !== null && { ca: [...rootCertificates, ca] }),
    });
    call.on('response', (response) => {
      // What the receiver says besides is of no interest, and might be endless.
      response.destroy();
      done(response.statusCode ?? 0);
    });
    call.on('error', (error) => failed(signal.aborted ? late : error));
    call.end(body);
  });
}

function abortedBy(signal: AbortSignal, reason: Error): Promise<never> {
  return new Promise((_, failed) => {
    signal.addEventListener('abort', () => failed(reason), { once: true });
  });
}
