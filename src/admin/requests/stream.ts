/** Requests as they end, as server-sent events. */
import { setTimeout as delay } from 'node:timers/promises';
import type { FastifyReply } from 'fastify';
import type { Actor } from '../../operators/port.ts';
import { AdminError } from '../error.ts';
import { acting } from '../http/audit.ts';
import type { AdminApp } from '../http/framework.ts';
import { ANYONE } from '../http/roles.ts';
import type { View } from '../http/view.ts';
import type { AdminService } from '../service.ts';
import type { Requests } from './requests.ts';
import { RequestEvents, RequestStreamQuery } from './schema.ts';

const POLL_MS = 500;
/** A proxy in between closes what is silent for long. */
const SIGN_OF_LIFE_MS = 15_000;
/** Of the operators, and as many of all account-admins together: neither can take the places of the others. */
const STREAMS_MAX = 20;
/** Of one account, however many administer it. */
const STREAMS_OF_ACCOUNT_MAX = 4;

export function addRequestStream(app: AdminApp, service: AdminService): void {
  const streams = new RequestStreams();
  app.addHook('preClose', async () => streams.close());
  app.get(
    '/requests/stream',
    {
      config: { roles: ANYONE },
      schema: {
        summary: 'Requests as they end: server-sent events, each with a Request',
        querystring: RequestStreamQuery,
        response: {
          200: {
            description: 'Requests as they end.',
            content: { 'text/event-stream': { schema: RequestEvents } },
          },
        },
      },
    },
    async (request, reply) =>
      streams.serve(acting(service, request).requests, request.query, reply, request.caller.actor, () =>
        request.stillAllowed(),
      ),
  );
}

/** In the place of an account, where operators read. */
const OPERATORS_OWN = '';

class RequestStreams {
  readonly #closed = new AbortController();
  /** By the account of those who read. */
  readonly #open = new Map<string, number>();

  close(): void {
    this.#closed.abort();
  }

  /** Ends by itself when the session or the token that it was asked with does. */
  async serve(
    requests: Requests,
    query: View<typeof RequestStreamQuery>,
    reply: FastifyReply,
    actor: Actor | null,
    allowed: () => Promise<boolean>,
  ): Promise<void> {
    const account = actor?.role === 'account-admin' ? String(actor.accountId) : OPERATORS_OWN;
    this.#requirePlace(account);
    this.#count(account, 1);
    try {
      await this.#follow(requests, query, reply, allowed);
    } finally {
      this.#count(account, -1);
    }
  }

  #requirePlace(account: string): void {
    const own = this.#open.get(account) ?? 0;
    if (account !== OPERATORS_OWN && own >= STREAMS_OF_ACCOUNT_MAX) throw allTaken(STREAMS_OF_ACCOUNT_MAX);
    const operators = this.#open.get(OPERATORS_OWN) ?? 0;
    const all = [...this.#open.values()].reduce((sum, count) => sum + count, 0);
    if ((account === OPERATORS_OWN ? operators : all - operators) >= STREAMS_MAX) throw allTaken(STREAMS_MAX);
  }

  #count(account: string, change: 1 | -1): void {
    const open = (this.#open.get(account) ?? 0) + change;
    if (open === 0) this.#open.delete(account);
    else this.#open.set(account, open);
  }

  async #follow(
    requests: Requests,
    { newest, ...filters }: View<typeof RequestStreamQuery>,
    reply: FastifyReply,
    allowed: () => Promise<boolean>,
  ): Promise<void> {
    // What is wrong with the filters is said with a status.
    let { position } = await requests.tail(filters, null, Date.now());
    const { raw } = reply;
    const gone = new AbortController();
    raw.on('close', () => gone.abort());
    const signal = AbortSignal.any([gone.signal, this.#closed.signal]);
    reply.hijack();
    raw.writeHead(200, {
      ...headersOf(reply),
      'content-type': 'text/event-stream; charset=utf-8',
      'x-accel-buffering': 'no',
    });
    raw.write(': requests as they end\n\n');
    try {
      for (let silentMs = 0; !signal.aborted && (await allowed()); ) {
        const tail = await requests.tail(filters, position, Date.now(), newest);
        ({ position } = tail);
        const events = tail.requests.map((view) => `event: request\ndata: ${JSON.stringify(view)}\n\n`);
        if (tail.more) events.push('event: more\ndata: {}\n\n');
        if (events.length > 0) await write(raw, events.join(''), signal);
        silentMs = tail.requests.length > 0 ? 0 : silentMs + POLL_MS;
        if (silentMs >= SIGN_OF_LIFE_MS) {
          silentMs = 0;
          await write(raw, ': still here\n\n', signal);
        }
        await delay(POLL_MS, undefined, { signal }).catch(() => {});
      }
    } catch {
      // The log cannot be read: the client sees the end of the stream and may come back.
    } finally {
      raw.end();
    }
  }
}

function allTaken(max: number): AdminError {
  return new AdminError('rate_limited', `${max} streams are open already: close one of them first`);
}

function headersOf(reply: FastifyReply): Record<string, string> {
  return Object.fromEntries(Object.entries(reply.getHeaders()).map(([name, value]) => [name, String(value)]));
}

/** Waits for a client that reads slowly. */
async function write(raw: FastifyReply['raw'], text: string, signal: AbortSignal): Promise<void> {
  if (signal.aborted || raw.write(text)) return;
  await new Promise<void>((resolve) => {
    raw.once('drain', resolve);
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
