/** The first screen of a gateway whose every request fails: it says so, and leads to the requests. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { adminFetch } from '../support/admin-fetch.ts';
import { axeViolations, newContext, startBrowser, type WatchedPage, watchedPage } from '../support/browser.ts';
import { builtConsole } from '../support/console-build.ts';
import { freePort } from '../support/free-port.ts';
import { call, type StartedGateway, startedGateway } from '../support/started-gateway.ts';

await builtConsole();
const started = await startBrowser();
const skip = 'reason' in started ? started.reason : false;

describe('the console of a gateway whose provider is down', { skip }, () => {
  let gateway: StartedGateway;
  let watched: WatchedPage;
  let origin: string;

  before(async () => {
    const provider = { kind: 'openai', base_url: `http://127.0.0.1:${await freePort()}/v1`, api_key: 'unused' };
    gateway = await startedGateway({
      config: JSON.stringify({
        providers: { down: { ...provider, formats: ['chat'] } },
        models: [
          {
            id: 'broken',
            context_window: 1_000,
            max_output_tokens: 100,
            pricing: { input: 1, output: 1 },
            targets: [{ provider: 'down', model: 'm' }],
          },
        ],
        routing: { max_attempts: 1 },
        sandbox: false,
      }),
    });
    origin = `http://127.0.0.1:${gateway.adminPort}`;
    watched = await watchedPage(await newContext(started), origin);
    const { body } = await adminFetch(gateway.dataDir)('/operators/owner/link', 'POST', {});
    await watched.page.goto((body as { url: string }).url);
    await watched.page.getByRole('heading', { name: 'Overview' }).waitFor();
  });

  after(async () => {
    if ('browser' in started) await started.browser.close();
    await gateway?.[Symbol.asyncDispose]();
  });

  const ask = async (key: string): Promise<void> => {
    const body = { model: 'broken', messages: [{ role: 'user', content: 'Hello!' }] };
    await (await call(`${gateway.origin}/v1/chat/completions`, { key, body })).text();
  };

  /** Comes when so many failures are in the reports. */
  async function counted(wanted: number): Promise<void> {
    for (let failed = 0; failed < wanted; await new Promise((resolve) => setTimeout(resolve, 20))) {
      const { total, without_key } = await gateway.admin.usage({});
      failed = total.failed + without_key.failed;
    }
  }

  test('does not say that there are no requests where none had a known key', async () => {
    const { page, complaints } = watched;
    await ask('mg_c_nobody');
    await counted(1);
    await page.goto(origin);
    await page.getByRole('heading', { name: 'No requests with a known key in the last 30 days' }).waitFor();
    await page.getByRole('link', { name: 'invalid_credentials 1' }).waitFor();
    assert.deepEqual(await axeViolations(page), []);
    assert.deepEqual(complaints, []);
  });

  test('says in its headline that every request failed, with what, and leads to them', async () => {
    const { page, complaints } = watched;
    const { key } = await gateway.creditKey({ label: 'Acme' });
    for (let index = 0; index < 3; index += 1) await ask(key);
    await counted(4);
    for (const theme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme: theme });
      await page.goto(`${origin}/?by=key&show=failed`);
      await page.getByText('Every request failed in the last 30 days').waitFor();
      await page.getByRole('region', { name: 'Failures by condition' }).getByRole('cell').first().waitFor();
      await page.getByRole('cell', { name: 'Acme' }).waitFor();
      assert.deepEqual(await axeViolations(page), []);
    }
    await page.getByRole('link', { name: /^3 requests, most with / }).click();
    await page.getByRole('button', { name: 'condition failed' }).waitFor();
    await page.locator('tbody tr').nth(3).waitFor();
    assert.equal(await page.locator('tbody tr').count(), 4);
    assert.deepEqual(await axeViolations(page), []);
    assert.deepEqual(complaints, []);
  });
});
