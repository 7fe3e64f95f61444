import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { appFixture } from '../../support/admin-app.ts';

interface Page {
  readonly data: readonly { readonly id: string; readonly label: string | null }[];
  readonly next_cursor: string | null;
}

describe('the list of keys', () => {
  test('comes in pages that miss nothing and repeat nothing, while keys are made', async (t) => {
    const { send, service } = await appFixture(t);
    for (let number = 0; number < 7; number++) await service.createKey({ mode: 'credit', label: `key ${number}` });
    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const url: string = `/keys?limit=3${cursor === null ? '' : `&cursor=${cursor}`}`;
      const page = (await send('GET', url)).body as unknown as Page;
      seen.push(...page.data.map(({ label }) => label ?? ''));
      cursor = page.next_cursor;
      await service.createKey({ mode: 'credit', label: 'later' });
    } while (cursor !== null);
    assert.deepEqual(seen, ['key 6', 'key 5', 'key 4', 'key 3', 'key 2', 'key 1', 'key 0']);
    const all = (await send('GET', '/keys')).body as unknown as Page;
    assert.deepEqual([all.data.length, all.next_cursor], [10, null]);
  });

  test('is filtered by status, mode and label, and searched', async (t) => {
    const { send, service } = await appFixture(t);
    const search = await service.createKey({ mode: 'credit', label: 'Search team' });
    const batch = await service.createKey({ mode: 'token_budget', budget: 1, label: 'batch' });
    const old = await service.createKey({ mode: 'credit' });
    await service.revokeKey(old.id);
    const found = async (query: string): Promise<readonly string[]> => {
      const { data } = (await send('GET', `/keys?${query}`)).body as unknown as Page;
      return data.map(({ id }) => id);
    };
    assert.deepEqual(await found('status=revoked'), [old.id]);
    assert.deepEqual(await found('mode=token_budget'), [batch.id]);
    assert.deepEqual(await found('label=batch'), [batch.id]);
    assert.deepEqual(await found('label=bat'), []);
    assert.deepEqual(await found('search=TEAM'), [search.id]);
    assert.deepEqual(await found(`search=${old.prefix}`), [old.id]);
    assert.deepEqual(await found(`search=${batch.id}&mode=credit`), []);
    assert.deepEqual(await found('account=acc_none'), []);
    const account = await service.accounts.create({ name: 'Acme' });
    const paid = await service.createKey({ mode: 'credit', account: account.id });
    assert.deepEqual(await found('account=none'), [old.id, batch.id, search.id]);
    assert.deepEqual(await found('account=none&below=yes&mode=token_budget'), [batch.id]);
    assert.deepEqual(await found(`account=${account.id}`), [paid.id]);
  });

  test('bad input is refused by name', async (t) => {
    const { send } = await appFixture(t);
    for (const query of ['limit=0', 'limit=1001', 'limit=x', 'cursor=key_none', 'status=gone', 'lable=x']) {
      const { status, body } = await send('GET', `/keys?${query}`);
      assert.deepEqual([status, body.error.code], [400, 'invalid_input'], query);
      assert.match(body.error.message, new RegExp(query.split('=')[0] ?? ''));
    }
  });
});
