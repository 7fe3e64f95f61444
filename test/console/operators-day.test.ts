/** The console in a real Chromium: what an operator does besides creating keys and customers, without a command line. */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, afterEach, before, beforeEach, describe, type TestContext, test } from 'node:test';
import type { BrowserContext, Page } from 'playwright-core';
import { adminFetch } from '../support/admin-fetch.ts';
import { axeViolations, newContext, startBrowser, type WatchedPage, watchedPage } from '../support/browser.ts';
import { builtConsole } from '../support/console-build.ts';
import { call, type StartedGateway, startedGateway } from '../support/started-gateway.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

await builtConsole();
const started = await startBrowser();
const skip = 'reason' in started ? started.reason : false;

describe("an operator's day in the console", { skip }, () => {
  let gateway: StartedGateway;
  let context: BrowserContext;
  let watched: WatchedPage;
  let page: Page;
  let origin: string;
  let customer: string;

  before(async () => {
    gateway = await startedGateway({ config: 'alerts: {}\n' });
    origin = `http://127.0.0.1:${gateway.adminPort}`;
    context = await newContext(started);
    watched = await watchedPage(context, origin);
    page = watched.page;
    customer = (await gateway.admin.accounts.create({ name: 'Acme' })).id;
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
  const dialog = () => page.getByRole('dialog');
  const press = (name: string): Promise<void> => dialog().getByRole('button', { name }).click();
  const closed = (): Promise<void> => dialog().waitFor({ state: 'hidden' });
  const more = async (item: string): Promise<void> => {
    await page.getByRole('button', { name: 'More', exact: true }).click();
    await page.getByRole('menuitem', { name: item }).click();
    // It fades away: what is looked at next is looked at without it.
    await page.locator('[role=menu]').waitFor({ state: 'hidden' });
  };

  test('credit with a note that expires, and a correction, are entries of the statement', async () => {
    await page.goto(`${origin}/accounts/${customer}`);
    await page.getByRole('button', { name: 'Add credit' }).click();
    await page.getByLabel('Amount').fill('20');
    await page.getByLabel('Note').fill('Welcome');
    await page.getByLabel('Expires').fill('2099-01-31');
    await inOrder();
    await press('Add credit');
    await closed();
    await page.getByRole('heading', { name: 'Credit that expires' }).waitFor();
    await page.getByRole('button', { name: 'Add credit' }).click();
    await page.getByLabel('Amount').fill('5');
    await press('Add credit');
    await closed();
    await more('Correct its balance');
    await page.getByLabel('Amount').fill('-2.5');
    await press('Correct it');
    await dialog().getByText('one line of 1 to 200 characters').waitFor();
    await page.getByLabel('Reason').fill('billed twice');
    await inOrder();
    await press('Correct it');
    await closed();
    assert.equal((await gateway.admin.accounts.show(customer)).balance, 22.5);
    await inOrder();
  });

  test('every limit of an account', async () => {
    await page.getByRole('button', { name: 'Edit', exact: true }).click();
    await page.getByLabel('Tokens per minute').fill('50000');
    await page.getByLabel('Parallel requests').fill('4');
    await page.getByLabel('Maximum output').fill('2000');
    await page.getByRole('combobox', { name: 'Client addresses' }).fill('10.0.0.0/8');
    await page.keyboard.press('Enter');
    await inOrder();
    await press('Save');
    await closed();
    await page.getByText('50,000 tokens per minute, 4 parallel requests').waitFor();
    const account = await gateway.admin.accounts.show(customer);
    assert.deepEqual(
      [account.tpm_limit, account.parallel_limit, account.output_limit, account.addresses, account.rpm_limit],
      [50_000, 4, 2_000, ['10.0.0.0/8'], null],
    );
    await inOrder();
  });

  test('a webhook of the account: a forbidden address is refused at its field, a public one shows its secret once', async () => {
    await page.getByRole('button', { name: 'Set a webhook' }).click();
    await page.getByLabel('Address', { exact: true }).fill('http://127.0.0.1/hook');
    await press('Set it');
    await dialog().getByText('https', { exact: false }).last().waitFor();
    await page.getByLabel('Address', { exact: true }).fill('https://customer.example.com/hook');
    await press('Set it');
    await dialog()
      .getByText(/^whsec_/)
      .waitFor();
    await inOrder();
    await press('I have copied it');
    await page.getByText('https://customer.example.com/hook', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Remove' }).click();
    await press('Remove it');
    await page.getByRole('button', { name: 'Set a webhook' }).waitFor();
    await inOrder();
  });

  test('suspending a customer asks first; an account with keys is not closed, one without is', async () => {
    await page.getByRole('button', { name: 'Suspend…' }).click();
    await page.getByText('Every key below it is refused').waitFor();
    await inOrder();
    await press('Cancel');
    assert.equal((await gateway.admin.accounts.show(customer)).status, 'active');
    await page.getByRole('button', { name: 'Suspend…' }).click();
    await press('Suspend it');
    await page.getByRole('button', { name: 'Resume' }).click();
    await page.getByRole('button', { name: 'Suspend…' }).waitFor();
    const empty = await gateway.admin.accounts.create({ name: 'Empty', parent: customer });
    await more('Close the account');
    await press('Close it');
    await dialog().getByRole('alert').waitFor();
    await press('Keep it');
    await page.goto(`${origin}/accounts/${empty.id}`);
    await more('Close the account');
    await inOrder();
    await press('Close it');
    await page.getByText('closed', { exact: false }).first().waitFor();
    assert.equal((await gateway.admin.accounts.show(empty.id)).status, 'closed');
  });

  test('a running request is stopped, and so are all of a key', async () => {
    const { key, id } = await gateway.creditKey({ label: 'long talker', credit: '5' });
    const ask = async (): Promise<string> => {
      const body = {
        model: 'sandbox/alpha',
        stream: true,
        messages: [{ role: 'user', content: '[[tokens=20000]] [[delay=50]] Go on.' }],
      };
      return (await call(`${gateway.origin}/v1/chat/completions`, { key, body })).text();
    };
    const first = ask();
    await page.goto(`${origin}/requests`);
    await page.getByRole('heading', { name: 'Running now' }).waitFor();
    await page.getByRole('button', { name: 'Stop', exact: true }).click();
    await inOrder();
    await press('Stop it');
    assert.match(await first, /service_unavailable/);
    const others = [ask(), ask()];
    for (let holds = 0; holds < 2; ) holds = (await gateway.admin.showKey(id)).live_holds;
    await page.goto(`${origin}/keys/${id}`);
    await more('Stop its running requests');
    await press('Stop them');
    await page.getByText('2 requests stopped').waitFor();
    for (const answer of await Promise.all(others)) assert.match(answer, /service_unavailable/);
    await inOrder();
  });

  test('the content of requests is kept from now on, and a request is read', async () => {
    const { id } = await gateway.creditKey({ label: 'to be read', credit: '1' });
    await page.goto(`${origin}/keys/${id}`);
    await page.getByRole('button', { name: 'Edit', exact: true }).click();
    await page.getByLabel('Keep content for').fill('2');
    await press('Save');
    await page.getByText('kept for 2 days').waitFor();
    assert.equal((await gateway.admin.showKey(id)).capture_days, 2);
    await page.getByRole('button', { name: 'Edit', exact: true }).click();
    await page.getByLabel('Keep content for').fill('');
    await press('Save');
    await page.getByText('kept for 2 days').waitFor({ state: 'hidden' });
    assert.equal((await gateway.admin.showKey(id)).capture_days, null);
  });

  test('keys from a file: all or none, and what is wrong is said', async () => {
    const file = join(temporaryFolder(), 'keys.csv');
    await page.goto(`${origin}/keys`);
    await page.getByRole('button', { name: 'Import' }).click();
    await inOrder();
    const choose = async (text: string): Promise<void> => {
      await writeFile(file, text);
      const chooser = page.waitForEvent('filechooser');
      await page.getByRole('button', { name: 'CSV file' }).click();
      await (await chooser).setFiles(file);
    };
    await choose('mode,label,credit\ncredit,one,1\ncredit,two,much\n');
    await press('Check the file');
    await dialog().getByRole('alert').waitFor();
    const before = (await gateway.admin.listKeys()).length;
    await choose(
      `\u{feff}mode;label;account;credit;models\r\ncredit;"Smith; ""Jo""";;2.5;sandbox/alpha\r\ncredit;team;${customer};;\r\n`,
    );
    await press('Check the file');
    await page.getByText('2 keys can be created.').waitFor();
    const download = page.waitForEvent('download');
    await press('Create 2 keys');
    await page.getByText('2 keys created.').waitFor();
    await download;
    await inOrder();
    await press('I have the file');
    const keys = await gateway.admin.listKeys();
    assert.equal(keys.length, before + 2);
    assert.ok(keys.some(({ label, models }) => label === 'Smith; "Jo"' && models?.[0] === 'sandbox/alpha'));
  });

  test('operators: an account-admin is added, becomes a viewer, gets a token and a link, and is revoked', async () => {
    await page.goto(`${origin}/settings`);
    await page.getByRole('button', { name: 'Add an operator' }).click();
    await page.getByLabel('Name', { exact: true }).fill('ann');
    await page.getByRole('combobox', { name: 'Role' }).click();
    await page.getByRole('option', { name: /^account-admin/ }).click();
    await page.getByRole('combobox', { name: 'Account' }).click();
    await page.getByRole('option', { name: 'Acme', exact: true }).click();
    await inOrder();
    await press('Add');
    await dialog()
      .getByText(/^mg_o_/)
      .waitFor();
    await press('I have copied it');
    await page.getByRole('button', { name: 'Manage ann' }).click();
    await page.getByRole('heading', { name: 'Tokens' }).waitFor();
    await inOrder();
    await page.getByRole('combobox', { name: 'Role' }).click();
    await page.getByRole('option', { name: /^viewer/ }).click();
    await press('Change the role');
    await page.getByText('The role counts from the next request on').waitFor();
    await press('New token');
    await dialog()
      .getByText(/^mg_o_/)
      .waitFor();
    await press('I have copied it');
    await page.getByRole('button', { name: 'Manage ann' }).click();
    await press('New link to sign in');
    await dialog().getByText(`${origin}/#token=`, { exact: false }).waitFor();
    await press('I have copied it');
    await page.getByRole('button', { name: 'Manage ann' }).click();
    await dialog()
      .getByRole('button', { name: /^Revoke the token/ })
      .first()
      .click();
    await page.getByText('The token no longer works').waitFor();
    await press('Revoke the operator…');
    await press('Revoke ann for ever');
    await page.getByText('ann is revoked').waitFor();
    await inOrder();
  });

  test('a page says what a command would show, and a failed answer is not green', async () => {
    const { key } = await gateway.creditKey({ label: 'poor', credit: '0.000001' });
    const answer = await call(`${gateway.origin}/v1/chat/completions`, {
      key,
      body: { model: 'sandbox/alpha', messages: [{ role: 'user', content: 'Hello!' }] },
    });
    await answer.text();
    const id = answer.headers.get('x-request-id') ?? '';
    for (let found = false; !found; ) found = (await adminFetch(gateway.dataDir)(`/requests/${id}`)).status === 200;
    await page.goto(`${origin}/requests/${id}`);
    await page.getByText('What to do:', { exact: true }).waitFor();
    const advice = await page.locator('main').innerText();
    assert.doesNotMatch(advice.split('Full explanation')[0] ?? '', /`/);
    assert.equal(await page.locator('[data-tone="ok"]').count(), 0, 'nothing of it went well');
    await inOrder();
  });

  test('the heads of a table stay in view, and a long name does not push the others out', async () => {
    const name = `A customer with a name that goes on ${'and on '.repeat(20)}`.trim();
    await gateway.admin.accounts.create({ name });
    for (let number = 0; number < 40; number += 1) await gateway.admin.accounts.create({ name: `Customer ${number}` });
    await page.goto(`${origin}/accounts`);
    await page.getByRole('link', { name: 'Customer 39' }).waitFor();
    const wide = 'document.documentElement.scrollWidth > document.documentElement.clientWidth';
    assert.equal(await page.evaluate(wide), false);
    assert.equal(await page.locator('section[data-wide="true"]').count(), 0, 'nothing has to be scrolled to the side');
    await page.evaluate('scrollTo(0, 900)');
    const top = await page
      .getByRole('columnheader', { name: 'Status' })
      .evaluate((head) => head.getBoundingClientRect().top);
    assert.ok(top >= 0 && top < 5, `the heads are at ${top}`);
    await page.setViewportSize({ width: 390, height: 844 });
    assert.equal(await page.evaluate(wide), false);
    await page.evaluate('scrollTo(0, 900)');
    const below = await page
      .getByRole('columnheader', { name: 'Status' })
      .evaluate((head) => head.getBoundingClientRect().top);
    assert.ok(below >= 40 && below < 60, `the heads are at ${below}, below the bar`);
    await inOrder();
  });
});
