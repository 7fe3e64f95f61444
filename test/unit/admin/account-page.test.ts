import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type AppFixture, appFixture } from '../../support/admin-app.ts';

interface Page {
  readonly data: readonly { readonly id: string; readonly name: string; readonly is_parent: boolean }[];
  readonly next_cursor: string | null;
}

type Send = AppFixture['send'];

async function pageOf(send: Send, query: string, authorization?: string): Promise<Page> {
  const headers = authorization === undefined ? {} : { authorization };
  return (await send('GET', `/accounts?${query}`, { headers })).body as unknown as Page;
}

async function names(send: Send, query: string, authorization?: string): Promise<readonly string[]> {
  return (await pageOf(send, query, authorization)).data.map(({ name }) => name);
}

/** All pages, one after the other; `between` is called after each. */
async function walked(send: Send, query: string, authorization?: string, between = async (): Promise<unknown> => null) {
  const seen: string[] = [];
  let cursor: string | null = null;
  do {
    const next: string = cursor === null ? query : `${query}&cursor=${cursor}`;
    const page = await pageOf(send, next, authorization);
    seen.push(...page.data.map(({ name }) => name));
    cursor = page.next_cursor;
    await between();
  } while (cursor !== null);
  return seen;
}

describe('the list of accounts', () => {
  test('comes in pages that miss nothing and repeat nothing, while accounts are made', async (t) => {
    const { send, service } = await appFixture(t);
    for (let number = 0; number < 7; number++) await service.accounts.create({ name: `account ${number}` });
    let made = 0;
    const seen = await walked(send, 'limit=3', undefined, async () => {
      if (made++ < 2) await service.accounts.create({ name: 'later' });
    });
    const first = Array.from({ length: 7 }, (_, number) => `account ${number}`);
    assert.deepEqual(seen, [...first, 'later', 'later']);
    const all = (await send('GET', '/accounts')).body as unknown as Page;
    assert.deepEqual([all.data.length, all.next_cursor], [9, null]);
  });

  test('is filtered by parent and status, and searched', async (t) => {
    const { send, service } = await appFixture(t);
    const { accounts } = service;
    const acme = await accounts.create({ name: 'Acme', external_id: 'CRM-7' });
    const team = await accounts.create({ name: 'Support team', parent: acme.id });
    await accounts.create({ name: 'Night shift', parent: team.id });
    const other = await accounts.create({ name: 'Other' });
    await accounts.change(other.id, { status: 'suspended' });
    assert.deepEqual(await names(send, 'parent=none'), ['Acme', 'Other']);
    assert.deepEqual(await names(send, `parent=${acme.id}`), ['Support team']);
    assert.deepEqual(await names(send, `parent=${acme.id}&below=yes`), ['Support team', 'Night shift']);
    assert.deepEqual(await names(send, `parent=${acme.id}&below=no`), ['Support team']);
    assert.deepEqual(await names(send, 'status=suspended'), ['Other']);
    assert.deepEqual(await names(send, 'search=SUPPORT'), ['Support team']);
    assert.deepEqual(await names(send, 'search=crm-7'), ['Acme']);
    assert.deepEqual(await names(send, `search=${team.id}`), ['Support team']);
    assert.deepEqual(await names(send, 'search=OTHER&parent=none'), ['Other']);
    assert.deepEqual(
      (await pageOf(send, '')).data.map(({ is_parent }) => is_parent),
      [true, true, false, false],
    );
    assert.equal((await accounts.show(team.id)).is_parent, true);
  });

  test('bad input is refused by name', async (t) => {
    const { send } = await appFixture(t);
    const wrong = ['limit=0', 'limit=1001', 'limit=x', 'cursor=acct_none', 'status=gone', 'serach=x'];
    for (const query of [...wrong, 'below=yes', 'below=yes&parent=none', 'below=maybe']) {
      const { status, body } = await send('GET', `/accounts?${query}`);
      assert.deepEqual([status, body.error.code], [400, 'invalid_input'], query);
      assert.match(body.error.message, new RegExp(query.split('=')[0] ?? ''));
    }
    for (const query of ['parent=acct_none', 'parent=acct_none&below=yes']) {
      const { status, body } = await send('GET', `/accounts?${query}`);
      assert.deepEqual([status, body.error.code], [404, 'unknown_account'], query);
      assert.match(body.error.message, /"acct_none" does not exist/);
    }
  });

  test('an account-admin finds its own account and those below it, by every filter and cursor, and nothing else', async (t) => {
    const { send, service, token } = await appFixture(t);
    const { accounts } = service;
    const root = await accounts.create({ name: 'root same' });
    const top = await accounts.create({ name: 'top same', parent: root.id });
    const team = await accounts.create({ name: 'team same', parent: top.id });
    const sibling = await accounts.create({ name: 'sibling same', parent: root.id });
    await accounts.create({ name: 'stranger same' });
    await accounts.create({ name: 'deep same', parent: team.id });
    await accounts.create({ name: 'cousin same', parent: sibling.id });
    const own = `Bearer ${await token('account-admin', top.id)}`;
    const inside = ['top same', 'team same', 'deep same'];
    assert.deepEqual(await names(send, '', own), inside);
    assert.deepEqual(await walked(send, 'limit=1', own), inside);
    assert.deepEqual(await walked(send, 'limit=1&search=SAME', own), inside);
    assert.deepEqual(await names(send, 'status=active', own), inside);
    assert.deepEqual(await walked(send, 'limit=1&parent=none', own), ['top same']);
    assert.deepEqual(await names(send, 'parent=none&search=team', own), []);
    assert.deepEqual(await names(send, `parent=${top.id}`, own), ['team same']);
    assert.deepEqual(await walked(send, `limit=1&parent=${top.id}&below=yes`, own), ['team same', 'deep same']);
    assert.deepEqual(await names(send, `search=${root.id}`, own), []);
    const headers = { authorization: own };
    for (const outside of [root.id, sibling.id]) {
      const refused = await Promise.all(
        [`parent=${outside}`, `parent=${outside}&below=yes`, `cursor=${outside}`].map((query) =>
          send('GET', `/accounts?${query}`, { headers }),
        ),
      );
      assert.deepEqual(
        refused.map(({ status }) => status),
        [404, 404, 400],
      );
    }
    const text = JSON.stringify(await pageOf(send, '', own));
    assert.deepEqual([text.includes(root.id), text.includes('root same')], [false, false]);
    assert.match(text, /"root_name":"top same"/);
  });
});
