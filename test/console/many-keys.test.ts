/** The console of a gateway with more keys than a page has: they come by scrolling, and what is searched is found by the gateway. */
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

const KEYS = 450;

describe('the console of a gateway with many keys', { skip }, () => {
  after(async () => {
    if ('browser' in started) await started.browser.close();
  });

  test('shows them a page at a time; the first of all is found in the list, in the palette and as a filter of requests', async () => {
    const port = await freePort();
    const origin = `http://127.0.0.1:${port}`;
    await using gateway = await startedGateway({ env: { GATEWAY_ADMIN_PORT: String(port) } });
    const keys = Array.from({ length: KEYS }, (_, index) => ({
      mode: 'credit',
      credit: '1',
      label: `Customer ${String(index + 1).padStart(3, '0')}`,
    }));
    const first = await gateway.admin.createKey({ mode: 'credit', credit: '1', label: 'Oldest of all' });
    await gateway.admin.importKeys({ keys });
    const answer = await call(`${gateway.origin}/v1/chat/completions`, {
      key: first.key,
      body: { model: 'sandbox/alpha', messages: [{ role: 'user', content: 'Hello!' }] },
    });
    assert.equal(answer.status, 200);

    const context = await newContext(started);
    const { page, complaints } = await watchedPage(context, origin);
    const { body } = await adminFetch(gateway.dataDir)('/operators/owner/link', 'POST', {});
    await page.goto((body as { url: string }).url);
    await page.getByRole('heading', { name: 'Overview' }).waitFor();

    await page.goto(`${origin}/keys`);
    await page.getByText('The newest 200 keys').waitFor();
    await page.getByRole('link', { name: `Customer ${KEYS}`, exact: true }).waitFor();
    assert.deepEqual(await axeViolations(page), []);
    // As many as a file never gets.
    await page.route(/\/keys\?.*limit=1000/, async (route) => {
      const answer = await route.fetch();
      const { data } = (await answer.json()) as { data: readonly object[] };
      const many = Array.from({ length: 1_000 }, (_, index) => data[index % data.length]);
      await route.fulfill({ json: { object: 'list', data: many, next_cursor: first.id } });
    });
    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Download CSV' }).click();
    await page.getByText('The file has only the first 10,000 rows: “gateway export keys” has all').waitFor();
    await download;
    await page.unrouteAll();
    await page.getByPlaceholder('Name, prefix or id').fill('oldest OF');
    await page.getByRole('link', { name: 'Oldest of all' }).waitFor();
    assert.equal(await page.getByRole('row').count(), 2, 'the head and the one that was found');
    await page.getByPlaceholder('Name, prefix or id').fill('nobody has this name');
    await page.getByRole('link', { name: 'Oldest of all' }).waitFor({ state: 'detached' });

    await page.goto(`${origin}/keys`);
    await page.getByText('The newest 200 keys').waitFor();
    await holdEnd(page, page.getByRole('link', { name: 'Oldest of all', exact: true }));
    await page.getByText(`${KEYS + 3} keys`).waitFor();

    await page.getByPlaceholder('Name, prefix or id').focus();
    const focused = await page.evaluate<string>(`(async () => {
      dispatchEvent(new KeyboardEvent('keydown', { key: 'k', ctrlKey: true }));
      await null;
      return document.activeElement.placeholder ?? 'nothing';
    })()`);
    assert.match(focused, /^A page, an account/, 'it has the focus before another key can be pressed');
    await page.keyboard.type('oldest');
    await showing(page, () => page.getByRole('option', { name: 'Oldest of all' }).waitFor());
    await page.keyboard.press('Escape');
    await page.waitForFunction(`document.activeElement.placeholder === 'Name, prefix or id'`);

    await page.goto(`${origin}/requests`);
    await page.getByRole('combobox', { name: 'Key' }).fill('oldest');
    await page.getByRole('option', { name: 'Oldest of all' }).click();
    await page.waitForURL(new RegExp(`key=${first.id}`));
    await page.getByText('1 request', { exact: true }).waitFor();
    assert.deepEqual(await axeViolations(page), []);
    assert.deepEqual(complaints, []);
    await context.close();
  });
});
