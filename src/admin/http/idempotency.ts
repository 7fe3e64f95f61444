/**
 * A change that is sent again with the same `Idempotency-Key` is not made again: the caller gets the first answer. What the
 * first one came to may be unknown, when the gateway died meanwhile; then the caller is told so.
 */
import { hash } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import type { Log } from '../../core/log.ts';
import type { Operators } from '../../operators/operators.ts';
import { AdminError } from '../error.ts';
import type { AdminApp } from './framework.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The key that this request has claimed. */
    claimed: string | null;
  }
}

const KEY = /^[\x21-\x7e]{1,255}$/;

export function addIdempotency(app: AdminApp, operators: Operators, log: Log): void {
  app.decorateRequest('claimed', null);
  app.addHook('preHandler', async (request, reply) => {
    const key = request.headers['idempotency-key'];
    const { actor } = request.caller;
    const { action, roles } = request.routeOptions.config;
    if (key === undefined || actor === null || action === undefined || roles === 'public') return;
    if (typeof key !== 'string' || !KEY.test(key)) {
      throw new AdminError('invalid_input', 'Idempotency-Key must be 1 to 255 visible ASCII characters');
    }
    const outcome = await operators.claim(actor.id, key, fingerprint(request));
    switch (outcome.kind) {
      case 'fresh':
        request.claimed = key;
        return;
      case 'other_request':
        throw new AdminError('refused', 'this Idempotency-Key was sent before with another request: use a new one');
      case 'running':
        throw new AdminError(
          'refused',
          'a request with this Idempotency-Key is running, or its result is unknown: check it before you repeat it with another key',
        );
      case 'replay': {
        const { status, headers, body } = outcome.reply;
        request.recorded = true;
        return reply
          .code(status)
          .headers({ ...headers, 'idempotent-replayed': 'true' })
          .send(body);
      }
    }
  });
  app.addHook('onSend', async (request, reply, payload) => {
    const { claimed, caller } = request;
    // After a failure of the store nobody knows whether the change was made.
    if (claimed === null || caller.actor === null || reply.statusCode >= 500 || typeof payload !== 'string') return;
    const etag = reply.getHeader('etag');
    const headers = {
      'content-type': String(reply.getHeader('content-type') ?? 'application/json; charset=utf-8'),
      ...(typeof etag === 'string' && { etag }),
    };
    try {
      await operators.keepReply(caller.actor.id, claimed, { status: reply.statusCode, headers, body: payload });
    } catch (err) {
      log.error({ err, requestId: request.id }, 'the answer to an Idempotency-Key could not be kept');
    }
  });
}

function fingerprint({ method, url, body, headers }: FastifyRequest): string {
  return hash('sha256', JSON.stringify([method, url, headers['if-match'] ?? null, body ?? null]), 'base64');
}
