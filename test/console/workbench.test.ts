/** The console day by day: refunds, audits, models, the playground, the key holder's page, sessions that end and gateways that restart. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Route } from 'playwright-core';
import { adminFetch } from '../support/admin-fetch.ts';
import { axeViolations, watchedPage } from '../support/browser.ts';
import { consoleStory, downloaded } from '../support/console-story.ts';
import { call, startedGateway } from '../support/started-gateway.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

await consoleStory(
  'the workbench of the console',
  () => startedGateway({ dataDir: temporaryFolder(), config: 'account_page: true\n' }),
  (story) => {
    test('a request is refunded from its page, with its cost by class', async () => {
      const { page, gateway, origin } = story;
      const { id, key } = await gateway.creditKey({ label: 'Refunded' });
      const body = { model: 'sandbox/alpha', messages: [{ role: 'user', content: 'Hello!' }] };
      const answer = await call(`${gateway.origin}/v1/chat/completions`, { key, body });
      await answer.text();
      const { used } = await gateway.admin.showKey(id);
      await page.goto(`${origin}/requests?live=1`);
      await page.getByRole('heading', { name: 'Requests' }).waitFor();
      await (await call(`${gateway.origin}/v1/chat/completions`, { key, body })).text();
      await page.getByRole('cell', { name: 'Refunded' }).first().waitFor();
      await story.inOrder();
      await page.goto(`${origin}/requests/${answer.headers.get('x-request-id')}`);
      await page.getByRole('row', { name: /^Output/ }).waitFor();
      await page.getByRole('button', { name: 'Refund' }).click();
      await page.getByLabel('Reason').fill('<script>it was slow</script>');
      // It is told for a few seconds only.
      const told = page.getByText('credits refunded').waitFor();
      await page.getByRole('dialog').getByRole('button', { name: 'Refund' }).click();
      await told;
      const after = await gateway.admin.showKey(id);
      assert(after.mode === 'credit');
      assert.equal(after.credit, Number((5 + used).toFixed(9)));
      await page.getByRole('region', { name: 'History' }).getByText('<script>it was slow</script>').waitFor();
      await page.getByRole('button', { name: 'Refund' }).waitFor({ state: 'detached' });
      await story.inOrder();
      await page.goto(`${origin}/keys/${id}`);
      await page.getByRole('region', { name: 'History' }).getByRole('link', { name: 'a request' }).waitFor();
      await story.inOrder();
    });

    test('the audit, the doctor, the settings in force, and who did what', async () => {
      const { page } = story;
      await page.getByRole('link', { name: 'Settings' }).click();
      await page.getByRole('button', { name: 'Run the audit' }).click();
      await page.getByText('All balances match their entries').waitFor();
      await page.getByRole('button', { name: 'Run the doctor' }).click();
      await page.getByText('No problems found').waitFor();
      await page.getByRole('cell', { name: 'limits.body_bytes' }).waitFor();
      await page.getByText('request.refund').first().waitFor();
      await story.inOrder();
      await page.getByRole('link', { name: 'Alerts' }).click();
      await page.getByText('Nobody is told of alerts').waitFor();
      await story.inOrder();
    });

    test('models with their sources; a target is tried; the playground shows what it held and charged', async () => {
      const { page, gateway } = story;
      await story.goTo('m');
      await page.getByText('all of them answer').waitFor();
      await story.inOrder();
      await page.getByRole('link', { name: 'sandbox/alpha' }).click();
      await page.getByRole('button', { name: /^Test .* chat$/ }).click();
      await page.getByText(/^answers, /).waitFor();
      await story.inOrder();
      await page.getByRole('link', { name: 'Try it' }).click();
      await page.getByRole('textbox', { name: 'Message' }).fill('Hello <b>there</b>');
      await page.getByRole('combobox', { name: 'Compare with' }).click();
      await page.getByRole('option', { name: 'sandbox/beta' }).click();
      await page.getByRole('button', { name: 'Send to both' }).click();
      const answer = page.getByRole('region', { name: 'Answer of sandbox/beta' });
      await answer.getByText('See the request').waitFor();
      await page.getByRole('region', { name: 'Answer of sandbox/alpha' }).getByText('See the request').waitFor();
      const key = await gateway.admin.showKey('key_playground');
      assert(key.mode === 'credit' && key.used > 0);
      await page.getByText(`${(1 - key.used).toFixed(4)} credits`).waitFor();
      await story.inOrder();
      await answer.getByText('See the request').click();
      await page.getByRole('figure', { name: 'What happened when' }).waitFor();
    });

    test("[R74] the key holder's page: signed in with the key, it shows this key; signed out, nothing", async () => {
      const { gateway, context } = story;
      const { key, id } = await gateway.creditKey({ label: 'Holder <b>' });
      const body = { model: 'sandbox/alpha', messages: [{ role: 'user', content: 'Hello!' }] };
      await (await call(`${gateway.origin}/v1/chat/completions`, { key, body })).text();
      const { page: holder, complaints } = await watchedPage(context, gateway.origin);
      await holder.goto(`${gateway.origin}/account`);
      await holder.getByLabel('API key', { exact: true }).fill('mg_c_wrong');
      await holder.getByRole('button', { name: 'Show it' }).click();
      await holder.getByText('This is not an API key').waitFor();
      await holder.getByLabel('API key', { exact: true }).fill(key);
      await holder.getByRole('button', { name: 'Show it' }).click();
      await holder.getByRole('heading', { name: 'Holder <b>' }).waitFor();
      await holder.getByRole('region', { name: 'Usage by day and model' }).getByText('sandbox/alpha').waitFor();
      assert.deepEqual(await axeViolations(holder), []);
      await holder.getByRole('button', { name: 'Show' }).click();
      const { remaining } = await gateway.admin.showKey(id);
      await holder.getByText('Closing balance', { exact: true }).waitFor();
      await holder.getByText(`${remaining} credits`).last().waitFor();
      await holder.getByRole('region', { name: 'Entries' }).getByText('Purchase').waitFor();
      await holder.getByRole('region', { name: 'Usage of the month' }).getByText('sandbox/alpha').waitFor();
      assert.deepEqual(await axeViolations(holder), []);
      const lines = await downloaded(holder, () => holder.getByRole('link', { name: 'CSV' }).click());
      assert.equal(Number(lines.at(-1)?.split(',')[2]), remaining);
      await holder.reload();
      await holder.getByRole('button', { name: 'Sign out' }).click();
      await holder.getByLabel('API key', { exact: true }).waitFor();
      assert.deepEqual(await axeViolations(holder), []);
      assert.deepEqual(complaints, []);
      await holder.close();
    });

    test('a session that ends in the middle of a form loses nothing', async () => {
      const { page, gateway } = story;
      await page.getByRole('link', { name: 'Keys' }).click();
      await page.getByRole('button', { name: 'Create key' }).click();
      await page.getByLabel('Name', { exact: true }).fill('Typed before the end');
      // It ends when the form is on its way: earlier, the page's next look at the keys could notice before the form does.
      const ends = async (route: Route) => {
        await adminFetch(gateway.dataDir)('/sessions', 'DELETE');
        await route.continue();
      };
      await page.route((url) => url.pathname.endsWith('/keys') && url.search === '', ends, { times: 1 });
      await page.getByRole('dialog').getByRole('button', { name: 'Create key' }).click();
      await page.getByText('Your session has ended').waitFor();
      await story.inOrder();
      await page.getByLabel('Token', { exact: true }).fill(await story.link());
      await page.getByRole('button', { name: 'Sign in' }).click();
      assert.equal(await page.getByLabel('Name', { exact: true }).inputValue(), 'Typed before the end');
      await page.getByRole('dialog').getByRole('button', { name: 'Create key' }).click();
      await page.getByTestId('secret').waitFor();
      await story.inOrder();
    });

    test('a gateway that restarts under the page: a banner, and the page catches up by itself', async () => {
      const { page, gateway } = story;
      await page.getByRole('button', { name: 'I have copied it' }).click();
      await page.getByRole('heading', { name: 'Typed before the end' }).waitFor();
      const { adminPort, dataDir } = gateway;
      await gateway.stop();
      await page.getByRole('button', { name: 'Suspend' }).click();
      await page.getByText('This page updates as soon as it answers again').waitFor();
      story.goesOnWith(await startedGateway({ dataDir, env: { GATEWAY_ADMIN_PORT: String(adminPort) } }));
      await page.getByText('This page updates as soon as it answers again').waitFor({ state: 'hidden' });
      await page.getByRole('button', { name: 'Suspend' }).click();
      await page.getByRole('button', { name: 'Resume' }).waitFor();
      await story.inOrder();
    });
  },
);
