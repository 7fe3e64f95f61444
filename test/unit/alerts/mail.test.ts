/** Alerts as e-mail, by a real SMTP server on this machine. */
import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import type { Alert } from '../../../src/alerts/alert.ts';
import { RETRY_AFTER_MS } from '../../../src/alerts/deliverer.ts';
import { CONNECTIONS_MAX, mailOf } from '../../../src/alerts/mailer.ts';
import type { AlertPolicy, SmtpPolicy } from '../../../src/core/alert-policy.ts';
import { certificateOf } from '../../support/certificate.ts';
import { type MailServer, mailServer } from '../../support/mail-server.ts';
import { slackReceiver } from '../../support/slack-receiver.ts';
import { policyOf, world } from './world.ts';

const LOGIN = { user: 'gateway', password: 'a pass word of some length' };

function smtpOf({ port }: MailServer, change: Partial<SmtpPolicy> = {}): SmtpPolicy {
  return { host: 'localhost', port, tls: 'starttls', login: LOGIN, from: 'alerts@gateway.example', ...change };
}

function policyFor(server: MailServer, change: Partial<SmtpPolicy> = {}, more: Partial<AlertPolicy> = {}): AlertPolicy {
  const email = [{ name: 'ops', to: 'ops@example.com', types: null }];
  return policyOf({ email, smtp: smtpOf(server, change), ca: server.ca, ...more });
}

/** What became of a test to one receiver. */
async function tested(t: TestContext, policy: AlertPolicy, timeoutMs = 20_000) {
  const { alerts } = world(t, () => policy, { timeoutMs });
  t.after(() => alerts.close());
  const { deliveries } = await alerts.test();
  const [delivery] = deliveries;
  assert.ok(delivery !== undefined && deliveries.length === 1);
  return { alerts, ...delivery, error: delivery.error ?? '' };
}

/** The header of a mail, with its folded lines as one. */
function headerOf(text: string): ReadonlyMap<string, string> {
  const [header = ''] = text.split('\r\n\r\n', 1);
  const lines = header.replaceAll(/\r\n[ \t]+/g, ' ').split('\r\n');
  return new Map(
    lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 2)]),
  );
}

describe('an e-mail', () => {
  test('is sent once, over TLS and signed in, with a subject that says what happened', async (t) => {
    const server = await mailServer(t, { login: LOGIN });
    const { alertId, state, error } = await tested(t, policyFor(server));
    assert.deepEqual([state, error], ['delivered', '']);
    const [mail] = server.mails;
    assert.deepEqual(
      [mail?.from, mail?.to, mail?.secure, mail?.user, server.mails.length],
      ['alerts@gateway.example', ['ops@example.com'], true, 'gateway', 1],
    );
    const header = headerOf(mail?.text ?? '');
    assert.equal(header.get('from'), 'Model Gateway <alerts@gateway.example>');
    assert.equal(header.get('to'), 'ops@example.com');
    assert.equal(header.get('subject'), '[Model Gateway] This is a test: alerts of this gateway arrive here.');
    assert.equal(header.get('auto-submitted'), 'auto-generated');
    assert.match(header.get('message-id') ?? '', new RegExp(`^<${alertId}\\.[0-9a-f]{12}@gateway\\.example>$`));
    assert.match(mail?.text ?? '', new RegExp(`\r\ntype: alert.test\r\n[^]*\r\nid: ${alertId}`));
    assert.ok(
      server.saidInTheClear.every((line) => /^(EHLO|STARTTLS)/.test(line)),
      String(server.saidInTheClear),
    );
  });

  test('goes by a server whose TLS begins at once', async (t) => {
    const server = await mailServer(t, { tls: 'implicit', login: LOGIN });
    const { state, error } = await tested(t, policyFor(server, { tls: 'implicit' }));
    assert.deepEqual([state, error, server.mails[0]?.secure], ['delivered', '', true]);
  });

  test('is not sent where TLS is wanted and not offered: nothing is said but hello', async (t) => {
    const server = await mailServer(t, { tls: 'none', login: LOGIN });
    const { state, error } = await tested(t, policyFor(server));
    assert.equal(state, 'pending');
    assert.match(error, /STARTTLS/);
    assert.deepEqual(server.mails, []);
    assert.ok(
      server.saidInTheClear.every((line) => /^(EHLO|STARTTLS|QUIT)/.test(line)),
      String(server.saidInTheClear),
    );
  });

  test('is not sent to a server whose certificate is of another name, or that nobody vouches for', async (t) => {
    const other = await mailServer(t, { certificate: certificateOf('mail.example') });
    assert.match((await tested(t, policyFor(other, { login: null }))).error, /altnames|does not match/i);
    const unknown = await mailServer(t);
    assert.match((await tested(t, policyFor(unknown, { login: null }, { ca: null }))).error, /certificate/i);
    assert.deepEqual([...other.mails, ...unknown.mails], []);
  });

  test('goes in the clear to a private address only, where that is what is set', async (t) => {
    const server = await mailServer(t, { tls: 'none' });
    const plain = policyFor(server, { tls: 'off', login: null });
    assert.deepEqual([(await tested(t, plain)).state, server.mails[0]?.secure], ['delivered', false]);
    const { alerts } = world(t, () => plain, { resolve: async () => [{ address: '192.0.64.1', family: 4 }] });
    const { deliveries } = await alerts.test();
    assert.match(
      String(deliveries[0]?.error),
      /192\.0\.64\.1, which is a public address: it is not called without TLS/,
    );
    const refused = await tested(t, policyFor(server, { tls: 'off', login: null }, { allowPrivate: false }));
    assert.match(refused.error, /not a public address/);
    assert.equal(server.mails.length, 1);
  });

  test('that is refused says what the server said, and never the password, whatever the server says back', async (t) => {
    const server = await mailServer(t, { login: LOGIN });
    server.answer('AUTH', `535 5.7.8 wrong: ${LOGIN.password} ${Buffer.from(LOGIN.password).toString('base64')}`);
    const { error, alerts } = await tested(t, policyFor(server));
    assert.match(error, /535 5\.7\.8 wrong: … …/);
    assert.ok(!error.includes(LOGIN.password) && !JSON.stringify(await alerts.receivers.configured()).includes('pass'));
  });

  for (const [command, reply, said] of [
    ['CONNECT', '554 no service', /554/],
    ['CONNECT', 'hello', /greeting/i],
    ['MAIL', '451 4.3.0 later', /451 4\.3\.0 later/],
    ['RCPT', '550 5.1.1 nobody of that name', /550 5\.1\.1 nobody/],
    ['DATA', '552 full', /552 full/],
    ['DATA.', '554 5.7.1 looks like spam', /554 5\.7\.1 looks like spam/],
    ['DATA.', '421 going down', /421 going down|closed/],
  ] as const) {
    test(`is tried again after the answer ${reply} to ${command}, and arrives with the same id`, async (t) => {
      const server = await mailServer(t);
      const policy = policyFor(server, { login: null });
      const { alerts, clock, store } = world(t, () => policy);
      t.after(() => alerts.close());
      server.answer(command, reply);
      const { id, deliveries } = await alerts.test();
      assert.equal(deliveries[0]?.state, 'pending');
      assert.match(String(deliveries[0]?.error), said);
      server.answerAll();
      clock.atMs += RETRY_AFTER_MS[0] ?? 0;
      await alerts.deliver();
      const [after] = await store.deliveries({ limit: 1, before: null, state: null, alertId: id });
      assert.deepEqual([after?.state, after?.attempts, after?.error], ['delivered', 2, null]);
      const [{ deliveredAtMs = 0, failedAtMs = 0, error = null } = {}] = await alerts.receivers.configured();
      assert.ok(Number(deliveredAtMs) > Number(failedAtMs));
      assert.match(String(error), said);
      assert.ok(
        headerOf(server.mails.at(-1)?.text ?? '')
          .get('message-id')
          ?.includes(id),
      );
    });
  }

  test('by a server that says nothing is given up in time', async (t) => {
    const server = await mailServer(t);
    server.answer('DATA.', null);
    const { state, error } = await tested(t, policyFor(server, { login: null }), 200);
    assert.equal(state, 'pending');
    assert.match(error, /time|within 0\.2 s/i);
    while (server.open() > 0) await turn();
    const silent = await mailServer(t);
    silent.answer('CONNECT', null);
    assert.match((await tested(t, policyFor(silent, { login: null }), 200)).error, /time|greeting|within 0\.2 s/i);
  });

  test('has no second header or receiver, whatever a name is', async (t) => {
    const server = await mailServer(t);
    const policy = policyFor(server, { login: null });
    const { alerts, store, clock } = world(t, () => policy);
    t.after(() => alerts.close());
    const name = 'Acme\r\nBcc: victim@example.com\r\n\r\n\u2028\u202eEvil\0, <b@example.com> =?utf-8?q?x?=';
    const data = {
      level: 80,
      key: 'key_1',
      name,
      limit: 'balance',
      unit: 'credits',
      used: 8,
      amount: 10,
      period: 'none',
    };
    const alert: Alert = { id: 'alrt_1', type: 'usage.level', atMs: clock.atMs, accountIds: [], data };
    await store.raise(alert, ['email ops'], clock.atMs);
    await alerts.deliver();
    const [mail] = server.mails;
    assert.deepEqual(mail?.to, ['ops@example.com']);
    const header = headerOf(mail?.text ?? '');
    assert.deepEqual([header.has('bcc'), header.get('to')], [false, 'ops@example.com']);
    const { subject } = mailOf(
      { ...alert, alertId: alert.id, target: 'email ops', body: bodyOf(alert), ...ATTEMPT },
      'a@b.c',
      'd@e.f',
    );
    assert.equal(
      subject,
      '[Model Gateway] Key Acme Bcc: victim@example.com Evil , <b@example.com> =?utf-8?q?x?= (key_1) has used 80 % of its balance: 8 of 10 credits.',
    );
  });

  test('goes by what the config file says now, also where a connection is open', async (t) => {
    const server = await mailServer(t);
    let policy = policyFor(server, { login: null });
    const { alerts } = world(t, () => policy);
    t.after(() => alerts.close());
    assert.equal((await alerts.test()).deliveries[0]?.state, 'delivered');
    policy = { ...policy, allowPrivate: false };
    assert.match(String((await alerts.test()).deliveries[0]?.error), /not a public address/);
    policy = { ...policy, allowPrivate: true, ca: null };
    assert.match(String((await alerts.test()).deliveries[0]?.error), /certificate/i);
    assert.equal(server.mails.length, 1);
  });

  test('shares a few connections with others, and leaves none open when the gateway ends', async (t) => {
    const server = await mailServer(t);
    const email = Array.from({ length: 12 }, (_, index) => ({
      name: `ops-${index}`,
      to: `ops-${index}@example.com`,
      types: null,
    }));
    const policy = policyFor(server, { login: null }, { email });
    const { alerts } = world(t, () => policy);
    for (let round = 0; round < 3; round++) {
      await alerts.auditFailed({
        ok: false,
        keys: 0,
        entries: 0,
        liveHolds: 0,
        findings: [`x${round}`],
        flagged: 0,
        flaggedCharges: [],
      });
    }
    await alerts.deliver();
    assert.equal(server.mails.length, 36);
    assert.equal(new Set(server.mails.map(({ text }) => headerOf(text).get('message-id'))).size, 36);
    assert.ok(server.connections() <= CONNECTIONS_MAX, `${server.connections()} connections`);
    await alerts.close();
    while (server.open() > 0) await turn();
  });
});

const ATTEMPT = { state: 'pending', attempts: 0, dueAtMs: 0, error: null } as const;

function bodyOf({ type, atMs, data }: Alert): string {
  return JSON.stringify({ type, timestamp: new Date(atMs).toISOString(), data });
}

describe('[F45] a mail server that hangs', () => {
  test('holds up mail alone, however much of it waits', async (t) => {
    const server = await mailServer(t);
    server.answer('CONNECT', null);
    const chat = await slackReceiver(t);
    const email = Array.from({ length: 80 }, (_, index) => ({
      name: `ops-${index}`,
      to: `ops-${index}@example.com`,
      types: null,
    }));
    const slack = [{ name: 'ops', url: chat.url, types: null }];
    const policy = policyFor(server, { login: null }, { email, slack });
    const { alerts, store, clock } = world(t, () => policy);
    for (let index = 0; index < 3; index++) {
      const alert: Alert = { id: `alrt_${index}`, type: 'alert.test', atMs: clock.atMs, accountIds: [], data: {} };
      await store.raise(
        alert,
        email.map(({ name }) => `email ${name}`),
        clock.atMs,
      );
    }
    const delivering = alerts.deliver();
    while (server.open() < CONNECTIONS_MAX) await turn();
    const arrived = chat.next();
    await store.raise(
      { id: 'alrt_x', type: 'alert.test', atMs: 1, accountIds: [], data: {} },
      ['slack ops'],
      clock.atMs,
    );
    const again = alerts.deliver();
    await arrived;
    assert.equal(server.connections(), CONNECTIONS_MAX);
    const closing = alerts.close();
    server.answer('CONNECT', '554 no');
    server.end();
    await Promise.all([delivering, again, closing]);
  });
});
