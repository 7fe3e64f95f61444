/** The alerts in a real Chromium: who is told, what is configured, tests that arrive and tests that do not, for operators and accounts. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { certificateOfLocalhost } from '../support/certificate.ts';
import { consoleStory } from '../support/console-story.ts';
import { type MailServer, mailServer } from '../support/mail-server.ts';
import { type SlackReceiver, slackReceiver } from '../support/slack-receiver.ts';
import { startedGateway } from '../support/started-gateway.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { type WebhookReceiver, webhookReceiver } from '../support/webhook-receiver.ts';

const SECRET = `whsec_${Buffer.from('a secret of thirty-two characters').toString('base64')}`;
const PASSWORD = 'the password of the mail server';

const ends: (() => void)[] = [];
const ending = { after: (end: () => void) => ends.push(end) };
after(() => {
  for (const end of ends) end();
});

let customer: string;
let webhook: WebhookReceiver;
let channel: SlackReceiver;
let server: MailServer;

await consoleStory(
  'the alerts in the console',
  async () => {
    const certificate = certificateOfLocalhost();
    webhook = await webhookReceiver(ending, () => SECRET, certificate);
    channel = await slackReceiver(ending, certificate);
    server = await mailServer(ending, { certificate, login: { user: 'gateway', password: PASSWORD } });
    const ca = join(temporaryFolder(), 'ca.pem');
    writeFileSync(ca, certificate.cert);
    const config = `alerts:
  allow_private: true
  accounts_allow_private: true
  ca: ${ca}
  webhooks: [{ name: ops, url: "${webhook.url}", secret: "\${ALERT_SECRET}" }]
  slack: [{ name: chat, url: "\${SLACK_URL}", types: [circuit.open] }]
  smtp: { host: localhost, port: ${server.port}, user: gateway, password: "\${SMTP_PASSWORD}", from: gateway@example.com }
  levels: [75]
  credits_left: [2.5]
`;
    const env = { ALERT_SECRET: SECRET, SLACK_URL: channel.url, SMTP_PASSWORD: PASSWORD };
    const gateway = await startedGateway({ config, env });
    customer = (await gateway.admin.accounts.create({ name: 'Acme' })).id;
    return gateway;
  },
  (story) => {
    /** Besides, no secret is on the page. */
    const inOrder = async (): Promise<void> => {
      await story.inOrder();
      const shown = await story.page.content();
      for (const secret of [PASSWORD, SECRET, new URL(channel.url).pathname])
        assert.ok(!shown.includes(secret), secret);
    };
    const receivers = () => story.page.getByRole('region', { name: 'Receivers', exact: true });
    const rowOf = (table: ReturnType<typeof receivers>, text: string) =>
      table.getByRole('row').filter({ hasText: text });

    test('the page lists who is told, what is configured, and how to configure the rest', async () => {
      const { page } = story;
      await page.getByRole('link', { name: 'Alerts' }).click();
      await page.getByRole('heading', { name: 'No alerts yet' }).waitFor();
      await rowOf(receivers(), 'ops').getByText('nothing sent yet').waitFor();
      await rowOf(receivers(), 'chat').getByText('circuit.open').waitFor();
      await page
        .getByText(`0 addresses, by localhost:${server.port} (TLS: starttls) from gateway@example.com`)
        .waitFor();
      await page.getByText('75 % used, 2.5 credits left').waitFor();
      await page.getByText('not set up; how?').click();
      await page.getByText('command: [/usr/local/bin/page-me').waitFor();
      await inOrder();
    });

    test('a test of one receiver reaches it alone; one that fails is told with its reason, there and in its row', async () => {
      const { page } = story;
      await page.getByRole('button', { name: 'Send a test: slack chat' }).click();
      await page.getByRole('status').getByText('slack chat: delivered').waitFor();
      assert.deepEqual([channel.texts.length, webhook.received.length], [1, 0]);
      await rowOf(receivers(), 'chat').getByText('delivered').waitFor();
      channel.answer({ status: 404, text: 'no_service' });
      await page.getByRole('button', { name: 'Send a test: slack chat' }).click();
      await page
        .getByRole('status')
        .getByText(/^slack chat: pending \(.*status 404: no_service/)
        .waitFor();
      const row = rowOf(receivers(), 'chat');
      await row.getByText('failed').waitFor();
      await row.getByText('status 404: no_service').waitFor();
      await inOrder();
    });

    test('a test of all goes to whoever gets tests, and is listed with its deliveries', async () => {
      const { page } = story;
      await page.getByRole('button', { name: 'Test all of the config file' }).click();
      await page.getByRole('status').getByText('webhook ops: delivered').waitFor();
      assert.equal(webhook.received.filter(({ body }) => body.type === 'alert.test').length, 1);
      await page.getByRole('region', { name: 'Deliveries' }).getByText('webhook ops').first().waitFor();
      await page.getByRole('region', { name: 'Alerts' }).getByText('This is a test: alerts').first().waitFor();
      webhook.answer(500);
      await page.getByRole('button', { name: 'Test all of the config file' }).click();
      await page
        .getByRole('status')
        .getByText(/^webhook ops: \w+ \(.*500/)
        .waitFor();
      await inOrder();
    });

    test('an account gets a mailbox and a channel; what makes no sense is refused at its field; both are tested there', async () => {
      const { page, gateway, origin } = story;
      await page.goto(`${origin}/accounts/${customer}`);
      const table = page.getByRole('region', { name: 'Receivers of the account' });
      const add = async (kind: string, address: string): Promise<void> => {
        await story.dialog().getByText(kind, { exact: true }).click();
        await story.dialog().getByLabel('Address', { exact: true }).fill(address);
        await story.press('Add it');
      };
      await page.getByRole('button', { name: 'Add a receiver' }).click();
      await add('E-mail', 'a@example.com, b@example.com');
      await story.dialog().getByText('must be one e-mail address').waitFor();
      await add('Slack', 'http://chat.example/x');
      await story.dialog().getByText('must be an https address').waitFor();
      await inOrder();
      await add('E-mail', 'billing@acme.example');
      await story.dialog().waitFor({ state: 'hidden' });
      await rowOf(table, 'billing@acme.example').getByRole('button', { name: 'Send a test' }).click();
      await page
        .getByRole('status')
        .getByText(/email_\w+: delivered/)
        .waitFor();
      assert.deepEqual(
        server.mails.map(({ to, secure, user }) => [to, secure, user]),
        [[['billing@acme.example'], true, 'gateway']],
      );
      channel.answer(null);
      await page.getByRole('button', { name: 'Add a receiver' }).click();
      await add('Slack', channel.url);
      await rowOf(table, 'Slack').getByRole('button', { name: 'Send a test' }).click();
      await page
        .getByRole('status')
        .getByText(/slack_\w+: delivered/)
        .waitFor();
      await inOrder();
      await page.getByText('Receiver of alerts added').first().waitFor();

      await page.getByRole('link', { name: 'Alerts' }).click();
      await rowOf(receivers(), 'billing@acme.example').getByRole('link', { name: 'Acme' }).waitFor();
      await inOrder();
      await rowOf(receivers(), 'billing@acme.example').getByRole('link', { name: 'Acme' }).click();
      await rowOf(table, 'billing@acme.example').getByRole('button', { name: 'Remove' }).click();
      await story.press('Remove it');
      await rowOf(table, 'billing@acme.example').waitFor({ state: 'detached' });
      assert.deepEqual(
        (await gateway.admin.alerts.accountReceivers(customer)).data.map(({ kind }) => kind),
        ['slack'],
      );
      await inOrder();
    });
  },
);
