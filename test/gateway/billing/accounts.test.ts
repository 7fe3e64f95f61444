/** Keys of accounts through a started gateway: what they spend of, what refuses them, and what they are told. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { AccountView } from '../../../src/admin/accounts/schema.ts';
import type { CreatedKey } from '../../../src/admin/keys/schema.ts';
import { refusal, say, usage } from '../../support/requests.ts';
import { withGatedGateway } from '../../support/started-gateway.ts';

const { gateway, upstream } = await withGatedGateway();
const { accounts } = gateway.admin;

const GATED = { model: 'gated/one', max_tokens: 1000 };
const NOTHING_ABOUT_ACCOUNTS = /acct_|secret name|\d/;

async function org(credit: string, caps: object = {}): Promise<AccountView> {
  const { id } = await accounts.create({ name: 'secret name', ...caps });
  return accounts.addCredit(id, { amount: credit });
}

const keyOf = (account: string, more: object = {}): Promise<CreatedKey> =>
  gateway.admin.createKey({ mode: 'credit', account, ...more });

/** Asks and is answered. */
async function ask(key: CreatedKey, extra: object = GATED): Promise<void> {
  const response = say(key, 'chat', 'go', extra);
  (await upstream.next()).answer();
  assert.equal((await response).status, 200);
}

/** The message and the wait of a refusal. */
async function refused(key: CreatedKey, status: number, code: string) {
  const response = await say(key, 'chat', 'go', GATED);
  const { message } = await refusal(response, 'chat', status, code);
  return { message, retryAfterS: Number(response.headers.get('retry-after')) };
}

describe('keys of accounts', () => {
  test('[R70] [F37] without a cap a key shows what the account has that pays, and every level counts what it spent', async () => {
    const root = await org('5');
    const team = await accounts.create({ name: 'team', parent: root.id });
    const [key, other] = [await keyOf(team.id), await keyOf(root.id)];
    await ask(other);
    await ask(key);
    const { credits, requests, explanation } = await usage(key);
    const [rootNow, teamNow] = [await accounts.show(root.id), await accounts.show(team.id)];
    assert.equal(credits.total_purchased, 5);
    assert.equal(credits.used, rootNow.used);
    assert.equal(credits.lifetime_spend, credits.used);
    assert.equal(credits.remaining, Number((5 - rootNow.used).toFixed(9)));
    assert.equal(credits.today_spend, teamNow.used);
    assert.equal(credits.last_request_cost, teamNow.used);
    assert.equal(Number((credits.today_spend * 2).toFixed(9)), rootNow.used);
    assert.equal(requests.total, 1);
    assert.match(explanation, /by the limit of this key's account/);
    assert.ok(teamNow.tokens_used > 0 && rootNow.tokens_used === 2 * teamNow.tokens_used);
  });

  test('[R70] with a cap of its own that is its budget; what is left is the least of all levels', async () => {
    const root = await org('5', { credit_cap: '1/day' });
    const key = await keyOf(root.id, { cap: '2', period: 'week' });
    await ask(key);
    const { credits, explanation } = await usage(key);
    const { used } = await accounts.show(root.id);
    assert.equal(credits.total_purchased, 2);
    assert.equal(credits.used, used);
    assert.equal(credits.balance, Number((2 - used).toFixed(9)));
    assert.equal(credits.remaining, Number((1 - used).toFixed(9)));
    assert.match(explanation, /by the limit of this key's account/);
    await accounts.change(root.id, { credit_cap: 'none' });
    assert.equal((await usage(key)).credits.remaining, Number((2 - used).toFixed(9)));
    assert.match((await usage(key)).explanation, /by the cap of this key/);
  });

  test('[R71] [R15] an account that cannot pay refuses with the codes of the key, and tells nothing of itself', async () => {
    const poor = await org('0.000001');
    const lacking = await refused(await keyOf(poor.id), 402, 'insufficient_credit');
    const capped = await org('5', { token_cap: '0/day' });
    const reached = await refused(await keyOf(capped.id), 429, 'limit_reached');
    assert.ok(reached.retryAfterS > 0 && reached.retryAfterS <= 86_400);
    await accounts.change(capped.id, { token_cap: null, status: 'suspended' });
    const suspended = await refused(await keyOf(capped.id), 403, 'key_disabled');
    for (const { message } of [lacking, reached]) {
      assert.match(message, /limit of this key's account/);
      assert.doesNotMatch(message, NOTHING_ABOUT_ACCOUNTS);
    }
    assert.match(suspended.message, /account of this key/);
  });

  test('[R71] [R11] a rate limit of an account refuses with a true wait, and a busy account with 429', async () => {
    const root = await org('0.006', { rpm_limit: 2 });
    const [one, other] = [await keyOf(root.id), await keyOf(root.id)];
    const first = say(one, 'chat', 'go', GATED);
    const gated = await upstream.next();
    const busy = await refused(other, 429, 'balance_temporarily_reserved');
    assert.match(busy.message, /limit of this key's account/);
    gated.answer();
    assert.equal((await first).status, 200);
    const limited = await refused(one, 429, 'rate_limit_exceeded');
    assert.match(limited.message, /limit of this key's account/);
    assert.ok(limited.retryAfterS > 0 && limited.retryAfterS <= 60);
  });

  test('[R14] the output limit shrinks to what the token cap of an account leaves', async () => {
    const root = await org('5', { token_cap: '700/none' });
    const key = await keyOf(root.id);
    const response = say(key, 'chat', 'go', { model: 'gated/one' });
    const gated = await upstream.next();
    const sent = gated.body as { max_tokens?: number; max_completion_tokens?: number };
    const limit = sent.max_tokens ?? sent.max_completion_tokens ?? 0;
    assert.ok(limit >= 256 && limit < 700, String(limit));
    gated.answer();
    assert.equal((await response).status, 200);
  });

  test('a key that paid for itself goes on working when it has joined an account', async () => {
    const key = await gateway.creditKey({ credit: '2' });
    await ask(key);
    const root = await org('3');
    const joined = await accounts.addKey(root.id, { key: key.id });
    assert.equal(joined.credit, Number((5 - (await usage(key)).credits.today_spend).toFixed(9)));
    await ask(key);
    assert.equal((await gateway.admin.showKey(key.id)).account, root.id);
  });

  test('a token-budget key of an account spends tokens of its account and no credit', async () => {
    const root = await org('1', { token_cap: '5000/month' });
    const key = await gateway.tokenKey({ account: root.id });
    await ask(key);
    const { used, tokens_used } = await accounts.show(root.id);
    const { tokens } = await usage(key);
    assert.equal(used, 0);
    assert.equal(tokens.used, tokens_used);
    assert.equal(tokens.remaining, 5_000 - tokens_used);
  });
});
