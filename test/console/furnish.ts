/** A gateway as it looks after a month of work: customers with teams and keys, requests that went well and some that did not. */
import type { Page } from 'playwright-core';
import { adminFetch } from '../support/admin-fetch.ts';
import { call, type StartedGateway } from '../support/started-gateway.ts';
import type { Past } from './past.ts';

export interface Scene {
  /** The key whose holder looks at its page. */
  readonly holder: string;
  /** Name, path, and what to do there before the picture is taken. */
  readonly pages: readonly (readonly [string, string, ((page: Page) => Promise<void>)?])[];
}

const DAY_MS = 86_400_000;
/** How long before now the first request is. */
export const PAST_MS = 59 * DAY_MS;
const PROMPTS = ['Hello!', 'Summarise the minutes of Monday.', 'Translate this into French: good morning.'];
const MODELS = ['sandbox/alpha', 'sandbox/alpha', 'sandbox/beta', 'sandbox/tiny'];

interface Customers {
  /** Those that are used every day. */
  readonly busy: readonly string[];
  readonly poor: string;
  readonly limited: string;
  readonly holder: string;
  readonly team: { readonly key: string; readonly base_url: string };
  readonly ids: { readonly account: string; readonly key: string; readonly staging: string; readonly old: string };
}

async function createCustomers({ admin, creditKey, tokenKey }: StartedGateway): Promise<Customers> {
  const account = async (name: string, input: object = {}): Promise<string> =>
    (await admin.accounts.create({ name, ...input })).id;
  const keyOf = (label: string, of: string, input: object = {}) =>
    admin.createKey({ mode: 'credit', label, account: of, ...input });
  const acme = await account('Acme', { rpm_limit: 3_000 });
  await admin.accounts.addCredit(acme, { amount: '250' });
  const support = await account('Support', { parent: acme, credit_cap: '60/month' });
  const research = await account('Research', { parent: acme, credit_cap: '40/month', token_cap: '50000000/month' });
  const globex = await account('Globex', { external_id: 'crm-2041' });
  await admin.accounts.addCredit(globex, { amount: '75.5' });
  const production = await keyOf('Acme production', acme, { rpm_limit: 600 });
  const bot = await keyOf('Support bot', support, { cap: '20', period: 'month' });
  const notebooks = await keyOf('Notebooks', research);
  const shop = await keyOf('Globex storefront', globex, { models: ['sandbox/alpha'] });
  const staging = await creditKey({ label: 'Acme staging', credit: '20' });
  const hooli = await creditKey({ label: 'Hooli chat', credit: '25', rpm_limit: 120 });
  const poor = await creditKey({ label: 'Initech trial', credit: '0.0001' });
  const team = await tokenKey({ label: 'Nightly evaluation', budget: '2000000', period: 'month' });
  const old = await creditKey({ label: 'Umbrella (ended)', credit: '10' });
  return {
    busy: [production.key, production.key, bot.key, notebooks.key, shop.key, hooli.key],
    poor: poor.key,
    limited: shop.key,
    holder: hooli.key,
    team,
    ids: { account: acme, key: hooli.id, staging: staging.id, old: old.id },
  };
}

export async function furnish(gateway: StartedGateway, past: Past): Promise<Scene> {
  const { busy, poor, limited, holder, team, ids } = await createCustomers(gateway);
  const ask = async (key: string, path: string, body: object): Promise<void> => {
    const answer = await call(`${gateway.origin}${path}`, { key, body });
    await answer.text();
  };
  const chat = (key: string, model: string, content: string, more: object = {}): Promise<void> =>
    ask(key, '/v1/chat/completions', { model, messages: [{ role: 'user', content }], ...more });
  for (let day = 0; day <= PAST_MS / DAY_MS; day += 1) {
    // Fewer at weekends, and a little more every week; never drawn, so that the pictures are the same each time.
    const requests = [0, 6].includes(new Date(Date.now()).getUTCDay()) ? 2 : 4 + Math.floor(day / 14);
    for (let number = 0; number < requests; number += 1) {
      const key = busy[(day + number) % busy.length] ?? '';
      const tokens = 4_000 + ((day * 7_919 + number * 3_571) % 23) * 1_000;
      const prompt = PROMPTS[number % PROMPTS.length] ?? '';
      const model = key === limited ? 'sandbox/alpha' : (MODELS[(day + 3 * number) % MODELS.length] ?? '');
      const size = model === 'sandbox/tiny' ? 200 : tokens;
      await chat(key, model, `${prompt} [[tokens=${size}]]`, { stream: number % 2 === 0, max_tokens: size + 1 });
    }
    await ask(team.key, `${new URL(team.base_url).pathname}/responses`, { model: 'sandbox/alpha', input: 'Score it.' });
    past.forward(DAY_MS);
  }
  past.present();
  for (const key of busy) await chat(key, 'sandbox/alpha', PROMPTS[1] ?? '', { stream: true });
  await ask(holder, '/v1/messages', {
    model: 'sandbox/beta',
    max_tokens: 200,
    messages: [{ role: 'user', content: 'Hello!' }],
  });
  await chat(poor, 'sandbox/alpha', 'A long story, please.', { max_tokens: 4_000 });
  await chat(holder, 'no/such-model', 'Hi');
  await chat(limited, 'sandbox/beta', 'Hi');
  await gateway.admin.changeKey(ids.staging, { status: 'suspended' });
  await gateway.admin.changeKey(ids.old, { status: 'revoked' });
  const recent = await requests(gateway);
  const failed = recent.find(({ status }) => status === 402)?.id ?? '';
  const served = recent.find(({ status, streamed }) => status === 200 && streamed)?.id ?? '';
  return {
    holder,
    pages: [
      ['request', `/requests/${served}`],
      ['request-failed', `/requests/${failed}`],
      ['overview', '/'],
      ['overview-24h', '/?period=24h&by=key&show=requests'],
      ['overview-accounts', '/?by=account'],
      ['requests', '/requests'],
      ['accounts', '/accounts'],
      ['customer', `/accounts/${ids.account}`],
      [
        'alerts',
        '/alerts',
        async (page) => {
          await page.getByRole('button', { name: 'Test all of the config file' }).click();
          await page.getByText('email on-call: delivered').waitFor();
        },
      ],
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
          await page.getByText('No problems found').waitFor();
        },
      ],
      [
        'day-credit',
        `/accounts/${ids.account}`,
        async (page) => page.getByRole('button', { name: 'Add credit' }).click(),
      ],
      ['day-limits', `/accounts/${ids.account}`, async (page) => page.keyboard.press('e')],
      [
        'day-suspend',
        `/accounts/${ids.account}`,
        async (page) => page.getByRole('button', { name: 'Suspend…' }).click(),
      ],
      ['day-import', '/keys', async (page) => page.getByRole('button', { name: 'Import' }).click()],
      [
        'day-operator',
        '/settings',
        async (page) => {
          await page.getByRole('button', { name: 'Manage owner' }).click();
          await page.getByRole('heading', { name: 'Tokens' }).waitFor();
        },
      ],
      ['keys', '/keys'],
      ['key', `/keys/${ids.key}`],
      ['key-create', '/keys?create=1'],
      [
        'key-secret',
        '/keys?create=1',
        async (page) => {
          await page.getByLabel('Name', { exact: true }).fill('Vandelay imports');
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
