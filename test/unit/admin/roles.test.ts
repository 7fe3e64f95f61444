/** Every route of the admin API with every role. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { newApp } from '../../../src/admin/http/framework.ts';
import { requireDeclaredRoles } from '../../../src/admin/http/roles.ts';
import { ROLES } from '../../../src/operators/port.ts';
import { appFixture } from '../../support/admin-app.ts';

const EVERYBODY = 'without a credential';
const ANYONE = 'owner operator viewer account-admin';
/** With an account-admin, within its subtree. */
const VIEWERS_AND_ACCOUNTS = ANYONE;
const OPERATORS_AND_ACCOUNTS = 'owner operator account-admin';
const VIEWERS = 'owner operator viewer';
const OPERATORS = 'owner operator';
const OWNERS = 'owner';

/** A route that is not in here, or that is gone, fails the test. */
const TABLE: Readonly<Record<string, string>> = {
  'GET /assets/:name': EVERYBODY,
  'GET /healthz': EVERYBODY,
  'GET /readyz': EVERYBODY,
  'HEAD /healthz': EVERYBODY,
  'HEAD /readyz': EVERYBODY,
  'GET /metrics': VIEWERS,
  'GET /admin/v1/health': ANYONE,
  'GET /admin/v1/openapi.json': ANYONE,
  'POST /admin/v1/session': EVERYBODY,
  'GET /admin/v1/session': ANYONE,
  'GET /admin/v1/sign-in': EVERYBODY,
  'GET /admin/v1/oidc/login': EVERYBODY,
  'GET /admin/v1/oidc/callback': EVERYBODY,
  'DELETE /admin/v1/session': ANYONE,
  'DELETE /admin/v1/sessions': ANYONE,
  'GET /admin/v1/keys': VIEWERS_AND_ACCOUNTS,
  'POST /admin/v1/keys': OPERATORS_AND_ACCOUNTS,
  'POST /admin/v1/keys/import': OPERATORS,
  'GET /admin/v1/keys/:id': VIEWERS_AND_ACCOUNTS,
  'PATCH /admin/v1/keys/:id': OPERATORS_AND_ACCOUNTS,
  'DELETE /admin/v1/keys/:id': OPERATORS_AND_ACCOUNTS,
  'POST /admin/v1/keys/:id/credit': OPERATORS,
  'POST /admin/v1/keys/:id/secrets': OPERATORS_AND_ACCOUNTS,
  'DELETE /admin/v1/keys/:id/secrets/:prefix': OPERATORS_AND_ACCOUNTS,
  'GET /admin/v1/accounts': VIEWERS_AND_ACCOUNTS,
  'POST /admin/v1/accounts': OPERATORS_AND_ACCOUNTS,
  'GET /admin/v1/accounts/:id': VIEWERS_AND_ACCOUNTS,
  'PATCH /admin/v1/accounts/:id': OPERATORS_AND_ACCOUNTS,
  'POST /admin/v1/accounts/:id/move': OPERATORS_AND_ACCOUNTS,
  'POST /admin/v1/accounts/:id/credit': OPERATORS,
  'POST /admin/v1/accounts/:id/keys': OPERATORS_AND_ACCOUNTS,
  'GET /admin/v1/alerts': VIEWERS,
  'GET /admin/v1/alerts/deliveries': VIEWERS,
  'POST /admin/v1/alerts/test': OPERATORS,
  'GET /admin/v1/accounts/:id/webhook': VIEWERS_AND_ACCOUNTS,
  'PUT /admin/v1/accounts/:id/webhook': OPERATORS_AND_ACCOUNTS,
  'DELETE /admin/v1/accounts/:id/webhook': OPERATORS_AND_ACCOUNTS,
  'POST /admin/v1/requests/:id/refund': OPERATORS,
  'GET /admin/v1/keys/:id/promotions': VIEWERS_AND_ACCOUNTS,
  'GET /admin/v1/accounts/:id/promotions': VIEWERS_AND_ACCOUNTS,
  'GET /admin/v1/keys/:id/statement': VIEWERS_AND_ACCOUNTS,
  'GET /admin/v1/accounts/:id/statement': VIEWERS_AND_ACCOUNTS,
  'POST /admin/v1/keys/:id/corrections': OPERATORS,
  'POST /admin/v1/accounts/:id/corrections': OPERATORS,
  'GET /admin/v1/audit': VIEWERS,
  'GET /admin/v1/audit/last': VIEWERS,
  'GET /admin/v1/usage': VIEWERS_AND_ACCOUNTS,
  'GET /admin/v1/requests': VIEWERS_AND_ACCOUNTS,
  'GET /admin/v1/requests/running': VIEWERS_AND_ACCOUNTS,
  'DELETE /admin/v1/requests/running/:id': OPERATORS_AND_ACCOUNTS,
  'GET /admin/v1/requests/stream': VIEWERS_AND_ACCOUNTS,
  'GET /admin/v1/requests/:id/content': OPERATORS,
  'GET /admin/v1/models': VIEWERS,
  'GET /admin/v1/providers': VIEWERS,
  'GET /admin/v1/settings': OPERATORS,
  'POST /admin/v1/doctor': OPERATORS,
  'POST /admin/v1/targets/test': OPERATORS,
  'GET /admin/v1/playground': OPERATORS,
  'POST /admin/v1/playground': OPERATORS,
  'GET /admin/v1/requests/:id': VIEWERS_AND_ACCOUNTS,
  'GET /admin/v1/model-lists': VIEWERS,
  'POST /admin/v1/model-lists': OPERATORS,
  'GET /admin/v1/operators': OWNERS,
  'POST /admin/v1/operators': OWNERS,
  'GET /admin/v1/operators/:id': OWNERS,
  'PATCH /admin/v1/operators/:id': OWNERS,
  'DELETE /admin/v1/operators/:id': OWNERS,
  'POST /admin/v1/operators/:id/tokens': OWNERS,
  'DELETE /admin/v1/operators/:id/tokens/:token_id': OWNERS,
  'POST /admin/v1/operators/:id/link': OWNERS,
  'GET /admin/v1/audit-trail': OPERATORS,
};

describe('roles', () => {
  test('every route serves the roles that it is for, and no other', async (t) => {
    const fixture = await appFixture(t);
    const routes = fixture.app.declaredRoutes;
    const declared = routes.map(({ method, url, roles }) => [
      `${method} ${url}`,
      roles === 'public' ? EVERYBODY : roles.join(' '),
    ]);
    assert.deepEqual(Object.fromEntries(declared), TABLE);
    const tokens = new Map<string, string>([['nobody', '']]);
    for (const role of ROLES) tokens.set(role, `Bearer ${await fixture.token(role)}`);
    for (const { method, url, roles, action } of routes) {
      for (const [role, authorization] of tokens) {
        const before = await fixture.operators.auditTrail({ limit: 1 });
        // A stream would not end by itself; a wrong filter is refused after the role was looked at.
        const path = url.replaceAll(/:\w+/g, 'unknown').replace('/stream', '/stream?status=nine');
        const writes = action !== null;
        const call = { headers: { authorization }, body: writes && method !== 'DELETE' ? {} : undefined };
        const { status, body } = await fixture.send(method, path, call);
        const name = `${method} ${url} as ${role}: ${status} ${JSON.stringify(body).slice(0, 200)}`;
        if (roles === 'public') assert.ok(status !== 401 && status !== 403, name);
        else if (role === 'nobody') assert.equal(status, 401, name);
        else if (roles.some((allowed) => allowed === role)) assert.ok(status !== 401 && status !== 403, name);
        else assert.equal(status, 403, name);
        // Each attempt of an operator to change something is in the audit trail, once, whatever came of it.
        const after = await fixture.operators.auditTrail({ limit: 2, before: undefined });
        const added = after.filter(({ number }) => number > (before[0]?.number ?? 0));
        assert.deepEqual(
          added.map((entry) => [entry.action, entry.actor?.role, entry.outcome === 'done']),
          writes && roles !== 'public' && role !== 'nobody' ? [[action, role, status < 300]] : [],
          name,
        );
      }
    }
  });

  test('a route without declared roles, or a change without an action, cannot be added', () => {
    const app = newApp();
    requireDeclaredRoles(app);
    const handler = async () => ({});
    assert.throws(() => app.get('/x', handler), /GET \/x does not say which roles it is for/);
    assert.throws(() => app.post('/x', { config: { roles: ['owner'] } }, handler), /no action for the audit trail/);
    assert.throws(() => app.get('/x', { config: { roles: ['owner'], action: 'x' } }, handler), /changes nothing/);
  });
});
