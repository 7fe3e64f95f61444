/** Who is told: the receivers of the config file, and those of accounts, as operators and account holders manage them. */
import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import type { AlertPolicy } from '../../../src/core/alert-policy.ts';
import type { Actor } from '../../../src/operators/port.ts';
import { type AdminFixture, adminFixture } from '../../support/admin-fixture.ts';
import { certificateOfLocalhost } from '../../support/certificate.ts';
import { mailServer } from '../../support/mail-server.ts';
import { slackReceiver } from '../../support/slack-receiver.ts';
import { policyOf, SECRET } from './world.ts';

const SMTP = { host: 'mail.example', port: 587, tls: 'starttls', login: null, from: 'alerts@gateway.example' } as const;

function fixture(
  t: TestContext,
  change: Partial<AlertPolicy> = {},
  resolve?: { readonly resolve: undefined },
): AdminFixture {
  const policy = policyOf({ allowPrivate: false, ...change });
  const all = adminFixture(t, {}, { policy: () => policy, ...(resolve as object) });
  t.after(() => all.alerts.close());
  return all;
}

/** Names are looked up as ever. */
const RESOLVED = { resolve: undefined };

function holderOf({ adminService }: AdminFixture, accountId: string) {
  const actor: Actor = { id: 'op_1', name: 'holder', role: 'account-admin', accountId, via: 'token' };
  return adminService.as({ actor, from: { address: null, userAgent: null, requestId: null } }).alerts;
}

describe('receivers of an account', () => {
  test('are told of what concerns it: a Slack channel and a mailbox beside its webhook, each once', async (t) => {
    const certificate = certificateOfLocalhost();
    const channel = await slackReceiver(t, certificate);
    const server = await mailServer(t, { certificate });
    const smtp = { ...SMTP, host: 'localhost', port: server.port };
    const ways = { allowPrivate: true, accountsAllowPrivate: true, ca: certificate.cert };
    const { service, alerts } = fixture(t, { smtp, ...ways }, RESOLVED);
    const root = await service.accounts.create({ name: 'Acme', token_cap: '1/day' });
    const team = await service.accounts.create({ name: 'team', parent: root.id });
    const other = await service.accounts.create({ name: 'Other' });
    const slack = await service.alerts.addReceiver(root.id, { kind: 'slack', address: channel.url });
    const email = await service.alerts.addReceiver(team.id, { kind: 'email', address: 'billing@acme.example' });
    await service.alerts.addReceiver(other.id, { kind: 'email', address: 'other@example.com' });
    assert.deepEqual([slack.address, email.address], [new URL(channel.url).host, 'billing@acme.example']);
    assert.deepEqual(
      await alerts.receivers.targetsOf([team.id, root.id]),
      [`account ${team.id} ${email.id}`, `account ${root.id} ${slack.id}`].toSorted(),
    );

    const tested = await service.alerts.testReceiver(root.id, slack.id);
    assert.deepEqual([tested.ok, channel.texts.length, server.mails.length], [true, 1, 0]);
    const mailed = await service.alerts.testReceiver(team.id, email.id);
    assert.deepEqual([mailed.ok, server.mails[0]?.to], [true, ['billing@acme.example']]);
    const [shown] = (await service.alerts.accountReceivers(team.id)).data;
    assert.deepEqual(
      [
        shown?.kind,
        shown?.id,
        shown?.account_name,
        shown?.waiting,
        shown?.last_error,
        shown?.last_delivered_at !== null,
      ],
      ['email', email.id, 'team', 0, null, true],
    );
  });

  test('are listed without what is secret, page by page, with those of the config file', async (t) => {
    const all = fixture(t, {
      smtp: { ...SMTP, login: { user: 'u', password: 'pass-of-smtp' } },
      webhooks: [{ name: 'ops', url: 'https://hook.example/secret-path', secret: SECRET, types: ['alert.test'] }],
      slack: [{ name: 'chat', url: 'https://hooks.slack.example/services/secret-path', types: null }],
      email: [{ name: 'on-call', to: 'ops@example.com', types: null }],
      command: ['/bin/page-me', '--token', 'secret-argument'],
      levels: [10],
      creditsLeft: [2.5],
    });
    const { service } = all;
    for (const name of ['a', 'b', 'c']) {
      const { id } = await service.accounts.create({ name });
      await service.alerts.addReceiver(id, { kind: 'slack', address: `https://chat.example/secret-path/${name}` });
      await service.alerts.setWebhook(id, { url: `https://hook.example/${name}` });
    }
    const first = await service.alerts.receivers({ limit: 2 });
    assert.deepEqual(
      first.data.map(({ target, address }) => [target.replace(/ acct_\w+/, ' A').replace(/slack_\w+/, 'S'), address]),
      [
        ['webhook ops', 'hook.example'],
        ['slack chat', 'hooks.slack.example'],
        ['email on-call', 'ops@example.com'],
        ['command', '/bin/page-me'],
        ['account A', first.data[4]?.address],
        ['account A S', 'chat.example'],
        ['account A', first.data[6]?.address],
        ['account A S', 'chat.example'],
      ],
    );
    assert.deepEqual(
      [first.enabled, first.levels, first.credits_left, first.smtp],
      [true, [10], [2.5], { host: 'mail.example', port: 587, tls: 'starttls', from: 'alerts@gateway.example' }],
    );
    const second = await service.alerts.receivers({ limit: 2, cursor: first.next_cursor });
    assert.deepEqual([second.data.length, second.next_cursor], [2, null]);
    const names = [...first.data, ...second.data].flatMap(({ account_name }) => account_name ?? []);
    assert.deepEqual(new Set(names), new Set(['a', 'b', 'c']));
    assert.doesNotMatch(JSON.stringify([first, second]), /secret|pass-of|whsec/);
    const trail = await all.operators.auditTrail({ limit: 100 });
    assert.doesNotMatch(JSON.stringify(trail), /secret-path/);
  });

  test('that make no sense are refused, and nothing is stored', async (t) => {
    const { service } = fixture(t, { smtp: SMTP });
    const { id } = await service.accounts.create({ name: 'Acme' });
    const add = (body: object) => service.alerts.addReceiver(id, body);
    for (const address of [
      ...['', 'billing', 'a@b@c', 'a b@example.com', 'Acme <a@example.com>', 'a@example.com, b@example.com'],
      ...[
        'a@example.com\r\nBcc: b@example.com',
        'a@example.com\n',
        '"a b"@example.com',
        'ä@example.com',
        `${'x'.repeat(300)}@b.c`,
      ],
    ]) {
      await assert.rejects(add({ kind: 'email', address }), /address (is "": )?must be/, address);
    }
    for (const [address, why] of [
      ['https://127.0.0.1/x', /address must be public: 127\.0\.0\.1 is not/],
      ['https://[::1]/x', /must be public/],
      ['https://169.254.169.254/x', /must be public/],
      ['https://2130706433/x', /must be public/],
      ['https://user:pass@chat.example', /credentials/],
      ['chat.example', /https/],
    ] as const) {
      await assert.rejects(add({ kind: 'slack', address }), why, address);
    }
    await assert.rejects(service.alerts.setWebhook(id, { url: 'https://10.0.0.1/x' }), /url must be public/);
    await assert.rejects(add({ kind: 'pager', address: 'x' }), /kind/);
    await assert.rejects(service.alerts.addReceiver('acct_none', { kind: 'email', address: 'a@b.c' }), /acct_none/);
    assert.deepEqual((await service.alerts.accountReceivers(id)).data, []);

    await add({ kind: 'email', address: 'a@example.com' });
    await assert.rejects(add({ kind: 'email', address: 'a@example.com' }), /is one of \S+ already/);
    for (let index = 1; index < 10; index++) await add({ kind: 'email', address: `a${index}@example.com` });
    await assert.rejects(
      add({ kind: 'email', address: 'b@example.com' }),
      /has 10 receivers already: remove one first/,
    );
    await assert.rejects(service.alerts.removeReceiver(id, 'email_none'), /has no receiver "email_none"/);
    await assert.rejects(service.alerts.testReceiver(id, 'webhook'), /has no receiver "webhook"/);
    await assert.rejects(service.alerts.test('slack none'), /there is no receiver "slack none"/);
  });

  test('get mail only by operators, and only where there is a mail server', async (t) => {
    const without = fixture(t);
    const account = await without.service.accounts.create({ name: 'Acme' });
    const mail = { kind: 'email', address: 'a@example.com' } as const;
    await assert.rejects(without.service.alerts.addReceiver(account.id, mail), /has no alerts\.smtp/);
    assert.deepEqual((await without.service.alerts.accountReceivers(account.id)).may_add, ['slack']);

    const all = fixture(t, { smtp: SMTP });
    const { id } = await all.service.accounts.create({ name: 'Acme' });
    assert.deepEqual((await all.service.alerts.accountReceivers(id)).may_add, ['slack', 'email']);
    const holder = holderOf(all, id);
    await assert.rejects(holder.addReceiver(id, mail), /which an operator sets/);
    assert.deepEqual((await holder.accountReceivers(id)).may_add, ['slack']);
    assert.equal((await holder.addReceiver(id, { kind: 'slack', address: 'https://chat.example/x' })).kind, 'slack');
  });

  test('tell their holder that a delivery failed, and nothing about the network of the operator', async (t) => {
    const all = fixture(t, { smtp: SMTP, allowPrivate: false }, RESOLVED);
    const { id } = await all.service.accounts.create({ name: 'Acme' });
    const slack = await all.service.alerts.addReceiver(id, { kind: 'slack', address: 'https://localhost/x' });
    const email = await all.service.alerts.addReceiver(id, { kind: 'email', address: 'a@example.com' });
    const holder = holderOf(all, id);
    const [told] = (await holder.testReceiver(id, slack.id)).deliveries;
    assert.equal(told?.error, 'its name has no public address');
    await all.alerts.receivers.ofAccount(id);
    const shown = new Map((await holder.accountReceivers(id)).data.map((one) => [one.id, one.last_error]));
    assert.deepEqual(
      [...shown],
      [
        [email.id, null],
        [slack.id, 'its name has no public address'],
      ].toSorted(),
    );
    const [seen] = (await all.service.alerts.accountReceivers(id)).data.filter((one) => one.id === slack.id);
    assert.match(String(seen?.last_error), /localhost leads to \S+, which is not a public address/);
    await assert.rejects(holder.testReceiver(id, slack.id), /wait for ten seconds/);
    all.clock.atMs += 10_000;
    assert.equal((await holder.testReceiver(id, slack.id)).ok, false);
  });

  test('that are removed get nothing more, and go with an account that is erased', async (t) => {
    const all = fixture(t, { smtp: SMTP });
    const { service, alerts, clock } = all;
    const { id, name } = await service.accounts.create({ name: 'Acme' });
    const slack = await service.alerts.addReceiver(id, { kind: 'slack', address: 'https://chat.example/x' });
    await service.alerts.setWebhook(id, { url: 'https://hook.example/x' });
    assert.equal((await service.alerts.testReceiver(id, slack.id)).ok, false);
    await service.alerts.removeReceiver(id, slack.id);
    clock.atMs += 3_600_000;
    await alerts.deliver();
    const { data } = await service.alerts.deliveries({ state: 'dead' });
    assert.deepEqual(
      data.map(({ target, error }) => [target, error]),
      [[`account ${id} ${slack.id}`, `account ${id} has no receiver ${slack.id} any more`]],
    );
    await service.alerts.addReceiver(id, { kind: 'email', address: 'a@example.com' });
    await service.accounts.addCredit(id, { amount: '5' });
    const below = await service.accounts.create({ name: 'Ann', parent: id });
    const expires_at = new Date(clock.atMs + 3_600_000).toISOString();
    await service.createKey({ mode: 'credit', label: 'laptop of Ann', account: below.id, expires_at });
    await alerts.watch();
    const told = async () => JSON.stringify((await service.alerts.list({})).data);
    assert.match(await told(), /Key laptop of Ann \(key_\w+\) expires/);
    await service.money.correct(id, { amount: '-5', reason: 'paid out' });
    await service.call('eraseAccount', { id, body: { name } });
    assert.match(await told(), /Key key_\w+ expires/);
    assert.doesNotMatch(await told(), /Ann|Acme/);
    assert.deepEqual((await service.alerts.accountReceivers(id)).data, []);
    assert.equal(JSON.stringify(await service.alerts.receivers()).includes('a@example.com'), false);
  });
});

describe('a test', () => {
  test('of one receiver reaches it alone, also where it does not ask for tests', async (t) => {
    const channel = await slackReceiver(t);
    const slack = [
      { name: 'one', url: channel.url, types: ['audit.failed'] },
      { name: 'two', url: channel.url, types: null },
    ];
    const { service } = fixture(t, { slack, allowPrivate: true }, RESOLVED);
    const { ok, deliveries } = await service.alerts.test('slack one');
    assert.deepEqual([ok, deliveries.map(({ target }) => target), channel.texts.length], [true, ['slack one'], 1]);
    assert.deepEqual(
      (await service.alerts.test()).deliveries.map(({ target }) => target),
      ['slack two'],
    );
  });
});
