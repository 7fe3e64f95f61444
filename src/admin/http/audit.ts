/**
 * What the service itself does not get to record: a change that is refused before it, for its role or its input. An answer is
 * sent when its entry is written. Whoever has not proved who it is leaves no entry: the trail only grows, and anybody could
 * fill it. Such requests are counted, and a refused sign-in is logged.
 */
import type { FastifyRequest } from 'fastify';
import type { Log } from '../../core/log.ts';
import type { AdminError } from '../error.ts';
import type { AdminService } from '../service.ts';
import { withoutSecrets } from './audit-trail.ts';
import type { AdminApp } from './framework.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** There is an entry of this request in the audit trail. */
    recorded: boolean;
    refusal: AdminError | null;
  }
}

export function addAuditTrail(app: AdminApp, service: AdminService, log: Log): void {
  app.decorateRequest('recorded', false);
  app.decorateRequest('refusal', null);
  app.addHook('onSend', async (request, { statusCode }) => {
    const { action } = request.routeOptions.config;
    if (action === undefined || request.recorded) return;
    const { refusal, caller } = request;
    if (caller.actor === null) {
      service.access.noteUnauthenticated();
      if (action !== 'session.create' || refusal?.code !== 'unauthorized') return;
      const { address, requestId } = caller.from;
      log.warn({ address, requestId, reason: withoutSecrets(refusal.message) }, 'a sign-in of an operator was refused');
      return;
    }
    // Of those who are made to wait there may be any number.
    if (statusCode === 429) return;
    const params = Object.values((request.params ?? {}) as Readonly<Record<string, string>>);
    const change = { action, target: params[0] ?? null };
    const trail = acting(service, request).trail;
    await trail
      .change(change, async () => {
        if (refusal !== null) throw refusal;
      })
      .catch(() => {});
  });
}

/** The service for whoever sent the request. */
export function acting(service: AdminService, request: FastifyRequest): AdminService {
  return service.as(request.caller, () => {
    request.recorded = true;
  });
}
