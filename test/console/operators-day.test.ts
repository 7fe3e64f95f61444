/** The console in a real Chromium: what an operator does with a customer besides creating one, without a command line. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { consoleStory } from '../support/console-story.ts';
import { startedGateway } from '../support/started-gateway.ts';

let customer = '';

await consoleStory(
  "an operator's day in the console",
  async () => {
    const gateway = await startedGateway({ config: 'alerts: {}\n' });
    customer = (await gateway.admin.accounts.create({ name: 'Acme' })).id;
    return gateway;
  },
  (story) => {
    test('credit with a note that expires, and a correction, are entries of the statement', async () => {
      const { page, gateway, origin } = story;
      await page.goto(`${origin}/accounts/${customer}`);
      await page.getByRole('button', { name: 'Add credit' }).click();
      await page.getByLabel('Amount').fill('20');
      await page.getByLabel('Note').fill('Welcome');
      await page.getByLabel('Expires').fill('2099-01-31');
      await story.inOrder();
      await story.press('Add credit');
      await story.closed();
      await page.getByRole('heading', { name: 'Credit that expires' }).waitFor();
      await page.getByRole('button', { name: 'Add credit' }).click();
      await page.getByLabel('Amount').fill('5');
      await story.press('Add credit');
      await story.closed();
      await story.more('Correct its balance');
      await page.getByLabel('Amount').fill('-2.5');
      await story.press('Correct it');
      await story.dialog().getByText('one line of 1 to 200 characters').waitFor();
      await page.getByLabel('Reason').fill('billed twice');
      await story.inOrder();
      await story.press('Correct it');
      await story.closed();
      assert.equal((await gateway.admin.accounts.show(customer)).balance, 22.5);
      await story.inOrder();
    });

    test('every limit of an account', async () => {
      const { page, gateway } = story;
      await page.getByRole('button', { name: 'Edit', exact: true }).click();
      await page.getByLabel('Tokens per minute').fill('50000');
      await page.getByLabel('Parallel requests').fill('4');
      await page.getByLabel('Maximum output').fill('2000');
      await page.getByRole('combobox', { name: 'Client addresses' }).fill('10.0.0.0/8');
      await page.keyboard.press('Enter');
      await story.inOrder();
      await story.press('Save');
      await story.closed();
      await page.getByText('50,000 tokens per minute, 4 parallel requests').waitFor();
      const account = await gateway.admin.accounts.show(customer);
      assert.deepEqual(
        [account.tpm_limit, account.parallel_limit, account.output_limit, account.addresses, account.rpm_limit],
        [50_000, 4, 2_000, ['10.0.0.0/8'], null],
      );
      await story.inOrder();
    });

    test('a webhook of the account: a forbidden address is refused at its field, a public one shows its secret once', async () => {
      const { page } = story;
      await page.getByRole('button', { name: 'Set a webhook' }).click();
      await page.getByLabel('Address', { exact: true }).fill('http://127.0.0.1/hook');
      await story.press('Set it');
      await story.dialog().getByText('https', { exact: false }).last().waitFor();
      await page.getByLabel('Address', { exact: true }).fill('https://customer.example.com/hook');
      await story.press('Set it');
      await story
        .dialog()
        .getByText(/^whsec_/)
        .waitFor();
      await story.inOrder();
      await story.press('I have copied it');
      await page.getByText('https://customer.example.com/hook', { exact: true }).waitFor();
      await page.getByRole('button', { name: 'Remove' }).click();
      await story.press('Remove it');
      await page.getByRole('button', { name: 'Set a webhook' }).waitFor();
      await story.inOrder();
    });

    test('suspending a customer asks first; an account with keys is not closed, one without is', async () => {
      const { page, gateway, origin } = story;
      await page.getByRole('button', { name: 'Suspend…' }).click();
      await page.getByText('Every key below it is refused').waitFor();
      await story.inOrder();
      await story.press('Cancel');
      assert.equal((await gateway.admin.accounts.show(customer)).status, 'active');
      await page.getByRole('button', { name: 'Suspend…' }).click();
      await story.press('Suspend it');
      await page.getByRole('button', { name: 'Resume' }).click();
      await page.getByRole('button', { name: 'Suspend…' }).waitFor();
      const empty = await gateway.admin.accounts.create({ name: 'Empty', parent: customer });
      await story.more('Close the account');
      await story.press('Close it');
      await story.dialog().getByRole('alert').waitFor();
      await story.press('Keep it');
      await page.goto(`${origin}/accounts/${empty.id}`);
      await story.more('Close the account');
      await story.inOrder();
      await story.press('Close it');
      await page.getByText('closed', { exact: false }).first().waitFor();
      assert.equal((await gateway.admin.accounts.show(empty.id)).status, 'closed');
    });
  },
);
