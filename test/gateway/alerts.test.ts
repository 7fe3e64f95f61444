/** Alerts of a started gateway: from requests to the receiver, and what the commands show of them. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { adminFetch } from '../support/admin-fetch.ts';
import { gateway } from '../support/admin-fixture.ts';
import { certificateOfLocalhost } from '../support/certificate.ts';
import { mailServer } from '../support/mail-server.ts';
import { slackReceiver } from '../support/slack-receiver.ts';
import { startedGateway } from '../support/started-gateway.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { webhookReceiver } from '../support/webhook-receiver.ts';

const SECRET = `whsec_${Buffer.from('a secret of thirty-two characters').toString('base64')}`;

describe('alerts', () => {
  test('reach the operator and the account by webhook, in a chat and by mail, and the commands show them', async (t) => {
    const certificate = certificateOfLocalhost();
    let ofAccount = SECRET;
    const operator = await webhookReceiver(t, () => SECRET, certificate);
    const customer = await webhookReceiver(t, () => ofAccount, certificate);
    const channel = await slackReceiver(t);
    const login = { user: 'gateway', password: 'a password for tests' };
    const server = await mailServer(t, { certificate, login });
    const ca = join(temporaryFolder(), 'ca.pem');
    writeFileSync(ca, certificate.cert);
    const config = `alerts:
  allow_private: true
  accounts_allow_private: true
  ca: ${ca}
  webhooks: [{ name: ops, url: "${operator.url}", secret: "\${ALERT_SECRET}" }]
  slack: [{ name: chat, url: "\${SLACK_URL}", types: [usage.level] }]
  smtp: { host: localhost, port: ${server.port}, user: gateway, password: "\${SMTP_PASSWORD}", from: gateway@example.com }
  email: [{ name: on-call, to: on-call@example.com, types: [usage.level] }]
  levels: [7]
  tokens_left: [12]
`;
    await using started = await startedGateway({
      config,
      env: { ALERT_SECRET: SECRET, SLACK_URL: channel.url, SMTP_PASSWORD: login.password },
    });
    const { admin, dataDir, origin } = started;
    const root = await admin.accounts.create({ name: 'Acme', token_cap: '300/day' });
    await admin.accounts.addCredit(root.id, { amount: '5' });
    const webhook = await admin.alerts.setWebhook(root.id, { url: customer.url });
    ofAccount = String(webhook.secret);
    assert.deepEqual(await admin.alerts.webhook(root.id), { account: root.id, url: customer.url, secret: null });
    await admin.alerts.addReceiver(root.id, { kind: 'email', address: 'billing@acme.example' });
    const { key } = await admin.createKey({ mode: 'credit', account: root.id });
    const tested = await gateway(dataDir, 'alerts', 'test');
    assert.equal(tested.code, 0, tested.stderr);
    assert.match(tested.stdout, /alert\.test +alrt_\w+ +webhook ops +delivered +1/);

    let status = 200;
    for (let count = 0; status === 200 && count < 40; count++) {
      const answer = await fetch(`${origin}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({
          model: 'sandbox/alpha',
          max_tokens: 10,
          messages: [{ role: 'user', content: 'Hello.' }],
        }),
      });
      await answer.arrayBuffer();
      ({ status } = answer);
    }
    assert.equal(status, 429);
    const isLevel = ({ body }: { body: { type: string } }): boolean => body.type === 'usage.level';
    const [told, same] = await Promise.all([operator.until(isLevel), customer.until(isLevel)]);
    assert.equal(told.id, same.id);
    const { account, limit, unit, amount } = told.body.data;
    assert.deepEqual([account, limit, unit, amount], [root.id, 'token_cap', 'tokens', 300]);
    await server.untilTaken(2);
    assert.deepEqual(
      new Set(server.mails.flatMap(({ to }) => to)),
      new Set(['on-call@example.com', 'billing@acme.example']),
    );
    while (channel.texts.length === 0) await channel.next();
    const said =
      /Account Acme \(acct_\w+\) has (used 7 %|12 tokens or less left) of its token cap of this day: \d+ of 300/;
    assert.match(String(channel.texts[0]), said);
    const listedReceivers = await gateway(dataDir, 'alerts', 'receivers');
    assert.match(listedReceivers.stdout, /webhook ops +webhook +localhost:\d+ +all/);
    assert.match(listedReceivers.stdout, /email on-call +email +on-call@example\.com +usage\.level/);
    const one = await gateway(dataDir, 'alerts', 'test', '--receiver', 'slack chat');
    assert.deepEqual([one.code, /slack chat +delivered/.test(one.stdout)], [0, true], one.stdout + one.stderr);
    const listed = await gateway(dataDir, 'alerts', 'list', '--type', 'usage.level');
    assert.match(listed.stdout, new RegExp(`usage.level +${told.id} +(level|left) \\d+, account ${root.id}`));
    // It is marked after the receiver's answer.
    const delivered = new RegExp(`"target":"account ${root.id}","state":"delivered"`);
    let deliveries = await gateway(dataDir, 'alerts', 'deliveries', '--json');
    while (deliveries.code === 0 && !delivered.test(deliveries.stdout)) {
      deliveries = await gateway(dataDir, 'alerts', 'deliveries', '--json');
    }
    assert.equal(deliveries.code, 0, deliveries.stderr);
    assert.match((await gateway(dataDir, 'accounts', 'webhook', root.id, '--url', 'none')).stdout, /has no webhook/);
    const refused = await gateway(dataDir, 'accounts', 'webhook', root.id, '--url', 'http://plain.example');
    assert.equal(refused.code, 2);
    assert.match(refused.stderr, /--url must be an https address/);
    const settings = JSON.stringify((await adminFetch(dataDir)('/settings')).body);
    assert.ok(settings.includes('"alerts.webhooks","value":["ops ('));
    for (const secret of [SECRET.slice(6, 20), login.password, new URL(channel.url).pathname]) {
      assert.ok(!settings.includes(secret) && !listedReceivers.stdout.includes(secret));
    }
  });
});
