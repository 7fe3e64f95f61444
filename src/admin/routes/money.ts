import { Type } from '../../lib/schema-builder.ts';
import { acting } from '../http/audit.ts';
import type { AdminApp } from '../http/framework.ts';
import { OPERATORS } from '../http/roles.ts';
import { CorrectionBody, CorrectionView, RefundBody, RefundView } from '../schema/money.ts';
import type { AdminService } from '../service.ts';

const Path = Type.Object({ id: Type.String() });

export function addMoneyRoutes(app: AdminApp, service: AdminService): void {
  app.post(
    '/requests/:id/refund',
    {
      config: { roles: OPERATORS, action: 'request.refund' },
      schema: {
        summary: 'Give back what a request was charged, or a part of it, to whoever paid',
        params: Path,
        body: RefundBody,
        response: { 201: RefundView },
      },
    },
    async (request, reply) =>
      reply.code(201).send(await acting(service, request).money.refund(request.params.id, request.body)),
  );

  for (const payers of ['keys', 'accounts'] as const) {
    app.post(
      `/${payers}/:id/corrections`,
      {
        config: { roles: OPERATORS, action: 'credit.correct' },
        schema: {
          summary: 'Correct a balance: add credits, or take away what is free',
          params: Path,
          body: CorrectionBody,
          response: { 201: CorrectionView },
        },
      },
      async (request, reply) =>
        reply.code(201).send(await acting(service, request).money.correct(request.params.id, request.body)),
    );
  }
}
