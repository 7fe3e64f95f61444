/** Tokens per minute, parallel requests, the largest output, models and client addresses, of keys and of accounts. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { CreatedKey } from '../../../src/admin/keys/schema.ts';
import { auditClean, refusal, say, visit } from '../../support/requests.ts';
import { withGatedGateway } from '../../support/started-gateway.ts';

const { gateway, upstream } = await withGatedGateway();
const { admin } = gateway;

const GATED = { model: 'gated/one', max_tokens: 100 };
const OF_ACCOUNT = /the limit of this key's account/i;
const NOTHING_ABOUT_ACCOUNTS = /acct_|secret name/;

interface Sent {
  readonly max_tokens?: number;
  readonly max_completion_tokens?: number;
}

/** A key below an account with these limits, which has another one above it. */
async function keyBelow(limits: object, more: object = {}): Promise<CreatedKey> {
  const root = await admin.accounts.create({ name: 'secret name' });
  await admin.accounts.addCredit(root.id, { amount: '5' });
  const team = await admin.accounts.create({ name: 'secret name', parent: root.id, ...limits });
  return admin.createKey({ mode: 'credit', account: team.id, ...more });
}

async function answered(key: CreatedKey, extra: object = GATED): Promise<Sent> {
  const response = say(key, 'chat', 'go', extra);
  const gated = await upstream.next();
  gated.answer();
  assert.equal((await response).status, 200);
  return gated.body;
}

async function refused(key: CreatedKey, status: number, code: string, extra: object = GATED) {
  const response = await say(key, 'chat', 'go', extra);
  const { message } = await refusal(response, 'chat', status, code);
  assert.doesNotMatch(message, NOTHING_ABOUT_ACCOUNTS);
  return { message, retryAfterS: Number(response.headers.get('retry-after')) };
}

describe('parallel requests', () => {
  for (const [whose, make] of [
    ['a key', () => gateway.creditKey({ parallel_limit: 1, rpm_limit: 5 })],
    ['an account', () => keyBelow({ parallel_limit: 1 }, { rpm_limit: 5 })],
  ] as const) {
    test(`[R72] of ${whose}: one too many gets a 429 for a second, and takes no place in the requests per minute`, async () => {
      const key = await make();
      const first = say(key, 'chat', 'go', GATED);
      const gated = await upstream.next();
      const response = await say(key, 'chat', 'go', GATED);
      assert.equal(response.headers.get('x-ratelimit-remaining-requests'), '4');
      const { message } = await refusal(response, 'chat', 429, 'rate_limit_exceeded');
      assert.equal(response.headers.get('retry-after'), '1');
      assert.match(message, /parallel requests is reached/);
      assert.match(message, whose === 'a key' ? /This key's limit of 1 / : OF_ACCOUNT);
      // What holds nothing is served.
      assert.equal((await visit(key, 'usage')).status, 200);
      gated.answer();
      assert.equal((await first).status, 200);
      await answered(key);
      await auditClean(gateway);
    });
  }
});

describe('tokens per minute', () => {
  test('[R72] of a key: input and output count, the rest gets a 429 with a true wait', async () => {
    const { id } = await gateway.creditKey();
    const key = await gateway.creditKey({ tpm_limit: 12 });
    await answered(key);
    const { message, retryAfterS } = await refused(key, 429, 'rate_limit_exceeded');
    assert.match(message, /This key's limit of 12 tokens per minute is reached/);
    assert.ok(retryAfterS > 0 && retryAfterS <= 60, String(retryAfterS));
    await admin.changeKey(key.id, { tpm_limit: 'none' });
    await answered(key);
    assert.equal((await admin.showKey(id)).tpm_limit, null);
  });

  test('[R71] [R72] of an account: what its keys used counts for all of them, and nothing of it is told', async () => {
    const key = await keyBelow({ tpm_limit: 12 });
    await answered(key);
    const { message } = await refused(key, 429, 'rate_limit_exceeded');
    assert.match(message, OF_ACCOUNT);
    assert.doesNotMatch(message, /12/);
  });

  test('[R72] of an account that had none: the input of the next request counts, also of a key that is known already', async () => {
    const key = await keyBelow({});
    await answered(key);
    const { parent } = await admin.accounts.show(String(key.account));
    const root = String(parent);
    await admin.accounts.change(root, { tpm_limit: 1 });
    const { message } = await refused(key, 429, 'rate_limit_exceeded');
    assert.match(message, /input alone is more than/);
    await admin.accounts.change(root, { tpm_limit: 'none' });
    await answered(key);
  });

  test('[R72] input that is more than the whole limit is refused for good, and the message says so', async () => {
    const key = await gateway.creditKey({ tpm_limit: 1 });
    const { message, retryAfterS } = await refused(key, 429, 'rate_limit_exceeded');
    assert.match(message, /input alone is more than this key's limit of 1 tokens per minute/);
    assert.equal(retryAfterS, 60);
  });
});

describe('the largest output', () => {
  test('[R14] of a key: a 400 in Format A, a cap in Format B, and what is sent where the client says nothing', async () => {
    const key = await gateway.creditKey({ output_limit: 50 });
    const { message } = await refused(key, 400, 'invalid_request', { ...GATED, max_tokens: 51 });
    assert.equal(message, 'max_tokens is 51; this API key may ask for at most 50 tokens.');
    const limitOf = (body: Sent) => body.max_tokens ?? body.max_completion_tokens;
    assert.equal(limitOf(await answered(key, { model: 'gated/one' })), 50);
    assert.equal(limitOf(await answered(key, { model: 'gated/one', max_tokens: 50 })), 50);
    const asked = say(key, 'messages', 'go', { model: 'gated/one', max_tokens: 9_000 });
    const gated = await upstream.next();
    assert.equal(limitOf(gated.body), 50);
    gated.answer();
    assert.equal((await asked).status, 200);
    const models = (await (await visit(key, 'models')).json()) as { data: { id: string; max_output_tokens: number }[] };
    assert.ok(models.data.length > 1 && models.data.every((model) => model.max_output_tokens <= 50));
  });

  test('[R71] [R14] of an account: the same for every key below it, without its figure', async () => {
    const key = await keyBelow({ output_limit: 60 }, { output_limit: 70 });
    const { message } = await refused(key, 400, 'invalid_request', { ...GATED, max_tokens: 65 });
    assert.equal(message, "max_tokens is 65; that is more than the limit of this key's account on output.");
    await answered(key, { model: 'gated/one', max_tokens: 60 });
  });
});

describe('models', () => {
  const idsOf = async (key: CreatedKey): Promise<readonly string[]> =>
    ((await (await visit(key, 'models')).json()) as { data: { id: string }[] }).data.map(({ id }) => id);

  test('a pattern allows what it matches, also in the list of models', async () => {
    const key = await gateway.creditKey({ models: ['gated/o*'] });
    await answered(key);
    assert.deepEqual(await idsOf(key), ['gated/one']);
    const { message } = await refused(key, 403, 'key_disabled', { model: 'sandbox/alpha' });
    assert.match(message, /limited to the models "gated\/o\*"/);
    await assert.rejects(gateway.creditKey({ models: ['gatde/*'] }), /models has "gatde\/\*", which matches no model/);
  });

  test('[R71] the list of an account limits every key below it, at once when it changes', async () => {
    const key = await keyBelow({ models: ['gated/o*'] }, { models: ['*'] });
    assert.deepEqual(await idsOf(key), ['gated/one']);
    const { message } = await refused(key, 403, 'key_disabled', { model: 'sandbox/alpha' });
    assert.match(message, OF_ACCOUNT);
    const { account = '' } = await admin.showKey(key.id);
    await admin.accounts.change(account, { models: ['sandbox/*'] });
    await refused(key, 403, 'key_disabled');
    await admin.accounts.change(account, { models: 'all' });
    await answered(key);
    await assert.rejects(admin.accounts.change(account, { models: ['nobody/*'] }), /matches no model/);
  });
});

describe('client addresses', () => {
  test('a key is refused from elsewhere, at once when that changes', async () => {
    const key = await gateway.creditKey({ addresses: ['127.0.0.0/8', '2001:db8::/32'] });
    await answered(key);
    await admin.changeKey(key.id, { addresses: ['10.0.0.0/8', '::ffff:0:0/128'] });
    const { message } = await refused(key, 403, 'key_disabled');
    assert.equal(message, 'This API key may not be used from 127.0.0.1.');
    // Routes without a 403 say it with their own code.
    await refusal(visit(key, 'usage'), 'usage', 401, 'invalid_credentials');
    await admin.changeKey(key.id, { addresses: 'any' });
    await answered(key);
  });

  test('[R71] an account is refused from elsewhere with all keys below it', async () => {
    const key = await keyBelow({ addresses: ['192.0.2.7'] }, { addresses: ['127.0.0.1'] });
    const { message } = await refused(key, 403, 'key_disabled');
    assert.match(message, OF_ACCOUNT);
    const { account = '' } = await admin.showKey(key.id);
    await admin.accounts.change(account, { addresses: null });
    await answered(key);
  });

  test('what is no address is refused where it is set', async () => {
    for (const wrong of ['10.0.0.0/33', '10.0.0', 'localhost', '::1/129', '1.2.3.4/8/8', '1.2.3.4/']) {
      await assert.rejects(gateway.creditKey({ addresses: [wrong] }), /addresses has ".*", which is no IPv4 or IPv6/);
    }
    await assert.rejects(gateway.creditKey({ addresses: [] }), /addresses is \[\]: must be a list of/);
    await assert.rejects(gateway.creditKey({ tpm_limit: 0 }), /tpm_limit is 0: must be a whole number from 1/);
    await assert.rejects(gateway.creditKey({ parallel_limit: '0' }), /parallel_limit is "0": must be a whole number/);
    await assert.rejects(gateway.creditKey({ output_limit: -5 }), /output_limit is -5: must be a whole number/);
  });
});
