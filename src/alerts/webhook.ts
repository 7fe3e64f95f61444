/** Sends an alert to a webhook, signed as Standard Webhooks has it (https://www.standardwebhooks.com). */
import { createHmac, randomBytes } from 'node:crypto';
import { postJson, type WayOptions } from './post.ts';

interface WebhookCall {
  readonly url: string;
  readonly secret: string;
  /** The same for every attempt, so that the receiver can tell a repeat. */
  readonly id: string;
  readonly body: string;
}

const SECRET_MARK = 'whsec_';
const SECRET_BYTES = 32;

export function newWebhookSecret(): string {
  return `${SECRET_MARK}${randomBytes(SECRET_BYTES).toString('base64')}`;
}

/** Of an account's receiver. Null where the address can be one. */
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

/** Resolves when the receiver has taken it. */
export async function callWebhook(call: WebhookCall, nowMs: number, way: WayOptions): Promise<void> {
  const timestamp = Math.floor(nowMs / 1_000);
  const headers = {
    'webhook-id': call.id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': signature(call.secret, call.id, timestamp, call.body),
  };
  await postJson(call.url, call.body, headers, way);
}
