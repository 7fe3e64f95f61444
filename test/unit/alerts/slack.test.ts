/** Alerts in a chat: an incoming webhook as Slack has it, by https, or by http to a private receiver of the operator. */
import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { alertLine } from '../../../src/alerts/alert-text.ts';
import { RETRY_AFTER_MS } from '../../../src/alerts/deliverer.ts';
import { slackBody } from '../../../src/alerts/slack.ts';
import type { AlertPolicy } from '../../../src/core/alert-policy.ts';
import { ALERT_TYPES, type AlertType } from '../../../src/core/alert-types.ts';
import { DAY_MS } from '../../../src/core/time.ts';
import { adminFixture } from '../../support/admin-fixture.ts';
import { certificateOfLocalhost } from '../../support/certificate.ts';
import { slackReceiver } from '../../support/slack-receiver.ts';
import { webhookReceiver } from '../../support/webhook-receiver.ts';
import { policyOf, SECRET, world } from './world.ts';

async function tested(t: TestContext, change: Partial<AlertPolicy>, address?: string) {
  const resolve = address === undefined ? {} : { resolve: async () => [{ address, family: 4 as const }] };
  const { alerts } = world(t, () => policyOf(change), resolve);
  const { deliveries } = await alerts.test();
  return deliveries.map(({ target, state, error }) => [target, state, error]);
}

const to = (url: string) => [{ name: 'ops', url, types: null }];

describe('a Slack channel', () => {
  test('gets a line that a person can read, by https', async (t) => {
    const certificate = certificateOfLocalhost();
    const channel = await slackReceiver(t, certificate);
    assert.deepEqual(await tested(t, { slack: to(channel.url), ca: certificate.cert }), [
      ['slack ops', 'delivered', null],
    ]);
    assert.deepEqual(channel.texts, ['This is a test: alerts of this gateway arrive here. (alert.test)']);
  });

  test('that refuses is quoted with the word that says why, is tried again, and what is archived is not', async (t) => {
    const channel = await slackReceiver(t);
    const { alerts, clock } = world(t, () => policyOf({ slack: to(channel.url) }));
    channel.answer({ status: 404, text: 'no_service\n' });
    const refused = (await alerts.test()).deliveries[0];
    assert.deepEqual(
      [refused?.state, refused?.error],
      ['pending', 'the receiver answered with status 404: no_service'],
    );
    channel.answer({ status: 429, text: 'x'.repeat(100_000) });
    const busy = (await alerts.test()).deliveries[0];
    assert.equal(busy?.error, `the receiver answered with status 429: ${'x'.repeat(200)}`);
    channel.answer({ status: 410, text: 'channel_is_archived' });
    assert.equal((await alerts.test()).deliveries[0]?.state, 'dead');
    channel.answer(null);
    clock.atMs += RETRY_AFTER_MS[0] ?? 0;
    await alerts.deliver();
    assert.equal(channel.texts.length, 2);
  });

  test('that says when it may be called again is called then, with all that waits for it, and a day later at most', async (t) => {
    const channel = await slackReceiver(t);
    const slack = ['one', 'two', 'ops'].flatMap((name) => to(channel.url).map((one) => ({ ...one, name })));
    const { alerts, store, clock } = world(t, () => policyOf({ slack }));
    const begunAtMs = clock.atMs;
    const raise = (id: string, name: string): Promise<boolean> => {
      const alert = { id, type: 'alert.test', atMs: clock.atMs, accountIds: [], data: {} } as const;
      return store.raise(alert, [`slack ${name}`], clock.atMs);
    };
    const asked = async (id: string, name: string, retryAfter: string): Promise<number | undefined> => {
      channel.answer({ status: 429, text: 'rate_limited', headers: { 'retry-after': retryAfter } });
      await raise(id, name);
      await alerts.deliver();
      const [delivery] = await store.deliveries({ limit: 1, before: null, state: null, alertId: id });
      assert.deepEqual(
        [delivery?.state, delivery?.attempts, delivery?.error],
        ['pending', 1, 'the receiver answered with status 429: rate_limited'],
      );
      return (delivery?.dueAtMs ?? 0) - begunAtMs;
    };
    // No sooner than without it, for otherwise all attempts would be used up within moments.
    assert.equal(await asked('alrt_1', 'one', '1'), RETRY_AFTER_MS[0]);
    assert.equal(await asked('alrt_2', 'two', 'soon'), RETRY_AFTER_MS[0]);
    assert.equal(await asked('alrt_3', 'ops', new Date(begunAtMs + 20_000).toUTCString()), 20_000);
    assert.equal(channel.calls, 3);
    channel.answer(null);
    await raise('alrt_4', 'ops');
    clock.atMs += 19_000;
    await alerts.deliver();
    assert.deepEqual([channel.calls, channel.texts.length], [5, 2], 'what was due sooner waits as well');
    clock.atMs += 1_000;
    await alerts.deliver();
    assert.deepEqual([channel.calls, channel.texts.length], [7, 4]);
    assert.equal(await asked('alrt_5', 'ops', '999999999'), 20_000 + DAY_MS);
  });

  test('is called by http where it is private and the operator allows that, and never at a public address', async (t) => {
    const channel = await slackReceiver(t);
    const slack = to(channel.url);
    assert.deepEqual(await tested(t, { slack }), [['slack ops', 'delivered', null]]);
    const [[, state, error] = []] = await tested(t, { slack }, '192.0.64.1');
    assert.equal(state, 'pending');
    assert.match(String(error), /192\.0\.64\.1, which is a public address: it is not called without TLS/);
    const [[, , refused] = []] = await tested(t, { slack, allowPrivate: false });
    assert.match(String(refused), /not a public address/);
    assert.equal(channel.texts.length, 1);
  });

  test('calls nobody by name: what a key or an account is named is shown as it is', () => {
    const name = '<!channel> <https://evil.example|pay here> @everyone\r\n& more';
    const data = {
      level: 100,
      account: 'acct_1',
      name,
      limit: 'token_cap',
      unit: 'tokens',
      used: 1,
      amount: 1,
      period: 'day',
    };
    const { text } = JSON.parse(slackBody(JSON.stringify({ type: 'usage.level', timestamp: '', data })));
    assert.equal(
      text,
      'Account &lt;!channel&gt; &lt;https://evil.example|pay here&gt; @\u200beveryone &amp; more (acct_1) has used 100 % of its token cap of this day: 1 of 1 tokens. (usage.level)',
    );
  });
});

describe('a webhook of the operator', () => {
  test('is called by http where it is private, signed as ever; that of an account never is', async (t) => {
    const receiver = await webhookReceiver(t, () => SECRET, null);
    const webhooks = [{ name: 'ops', url: receiver.url, secret: SECRET, types: null }];
    assert.deepEqual(await tested(t, { webhooks }), [['webhook ops', 'delivered', null]]);
    assert.equal(receiver.received.length, 1);
    const { service } = adminFixture(t, {}, { policy: () => policyOf({ accountsAllowPrivate: true }) });
    const { id } = await service.accounts.create({ name: 'Acme' });
    for (const address of [receiver.url, 'http://127.0.0.1/x', 'http://hook.example/x']) {
      await assert.rejects(service.alerts.setWebhook(id, { url: address }), /must be an https address/);
      await assert.rejects(service.alerts.addReceiver(id, { kind: 'slack', address }), /must be an https address/);
    }
    assert.equal(receiver.received.length, 1);
  });
});

describe('the line of an alert', () => {
  const EXAMPLES: Readonly<Record<AlertType, readonly (readonly [object, string])[]>> = {
    'usage.level': [
      [
        {
          level: 80,
          key: 'key_1',
          name: 'ci',
          limit: 'balance',
          unit: 'credits',
          used: 8.1,
          amount: 10,
          period: 'none',
        },
        'Key ci (key_1) has used 80 % of its balance: 8.1 of 10 credits.',
      ],
      [
        {
          left: 5,
          account: 'acct_1',
          name: null,
          limit: 'token_cap',
          unit: 'tokens',
          used: 5,
          amount: 10,
          period: 'month',
        },
        'Account acct_1 has 5 tokens or less left of its token cap of this month: 5 of 10 tokens.',
      ],
    ],
    'key.expiring': [
      [
        { key: 'key_1', name: null, expires_at: '2030-01-31T00:00:00.000Z', within_days: 7 },
        'Key key_1 expires within 7 days, at 2030-01-31T00:00:00.000Z.',
      ],
    ],
    'circuit.open': [
      [
        { provider: 'p', upstream_model: 'm', models: ['a', 'b'] },
        'Provider p fails: m is not called for a while. It serves a, b.',
      ],
    ],
    'credential.refused': [
      [
        { provider: 'p', refused_at: '2030-01-31T00:00:00.000Z' },
        'Provider p refused its credential at 2030-01-31T00:00:00.000Z.',
      ],
    ],
    'audit.failed': [
      [
        { findings: ['key k: 1 is missing', 'x'], count: 2 },
        'The audit found 2 things that do not add up: key k: 1 is missing; x',
      ],
    ],
    'charge.shortfall': [
      [
        { key: 'key_1', day: '2030-01-31', charges: 2, credits: 0.5 },
        'Charges of key key_1 on 2030-01-31 were less than was owed: 2 of them, by 0.5 credits.',
      ],
    ],
    'spend.below_cost': [
      [
        { key: 'key_1', day: '2030-01-31', cost: 1, provider_cost: 2 },
        'Key key_1 was charged 1 credits on 2030-01-31, and providers charge 2 for it.',
      ],
    ],
    'reload.refused': [[{ problems: ['a', 'b'] }, 'A changed config file or certificate cannot be used: a; b']],
    'certificate.expiring': [
      [
        { listener: 'public', expires_at: '2030-01-31T00:00:00.000Z', expired: true },
        'The certificate of the public listener has expired, at 2030-01-31T00:00:00.000Z.',
      ],
    ],
    'alert.test': [[{ message: 'This is a test.' }, 'This is a test: alerts of this gateway arrive here.']],
  };

  for (const type of ALERT_TYPES) {
    test(`says what ${type} is about`, () => {
      for (const [data, line] of EXAMPLES[type]) assert.equal(alertLine(type, { ...data }), line);
    });
  }

  test('is one line of bounded length', () => {
    const line = alertLine('reload.refused', { problems: ['a\nb\r\n\tc', 'x'.repeat(10_000)] });
    assert.ok(
      line.startsWith('A changed config file or certificate cannot be used: a b c; xxx') && line.endsWith('x…'),
    );
    assert.equal(line.length, 600);
  });
});
