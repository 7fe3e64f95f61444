/** Every route of the admin API with every role. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { newApp } from '../../../src/admin/http/framework.ts';
import { requireDeclaredRoles } from '../../../src/admin/http/roles.ts';
import { ROLES } from '../../../src/operators/port.ts';
import { appFixture } from '../../support/admin-app.ts';

/** Who asks for these has no credential yet, or needs none. Everything else needs one. */
const PUBLIC = [
  'GET /admin/v1/oidc/callback',
  'GET /admin/v1/oidc/login',
  'GET /admin/v1/sign-in',
  'GET /assets/:name',
  'GET /healthz',
  'GET /readyz',
  'HEAD /healthz',
  'HEAD /readyz',
  'POST /admin/v1/session',
];

describe('roles', () => {
  // The roles of each route are also in console/src/api/roles.ts, where a change of them shows.
  test('only signing in and health are public; viewers change nothing; only owners see operators', async (t) => {
    const { app } = await appFixture(t);
    const open = app.declaredRoutes.filter(({ roles }) => roles === 'public');
    assert.deepEqual(open.map(({ method, url }) => `${method} ${url}`).toSorted(), PUBLIC);
    for (const { method, url, roles, action } of app.declaredRoutes) {
      if (roles === 'public') continue;
      const name = `${method} ${url}`;
      assert.ok(roles.includes('owner'), name);
      if (action !== null && !url.startsWith('/admin/v1/session')) assert.ok(!roles.includes('viewer'), name);
      if (url.startsWith('/admin/v1/operators')) assert.deepEqual(roles, ['owner'], name);
    }
  });

  test('every route serves the roles that it is for, and no other', async (t) => {
    const fixture = await appFixture(t);
    const routes = fixture.app.declaredRoutes;
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
