/**
 * The admin API without a listener, for a command on the machine of the store where no gateway runs: the same routes, with
 * the same validation, audit trail and errors. Whoever calls is known, so there is nothing of access control.
 */
import { type Log, NO_LOG } from '../../core/log.ts';
import type { Caller } from '../../operators/port.ts';
import type { AdminTransport } from '../client.ts';
import { PREFIX, ROUTES } from '../routes.ts';
import type { AdminService } from '../service.ts';
import { addAuditTrail } from './audit.ts';
import { asAdminError } from './errors.ts';
import { newApp, refuse } from './framework.ts';
import { addRoute } from './route.ts';

/** What fails is thrown as it is: nobody but the caller could read a log of it. */
export function inProcessTransport(service: AdminService, caller: Caller): AdminTransport {
  const failures = new Map<string, unknown>();
  const log: Log = {
    ...NO_LOG,
    error: (fields) => {
      failures.set(String(Reflect.get(fields, 'requestId')), Reflect.get(fields, 'err'));
    },
  };
  const app = newApp();
  app.setErrorHandler((error, request, reply) => {
    request.refusal = asAdminError(error);
    refuse(error, request, reply, log);
  });
  addAuditTrail(app, service, log);
  app.decorateRequest('caller');
  app.addHook('onRequest', async (request, reply) => {
    request.caller = caller;
    void reply.header('x-request-id', request.id);
  });
  void app.register(
    async (scope) => {
      for (const row of Object.values(ROUTES)) addRoute(scope, service, row);
    },
    { prefix: PREFIX },
  );
  return {
    name: 'this process',
    send: async ({ method, path, headers, body }) => {
      const answer = await app.inject({
        method: method as 'GET',
        url: path,
        headers,
        ...(body !== null && { payload: body }),
      });
      const requestId = String(answer.headers['x-request-id']);
      const failure = failures.get(requestId);
      failures.delete(requestId);
      if (failure !== undefined) throw failure;
      return { status: answer.statusCode, text: answer.payload };
    },
  };
}
