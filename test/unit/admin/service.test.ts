import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { AdminError, type AdminErrorCode } from '../../../src/admin/error.ts';
import { validBody } from '../../../src/admin/http/validate.ts';
import { readCredit, readKeyChange, readNewKey } from '../../../src/admin/keys/input.ts';
import { CreditBody, KeyChangeBody, NewKeyBody } from '../../../src/admin/keys/schema.ts';
import { isKeyText, keyDigest } from '../../../src/core/key.ts';
import { adminFixture, SECRET, START_MS } from '../../support/admin-fixture.ts';

const CREDIT_KEY = { mode: 'credit', credit: '5' };

function refusal(code: AdminErrorCode, pattern: RegExp) {
  return (error: unknown) => {
    assert(error instanceof AdminError, String(error));
    assert.equal(error.code, code);
    assert.match(error.message, pattern);
    assert(!error.message.includes('\n'), 'one line');
    return true;
  };
}

/** As a route reads what it is sent. */
const READERS = [
  (value: unknown) => readNewKey(validBody(NewKeyBody, value)),
  (value: unknown) => readKeyChange(validBody(KeyChangeBody, value)),
  (value: unknown) => readCredit(validBody(CreditBody, value)),
];

describe('keys', () => {
  test('[R9] a new key is found by its keyed digest only, and its text is told once', async (t) => {
    const { service, ledger } = adminFixture(t);
    const made = await service.createKey({ mode: 'credit', credit: '0.25', label: 'mine' });
    assert(isKeyText(made.key));
    assert.match(made.key, /^mg_c_/);
    assert.equal(made.prefix, made.key.slice(0, 12));
    assert.equal((await ledger.findKey(keyDigest(SECRET, made.key)))?.id, made.id);
    assert.equal(await ledger.findKey(keyDigest('another secret', made.key)), null);
    const shown = JSON.stringify([await service.showKey(made.id), await service.listKeys()]);
    assert(!shown.includes(made.key) && !shown.includes(keyDigest(SECRET, made.key)));
  });

  test('a credit key says its credit and base URLs', async (t) => {
    const { service } = adminFixture(t);
    const { key, ...made } = await service.createKey({
      mode: 'credit',
      credit: 0.1,
      rpm_limit: 3,
      models: ['a', 'b', 'a'],
    });
    assert.equal(made.mode, 'credit');
    assert.deepEqual(made, await service.showKey(made.id));
    assert.deepEqual(
      [made.credit, made.balance, made.used, made.reserved, made.remaining, made.rpm_limit, made.models, made.status],
      [0.1, 0.1, 0, 0, 0.1, 3, ['a', 'b'], 'active'],
    );
    assert.deepEqual([made.base_url, made.origin], ['http://127.0.0.1:8080/v1', 'http://127.0.0.1:8080']);
    assert.deepEqual([made.provider_scope, made.label, made.expires_at], ['all', null, null]);
  });

  test('a token-budget key says its budget, and uses the token origin', async (t) => {
    const { service } = adminFixture(t);
    const { key, ...made } = await service.createKey({
      mode: 'token_budget',
      budget: 100_000,
      provider_scope: 'sandbox-a',
    });
    assert.match(key, /^mg_t_/);
    assert.equal(made.mode, 'token_budget');
    assert.deepEqual(made, await service.showKey(made.id));
    assert.deepEqual(
      [made.budget, made.period, made.remaining, made.period_ends_at, made.provider_scope],
      [100_000, 'month', 100_000, '2026-02-01T00:00:00.000Z', 'sandbox-a'],
    );
    assert.deepEqual([made.base_url, made.origin], ['http://127.0.0.1:8080/token/v1', 'http://127.0.0.1:8080/token']);
    const unlimited = await service.createKey({ mode: 'token_budget', budget: 'unlimited', period: 'none' });
    assert(unlimited.mode === 'token_budget');
    assert.deepEqual([unlimited.budget, unlimited.remaining, unlimited.period_ends_at], [null, null, null]);
  });

  test('what a mode cannot have, or must have, is refused with what is allowed', async (t) => {
    const { service } = adminFixture(t);
    const wrong: readonly (readonly [unknown, RegExp])[] = [
      [{ mode: 'token_budget' }, /^budget is missing.*"unlimited"/],
      [{ mode: 'token_budget', budget: 1, credit: '1' }, /^credit belongs to credit keys/],
      [{ mode: 'credit', budget: 1 }, /^budget belongs to token_budget keys/],
      [{ mode: 'credit', period: 'day' }, /^period belongs/],
      [{}, /^mode is missing: must be one of credit, token_budget$/],
      [{ mode: 'both' }, /^mode is "both": must be one of credit, token_budget$/],
      [{ ...CREDIT_KEY, credit: '-1' }, /^credit is "-1".*at most 9 decimals/],
      [{ ...CREDIT_KEY, credit: '0.0000000001' }, /^credit/],
      [{ ...CREDIT_KEY, credit: '99999999999' }, /from 0 to 9223372036/],
      [{ ...CREDIT_KEY, credit: 1e30 }, /^credit/],
      [{ ...CREDIT_KEY, rpm_limit: 0 }, /^rpm_limit is 0.*1 to 1000000/],
      [{ ...CREDIT_KEY, rpm_limit: 1.5 }, /^rpm_limit/],
      [{ ...CREDIT_KEY, models: [] }, /^models is \[\]: must be a list/],
      [{ ...CREDIT_KEY, models: ['a', ''] }, /^models .* empty/],
      [{ ...CREDIT_KEY, label: 'two\nlines' }, /^label is "two\\nlines": must be one line/],
      [{ ...CREDIT_KEY, expires_at: 'tomorrow' }, /^expires_at is "tomorrow".*2030-01-31T12:00:00Z/],
      [{ ...CREDIT_KEY, expires_at: '2026-02-30' }, /^expires_at/],
      [{ mode: 'token_budget', budget: 2 ** 53 }, /^budget/],
      [
        { mode: 'token_budget', budget: 1, period: 'year' },
        /^period is "year": must be one of day, week, month, none$/,
      ],
      [{ ...CREDIT_KEY, colour: 'red' }, /^unknown field "colour": expected one of mode, credit/],
      [JSON.parse('{"mode":"credit","__proto__":{"credit":"9"}}'), /^unknown field "__proto__"/],
      [null, /^the body must be a JSON object/],
      [[], /^the body must be a JSON object/],
    ];
    for (const [input, pattern] of wrong) {
      await assert.rejects(service.createKey(input as object), refusal('invalid_input', pattern));
    }
    assert.deepEqual(await service.listKeys(), []);
  });

  test('[R1] [R2] status moves freely until it is revoked, which is final', async (t) => {
    const { service } = adminFixture(t);
    const { id } = await service.createKey(CREDIT_KEY);
    for (const status of ['suspended', 'active', 'disabled', 'active', 'suspended', 'disabled', 'suspended']) {
      assert.equal((await service.changeKey(id, { status })).status, status);
    }
    assert.equal((await service.changeKey(id, { status: 'revoked' })).status, 'revoked');
    assert.equal((await service.changeKey(id, { status: 'revoked' })).status, 'revoked');
    for (const change of [{ status: 'active' }, { status: 'suspended' }, { expires_at: '2030-01-01' }]) {
      await assert.rejects(service.changeKey(id, change), refusal('refused', /revoked, which is final/));
    }
    await assert.rejects(service.addSecret(id), refusal('refused', /revoked/));
    await assert.rejects(service.addCredit(id, { amount: '1' }), refusal('refused', /revoked/));
  });

  test('[R1] expired follows from the expiry and cannot be set; [R2] the expiry can be moved', async (t) => {
    const { service, clock } = adminFixture(t);
    const { id, status } = await service.createKey({ ...CREDIT_KEY, expires_at: '2026-01-15T13:00:00+00:30' });
    assert.equal(status, 'active');
    clock.atMs = START_MS + 30 * 60_000;
    assert.equal((await service.showKey(id)).status, 'expired');
    assert.equal((await service.changeKey(id, { expires_at: '2026-02-01' })).status, 'active');
    assert.equal((await service.changeKey(id, { expires_at: '2020-01-01' })).status, 'expired');
    assert.equal((await service.changeKey(id, { expires_at: 'never' })).expires_at, null);
    await assert.rejects(
      service.changeKey(id, { status: 'expired' }),
      refusal('invalid_input', /follows from expires_at/),
    );
    const past = await service.createKey({ ...CREDIT_KEY, expires_at: '2020-01-01T00:00' });
    assert.deepEqual([past.status, past.expires_at], ['expired', '2020-01-01T00:00:00.000Z']);
  });

  test('a change touches only what it names', async (t) => {
    const { service } = adminFixture(t);
    const made = await service.createKey({ mode: 'token_budget', budget: 10, rpm_limit: 5, label: 'a', models: ['m'] });
    const { key, ...before } = made;
    assert.deepEqual(await service.changeKey(made.id, { label: 'b' }), { ...before, label: 'b', version: 2 });
    const next = await service.changeKey(made.id, {
      budget: 20,
      rpm_limit: null,
      models: null,
      label: null,
      provider_scope: 'p',
    });
    assert(next.mode === 'token_budget');
    assert.deepEqual(
      [next.budget, next.rpm_limit, next.models, next.label, next.provider_scope],
      [20, null, null, null, 'p'],
    );
    await assert.rejects(service.changeKey(made.id, {}), refusal('invalid_input', /^nothing to change/));
    await assert.rejects(
      service.changeKey(made.id, { mode: 'credit' }),
      refusal('invalid_input', /^unknown field "mode"/),
    );
    const credit = await service.createKey(CREDIT_KEY);
    await assert.rejects(service.changeKey(credit.id, { period: 'day' }), refusal('refused', /is a credit key/));
    await assert.rejects(service.changeKey(credit.id, { budget: 'unlimited' }), refusal('refused', /is a credit key/));
  });

  test('a running gateway refuses providers and models that it does not know', async (t) => {
    const known = () => ({ providers: ['one', 'two'], models: ['one/m'] });
    const { service } = adminFixture(t, { known });
    await assert.rejects(
      service.createKey({ ...CREDIT_KEY, provider_scope: 'three' }),
      refusal('invalid_input', /^provider_scope "three".*expected one of all, one, two$/),
    );
    await assert.rejects(
      service.createKey({ ...CREDIT_KEY, models: ['one/m', 'one/x'] }),
      refusal('invalid_input', /^models has "one\/x".*expected one of one\/m$/),
    );
    const { id } = await service.createKey({ ...CREDIT_KEY, provider_scope: 'one', models: ['one/m'] });
    await assert.rejects(
      service.changeKey(id, { provider_scope: 'x' }),
      refusal('invalid_input', /^provider_scope "x"/),
    );
  });

  test('an unknown key is said to be unknown by every operation', async (t) => {
    const { service } = adminFixture(t);
    const calls = [
      () => service.showKey('nope'),
      () => service.changeKey('nope', { label: 'x' }),
      () => service.changeKey('nope', { period: 'day' }),
      () => service.addSecret('nope'),
      () => service.revokeSecret('nope', 'mg_c_1234567'),
      () => service.addCredit('nope', { amount: '1' }),
    ];
    for (const call of calls) await assert.rejects(call(), refusal('unknown_key', /key "nope" does not exist/));
  });
});

test('[R9] rotation: the new secret and the old one work until the old one is revoked', async (t) => {
  const { service, ledger } = adminFixture(t);
  const owner = async (text: string) => (await ledger.findKey(keyDigest(SECRET, text)))?.id;
  const first = await service.createKey(CREDIT_KEY);
  await assert.rejects(service.revokeSecret(first.id, first.prefix), refusal('refused', /only secret/));
  const second = await service.addSecret(first.id);
  assert.notEqual(second.key, first.key);
  assert.deepEqual([second.prefix, second.prefixes], [second.key.slice(0, 12), [second.prefix, first.prefix]]);
  assert.deepEqual([await owner(first.key), await owner(second.key)], [first.id, first.id]);
  const left = await service.revokeSecret(first.id, first.prefix);
  assert.deepEqual(left.prefixes, [second.prefix]);
  assert.deepEqual([await owner(first.key), await owner(second.key)], [undefined, first.id]);
  await assert.rejects(service.revokeSecret(first.id, first.prefix), refusal('refused', /has no secret/));
});

describe('credit and audit', () => {
  test('credit is added exactly, once per purchase, and the audit agrees', async (t) => {
    const { service } = adminFixture(t);
    const { id } = await service.createKey({ mode: 'credit', credit: '0.1' });
    const purchase = { amount: '0.2', note: 'invoice 7', entry_id: 'invoice-7' };
    await service.addCredit(id, purchase);
    const after = await service.addCredit(id, purchase);
    assert(after.mode === 'credit');
    assert.equal(after.credit, 0.3, 'booked once, and not 0.30000000000000004');
    await assert.rejects(service.addCredit(id, { ...purchase, amount: '9' }), refusal('refused', /another amount/));
    for (const amount of ['0', '', 'x', '1e3', '-1', null, Number.NaN]) {
      await assert.rejects(service.addCredit(id, { amount }), refusal('invalid_input', /^amount/));
    }
    const other = await service.createKey({ mode: 'token_budget', budget: 1 });
    await assert.rejects(service.addCredit(other.id, { amount: '1' }), refusal('refused', /no credit/));
    const report = await service.audit();
    assert.deepEqual([report.ok, report.keys, report.entries, report.findings], [true, 2, 2, []]);
  });

  test('any input is either read or refused with an AdminError of one line', () => {
    const field = fc.oneof(
      fc.string(),
      fc.double(),
      fc.constantFrom(null, true, 'credit', 'token_budget', 'unlimited', 'never', '2030-01-01', 5, '5'),
      fc.array(fc.string(), { maxLength: 3 }),
    );
    const names = [
      'mode',
      'credit',
      'budget',
      'period',
      'rpm_limit',
      'models',
      'label',
      'expires_at',
      'status',
      'amount',
    ];
    const input = fc.oneof(fc.jsonValue(), fc.dictionary(fc.constantFrom(...names), field));
    fc.assert(
      fc.property(input, fc.constantFrom(...READERS), (value, read) => {
        try {
          read(value);
        } catch (error) {
          assert(
            error instanceof AdminError && error.code === 'invalid_input' && !/\n/.test(error.message),
            String(error),
          );
        }
      }),
    );
  });
});
