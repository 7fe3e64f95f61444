/** Customers in the console: accounts, teams and caps, what they spent, their statements, and what their own administrators see. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { adminFetch } from '../support/admin-fetch.ts';
import { axeViolations, complaintsOf, watchedPage } from '../support/browser.ts';
import { consoleStory, downloaded } from '../support/console-story.ts';
import { call, startedGateway } from '../support/started-gateway.ts';

const HELLO = { model: 'sandbox/alpha', messages: [{ role: 'user', content: 'Hello!' }] };

await consoleStory(
  'customers in the console',
  async () => {
    const gateway = await startedGateway({ config: 'account_page: true\n' });
    // A key that is no customer's is there too, and used.
    const { key } = await gateway.creditKey({ label: 'Acme & Co' });
    await (await call(`${gateway.origin}/v1/chat/completions`, { key, body: HELLO })).text();
    return gateway;
  },
  (story) => {
    test('a customer, a team with a cap and its key; the cap is used up, explained, raised; suspended, it is refused', async () => {
      const { page, gateway, context } = story;
      await page.getByRole('link', { name: 'Accounts' }).click();
      await page.getByRole('button', { name: 'Create account' }).first().click();
      await page.getByLabel('Name', { exact: true }).fill('Globex <i>');
      await page.getByRole('dialog').getByRole('button', { name: 'Create account' }).click();
      await page.getByRole('link', { name: 'Globex <i>' }).click();
      await page.getByRole('button', { name: 'Add credit' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Add credit' }).click();
      await page.getByText('10.0000 credits').waitFor();
      await page.getByRole('button', { name: 'More' }).click();
      await page.getByRole('menuitem', { name: 'Create an account below it' }).click();
      await page.getByLabel('Name', { exact: true }).fill('Support');
      await page.getByLabel('Cap in credits').fill('0.001');
      await page.getByRole('dialog').getByRole('button', { name: 'Create account' }).click();
      await page.getByRole('link', { name: 'Support' }).click();
      await page.getByText('0.0010 credits').first().waitFor();
      await story.inOrder();
      await page.getByRole('button', { name: 'Create key' }).click();
      await page.getByLabel('Name', { exact: true }).fill('Support bot');
      await page.getByRole('dialog').getByRole('button', { name: 'Create key' }).click();
      const secret = (await page.getByTestId('secret').textContent()) ?? '';
      await page.getByRole('button', { name: 'I have copied it' }).click();
      await page.getByRole('heading', { name: 'Support bot' }).waitFor();
      await page.getByText('its account pays').waitFor();
      await page.getByRole('link', { name: 'Keys', exact: true }).click();
      await page
        .getByRole('row', { name: /Support bot/ })
        .getByRole('link', { name: 'Support', exact: true })
        .waitFor();

      await page.getByRole('link', { name: 'Playground' }).click();
      await page.getByRole('textbox', { name: 'Message' }).fill('Hello!');
      await page.getByRole('button', { name: 'Tools, and another key' }).click();
      await page.getByLabel('Another key', { exact: true }).fill(secret);
      const most = page.getByLabel('Maximum output');
      await most.fill('20');
      const answer = page.getByRole('region', { name: /^Answer of/ });
      const sendIt = async (): Promise<void> => {
        await page.getByRole('button', { name: 'Send', exact: true }).click();
        await answer.getByText('See the request').waitFor();
      };
      await sendIt();
      await answer.getByText(/^charged /).waitFor();
      await most.fill('5000');
      await sendIt();
      await answer.getByText("The limit of this key's account does not cover this request", { exact: false }).waitFor();
      await story.inOrder();
      await answer.getByText('See the request').click();
      await page.getByText('What to do:', { exact: true }).waitFor();

      const team = (await gateway.admin.accounts.list()).find(({ name }) => name === 'Support');
      assert(team !== undefined && team.used > 0);
      await page.getByRole('link', { name: 'Accounts' }).click();
      await page.locator(`[title="${team.used} credits"]`).first().waitFor();
      await page.getByRole('link', { name: 'Support' }).click();
      await page.getByRole('button', { name: 'Edit', exact: true }).waitFor();
      await page.keyboard.press('e');
      await page.getByLabel('Cap in credits').fill('2');
      await page.getByRole('button', { name: 'Save' }).click();
      await page.getByRole('dialog').waitFor({ state: 'hidden' });
      await page.getByText('left of its cap').waitFor();
      const retry = (): Promise<Response> =>
        call(`${gateway.origin}/v1/chat/completions`, {
          key: secret,
          body: { model: 'sandbox/alpha', max_tokens: 5_000, messages: [{ role: 'user', content: 'Hello!' }] },
        });
      assert.equal((await retry()).status, 200);
      await page.getByRole('button', { name: 'Suspend…' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Suspend it' }).click();
      await page.getByRole('button', { name: 'Resume' }).waitFor();
      assert.equal((await retry()).status, 403);
      const { page: holder } = await watchedPage(context, gateway.origin);
      await holder.goto(`${gateway.origin}/account`);
      await holder.getByLabel('API key', { exact: true }).fill(secret);
      await holder.getByRole('button', { name: 'Show it' }).click();
      await holder.getByText('The account of this key is suspended').waitFor();
      await holder.close();
      await story.inOrder();
    });

    test('by account: the figures agree with the ledger and lead to the requests behind them', async () => {
      const { page, gateway, origin } = story;
      const team = (await gateway.admin.accounts.list()).find(({ name }) => name === 'Support');
      const { data } = await gateway.admin.usage({ by: 'account' });
      const row = data.find(({ account }) => account === team?.id);
      assert(row !== undefined && row.cost > 0 && row.cost === team?.used);
      await story.logged(`account=${team.id}&status=200`, row.requests);
      await page.goto(`${origin}/?by=account`);
      const table = page.getByRole('region', { name: 'Usage by account' });
      await table.getByRole('cell', { name: 'keys without an account' }).waitFor();
      await table.locator(`[title="${row.cost} credits"]`).waitFor();
      await story.inOrder();
      await table.getByRole('cell', { name: 'Support' }).click();
      await page.getByRole('button', { name: 'account Support' }).waitFor();
      // What was refused is among them; what was charged is what the figure counts.
      const answered = page.getByRole('cell', { name: '200', exact: true });
      const charged = page.getByRole('region', { name: 'Requests' }).getByRole('row').filter({ has: answered });
      await charged.nth(row.requests - 1).waitFor();
      assert.equal(await charged.count(), row.requests);
      await story.inOrder();
    });

    test('a statement: a page to print, and a CSV whose lines add up to its closing balance', async () => {
      const { page, gateway, origin } = story;
      const customer = (await gateway.admin.accounts.list()).find(({ name }) => name === 'Globex <i>');
      await page.goto(`${origin}/accounts/${customer?.id}`);
      const opening = page.waitForEvent('popup');
      await page.getByRole('link', { name: 'Open to print' }).click();
      const printed = await opening;
      const complaints = complaintsOf(printed, origin);
      await printed.getByRole('heading', { name: 'Statement' }).waitFor();
      await printed.getByText('Globex <i>').waitFor();
      await printed.emulateMedia({ media: 'print' });
      assert.deepEqual(await axeViolations(printed), []);
      const closing =
        (await printed.getByRole('row', { name: 'Closing balance' }).getByRole('cell').last().textContent()) ?? '';
      assert.deepEqual(complaints, []);
      await printed.close();
      const lines = await downloaded(page, () => page.getByRole('link', { name: 'CSV' }).click());
      const amounts = lines
        .slice(1)
        .map((line) => line.split(','))
        .filter(([type]) => type !== 'closing_balance');
      const nanos = amounts.reduce((sum, [, , amount]) => sum + Math.round(Number(amount) * 1e9), 0);
      assert.equal(nanos, Math.round(Number(closing) * 1e9));
      assert.equal(Number(closing), customer?.balance);
      await story.inOrder();
    });

    test('an account-admin finds its own accounts and keys, and no page that is not for it', async () => {
      const { gateway, origin } = story;
      const customer = (await gateway.admin.accounts.list()).find(({ name }) => name === 'Globex <i>');
      const made = await adminFetch(gateway.dataDir)('/operators', 'POST', {
        name: 'Ada',
        role: 'account-admin',
        account_id: customer?.id,
      });
      const { token } = made.body as { token: string };
      const own = await story.another();
      const { page: seen, complaints } = own;
      const refused: string[] = [];
      seen.on('response', (answer) => answer.status() === 403 && refused.push(answer.url()));
      await seen.goto(`${origin}/settings`);
      await seen.getByLabel('Token', { exact: true }).fill(token);
      await seen.getByRole('button', { name: 'Sign in', exact: true }).click();
      await seen.getByRole('heading', { name: 'Your role cannot see this page' }).waitFor();
      await seen.getByText('you are signed in as Ada, account-admin').waitFor();
      const places = seen.getByRole('navigation', { name: 'Pages' }).getByRole('link');
      assert.deepEqual(
        await places.allTextContents(),
        ['Overview', 'Requests', 'Accounts', 'Keys'].map((name) => ` ${name}`),
      );
      assert.deepEqual(await axeViolations(seen), []);
      for (const [path, name] of [
        ['/models', 'Models'],
        ['/models/sandbox/alpha', 'Models'],
        ['/playground', 'Playground'],
        ['/alerts', 'Alerts'],
      ]) {
        await seen.goto(`${origin}${path}`);
        await seen.getByRole('heading', { name: name ?? '', exact: true }).waitFor();
        await seen.getByRole('heading', { name: 'Your role cannot see this page' }).waitFor();
      }
      await seen.getByRole('link', { name: 'Go to Overview' }).click();
      await seen.getByRole('heading', { name: 'Overview', exact: true }).waitFor();
      await seen.getByRole('region', { name: 'Usage by model' }).waitFor();
      await seen.keyboard.press('Control+k');
      const search = seen.getByLabel('Search pages, accounts, keys and requests');
      await search.fill('set');
      await seen.getByText('Nothing found').waitFor();
      await search.fill('support');
      await seen.getByRole('option', { name: /Support bot/ }).waitFor();
      await seen.getByRole('option', { name: 'Support Account' }).waitFor();
      await seen.keyboard.press('Escape');
      await seen.getByRole('link', { name: 'Keys' }).click();
      await seen.getByRole('link', { name: 'Support bot' }).waitFor();
      assert.equal(await seen.getByRole('link', { name: 'Acme & Co' }).count(), 0);
      await seen.getByRole('link', { name: 'Accounts' }).click();
      await seen.getByRole('link', { name: 'Globex <i>' }).click();
      await seen.getByRole('button', { name: 'Create key' }).waitFor();
      for (const name of ['Edit', 'Suspend', 'Resume', 'Add credit']) {
        assert.equal(await seen.getByRole('button', { name, exact: true }).count(), 0, name);
      }
      assert.deepEqual(await axeViolations(seen), []);
      assert.deepEqual([complaints, refused], [[], []]);
      await own.close();
    });
  },
);
