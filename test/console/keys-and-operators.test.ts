/** The console in a real Chromium: running requests, content, import of keys, operators, and how lists look, without a command line. */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { adminFetch } from '../support/admin-fetch.ts';
import { consoleStory } from '../support/console-story.ts';
import { call, startedGateway } from '../support/started-gateway.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

let customer = '';

await consoleStory(
  'keys and operators in the console',
  async () => {
    const gateway = await startedGateway({ config: 'alerts: {}\n' });
    customer = (await gateway.admin.accounts.create({ name: 'Acme' })).id;
    return gateway;
  },
  (story) => {
    test('a running request is stopped, and so are all of a key', async () => {
      const { page, gateway, origin } = story;
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
      await story.inOrder();
      await story.press('Stop it');
      assert.match(await first, /service_unavailable/);
      const others = [ask(), ask()];
      for (let holds = 0; holds < 2; ) holds = (await gateway.admin.showKey(id)).live_holds;
      await page.goto(`${origin}/keys/${id}`);
      await story.more('Stop its running requests');
      await story.press('Stop them');
      await page.getByText('2 requests stopped').waitFor();
      for (const answer of await Promise.all(others)) assert.match(answer, /service_unavailable/);
      await story.inOrder();
    });

    test('the content of requests is kept from now on, and a request is read', async () => {
      const { page, gateway, origin } = story;
      const { id } = await gateway.creditKey({ label: 'to be read', credit: '1' });
      await page.goto(`${origin}/keys/${id}`);
      await page.getByRole('button', { name: 'Edit', exact: true }).click();
      await page.getByLabel('Keep content for').fill('2');
      await story.press('Save');
      await page.getByText('kept for 2 days').waitFor();
      assert.equal((await gateway.admin.showKey(id)).capture_days, 2);
      await page.getByRole('button', { name: 'Edit', exact: true }).click();
      await page.getByLabel('Keep content for').fill('');
      await story.press('Save');
      await page.getByText('kept for 2 days').waitFor({ state: 'hidden' });
      assert.equal((await gateway.admin.showKey(id)).capture_days, null);
    });

    test('keys from a file: all or none, and what is wrong is said', async () => {
      const { page, gateway, origin } = story;
      const file = join(temporaryFolder(), 'keys.csv');
      await page.goto(`${origin}/keys`);
      await page.getByRole('button', { name: 'Import' }).click();
      await story.inOrder();
      const choose = async (text: string): Promise<void> => {
        await writeFile(file, text);
        const chooser = page.waitForEvent('filechooser');
        await page.getByRole('button', { name: 'CSV file' }).click();
        await (await chooser).setFiles(file);
      };
      await choose('mode,label,credit\ncredit,one,1\ncredit,two,much\n');
      await story.press('Check the file');
      await story.dialog().getByRole('alert').waitFor();
      const before = (await gateway.admin.listKeys()).length;
      await choose(
        `\u{feff}mode;label;account;credit;models\r\ncredit;"Smith; ""Jo""";;2.5;sandbox/alpha\r\ncredit;team;${customer};;\r\n`,
      );
      await story.press('Check the file');
      await page.getByText('2 keys can be created.').waitFor();
      const download = page.waitForEvent('download');
      await story.press('Create 2 keys');
      await page.getByText('2 keys created.').waitFor();
      await download;
      await story.inOrder();
      await story.press('I have the file');
      const keys = await gateway.admin.listKeys();
      assert.equal(keys.length, before + 2);
      assert.ok(keys.some(({ label, models }) => label === 'Smith; "Jo"' && models?.[0] === 'sandbox/alpha'));
    });

    test('operators: an account-admin is added, becomes a viewer, gets a token and a link, and is revoked', async () => {
      const { page, origin } = story;
      await page.goto(`${origin}/settings`);
      await page.getByRole('button', { name: 'Add an operator' }).click();
      await page.getByLabel('Name', { exact: true }).fill('ann');
      await page.getByRole('combobox', { name: 'Role' }).click();
      await page.getByRole('option', { name: /^account-admin/ }).click();
      await page.getByRole('combobox', { name: 'Account' }).click();
      await page.getByRole('option', { name: 'Acme', exact: true }).click();
      await story.inOrder();
      await story.press('Add');
      await story
        .dialog()
        .getByText(/^mg_o_/)
        .waitFor();
      await story.press('I have copied it');
      await page.getByRole('button', { name: 'Manage ann' }).click();
      await page.getByRole('heading', { name: 'Tokens' }).waitFor();
      await story.inOrder();
      await page.getByRole('combobox', { name: 'Role' }).click();
      await page.getByRole('option', { name: /^viewer/ }).click();
      await story.press('Change the role');
      await page.getByText('The role counts from the next request on').waitFor();
      await story.press('New token');
      await story
        .dialog()
        .getByText(/^mg_o_/)
        .waitFor();
      await story.press('I have copied it');
      await page.getByRole('button', { name: 'Manage ann' }).click();
      await story.press('New link to sign in');
      await story.dialog().getByText(`${origin}/#token=`, { exact: false }).waitFor();
      await story.press('I have copied it');
      await page.getByRole('button', { name: 'Manage ann' }).click();
      await story
        .dialog()
        .getByRole('button', { name: /^Revoke the token/ })
        .first()
        .click();
      await page.getByText('The token no longer works').waitFor();
      await story.press('Revoke the operator…');
      await story.press('Revoke ann for ever');
      await page.getByText('ann is revoked').waitFor();
      await story.inOrder();
    });

    test('a page says what a command would show, and a failed answer is not green', async () => {
      const { page, gateway, origin } = story;
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
      await story.inOrder();
    });

    test('the heads of a table stay in view, and a long name does not push the others out', async () => {
      const { page, gateway, origin } = story;
      const name = `A customer with a name that goes on ${'and on '.repeat(20)}`.trim();
      await gateway.admin.accounts.create({ name });
      for (let number = 0; number < 40; number += 1)
        await gateway.admin.accounts.create({ name: `Customer ${number}` });
      await page.goto(`${origin}/accounts`);
      await page.getByRole('link', { name: 'Customer 39' }).waitFor();
      // A table measures itself in the frame after its width has changed.
      const fits = () =>
        page.waitForFunction('document.documentElement.scrollWidth <= document.documentElement.clientWidth');
      await fits();
      assert.equal(
        await page.locator('section[data-wide="true"]').count(),
        0,
        'nothing has to be scrolled to the side',
      );
      await page.evaluate('scrollTo(0, 900)');
      const top = await page
        .getByRole('columnheader', { name: 'Status' })
        .evaluate((head) => head.getBoundingClientRect().top);
      assert.ok(top >= 0 && top < 5, `the heads are at ${top}`);
      await page.setViewportSize({ width: 390, height: 844 });
      await fits();
      await page.evaluate('scrollTo(0, 900)');
      const below = await page
        .getByRole('columnheader', { name: 'Status' })
        .evaluate((head) => head.getBoundingClientRect().top);
      assert.ok(below >= 40 && below < 60, `the heads are at ${below}, below the bar`);
      await story.inOrder();
    });
  },
);
