/** Refunds and promotional credit, as the holder of a key sees them through a started gateway. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { CreatedKey } from '../../../src/admin/keys/schema.ts';
import { say, usage } from '../../support/requests.ts';
import { withGatedGateway } from '../../support/started-gateway.ts';

const { gateway, upstream } = await withGatedGateway();
const GATED = { model: 'gated/one', max_tokens: 1000 };

/** Asks and is answered; the id of the request. */
async function ask(key: CreatedKey): Promise<string> {
  const pending = say(key, 'chat', 'go', GATED);
  (await upstream.next()).answer();
  const response = await pending;
  assert.equal(response.status, 200, await response.text());
  return response.headers.get('x-request-id') ?? '';
}

describe('refunds and promotional credit', () => {
  test('[R73] [R52] a refund by the id of the answer raises total_purchased; what was used stays used', async () => {
    const key = await gateway.admin.createKey({ mode: 'credit', credit: '5' });
    const requestId = await ask(key);
    const before = (await usage(key)).credits;
    const refund = await gateway.admin.money.refund(requestId, { reason: 'a bad answer' });
    const { credits } = await usage(key);
    assert.equal(refund.amount, before.used);
    assert.equal(credits.total_purchased, Number((5 + before.used).toFixed(9)));
    assert.deepEqual(
      [credits.used, credits.lifetime_spend, credits.last_request_cost, credits.today_spend],
      [before.used, before.lifetime_spend, before.last_request_cost, before.today_spend],
    );
    assert.equal(credits.remaining, 5);
    await assert.rejects(gateway.admin.money.refund(requestId, { reason: 'again' }), /refunded before/);
  });

  test('[R73] promotional credit counts as credit, is spent first, and the statement says so', async () => {
    const account = await gateway.admin.accounts.create({ name: 'Acme' });
    await gateway.admin.accounts.addCredit(account.id, { amount: '1', entry_id: 'bought' });
    await gateway.admin.accounts.addCredit(account.id, { amount: '2', entry_id: 'welcome', expires_at: '2099-01-01' });
    const key = await gateway.admin.createKey({ mode: 'credit', account: account.id });
    await ask(key);
    const { credits } = await usage(key);
    assert.equal(credits.total_purchased, 3);
    const today = new Date();
    const month = today.toISOString().slice(0, 7);
    const statement = await gateway.admin.money.statement(account.id, { month });
    assert.deepEqual(statement.entries.map(({ kind }) => kind).sort(), ['promotion', 'purchase']);
    assert.equal(Number(statement.closing_balance), credits.remaining);
    assert.equal(Number(statement.totals.usage), credits.used);
    assert.deepEqual((await gateway.audit()).findings, []);
  });
});
