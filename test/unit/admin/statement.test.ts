/** Statements as an operator reads them: as text, CSV and a page, all with the same figures. */

import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { AdminError } from '../../../src/admin/error.ts';
import { findCommand, readArguments } from '../../../src/cli/arguments.ts';
import { COMMANDS } from '../../../src/cli/commands.ts';
import { parseCredits } from '../../../src/core/money.ts';
import { STATEMENTS } from '../../../src/core/policy.ts';
import { usageRecord } from '../../contract/fixtures.ts';
import { ADMIN_SECRET, appFixture, HOST } from '../../support/admin-app.ts';
import type { TestAdmin } from '../../support/admin-client.ts';
import { adminFixture } from '../../support/admin-fixture.ts';

const EVIL = '=HYPERLINK("http://evil")<script>';

function nanos(text: string): bigint {
  return text.startsWith('-') ? -parseCredits(text.slice(1)) : parseCredits(text);
}

async function run(service: TestAdmin, ...line: string[]): Promise<string> {
  const command = findCommand(COMMANDS, line);
  return (await command.run(service, readArguments(command, line))).text;
}

/** A root that has bought, spent, been refunded and corrected in January 2026, by amounts that no double holds. */
async function furnished(t: TestContext, options: Parameters<typeof appFixture>[1] = {}) {
  const fixture = await appFixture(t, options);
  const { service, ledger, clock } = fixture;
  const account = await service.accounts.create({ name: 'Acme <Ltd>' });
  await service.accounts.addCredit(account.id, { amount: '123456789.123456789', note: EVIL, entry_id: '@invoice' });
  await service.accounts.addCredit(account.id, { amount: '0.000000007', expires_at: '2026-01-20' });
  const team = await service.accounts.create({ name: '+team', parent: account.id });
  const key = await service.createKey({ mode: 'credit', account: team.id, label: '=label' });
  for (const [id, charge] of [
    ['req_1', 333_333_333n],
    ['req_2', 1n],
  ] as const) {
    const hold = { id, amount: charge, amountMin: charge, ttlMs: 60_000 };
    await ledger.admit({ keyId: key.id, keyVersion: 1, claim: null, hold });
    const call = { model: '+evil', provider: 'x', format: 'chat', costNanos: charge, providerCostNanos: 0n };
    const tokens = { input: 90, cacheRead: 9, cacheWrite: 0, cacheWrite1h: 0, output: 30, reasoning: 4 };
    // The other one was cancelled.
    const usage = id === 'req_1' ? usageRecord({ model: '+evil', requestId: id, tokens }) : null;
    const settled = { keyId: key.id, holdId: id, charge, usage, call, reply: null, flag: null };
    await ledger.settle({ ...settled, noReplyReason: 'charged_incomplete' });
  }
  await service.money.refund('req_2', { reason: 'sorry' });
  await service.money.correct(account.id, { amount: '-0.1', reason: 'typo, "twice"' });
  clock.atMs = Date.UTC(2026, 1, 3);
  return { ...fixture, account, key };
}

describe('statements', () => {
  test('add up to the last billionth, in JSON and in CSV', async (t) => {
    const { service, account } = await furnished(t);
    const statement = await service.money.statement(account.id, { month: '2026-01' });
    const { opening_balance, closing_balance, totals, entries, usage } = statement;
    assert.deepEqual(
      [opening_balance, statement.from, statement.to, statement.closed],
      ['0', '2026-01-01', '2026-02-01', true],
    );
    assert.equal(closing_balance, '123456788.690123463');
    assert.equal(
      nanos(closing_balance ?? '0'),
      nanos(opening_balance ?? '0') + nanos(totals.entries) - nanos(totals.usage),
    );
    assert.equal(
      entries.reduce((sum, { amount }) => sum + nanos(amount), 0n),
      nanos(totals.entries),
    );
    assert.deepEqual(
      usage.map(({ model, charges, amount }) => [model, charges, amount]),
      [['+evil', 2, '0.333333334']],
    );
    const figures = { recorded: 1, input_tokens: 90, cache_read_tokens: 9, output_tokens: 30, reasoning_tokens: 4 };
    for (const sums of [usage[0], totals]) assert.partialDeepStrictEqual(sums, figures);
    assert.match(
      await run(service, 'statement', account.id),
      /2 calls of =label \(\+team\), 99 tokens in \(9 cached\), 30 out/,
    );
    const csv = await run(service, 'statement', account.id, '--month', '2026-01', '--csv');
    const amounts = new Map<string, bigint>();
    for (const line of csv.trimEnd().split('\n').slice(1)) {
      const [type = '', , amount = ''] = line.split(',');
      amounts.set(type, (amounts.get(type) ?? 0n) + nanos(amount));
    }
    const closing = amounts.get('closing_balance');
    amounts.delete('closing_balance');
    assert.equal(
      [...amounts.values()].reduce((sum, amount) => sum + amount),
      closing,
    );
  });

  test('as CSV and as a page, nothing of what others have written is run', async (t) => {
    const { service, account, app } = await furnished(t);
    const csv = await run(service, 'statement', account.id, '--month', '2026-01', '--csv');
    assert.match(csv, /,'@invoice,"'=HYPERLINK\(""http:\/\/evil""\)<script>",/);
    assert.match(csv, /,'\+evil,2,1,90,9,0,0,30,4,'=label,'\+team,,\n/);
    assert.match(csv, /"typo, ""twice"""/);
    const headers = { host: HOST, authorization: `Bearer ${ADMIN_SECRET}` };
    const url = `/admin/v1/accounts/${account.id}/statement?from=2026-01-01&to=2026-02-01&format=html`;
    const page = await app.inject({ method: 'GET', url, headers });
    assert.match(String(page.headers['content-type']), /^text\/html/);
    assert.match(String(page.headers['content-security-policy']), /^default-src 'none'; style-src 'sha256-/);
    assert.match(page.body, /Acme &lt;Ltd&gt;/);
    assert.match(page.body, /123456788\.690123463/);
    assert.match(
      page.body,
      /<td class="amount">2<\/td><td class="amount">99<\/td><td class="amount">9<\/td><td class="amount">30<\/td>/,
    );
    assert.doesNotMatch(page.body, /<script/);
    assert.equal(page.body, await run(service, 'statement', account.id, '--month', '2026-01', '--html'));
    const file = await app.inject({ method: 'GET', url: url.replace('html', 'csv'), headers });
    assert.match(
      String(file.headers['content-disposition']),
      /^attachment; filename="statement-acct_\w+-2026-01-01\.csv"$/,
    );
    assert.equal(file.body.replaceAll('\r\n', '\n'), csv);
  });

  test('can be sent: who issues it, teams and keys by their names, and a currency beside credits', async (t) => {
    const policy = STATEMENTS.read({
      name: 'Example <GmbH>',
      address: ['Street 1', '12345 Berlin'],
      contact: 'billing@example.com',
      tax_id: 'DE1',
      note: 'Thank you.',
      currency: 'EUR',
      credit_price: 0.5,
    });
    const { service, account, app } = await furnished(t, { statements: async () => policy });
    const statement = await service.money.statement(account.id, { month: '2026-01' });
    assert.deepEqual(statement.issuer?.address, ['Street 1', '12345 Berlin']);
    assert.deepEqual(statement.currency, {
      code: 'EUR',
      credit_price: '0.5',
      opening_balance: '0.00',
      entries: '61728394.51',
      usage: '0.17',
      by_kind: { purchase: '61728394.56', promotion: '0.00', refund: '0.00', correction: '-0.05' },
      closing_balance: '61728394.35',
    });
    assert.deepEqual(
      Object.keys(statement.totals.by_kind).sort(),
      Object.keys(statement.currency?.by_kind ?? {}).sort(),
    );
    const headers = { host: HOST, authorization: `Bearer ${ADMIN_SECRET}` };
    const url = `/admin/v1/accounts/${account.id}/statement?month=2026-01&format=html`;
    const { body } = await app.inject({ method: 'GET', url, headers });
    assert.match(body, /Example &lt;GmbH&gt;\nStreet 1\n12345 Berlin\nbilling@example\.com\nTax id DE1/);
    assert.match(body, /<td>\+team<\/td><td>=label<\/td><td>\+evil<\/td><td class="amount">2<\/td>/);
    assert.match(
      body,
      /<td>Closing balance<\/td><td class="amount">123456788\.690123463<\/td><td class="amount">61728394\.35</,
    );
    assert.match(body, /<td>Corrections<\/td><td class="amount">-0\.1<\/td><td class="amount">-0\.05<\/td>/);
    assert.match(body, /2026-01-01 to 2026-01-31 \(UTC\)/);
    assert.match(body, /Thank you\./);
    const csv = await run(service, 'statement', account.id, '--month', '2026-01', '--csv');
    assert.match(csv, /\nclosing_balance,2026-02-01,123456788\.690123463,.*,EUR,61728394\.35\n$/);
    assert.match(
      await run(service, 'statement', account.id),
      /\nIn EUR, at 0\.5 a credit: 0\.00, 61728394\.51, -0\.17, 61728394\.35\n$/,
    );
  });

  test('without a time it is the last month that is over; one that is not over says so', async (t) => {
    const { service, account, key } = await furnished(t);
    const text = await run(service, 'statement', account.id);
    assert.match(text, /^Statement of Acme <Ltd> \(account acct_\w+\), in credits\n2026-01-01 to before 2026-02-01/);
    assert.match(text, /\nClosing balance +123456788\.690123463\n$/);
    const open = await service.money.statement(account.id, { month: '2026-02' });
    assert.deepEqual([open.closed, open.opening_balance], [false, '123456788.690123463']);
    assert.match(await run(service, 'statement', account.id, '--month', '2026-02'), /not over/);
    assert.equal((await service.money.statement(key.id, { month: '2026-01' })).closing_balance, '0');
  });

  test('a wrong time is refused by its field, and a key with a token budget has none', async (t) => {
    const { service } = adminFixture(t);
    const account = await service.accounts.create({ name: 'Acme' });
    const budget = await service.createKey({ mode: 'token_budget', budget: 5 });
    const refused = (id: string, query: object, message: RegExp) =>
      assert.rejects(
        service.money.statement(id, query),
        (error) => error instanceof AdminError && message.test(error.message),
        JSON.stringify(query),
      );
    await refused(account.id, { month: '2026-13' }, /^month is "2026-13": must be a month like 2026-10/);
    for (const month of ['0000-01', '0099-12', '1969-12', '3000-01', '9999-12']) {
      await refused(account.id, { month }, /^month is "\d{4}-\d\d": must be a month like 2026-10, from 1970-01 to/);
    }
    await refused(account.id, { from: '2026-02-30', to: '2026-03-01' }, /^from is "2026-02-30": must be a day/);
    await refused(account.id, { from: '2026-03-01', to: '2026-03-01' }, /^to is .*after from/);
    await refused(account.id, { from: '2026-03-01' }, /^to is missing/);
    await refused(
      account.id,
      { from: '2026-03-01', to: '2026-03-02', month: '2026-03' },
      /^month cannot be combined with from and to/,
    );
    await refused('nobody', {}, /neither a key nor an account/);
    await refused(budget.id, {}, /token budget/);
  });
});
