/** What an account-admin reaches: every route that is open to it, with what belongs to its subtree and with what does not. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ROLES, type Role } from '../../../src/operators/port.ts';
import type { AppAnswer } from '../../support/admin-app.ts';
import { requestEntry } from '../../support/request-entries.ts';
import { PLACES, type Place, PROBES, type Things, world } from './account-admin-world.ts';

/** An answer without the ids that were asked for. */
function shape({ status, body }: AppAnswer, { account, key, request, prefix, receiver }: Things): unknown {
  const text = JSON.stringify({ status, code: body.error?.code, message: body.error?.message });
  return [account, key, request, prefix, receiver].reduce((rest, id) => rest.replaceAll(id, 'ID'), text);
}

describe('an account-admin', () => {
  test('every open route × role × place: what is outside of its subtree answers as what does not exist', async (t) => {
    const all = await world(t);
    const open = all.app.declaredRoutes.filter(({ roles }) => roles !== 'public' && roles.includes('account-admin'));
    assert.deepEqual(open.map(({ method, url }) => `${method} ${url}`).toSorted(), Object.keys(PROBES).toSorted());
    const tokens = new Map<Role, string>();
    for (const role of ROLES) tokens.set(role, `Bearer ${await all.token(role, all.top)}`);
    const there = new Map<Place, Things>();
    for (const place of PLACES) there.set(place, await all.make(place));
    const as = (role: Role, method: string, path: string, body?: object) =>
      all.send(method, path, { headers: { authorization: tokens.get(role) ?? '' }, body });

    for (const { method, url, roles } of open) {
      const probe = PROBES[`${method} ${url}`];
      for (const role of ROLES) {
        const name = `${method} ${url} as ${role}`;
        const allowed = roles.includes(role);
        if (probe === 'whoever') continue;
        if (probe === 'list') {
          const text = JSON.stringify((await as(role, method, url)).body);
          for (const [place, { account, key }] of there) {
            if (place === 'nowhere') continue;
            const wanted = role !== 'account-admin' || place === 'own';
            if (place !== 'lone' && place !== 'above') {
              const shown = text.includes(url.endsWith('/accounts') ? account : key);
              assert.equal(shown, wanted, `${name}: ${place}`);
            } else if (!wanted) assert.ok(!text.includes(key), `${name}: ${place}`);
          }
          if (role === 'account-admin') {
            assert.ok(!text.includes(all.root), `${name}: not even the id of what is above`);
            assert.ok(!/secret-provider|provider_cost_nanos":"/.test(text), name);
          }
          continue;
        }
        assert.ok(probe !== undefined);
        const nowhere = await all.make('nowhere');
        const asked = probe(nowhere, all);
        const unknown = shape(await as(role, method, asked?.path ?? '', asked?.body), nowhere);
        for (const place of PLACES) {
          if (place === 'lone' && /accounts$|accounts\/:id|POST \/admin\/v1\/keys$/.test(`${method} ${url}`)) continue;
          const things = await all.make(place);
          const call = probe(things, all);
          const answer = await as(role, method, call?.path ?? '', call?.body);
          const what = `${name}, ${place}: ${answer.status} ${JSON.stringify(answer.body).slice(0, 300)}`;
          if (!allowed) assert.equal(answer.status, 403, what);
          else if (place === 'nowhere' || (role === 'account-admin' && place !== 'own')) {
            assert.equal(answer.status, 404, what);
            assert.equal(shape(answer, things), unknown, what);
          } else if (role === 'account-admin' || !/\/move$/.test(url)) assert.ok(answer.status < 300, what);
        }
      }
    }
  });

  test('cannot give itself what the operator gives, nor change its own account, nor move things out', async (t) => {
    const all = await world(t);
    const authorization = `Bearer ${await all.token('account-admin', all.top)}`;
    const send = (method: string, path: string, body?: object) =>
      all.send(method, path, { headers: { authorization }, body });
    const own = await all.make('own');
    const sibling = await all.make('sibling');
    const budget = await all.service.createKey({ mode: 'token_budget', budget: '5', account: own.account });
    const disabled = await all.service.createKey({ mode: 'credit', account: own.account });
    await all.service.changeKey(disabled.id, { status: 'disabled' });
    const before = [await all.service.accounts.list(), await all.service.listKeys()];
    const refused: readonly (readonly [status: number, method: string, path: string, body?: object])[] = [
      [403, 'PATCH', `/accounts/${all.top}`, { credit_cap: 'none' }],
      [403, 'PATCH', `/accounts/${all.top}`, { rpm_limit: 'none' }],
      [403, 'PATCH', `/accounts/${all.top}`, { token_cap: '5/day' }],
      [403, 'PATCH', `/accounts/${all.top}`, { status: 'active' }],
      [403, 'PATCH', `/accounts/${all.top}`, { status: 'closed' }],
      [403, 'POST', `/accounts/${all.top}/move`, { parent: own.account }],
      [403, 'POST', `/accounts/${all.top}/credit`, { amount: '5' }],
      [403, 'POST', `/keys/${own.key}/credit`, { amount: '5' }],
      [403, 'POST', '/accounts', { name: 'a root' }],
      [403, 'POST', '/accounts', { name: 'with an id', parent: own.account, external_id: 'crm-1' }],
      [403, 'PATCH', `/accounts/${own.account}`, { external_id: 'crm-1' }],
      [403, 'POST', '/keys', { mode: 'credit' }],
      [403, 'POST', '/keys', { mode: 'credit', credit: '5' }],
      [400, 'POST', '/keys', { mode: 'credit', credit: '5', account: own.account }],
      [403, 'POST', '/keys', { mode: 'token_budget', budget: 'unlimited', account: own.account }],
      [403, 'POST', '/keys', { mode: 'credit', provider_scope: 'one', account: own.account }],
      [403, 'PATCH', `/keys/${own.key}`, { provider_scope: 'all' }],
      [403, 'PATCH', `/keys/${own.key}`, { status: 'disabled' }],
      [403, 'PATCH', `/keys/${budget.id}`, { budget: 'unlimited' }],
      [403, 'PATCH', `/keys/${budget.id}`, { period: 'day' }],
      [403, 'PATCH', `/keys/${budget.id}`, { models: 'all' }],
      [403, 'PATCH', `/keys/${disabled.id}`, { status: 'active' }],
      [404, 'POST', `/accounts/${own.account}/move`, { parent: all.root }],
      [404, 'POST', `/accounts/${own.account}/move`, { parent: sibling.account }],
      [404, 'POST', `/accounts/${sibling.account}/keys`, { key: own.key }],
      [404, 'POST', `/accounts/${own.account}/keys`, { key: sibling.key }],
      [403, 'GET', '/usage?by=provider'],
      [403, 'GET', '/usage?provider=one'],
      [403, 'GET', '/requests?provider=secret-provider'],
      [404, 'GET', `/usage?account=${sibling.account}`],
      [404, 'GET', `/requests?account=${sibling.account}`],
      [404, 'GET', `/requests?account=${all.root}&below=no`],
    ];
    for (const [status, method, path, body] of refused) {
      const answer = await send(method, path, body);
      const what = `${method} ${path} ${JSON.stringify(body)}: ${answer.status} ${answer.body.error?.message}`;
      assert.equal(answer.status, status, what);
    }
    assert.deepEqual([await all.service.accounts.list(), await all.service.listKeys()], before);
    assert.equal((await send('PATCH', `/keys/${budget.id}`, { status: 'suspended', label: 'quiet' })).status, 200);
    assert.equal((await send('PATCH', `/keys/${disabled.id}`, { status: 'revoked' })).status, 200);
    assert.equal((await send('POST', `/accounts/${all.top}/keys`, { key: own.key })).status, 200);
  });

  test('makes what an operator has set tighter, and takes that back, but never looser than the operator had it', async (t) => {
    const all = await world(t);
    const authorization = `Bearer ${await all.token('account-admin', all.top)}`;
    const patch = async (path: string, body: object) => {
      const answer = await all.send('PATCH', path, { headers: { authorization }, body });
      return answer.status === 200 ? 200 : `${answer.status} ${answer.body.error.message.split(':')[0]}`;
    };
    const { account } = await all.make('own');
    const limits = { rpm_limit: 60, models: ['a/*', 'b/one'], addresses: ['10.0.0.0/8'], expires_at: '2026-06-01' };
    const { id } = await all.service.createKey({ mode: 'credit', account, ...limits, cap: '5', period: 'day' });
    const lone = await all.service.createKey({ mode: 'credit', tpm_limit: 1_000 });
    await all.service.accounts.addKey(account, { key: lone.id });
    await all.service.accounts.change(account, { credit_cap: '10/month', parallel_limit: 4 });
    const key = `/keys/${id}`;
    for (const [path, body, expected] of [
      [key, { rpm_limit: 61 }, '403 rpm_limit'],
      [key, { rpm_limit: 'none' }, '403 rpm_limit'],
      [key, { rpm_limit: 10 }, 200],
      [key, { rpm_limit: 60 }, 200],
      [key, { models: 'all' }, '403 models'],
      [key, { models: ['*'] }, '403 models'],
      [key, { models: ['a/*', 'c/two'] }, '403 models'],
      [key, { models: ['a/three', 'b/one'] }, 200],
      [key, { models: ['a/*'] }, 200],
      [key, { models: ['a/th*', 'a/*-mini'] }, 200],
      [key, { models: ['b/*'] }, '403 models'],
      [key, { addresses: 'any' }, '403 addresses'],
      [key, { addresses: ['10.1.2.3', '11.0.0.1'] }, '403 addresses'],
      [key, { addresses: ['10.0.0.0/7'] }, '403 addresses'],
      [key, { addresses: ['10.1.2.3'] }, 200],
      [key, { addresses: ['10.1.0.0/16'] }, 200],
      [key, { expires_at: 'never' }, '403 expires_at'],
      [key, { expires_at: '2026-05-01' }, 200],
      [key, { cap: '6' }, '403 cap'],
      [key, { cap: 'none' }, '403 cap'],
      [key, { period: 'month' }, '403 period'],
      [key, { cap: '4' }, 200],
      [key, { label: 'renamed', tpm_limit: 5, output_limit: 7 }, 200],
      [key, { tpm_limit: 'none', output_limit: 70 }, 200],
      [`/keys/${lone.id}`, { tpm_limit: 1_001 }, '403 tpm_limit'],
      [`/accounts/${account}`, { credit_cap: '11/month' }, '403 credit_cap'],
      [`/accounts/${account}`, { credit_cap: '10/day' }, '403 credit_cap'],
      [`/accounts/${account}`, { credit_cap: 'none' }, '403 credit_cap'],
      [`/accounts/${account}`, { credit_cap: '9.5/month', parallel_limit: 3, token_cap: '100/day' }, 200],
      [`/accounts/${account}`, { token_cap: 'none', parallel_limit: 4 }, 200],
      [`/accounts/${account}`, { parallel_limit: 5 }, '403 parallel_limit'],
    ] as const) {
      assert.equal(await patch(path, body), expected, `${path} ${JSON.stringify(body)}`);
    }
    await all.service.changeKey(id, { rpm_limit: 'none', cap: 'none' });
    assert.equal(await patch(key, { rpm_limit: 500, cap: '50', period: 'month' }), 200, 'the operator has lifted it');
  });

  test('does not end what an operator has suspended, nor move anything out of it', async (t) => {
    const all = await world(t);
    const authorization = `Bearer ${await all.token('account-admin', all.top)}`;
    const send = async (method: string, path: string, body: object) =>
      (await all.send(method, path, { headers: { authorization }, body })).status;
    const { account, key } = await all.make('own');
    const { id: below } = await all.service.accounts.create({ name: 'below', parent: account });
    const ofBelow = await all.service.createKey({ mode: 'credit', account: below });
    // Its own suspension, it ends itself.
    assert.equal(await send('PATCH', `/keys/${key}`, { status: 'suspended' }), 200);
    assert.equal(await send('PATCH', `/keys/${key}`, { status: 'active' }), 200);
    await all.service.changeKey(key, { status: 'suspended' });
    assert.equal(await send('PATCH', `/keys/${key}`, { status: 'active' }), 403);
    assert.equal(await send('PATCH', `/keys/${key}`, { label: 'x' }), 200);
    await all.service.accounts.change(account, { status: 'suspended' });
    assert.equal(await send('PATCH', `/accounts/${account}`, { status: 'active' }), 403);
    assert.equal(await send('POST', `/accounts/${all.top}/keys`, { key: ofBelow.id }), 403);
    assert.equal(await send('POST', `/accounts/${all.top}/keys`, { key }), 403);
    assert.equal(await send('POST', `/accounts/${below}/move`, { parent: all.top }), 403);
    assert.equal(await send('POST', `/accounts/${account}/keys`, { key: ofBelow.id }), 200, 'within it things move');
    assert.equal((await all.service.showKey(key)).status, 'suspended');
    await all.service.accounts.change(account, { status: 'active' });
    assert.equal(await send('POST', `/accounts/${all.top}/keys`, { key: ofBelow.id }), 200);
    assert.equal(await send('PATCH', `/keys/${key}`, { status: 'revoked' }), 200);
  });

  test('sees its account as the top, its usage without cost and margin, and its requests without providers', async (t) => {
    const all = await world(t);
    const authorization = `Bearer ${await all.token('account-admin', all.top)}`;
    const get = async (path: string) => (await all.send('GET', path, { headers: { authorization } })).body;
    const { request } = await all.make('own');
    const top = await get(`/accounts/${all.top}`);
    assert.deepEqual([top.parent, top.root, top.credit, top.balance], [null, all.top, null, null]);
    const { total } = (await get('/usage')) as unknown as { total: Record<string, unknown> };
    assert.deepEqual([total.cost, total.provider_cost, total.margin], [0, null, null]);
    const story = JSON.stringify(await get(`/requests/${request}`));
    assert.ok(!story.includes('secret-provider') && story.includes('"provider_cost_nanos":null'), story);
    const { operator } = (await get('/session')) as unknown as { operator: Record<string, unknown> };
    assert.deepEqual([operator.role, operator.account_id], ['account-admin', all.top]);
  });

  test('requests of an account: with those below it or without, and never those of others', async (t) => {
    const all = await world(t);
    const [own] = [await all.make('own'), await all.make('sibling'), await all.make('lone')];
    const found = async (role: Role, query: string): Promise<readonly string[]> => {
      const headers = { authorization: `Bearer ${await all.token(role, all.top)}` };
      const { body } = await all.send('GET', `/requests?${query}`, { headers });
      return (body.data as { id: string }[]).map(({ id }) => id);
    };
    for (const role of ['viewer', 'account-admin'] as const) {
      assert.deepEqual(await found(role, `account=${all.top}`), [own.request], role);
      assert.deepEqual(await found(role, `account=${own.account}&below=no`), [own.request], role);
      assert.deepEqual(await found(role, `account=${all.top}&below=no`), [], role);
    }
    assert.equal((await found('viewer', 'account=none')).length, 1);
    assert.equal((await found('viewer', `account=${all.root}`)).length, 2);
    assert.deepEqual(await found('account-admin', 'account=none'), []);
    const authorization = `Bearer ${await all.token('account-admin', all.top)}`;
    const { body } = await all.send('GET', '/keys?account=none', { headers: { authorization } });
    assert.deepEqual(body.data, [], 'keys without an account are for operators alone');
  });

  test('learns no id from outside from what a key did before it came: its credit, its requests, its failures', async (t) => {
    const all = await world(t);
    const { service, send, top, root } = all;
    const authorization = `Bearer ${await all.token('account-admin', top)}`;
    const { id: sibling } = await service.accounts.create({ name: 'former', parent: root });
    const { id: key } = await service.createKey({ mode: 'credit', credit: '5' });
    for (const account of [root, sibling, top]) await send('POST', `/accounts/${account}/keys`, { body: { key } });
    const ofTop = await service.createKey({ mode: 'credit', account: top });
    for (const [keyId, accountId] of [
      [key, sibling],
      [ofTop.id, top],
    ] as const) {
      all.entries.push(requestEntry({ keyId, change: (record) => (record.accountId = accountId) }));
    }
    all.failedIn.push(sibling, top);
    const [before, own] = all.entries.map(({ id }) => id);
    const month = new Date(all.clock.atMs).toISOString().slice(0, 7);
    const read = async (path: string, caller = authorization): Promise<string> => {
      const { status, body } = await send('GET', path, { headers: { authorization: caller } });
      assert.equal(status, 200, path);
      return JSON.stringify(body);
    };
    const paths = [
      `/keys/${key}/statement?month=${month}`,
      `/requests/${before}`,
      `/requests?key=${key}`,
      '/usage?by=account',
    ];
    const operator = `Bearer ${await all.token('viewer')}`;
    for (const path of paths) {
      const outside = new RegExp(`${root}|${sibling}`);
      assert.doesNotMatch(await read(path), outside, path);
      assert.match(await read(path, operator), outside, path);
    }
    assert.match(await read(`/keys/${key}/statement?month=${month}`), /"transfer_out"/);
    assert.match(await read(`/requests/${own}`), new RegExp(`of account ${top}`));
    assert.match(await read('/usage?by=account'), new RegExp(`"account":"${top}"`));
  });

  test('of an account that is erased is revoked, and neither it nor its token has a name any more', async (t) => {
    const { service, send, top, root, adminService } = await world(t);
    const made = async (name: string, account_id: string) => {
      const { token, operator } = await service.operators.create({ name, role: 'account-admin', account_id });
      await service.operators.addToken(operator.id, { label: `laptop of ${name}` });
      return { id: operator.id, headers: { authorization: `Bearer ${token}` } };
    };
    const [ann, bob, eve] = [await made('Ann', top), await made('Bob', top), await made('Eve', root)];
    await service.operators.revoke(bob.id);
    assert.equal((await send('POST', `/accounts/${top}/erase`, { body: { name: 'top' } })).status, 200);
    assert.equal((await send('GET', '/accounts', ann)).status, 401);
    assert.equal((await send('GET', '/accounts', eve)).status, 200);
    for (const { id } of [ann, bob]) {
      const { name, status, tokens } = await adminService.operators.show(id);
      assert.deepEqual([name, status, tokens.some(({ label }) => label !== null)], ['erased', 'revoked', false]);
    }
    assert.equal((await adminService.operators.show(eve.id)).name, 'Eve');
  });

  test('is bound to an account that exists; one whose account is unknown reaches nothing', async (t) => {
    const all = await world(t);
    await assert.rejects(
      all.service.operators.create({ name: 'lost', role: 'account-admin', account_id: 'acct_none' }),
      /account_id "acct_none" does not exist/,
    );
    const lost = await all.operators.create({ name: 'lost', role: 'account-admin', accountId: 'acct_none' });
    const { text } = await all.operators.issueToken(lost?.id ?? '', all.clock.atMs + 60_000, null);
    await all.make('own');
    const call = { headers: { authorization: `Bearer ${text}` } };
    for (const path of ['/keys', '/accounts', '/requests', '/requests/running']) {
      assert.deepEqual((await all.send('GET', path, call)).body.data, [], path);
    }
  });
});
