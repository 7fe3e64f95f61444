/** Refunds and promotional credit, as the holder of a key sees them through a started gateway. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { CreatedKey } from '../../../src/admin/keys/schema.ts';
import { gateway as command } from '../../support/admin-fixture.ts';
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

  test('a refund is seen on the request, its key and its account: who, how much, why, and what is left', async () => {
    const { admin, dataDir } = gateway;
    const account = await admin.accounts.create({ name: 'Globex' });
    await admin.accounts.addCredit(account.id, { amount: '5', note: 'invoice 7' });
    const key = await admin.createKey({ mode: 'credit', account: account.id });
    const requestId = await ask(key);
    const showOf = (): Promise<{ readonly code: number | null; readonly stdout: string }> =>
      command(dataDir, 'requests', 'show', requestId);
    while ((await showOf()).code !== 0);
    const untouched = await admin.call('showRequest', { id: requestId });
    assert.deepEqual(untouched.history.events, []);
    const { refundable } = untouched.history;
    assert.ok(refundable > 0);
    await admin.money.refund(requestId, { reason: 'a bad answer', amount: '0.000000001' });
    const { history, explanation } = await admin.call('showRequest', { id: requestId });
    assert.deepEqual([history.refunded, history.refundable], [1e-9, Number((refundable - 1e-9).toFixed(9))]);
    const [refund] = history.events;
    assert.deepEqual(
      [refund?.action, refund?.amount, refund?.reason, refund?.request_id],
      ['request.refund', 1e-9, 'a bad answer', requestId],
    );
    assert.match(explanation.join('\n'), /\nHistory:\n {2}\S+ request\.refund by \S+: .*a bad answer\n/);
    assert.match((await showOf()).stdout, /\nHistory:\n {2}\S+ request\.refund by \S+: .*a bad answer\n/);
    await admin.money.refund(requestId, { reason: 'all of it' });
    assert.equal((await admin.call('showRequest', { id: requestId })).history.refundable, 0);

    await admin.money.correct(account.id, { amount: '-1', reason: 'billed twice' });
    await admin.accounts.change(account.id, { status: 'suspended' });
    const events = (await admin.call('accountHistory', { id: account.id })).data;
    assert.deepEqual(events.map(({ action, amount, reason }) => [action, amount, reason]).slice(0, 4), [
      ['account.change', null, null],
      ['credit.correct', -1, 'billed twice'],
      ['request.refund', history.refundable, 'all of it'],
      ['request.refund', 1e-9, 'a bad answer'],
    ]);
    assert.deepEqual(events[0]?.changes, [{ field: 'status', from: 'active', to: 'suspended' }]);
    assert.deepEqual(
      events.slice(-2).map(({ action, amount, reason }) => [action, amount, reason]),
      [
        ['account.credit', 5, 'invoice 7'],
        ['account.create', null, null],
      ],
    );
    const listed = await command(dataDir, 'keys', 'history', key.id);
    assert.match(listed.stdout, /request\.refund by \S+: \S+ credits, for req_\w+, all of it\n/);
    assert.match((await command(dataDir, 'accounts', 'history', account.id)).stdout, /status active → suspended\n/);
    assert.equal((await command(dataDir, 'accounts', 'history', 'acct_none')).code, 1);
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
