/**
 * What the service itself does not get to record: a change that is refused before it, for its role, its token or its input.
 * An answer is sent when its entry is written.
 */
import type { FastifyRequest } from 'fastify';
import type { AdminError } from '../api.ts';
import type { AdminService } from '../service.ts';
import type { AdminApp } from './framework.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** There is an entry of this request in the audit trail. */
    recorded: boolean;
    refusal: AdminError | null;
  }
}

export function addAuditTrail(app: AdminApp, service: AdminService): void {
  app.decorateRequest('recorded', false);
  app.decorateRequest('refusal', null);
  app.addHook('onSend', async (request, { statusCode }) => {
    const { action } = request.routeOptions.config;
    // Of those who are made to wait there may be any number.
    if (action === undefined || request.recorded || statusCode === 429) return;
    const { refusal } = request;
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
