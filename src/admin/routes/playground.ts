import { acting } from '../http/audit.ts';
import type { AdminApp } from '../http/framework.ts';
import { OPERATORS } from '../http/roles.ts';
import { PlaygroundAnswer, PlaygroundBody, PlaygroundState, PlaygroundStream } from '../schema/playground.ts';
import type { AdminService } from '../service.ts';

/** Images come as text. */
const BODY_BYTES_MAX = 16 * 1_024 ** 2;

/** Its bytes are passed on, so that the handler gives none of what these schemas describe. */
const ANSWER: object = {
  description: 'The answer of the public listener, whatever its status was.',
  headers: {
    'x-playground-status': { type: 'integer', description: 'The status of that answer.' },
    'x-playground-request-id': { type: 'string', description: 'The id of the request, where it has one.' },
  },
  content: {
    'application/json': { schema: PlaygroundAnswer },
    'text/event-stream': { schema: PlaygroundStream },
  },
};

export function addPlaygroundRoutes(app: AdminApp, service: AdminService): void {
  app.get(
    '/playground',
    {
      config: { roles: OPERATORS },
      schema: { summary: 'What the playground may still spend today', response: { 200: PlaygroundState } },
    },
    async () => service.playground.state(),
  );

  app.post(
    '/playground',
    {
      config: { roles: OPERATORS, action: 'playground.send' },
      bodyLimit: BODY_BYTES_MAX,
      schema: {
        summary:
          "Send a request through the public listener. The answer is that of the listener, with its status in x-playground-status and its request's id in x-playground-request-id",
        body: PlaygroundBody,
        response: { 200: ANSWER },
      },
    },
    async (request, reply) => {
      const gone = new AbortController();
      reply.raw.on('close', () => gone.abort());
      const answer = await acting(service, request).sendPlayground(request.body, gone.signal);
      void reply.headers({
        'content-type': answer.contentType,
        'x-playground-status': String(answer.status),
        ...(answer.requestId !== null && { 'x-playground-request-id': answer.requestId }),
      });
      return reply.send(answer.body);
    },
  );
}
