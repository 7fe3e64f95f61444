import { OPERATORS, OWNERS } from '../http/roles.ts';
import { AS_ANSWERED, route } from '../http/route.ts';
import type { AdminService } from '../service.ts';
import { AuditTrailPage, AuditTrailQuery } from './audit-trail-schema.ts';
import {
  IssuedToken,
  NewOperatorBody,
  NewTokenBody,
  Operator,
  OperatorChangeBody,
  OperatorList,
  SignInLink,
} from './schema.ts';

const CHANGE = {
  before: (admin: AdminService, { id }: { readonly id: string }) => admin.operators.show(id),
  ...AS_ANSWERED,
};

export const OPERATOR_ROUTES = {
  listOperators: route({
    at: 'GET /operators',
    roles: OWNERS,
    summary: 'All operators, oldest first',
    answer: OperatorList,
    handle: async (admin) => ({ object: 'list' as const, data: await admin.operators.list() }),
  }),
  createOperator: route({
    at: 'POST /operators',
    roles: OWNERS,
    action: 'operator.create',
    recorded: { after: ({ operator }) => operator, made: ({ operator }) => operator.id },
    summary: 'Create an operator with a first token, shown once',
    body: NewOperatorBody,
    status: 201,
    answer: IssuedToken,
    handle: (admin, { body }) => admin.operators.create(body),
  }),
  showOperator: route({
    at: 'GET /operators/:id',
    roles: OWNERS,
    summary: 'One operator with its tokens',
    answer: Operator,
    handle: (admin, { id }) => admin.operators.show(id),
  }),
  changeOperator: route({
    at: 'PATCH /operators/:id',
    roles: OWNERS,
    action: 'operator.change',
    recorded: CHANGE,
    summary: 'Change the role of an operator',
    body: OperatorChangeBody,
    answer: Operator,
    handle: (admin, { id, body }) => admin.operators.change(id, body),
  }),
  revokeOperator: route({
    at: 'DELETE /operators/:id',
    roles: OWNERS,
    action: 'operator.revoke',
    recorded: CHANGE,
    summary: 'Revoke an operator, with all tokens and sessions',
    answer: Operator,
    handle: (admin, { id }) => admin.operators.revoke(id),
  }),
  addToken: route({
    at: 'POST /operators/:id/tokens',
    roles: OWNERS,
    action: 'operator.token.create',
    recorded: { after: ({ token_id, expires_at }) => ({ token_id, expires_at }) },
    summary: 'Make another token, shown once',
    body: NewTokenBody,
    status: 201,
    answer: IssuedToken,
    handle: (admin, { id, body }) => admin.operators.addToken(id, body),
  }),
  revokeToken: route({
    at: 'DELETE /operators/:id/tokens/:token_id',
    roles: OWNERS,
    action: 'operator.token.revoke',
    recorded: { after: (_operator, { token_id }) => ({ tokenId: token_id }) },
    summary: 'Revoke a token',
    answer: Operator,
    handle: (admin, { id, token_id }) => admin.operators.revokeToken(id, token_id),
  }),
  makeLink: route({
    at: 'POST /operators/:id/link',
    roles: OWNERS,
    action: 'operator.link',
    recorded: { after: ({ expires_at }) => ({ expires_at }) },
    summary: 'Make a link that signs in at the console, once, within 15 minutes',
    status: 201,
    answer: SignInLink,
    handle: (admin, { id }) => admin.operators.link(id),
  }),
  auditTrail: route({
    at: 'GET /audit-trail',
    roles: OPERATORS,
    summary: 'Who did what, newest first, including refused actions',
    query: AuditTrailQuery,
    answer: AuditTrailPage,
    handle: (admin, { query }) => admin.operators.auditTrail(query),
  }),
};
