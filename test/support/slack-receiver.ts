/** An incoming webhook as Slack documents it: it takes a JSON object with a text, and says in a word what is wrong otherwise. */
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { Certificate } from './certificate.ts';

export interface SlackReceiver {
  readonly url: string;
  /** The texts of what it has taken. */
  readonly texts: readonly string[];
  /** How often it was called. */
  readonly calls: number;
  /** What it answers from now on; null: what Slack would. */
  answer(reply: Reply | null): void;
  /** Resolves when it has taken one more than before. */
  next(): Promise<string>;
}

interface Reply {
  readonly status: number;
  readonly text: string;
  readonly headers?: Readonly<Record<string, string>>;
}

const TOKEN = '/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX';
const TEXT_CHARACTERS_MAX = 40_000;
/** The members of a message that its documentation names. */
const MEMBERS = new Set(['text', 'blocks', 'attachments', 'thread_ts', 'mrkdwn', 'unfurl_links', 'unfurl_media']);

/** Over https where it has a certificate. */
export async function slackReceiver(
  t: { after(end: () => void): void },
  certificate: Certificate | null = null,
): Promise<SlackReceiver> {
  const texts: string[] = [];
  const waiting: ((text: string) => void)[] = [];
  let answer: Reply | null = null;
  let calls = 0;
  const listener: RequestListener = async (request, response) => {
    const body = await text(request);
    calls++;
    const reply = answer ?? judged(request.method, request.url, request.headers['content-type'], body);
    if (reply.status === 200) {
      const { text: taken } = JSON.parse(body) as { text: string };
      texts.push(taken);
      for (const wake of waiting.splice(0)) wake(taken);
    }
    response.writeHead(reply.status, { 'content-type': 'text/html', ...reply.headers }).end(reply.text);
  };
  const server = certificate === null ? createServer(listener) : createSecureServer(certificate, listener);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `${certificate === null ? 'http' : 'https'}://localhost:${port}${TOKEN}`,
    texts,
    get calls() {
      return calls;
    },
    answer: (reply) => {
      answer = reply;
    },
    next: () => new Promise((taken) => waiting.push(taken)),
  };
}

function judged(method = '', path = '', type = '', body = ''): Reply {
  if (method !== 'POST') return { status: 405, text: 'method_not_allowed' };
  if (path !== TOKEN) return { status: 404, text: 'no_service' };
  if (!type.startsWith('application/json')) return { status: 400, text: 'invalid_payload' };
  const message = parsed(body);
  if (message === null || Object.keys(message).some((name) => !MEMBERS.has(name))) {
    return { status: 400, text: 'invalid_payload' };
  }
  const { text: shown } = message;
  if (typeof shown !== 'string' || shown === '' || shown.length > TEXT_CHARACTERS_MAX) {
    return { status: 400, text: 'no_text' };
  }
  return { status: 200, text: 'ok' };
}

function parsed(body: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(body);
    return typeof value === 'object' && !Array.isArray(value)
      ? (value as Readonly<Record<string, unknown>> | null)
      : null;
  } catch {
    return null;
  }
}
