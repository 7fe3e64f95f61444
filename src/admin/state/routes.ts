import { AdminError } from '../error.ts';
import { envelope } from '../http/errors.ts';
import type { AdminApp } from '../http/framework.ts';
import { OPERATORS, VIEWERS } from '../http/roles.ts';
import { route } from '../http/route.ts';
import type { AdminService } from '../service.ts';
import { PlaygroundAnswer, PlaygroundBody, PlaygroundState, PlaygroundStream } from './playground-schema.ts';
import {
  Audit,
  Configuration,
  DoctorBody,
  DoctorReport,
  Health,
  LastAudit,
  ModelLists,
  ModelListsRefresh,
  ModelStateList,
  ProviderStateList,
  SettingsInForce,
  TargetTest,
  TargetTestBody,
} from './schema.ts';

/** Images come as text. */
const PLAYGROUND_BYTES_MAX = 16 * 1_024 ** 2;

/** Its bytes are passed on, so that the handler gives none of what these schemas describe. */
const PLAYGROUND_ANSWER: object = {
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

export const STATE_ROUTES = {
  health: route({
    at: 'GET /health',
    roles: VIEWERS,
    accountAdmin: 'own',
    summary: 'Whether the gateway runs',
    answer: Health,
    handle: async () => ({ ok: true, pid: process.pid }),
  }),
  audit: route({
    at: 'GET /audit',
    roles: VIEWERS,
    summary: 'Recompute every balance from its entries',
    answer: Audit,
    handle: (admin) => admin.state.audit(),
  }),
  lastAudit: route({
    at: 'GET /audit/last',
    roles: VIEWERS,
    summary: 'The result of the last audit, and how often audits run',
    answer: LastAudit,
    handle: (admin) => admin.state.lastAudit(),
  }),
  modelLists: route({
    at: 'GET /model-lists',
    roles: VIEWERS,
    summary: 'The model lists that providers last gave',
    answer: ModelLists,
    handle: (admin) => admin.state.modelLists(),
  }),
  refreshModelLists: route({
    at: 'POST /model-lists',
    roles: OPERATORS,
    action: 'model_lists.refresh',
    summary: 'Ask the providers for their models',
    answer: ModelListsRefresh,
    handle: (admin) => admin.state.refreshModelLists(),
  }),
  models: route({
    at: 'GET /models',
    roles: VIEWERS,
    summary: 'Models in use: price, context window and limits, and where each comes from',
    answer: ModelStateList,
    handle: async (admin) => ({ object: 'list' as const, data: (await admin.state.gateway.inspect()).models }),
  }),
  providers: route({
    at: 'GET /providers',
    roles: VIEWERS,
    summary: 'Providers with the health, circuit and cool-downs of each target, as the worst of the workers sees it',
    answer: ProviderStateList,
    handle: async (admin) => ({ object: 'list' as const, data: (await admin.state.gateway.inspect()).providers }),
  }),
  testTarget: route({
    at: 'POST /targets/test',
    roles: OPERATORS,
    action: 'target.test',
    recorded: { target: ({ body }) => body.model, after: (result, { body }) => ({ ...body, ...result }) },
    summary: 'Generate a token at one target of a model, which costs a little',
    body: TargetTestBody,
    answer: TargetTest,
    handle: async (admin, { body }) => admin.state.gateway.testTarget(body),
  }),
  settings: route({
    at: 'GET /settings',
    roles: OPERATORS,
    summary: 'The settings in force, and where each comes from; without secrets',
    answer: SettingsInForce,
    handle: async ({ state: { gateway } }) => ({
      object: 'list' as const,
      data: [...gateway.settings(), ...(await gateway.inspect()).settings],
    }),
  }),
  configuration: route({
    at: 'GET /configuration',
    roles: VIEWERS,
    summary: 'Whether the config file is in use as it is now',
    answer: Configuration,
    handle: async ({ state: { gateway } }) => gateway.configuration(),
  }),
  doctor: route({
    at: 'POST /doctor',
    roles: OPERATORS,
    action: 'doctor.run',
    recorded: { after: ({ ok }, { body: { probes = false } }) => ({ ok, probes }) },
    summary: 'Check configuration, providers, models and store',
    body: DoctorBody,
    answer: DoctorReport,
    handle: async (admin, { body: { probes = false } }) => admin.state.gateway.doctor(probes),
  }),
  playground: route({
    at: 'GET /playground',
    roles: OPERATORS,
    summary: 'What the playground may still spend today',
    answer: PlaygroundState,
    handle: (admin) => admin.state.playground.state(),
  }),
  sendPlayground: route({
    at: 'POST /playground',
    roles: OPERATORS,
    action: 'playground.send',
    recorded: 'itself',
    summary:
      "Send a request through the public listener. The answer is that of the listener, with its status in x-playground-status and its request's id in x-playground-request-id",
    body: PlaygroundBody,
    bodyLimit: PLAYGROUND_BYTES_MAX,
    answer: PlaygroundAnswer,
    documented: PLAYGROUND_ANSWER,
    handle: async (admin, { body }, { reply }) => {
      const gone = new AbortController();
      reply.raw.on('close', () => gone.abort());
      const answer = await admin.state.playground.send(body, admin.trail, gone.signal);
      void reply.headers({
        'content-type': answer.contentType,
        'x-playground-status': String(answer.status),
        ...(answer.requestId !== null && { 'x-playground-request-id': answer.requestId }),
      });
      return reply.send(answer.body);
    },
  }),
};

/** The routes that supervisors and load balancers ask, as on the public listener: at the root, and without a credential. */
export function addProbeRoutes(app: AdminApp, { state }: AdminService): void {
  const probe = { method: ['GET', 'HEAD'], config: { access: 'open' as const, roles: 'public' as const } };
  app.route({ ...probe, url: '/healthz', handler: async () => ({ status: 'ok' }) });
  app.route({
    ...probe,
    url: '/readyz',
    handler: async (request, reply) => {
      if (await state.ready()) return { status: 'ready' };
      // An answer, not a failure of this request: nothing is logged.
      const error = new AdminError(
        'unavailable',
        'the gateway takes no requests: its store is out of reach, or it stops',
      );
      return reply.code(503).header('retry-after', '1').send(envelope(error, request.id));
    },
  });
}

/** At the root, where Prometheus looks for it. */
export function addMetricsRoute(app: AdminApp, { state }: AdminService): void {
  app.get('/metrics', { config: { access: 'metrics', roles: VIEWERS } }, async (_request, reply) =>
    reply.type('text/plain; version=0.0.4; charset=utf-8').send(await state.metrics()),
  );
}
