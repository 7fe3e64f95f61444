import { Type } from '../../lib/schema-builder.ts';
import { acting } from '../http/audit.ts';
import type { AdminApp } from '../http/framework.ts';
import { OPERATORS, VIEWERS_AND_ACCOUNTS } from '../http/roles.ts';
import { CorrectionBody, CorrectionView, PromotionList, RefundBody, RefundView } from '../schema/money.ts';
import { Statement, StatementCsv, StatementPage, StatementQuery } from '../schema/statement.ts';
import type { AdminService } from '../service.ts';
import { STATEMENT_POLICY, statementCsv, statementHtml } from '../statement-text.ts';

const Path = Type.Object({ id: Type.String() });

/** By `format`: the handler writes two of the three itself. */
const STATEMENT: object = {
  description: 'The statement, as `format` asks for it.',
  headers: { 'content-disposition': { type: 'string', description: 'The name of the file, of CSV.' } },
  content: {
    'application/json': { schema: Statement },
    'text/csv': { schema: StatementCsv },
    'text/html': { schema: StatementPage },
  },
};

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
    app.get(
      `/${payers}/:id/promotions`,
      {
        config: { roles: VIEWERS_AND_ACCOUNTS },
        schema: {
          summary: 'What is left of promotional credit, in the order in which it expires',
          params: Path,
          response: { 200: PromotionList },
        },
      },
      async (request) => acting(service, request).money.promotions(request.params.id),
    );

    app.get(
      `/${payers}/:id/statement`,
      {
        config: { roles: VIEWERS_AND_ACCOUNTS },
        schema: {
          summary:
            'Opening balance, entries, usage and closing balance of a month or of days; also as CSV or as a page',
          params: Path,
          querystring: StatementQuery,
          response: { 200: STATEMENT },
        },
      },
      async (request, reply) => {
        const { format = 'json', ...time } = request.query;
        const statement = await acting(service, request).money.statement(request.params.id, time);
        if (format === 'json') return statement;
        const name = `statement-${statement.id}-${statement.from}`.replaceAll(/[^\w.-]/g, '_');
        if (format === 'csv') {
          void reply.header('content-disposition', `attachment; filename="${name}.csv"`);
          return reply
            .type('text/csv; charset=utf-8')
            .serializer(String)
            .send(`${statementCsv(statement).join('\r\n')}\r\n`);
        }
        void reply.header('content-security-policy', STATEMENT_POLICY);
        return reply.type('text/html; charset=utf-8').serializer(String).send(statementHtml(statement));
      },
    );

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
