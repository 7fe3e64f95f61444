import type { FastifyReply } from 'fastify';
import { OPERATORS, VIEWERS } from '../http/roles.ts';
import { route } from '../http/route.ts';
import { CorrectionBody, CorrectionView, PromotionList, RefundBody, RefundView } from './schema.ts';
import { STATEMENT_POLICY, statementHtml } from './statement-page.ts';
import { Statement, StatementCsv, StatementPage, StatementQuery, type StatementView } from './statement-schema.ts';
import { statementCsv } from './statement-text.ts';

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

/** The reason is seen with the object, not only on a statement. */
const WITH_REASON = {
  after: (answer: object, { body: { reason } }: { readonly body: { readonly reason: string } }) => ({
    ...answer,
    reason,
  }),
};

const OF_ACCOUNTS = {
  promotions: route({
    at: 'GET /accounts/:id/promotions',
    roles: VIEWERS,
    accountAdmin: 'payer',
    summary: 'What is left of promotional credit, next to expire first',
    answer: PromotionList,
    handle: (admin, { id }) => admin.money.promotions(id),
  }),
  statement: route({
    at: 'GET /accounts/:id/statement',
    roles: VIEWERS,
    accountAdmin: 'payer',
    summary: 'Opening balance, entries, usage and closing balance of a month or of days; also as CSV or as a page',
    query: StatementQuery,
    answer: Statement,
    documented: STATEMENT,
    handle: async (admin, { id, query: { format = 'json', ...time } }, { reply }) => {
      const statement = await admin.money.statement(id, time);
      return format === 'json' ? statement : written(statement, format, reply);
    },
  }),
  correct: route({
    at: 'POST /accounts/:id/corrections',
    roles: OPERATORS,
    action: 'credit.correct',
    recorded: WITH_REASON,
    summary: 'Correct a balance: add credits, or subtract credits that are not held',
    body: CorrectionBody,
    status: 201,
    answer: CorrectionView,
    handle: (admin, { id, body }) => admin.money.correct(id, body),
  }),
};

export const MONEY_ROUTES = {
  refund: route({
    at: 'POST /requests/:id/refund',
    roles: OPERATORS,
    action: 'request.refund',
    recorded: WITH_REASON,
    summary: 'Refund what a request was charged, or a part of it, to whoever paid',
    body: RefundBody,
    status: 201,
    answer: RefundView,
    handle: (admin, { id, body }) => admin.money.refund(id, body),
  }),
  ...OF_ACCOUNTS,
  // Keys have the same ones: whose id it is, is looked up.
  keyPromotions: { ...OF_ACCOUNTS.promotions, at: 'GET /keys/:id/promotions' as const },
  keyStatement: { ...OF_ACCOUNTS.statement, at: 'GET /keys/:id/statement' as const },
  correctKey: { ...OF_ACCOUNTS.correct, at: 'POST /keys/:id/corrections' as const },
};

function written(statement: StatementView, format: 'csv' | 'html', reply: FastifyReply): FastifyReply {
  if (format === 'html') {
    void reply.header('content-security-policy', STATEMENT_POLICY);
    return reply.type('text/html; charset=utf-8').serializer(String).send(statementHtml(statement));
  }
  const name = `statement-${statement.id}-${statement.from}`.replaceAll(/[^\w.-]/g, '_');
  void reply.header('content-disposition', `attachment; filename="${name}.csv"`);
  return reply
    .type('text/csv; charset=utf-8')
    .serializer(String)
    .send(`${statementCsv(statement).join('\r\n')}\r\n`);
}
