/** Posts to a receiver, at an address that was judged, within a time limit and without following it anywhere else. */
import { request as secureRequest } from 'node:https';
import { rootCertificates } from 'node:tls';
import type { Address } from '../core/public-address.ts';
import { request as plainRequest } from '../lib/node-http.ts';
import { checkedAddress, type Resolve } from './address.ts';

/** How a receiver is reached. */
export interface WayOptions {
  /** Whether it may be on this machine or in a private network. */
  readonly allowPrivate: boolean;
  /** Authorities that may sign its certificate besides the usual ones, PEM; null: no others. */
  readonly ca: string | null;
  readonly resolve?: Resolve;
  /** How long the receiver may take. */
  readonly timeoutMs?: number;
}

export interface PostOptions extends WayOptions {
  /** Characters of its answer that are told where it is not a 2xx. By default none: it could be anybody's. */
  readonly answerCharacters?: number;
}

/** The receiver does not want it, now or ever: no further attempt is made. */
export class ReceiverGone extends Error {
  override name = 'ReceiverGone';
}

/** The receiver says when it may be called again. */
export class ReceiverBusy extends Error {
  override name = 'ReceiverBusy';
  /** As its header Retry-After has it. */
  readonly retryAfter: string;

  constructor(message: string, retryAfter: string) {
    super(message);
    this.retryAfter = retryAfter;
  }
}

const TIMEOUT_MS = 15_000;

interface Answer {
  readonly status: number;
  /** Its header Retry-After; null where it has none. */
  readonly retryAfter: string | null;
  /** The beginning of what it says. */
  readonly text: string;
}

/** Resolves when the receiver has answered with a 2xx. A redirect is a failure: it could lead anywhere. */
export async function postJson(
  to: string,
  body: string,
  headers: Readonly<Record<string, string>>,
  options: PostOptions,
): Promise<void> {
  const { allowPrivate, resolve, timeoutMs = TIMEOUT_MS } = options;
  const url = new URL(to);
  const late = new Error(`no answer within ${timeoutMs / 1_000} s`);
  const signal = AbortSignal.timeout(timeoutMs);
  const inTheClear = url.protocol === 'http:';
  // A name server may hang as well as a receiver.
  const address = await Promise.race([
    checkedAddress(url.hostname, { allowPrivate, inTheClear }, resolve),
    abortedBy(signal, late),
  ]);
  const { status, text, retryAfter } = await post(url, address, body, headers, { ...options, signal, late });
  if (status >= 200 && status < 300) return;
  const said = text === '' ? '' : `: ${text}`;
  if (status === 410) throw new ReceiverGone(`the receiver answered with status 410 (gone)${said}`);
  const message = `the receiver answered with status ${status}${status < 400 ? ', and redirects are not followed' : said}`;
  if (retryAfter !== null && (status === 429 || status === 503)) throw new ReceiverBusy(message, retryAfter);
  throw new Error(message);
}

function post(
  url: URL,
  { address, family }: Address,
  body: string,
  headers: Readonly<Record<string, string>>,
  { ca, answerCharacters = 0, signal, late }: PostOptions & { readonly signal: AbortSignal; readonly late: Error },
): Promise<Answer> {
  return new Promise((done, failed) => {
    const request = url.protocol === 'http:' ? plainRequest : secureRequest;
    const call = request(url, {
      method: 'POST',
      agent: false,
      headers: {
        'content-type': 'application/json',
        'user-agent': 'model-gateway',
        ...headers,
        'content-length': Buffer.byteLength(body),
      },
      signal,
      // The name is not resolved again: it could have another address by now.
      lookup: (_host, options, found) =>
        options.all === true ? found(null, [{ address, family }]) : found(null, address, family),
      ...(ca !== null && { ca: [...rootCertificates, ca] }),
    });
    const fail = (error: Error): void => failed(signal.aborted ? late : error);
    call.on('response', (response) => {
      const { statusCode: status = 0, headers } = response;
      const retryAfter = headers['retry-after'] ?? null;
      let text = '';
      const end = (): void => {
        done({ status, retryAfter, text: text.replaceAll(/\s+/g, ' ').trim() });
        // What it says besides is of no interest, and might be endless.
        response.destroy();
      };
      if (answerCharacters === 0 || (status >= 200 && status < 300)) return end();
      response.setEncoding('utf8').on('data', (part: string) => {
        text = (text + part).slice(0, answerCharacters);
        if (text.length === answerCharacters) end();
      });
      response.on('end', end).on('error', fail);
    });
    call.on('error', fail);
    call.end(body);
  });
}

export function abortedBy(signal: AbortSignal, reason: Error): Promise<never> {
  return new Promise((_, failed) => {
    signal.addEventListener('abort', () => failed(reason), { once: true });
  });
}
