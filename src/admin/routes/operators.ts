import { Type } from '../../lib/schema-builder.ts';
import { acting } from '../http/audit.ts';
import type { AdminApp } from '../http/framework.ts';
import { OWNERS } from '../http/roles.ts';
import {
  IssuedToken,
  NewOperatorBody,
  NewTokenBody,
  Operator,
  OperatorChangeBody,
  OperatorList,
  SignInLink,
} from '../schema/operators.ts';
import type { AdminService } from '../service.ts';

const OperatorPath = Type.Object({ id: Type.String() });
const TokenPath = Type.Object({ id: Type.String(), token_id: Type.String() });

export function addOperatorRoutes(app: AdminApp, service: AdminService): void {
  app.get(
    '/operators',
    { config: { roles: OWNERS }, schema: { summary: 'All operators, oldest first', response: { 200: OperatorList } } },
    async () => ({ object: 'list' as const, data: await service.operators.list() }),
  );

  app.post(
    '/operators',
    {
      config: { roles: OWNERS, action: 'operator.create' },
      schema: {
        summary: 'Create an operator with a first token, shown once',
        body: NewOperatorBody,
        response: { 201: IssuedToken },
      },
    },
    async (request, reply) => reply.code(201).send(await acting(service, request).operators.create(request.body)),
  );

  app.get(
    '/operators/:id',
    {
      config: { roles: OWNERS },
      schema: { summary: 'One operator with its tokens', params: OperatorPath, response: { 200: Operator } },
    },
    async ({ params }) => service.operators.show(params.id),
  );

  app.patch(
    '/operators/:id',
    {
      config: { roles: OWNERS, action: 'operator.change' },
      schema: {
        summary: 'Change the role of an operator',
        params: OperatorPath,
        body: OperatorChangeBody,
        response: { 200: Operator },
      },
    },
    async (request) => acting(service, request).operators.change(request.params.id, request.body),
  );

  app.delete(
    '/operators/:id',
    {
      config: { roles: OWNERS, action: 'operator.revoke' },
      schema: {
        summary: 'Revoke an operator, with all tokens and sessions',
        params: OperatorPath,
        response: { 200: Operator },
      },
    },
    async (request) => acting(service, request).operators.revoke(request.params.id),
  );

  app.post(
    '/operators/:id/tokens',
    {
      config: { roles: OWNERS, action: 'operator.token.create' },
      schema: {
        summary: 'Make another token, shown once',
        params: OperatorPath,
        body: NewTokenBody,
        response: { 201: IssuedToken },
      },
    },
    async (request, reply) =>
      reply.code(201).send(await acting(service, request).operators.addToken(request.params.id, request.body)),
  );

  app.delete(
    '/operators/:id/tokens/:token_id',
    {
      config: { roles: OWNERS, action: 'operator.token.revoke' },
      schema: { summary: 'Revoke a token', params: TokenPath, response: { 200: Operator } },
    },
    async (request) => acting(service, request).operators.revokeToken(request.params.id, request.params.token_id),
  );

  app.post(
    '/operators/:id/link',
    {
      config: { roles: OWNERS, action: 'operator.link' },
      schema: {
        summary: 'Make a link that signs in at the console, once, within 15 minutes',
        params: OperatorPath,
        response: { 201: SignInLink },
      },
    },
    async (request, reply) => reply.code(201).send(await acting(service, request).operators.link(request.params.id)),
  );
}
