/** A gateway as it looks after some days of work: keys of several customers, requests that went well and some that did not. */
import type { Page } from 'playwright-core';
import { adminFetch } from '../support/admin-fetch.ts';
import { call, type StartedGateway } from '../support/started-gateway.ts';

export interface Scene {
  /** The key whose holder looks at its page. */
  readonly holder: string;
  /** Name, path, and what to do there before the picture is taken. */
  readonly pages: readonly (readonly [string, string, ((page: Page) => Promise<void>)?])[];
}

const PROMPTS = ['Hello!', 'Summarise the minutes of Monday.', 'Translate this into French: good morning.'];

export async function furnish(gateway: StartedGateway): Promise<Scene> {
  const acme = await gateway.creditKey({ label: 'Acme production', credit: '250', rpm_limit: 600 });
  const staging = await gateway.creditKey({ label: 'Acme staging', credit: '20' });
  const globex = await gateway.creditKey({ label: 'Globex support bot', credit: '75.5', models: ['sandbox/alpha'] });
  const poor = await gateway.creditKey({ label: 'Initech trial', credit: '0.0001' });
  const team = await gateway.tokenKey({ label: 'Research team', budget: '2000000', period: 'month' });
  const old = await gateway.creditKey({ label: 'Umbrella (ended)', credit: '10' });
  await gateway.tokenKey({ label: 'Nightly evaluation', budget: '500000', period: 'day' });
  const ask = async (key: string, path: string, body: object): Promise<void> => {
    const answer = await call(`${gateway.origin}${path}`, { key, body });
    await answer.text();
  };
  for (let round = 0; round < 8; round += 1) {
    const content = PROMPTS[round % PROMPTS.length] ?? '';
    const messages = [{ role: 'user', content }];
    const key = [acme, acme, staging, globex][round % 4]?.key ?? '';
    await ask(key, '/v1/chat/completions', { model: 'sandbox/alpha', messages, stream: round % 2 === 0 });
    await ask(acme.key, '/v1/messages', { model: 'sandbox/beta', max_tokens: 200 + round, messages });
    await ask(team.key, `${new URL(team.base_url).pathname}/responses`, { model: 'sandbox/alpha', input: content });
  }
  await ask(poor.key, '/v1/chat/completions', {
    model: 'sandbox/alpha',
    max_tokens: 4_000,
    messages: [{ role: 'user', content: 'A long story, please.' }],
  });
  await ask(acme.key, '/v1/chat/completions', { model: 'no/such-model', messages: [{ role: 'user', content: 'Hi' }] });
  await ask(globex.key, '/v1/chat/completions', { model: 'sandbox/beta', messages: [{ role: 'user', content: 'Hi' }] });
  await gateway.admin.changeKey(staging.id, { status: 'suspended' });
  await gateway.admin.changeKey(old.id, { status: 'revoked' });
  const recent = await requests(gateway);
  const failed = recent.find(({ status }) => status === 402)?.id ?? '';
  const served = recent.find(({ status, streamed }) => status === 200 && streamed)?.id ?? '';
  return {
    holder: acme.key,
    pages: [
      ['request', `/requests/${served}`],
      ['request-failed', `/requests/${failed}`],
      ['overview', '/'],
      ['overview-24h', '/?period=24h&by=key&show=requests'],
      ['requests', '/requests'],
      ['accounts', '/accounts'],
      ['alerts', '/alerts'],
      ['models', '/models'],
      ['model', '/models/sandbox/alpha'],
      [
        'playground',
        '/playground?model=sandbox%2Falpha',
        async (page) => {
          await page.getByRole('combobox', { name: 'Compare with' }).fill('sandbox/beta');
          await page.getByRole('option', { name: 'sandbox/beta' }).click();
          await page.getByRole('textbox', { name: 'Message' }).fill('What is a gateway, in one sentence?');
          await page.getByRole('button', { name: 'Send to both' }).click();
          await page.getByText('See the request').nth(1).waitFor();
        },
      ],
      [
        'settings',
        '/settings',
        async (page) => {
          await page.getByRole('button', { name: 'Run the audit' }).click();
          await page.getByRole('button', { name: 'Run the doctor' }).click();
          await page.getByText('Everything is in order').waitFor();
        },
      ],
      ['keys', '/keys'],
      ['key', `/keys/${acme.id}`],
      ['key-create', '/keys?create=1'],
      [
        'key-secret',
        '/keys?create=1',
        async (page) => {
          await page.getByLabel('Name', { exact: true }).fill('Hooli chat');
          await page.getByRole('button', { name: 'Create key', exact: true }).last().click();
          await page.getByTestId('secret').waitFor();
        },
      ],
      ['palette', '/keys', async (page) => page.keyboard.press('Control+k').then(() => page.keyboard.type('acme'))],
    ],
  };
}

interface Listed {
  readonly id: string;
  readonly status: number | null;
  readonly streamed: boolean;
}

/** The log is written a moment after the answer. */
async function requests(gateway: StartedGateway): Promise<readonly Listed[]> {
  for (;;) {
    const { body } = await adminFetch(gateway.dataDir)('/requests?limit=200');
    const { data } = body as { data: readonly Listed[] };
    if (data.some(({ status }) => status === 402)) return data;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
