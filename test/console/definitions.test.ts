/** The console in a real Chromium: providers, models and prices are added and changed without a file. */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { after, afterEach, before, beforeEach, describe, type TestContext, test } from 'node:test';
import type { BrowserContext, Page } from 'playwright-core';
import { adminFetch } from '../support/admin-fetch.ts';
import { axeViolations, newContext, startBrowser, type WatchedPage, watchedPage } from '../support/browser.ts';
import { builtConsole } from '../support/console-build.ts';
import { configFileIn } from '../support/gateway-environment.ts';
import { type StartedGateway, startedGateway } from '../support/started-gateway.ts';

await builtConsole();
const started = await startBrowser();
const skip = 'reason' in started ? started.reason : false;

const CONFIG = `providers: { filed: { kind: openai, base_url: "https://filed.example/v1" } }
models: [{ id: filed-model, provider: filed, pricing: { input: 1, output: 2 } }]
`;

describe('models and prices in the console', { skip }, () => {
  let gateway: StartedGateway;
  let context: BrowserContext;
  let watched: WatchedPage;
  let page: Page;
  let origin: string;

  before(async () => {
    gateway = await startedGateway({ config: CONFIG });
    origin = `http://127.0.0.1:${gateway.adminPort}`;
    context = await newContext(started);
    watched = await watchedPage(context, origin);
    page = watched.page;
    const { body } = await adminFetch(gateway.dataDir)('/operators/owner/link', 'POST', {});
    await page.goto((body as { url: string }).url);
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
  });

  after(async () => {
    if ('browser' in started) await started.browser.close();
    await gateway?.[Symbol.asyncDispose]();
  });

  let broken = false;
  beforeEach(() => assert(!broken, 'an earlier part of the story failed'));
  afterEach((t) => {
    broken ||= !(t as TestContext).passed;
  });

  const inOrder = async (): Promise<void> => {
    assert.deepEqual(await axeViolations(page), []);
    assert.deepEqual(watched.complaints, []);
  };
  /** A refusal is an answer that the browser's own console mentions. */
  const refused = async (text: string): Promise<void> => {
    await dialog().getByText(text).waitFor();
    assert.deepEqual(await axeViolations(page), []);
    watched.complaints.length = 0;
  };
  const dialog = () => page.getByRole('dialog');
  const press = (name: string): Promise<void> => dialog().getByRole('button', { name, exact: true }).click();
  const closed = (): Promise<void> => dialog().waitFor({ state: 'hidden' });
  const choose = async (label: string, option: string): Promise<void> => {
    await dialog().getByRole('combobox', { name: label }).click();
    await page.getByRole('option', { name: option, exact: true }).click();
  };

  test('a provider: a forbidden address is refused, a public one is added, and its credential is not shown again', async () => {
    await page.goto(`${origin}/models`);
    await page.getByRole('button', { name: 'Add provider' }).click();
    await dialog().getByLabel('Name', { exact: true }).fill('house');
    await choose('Kind', 'OpenAI-compatible');
    await dialog().getByLabel('Address').fill('http://127.0.0.1:8080/v1');
    await dialog().getByLabel('Credential').fill('sk-of-the-house-0123456789');
    await inOrder();
    await press('Add it');
    await refused('must lead to a public address');
    await dialog().getByLabel('Address').fill('https://house.example/v1');
    await press('Add it');
    await closed();
    const row = page.getByRole('row', { name: /house.*operators/ });
    await row.waitFor();
    assert.equal(await page.getByText('in the config file').count(), 1);
    await page.getByRole('button', { name: 'Change house' }).click();
    await dialog().getByText('One is stored, sealed, and cannot be shown.').waitFor();
    assert.equal(await dialog().getByLabel('Credential').inputValue(), '');
    await dialog().getByLabel('Mark-up').fill('1.5');
    await inOrder();
    await press('Save');
    await closed();
    const { definition } = await gateway.admin.call('showProvider', { name: 'house' });
    assert.equal(definition.markup, 1.5);
    assert.match(String(definition.api_key), /^set /);
  });

  test('a model with its price, and another price from a day on, which can be cancelled', async () => {
    await page.getByRole('button', { name: 'Add model' }).click();
    await dialog().getByLabel('Id', { exact: true }).fill('house/large');
    await choose('Provider', 'house');
    await dialog().getByLabel('Input, USD per million').fill('2');
    await press('Add it');
    await refused('the key `output` is missing');
    await dialog().getByLabel('Output, USD per million').fill('8');
    await inOrder();
    await press('Add it');
    await closed();
    await page.getByRole('link', { name: 'house/large' }).click();
    await page.getByText('3.00 / 12.00 USD').waitFor();
    await page.getByText('From an operator.').waitFor();
    await page.getByRole('button', { name: 'Set price' }).click();
    await dialog().getByLabel('Mark-up').fill('2');
    await choose('It counts', 'From a day on');
    await dialog().getByLabel('From', { exact: true }).fill('2020-01-01');
    await press('Set it');
    await refused('requests since then have been charged');
    await dialog().getByLabel('From', { exact: true }).fill('2099-01-01');
    await inOrder();
    await press('Set it');
    await closed();
    await page.getByText('2099-01-01 00:00 UTC').waitFor();
    await page.getByText('4.00 / 16.00', { exact: true }).waitFor();
    await inOrder();
    await page.getByRole('button', { name: 'Cancel the price from 2099-01-01 00:00 UTC' }).click();
    await press('Cancel it');
    await closed();
    await page.getByRole('heading', { name: 'Prices to come' }).waitFor({ state: 'detached' });
  });

  test('a price begins with what the model has now, and what is not changed stays', async () => {
    const rest = { cache_read: 0.5, tiers: [{ from_input_tokens: 200_001, input: 4 }] };
    const body = { pricing: { input: 2, output: 8, ...rest } };
    await gateway.admin.call('changeModel', { id: 'house/large', body });
    const field = (name: string) => dialog().getByLabel(`${name}, USD per million`);
    const defined = async () => (await gateway.admin.call('showModel', { id: 'house/large' })).definition;
    await page.reload();
    await page.getByRole('button', { name: 'Set price' }).click();
    await field('Cache read').waitFor();
    assert.deepEqual(
      [await field('Input').inputValue(), await field('Output').inputValue(), await field('Cache read').inputValue()],
      ['2', '8', '0.5'],
    );
    await field('Output').fill('9');
    await inOrder();
    await gateway.admin.call('changeModel', { id: 'house/large', body: { pricing: { ...body.pricing, input: 3 } } });
    await press('Set it');
    await refused('Somebody else has changed this model');
    assert.deepEqual((await defined()).pricing, { ...body.pricing, input: 3 });
    await press('Save my changes on top');
    await closed();
    assert.deepEqual((await defined()).pricing, { ...body.pricing, input: 3, output: 9 });
    await gateway.admin.call('changeModel', { id: 'house/large', body: { pricing: { input: 2, output: 8 } } });
    await page.reload();
  });

  test('what somebody else has changed meanwhile is told, and can be saved over', async () => {
    await page.getByRole('button', { name: 'Change', exact: true }).click();
    await dialog().getByLabel('Mark-up').fill('3');
    await gateway.admin.call('changeModel', { id: 'house/large', body: { markup: 4 } });
    await press('Save');
    await refused('Somebody else has changed this model');
    await dialog().getByText('Mark-up: none').waitFor();
    await press('Save my changes on top');
    await closed();
    assert.equal((await gateway.admin.call('showModel', { id: 'house/large' })).definition.markup, 3);
  });

  test('what the file defines has no buttons; what it takes over is shown as such, and a broken file is on every page', async () => {
    await page.goto(`${origin}/models/filed-model`);
    await page.getByText('config file', { exact: true }).waitFor();
    assert.equal(await page.getByRole('button', { name: 'Set price' }).count(), 0);
    const taken = `${CONFIG}`.replace('id: filed-model', 'id: house/large');
    await writeFile(configFileIn(gateway.dataDir), taken);
    await page.goto(`${origin}/models`);
    await page.getByRole('heading', { name: 'Not in use' }).waitFor();
    await page.getByText('the config file, or the sandbox, has this name').waitFor();
    await inOrder();
    await page.getByRole('button', { name: 'Remove house/large' }).click();
    await press('Remove it');
    await closed();
    await page.getByRole('heading', { name: 'Not in use' }).waitFor({ state: 'detached' });
    await writeFile(configFileIn(gateway.dataDir), `${CONFIG}modells: []\n`);
    await page.getByText('The config file has been changed and cannot be used').waitFor();
    assert.deepEqual(await axeViolations(page), []);
    await writeFile(configFileIn(gateway.dataDir), CONFIG);
    await page.getByText('The config file has been changed and cannot be used').waitFor({ state: 'detached' });
    await inOrder();
  });
});
