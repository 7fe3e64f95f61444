/** The console of a gateway with more customers than a page has: no page reads all of them, and what is searched is found by the gateway. */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { adminFetch } from '../support/admin-fetch.ts';
import { axeViolations, holdEnd, newContext, showing, startBrowser, watchedPage } from '../support/browser.ts';
import { builtConsole } from '../support/console-build.ts';
import { freePort } from '../support/free-port.ts';
import { call, startedGateway } from '../support/started-gateway.ts';

await builtConsole();
const started = await startBrowser();
const skip = 'reason' in started ? started.reason : false;

const CUSTOMERS = 300;

describe('the console of a gateway with many customers', { skip }, () => {
  after(async () => {
    if ('browser' in started) await started.browser.close();
  });

  test('shows them a page at a time, teams when a customer is opened; the last of all is found wherever an account is chosen', async () => {
    const port = await freePort();
    const origin = `http://127.0.0.1:${port}`;
    await using gateway = await startedGateway({ env: { GATEWAY_ADMIN_PORT: String(port) } });
    const { accounts } = gateway.admin;
    for (let number = 1; number <= CUSTOMERS; number++) {
      await accounts.create({ name: `Customer ${String(number).padStart(3, '0')}` });
    }
    const last = await accounts.create({ name: 'Last of all', external_id: 'crm-9999' });
    await accounts.addCredit(last.id, { amount: '5' });
    const [first] = await accounts.list({ search: 'Customer 001' });
    assert(first !== undefined);
    const team = await accounts.create({ name: 'Support', parent: first.id });
    await accounts.create({ name: 'Night shift', parent: team.id });
    const lone = await gateway.admin.createKey({ mode: 'credit', credit: '1', label: 'Lone' });
    const paid = await gateway.admin.createKey({ mode: 'credit', account: last.id, label: 'Paid' });
    for (const { key } of [lone, paid]) {
      const body = { model: 'sandbox/alpha', messages: [{ role: 'user', content: 'Hello!' }] };
      assert.equal((await call(`${gateway.origin}/v1/chat/completions`, { key, body })).status, 200);
    }

    const context = await newContext(started);
    const { page, complaints } = await watchedPage(context, origin);
    const unpaged: string[] = [];
    page.on('request', (request) => {
      const { pathname, searchParams } = new URL(request.url());
      if (pathname === '/admin/v1/accounts' && !searchParams.has('limit')) unpaged.push(request.url());
    });
    const { body } = await adminFetch(gateway.dataDir)('/operators/owner/link', 'POST', {});
    await page.goto((body as { url: string }).url);
    await page.getByRole('heading', { name: 'Overview' }).waitFor();

    await page.goto(`${origin}/accounts`);
    await page.getByText('The first 200 customers').waitFor();
    const found = (name: string) => page.getByRole('link', { name, exact: true });
    await found('Customer 001').waitFor();
    assert.equal(await found('Support').count(), 0, 'below a customer that nobody has opened');
    await page.getByRole('button', { name: 'Accounts below Customer 001' }).click();
    await found('Support').waitFor();
    await page.getByRole('button', { name: 'Accounts below Support' }).click();
    await found('Night shift').waitFor();
    assert.deepEqual(await axeViolations(page), []);
    await found('Night shift').click();
    await page.getByRole('heading', { name: 'Night shift' }).waitFor();
    await page.getByText('Customer 001 pays').waitFor();
    await found('Support').click();
    await page.getByRole('region', { name: 'Accounts below' }).getByRole('link', { name: 'Night shift' }).waitFor();
    await page.goBack();
    await page.getByRole('heading', { name: 'Night shift' }).waitFor();
    await page.goBack();
    await found('Night shift').waitFor();
    await page.getByRole('button', { name: 'Accounts below Customer 001' }).click();
    await found('Support').waitFor({ state: 'detached' });

    const search = page.getByPlaceholder('Name, id or your id');
    await search.fill('CRM-99');
    await found('Last of all').waitFor();
    await found('Customer 001').waitFor({ state: 'detached' });
    assert.equal(await page.getByRole('row').count(), 2, 'the head and the one that was found');
    await search.fill('night');
    await found('Night shift').waitFor();
    await page.getByText('of Customer 001', { exact: true }).waitFor();
    await search.fill('nobody has this name');
    await found('Night shift').waitFor({ state: 'detached' });

    await page.goto(`${origin}/accounts`);
    await page.getByText('The first 200 customers').waitFor();
    await holdEnd(page, found('Last of all'));
    await page.getByText(`${CUSTOMERS + 1} customers`).waitFor();
    const dialog = page.getByRole('dialog');
    await page.getByRole('button', { name: 'Add credit' }).click();
    await dialog.getByRole('combobox', { name: 'Customer' }).fill('last of');
    await page.getByRole('option', { name: 'Last of all' }).click();
    await dialog.getByRole('button', { name: 'Add credit' }).click();
    await dialog.waitFor({ state: 'hidden' });
    assert.equal((await accounts.show(last.id)).credit, 15);

    await page.keyboard.press('Control+k');
    await page.getByLabel('Search pages, accounts, keys and requests').fill('last of');
    await showing(page, () => page.getByRole('option', { name: 'Last of all' }).waitFor());
    await page.keyboard.press('Escape');

    await page.goto(`${origin}/keys/${lone.id}`);
    await page.getByRole('button', { name: 'More' }).click();
    await page.getByRole('menuitem', { name: 'Move it to an account' }).click();
    await dialog.getByRole('combobox', { name: 'Account' }).fill('last of');
    await page.getByRole('option', { name: 'Last of all' }).click();
    await dialog.getByRole('button', { name: 'Move it' }).click();
    await found('Last of all').waitFor();

    await page.goto(`${origin}/keys?create=1`);
    await dialog.getByRole('combobox', { name: 'Account' }).fill('last of');
    await page.getByRole('option', { name: 'Last of all' }).click();
    await dialog.getByLabel('Name', { exact: true }).fill('Made for the last');
    await dialog.getByRole('button', { name: 'Create key' }).click();
    await page.getByRole('button', { name: 'I have copied it' }).click();
    await found('Last of all').waitFor();

    await page.goto(`${origin}/requests`);
    await page.getByRole('combobox', { name: 'Account' }).fill('last of');
    await page.getByRole('option', { name: 'Last of all' }).click();
    await page.waitForURL(new RegExp(`account=${last.id}`));
    await page.getByRole('button', { name: 'account Last of all' }).waitFor();
    await page.getByText('2 requests', { exact: true }).waitFor();
    assert.deepEqual(await axeViolations(page), []);

    await page.goto(`${origin}/?by=account`);
    const usage = page.getByRole('region', { name: 'Usage by account' });
    await usage.getByRole('cell', { name: 'Last of all' }).waitFor();

    await page.goto(`${origin}/accounts/${team.id}`);
    await page.getByRole('button', { name: 'More' }).click();
    await page.getByRole('menuitem', { name: 'Move it' }).click();
    await dialog.getByRole('combobox', { name: 'Below' }).click();
    await page.getByRole('option', { name: 'Customer 001', exact: true }).waitFor();
    await page.getByRole('option', { name: 'Night shift (Customer 001)' }).waitFor();
    assert.equal(await page.getByRole('option').count(), 2, 'its own root and what is below it');
    assert.deepEqual(complaints, []);
    assert.deepEqual(unpaged, [], 'no page reads all accounts');
    await context.close();
  });
});
