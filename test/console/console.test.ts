/** The console in a real Chromium, on a real gateway: signing in, keys, requests and figures, and what must never happen on any page. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, test } from 'node:test';
import { adminFetch } from '../support/admin-fetch.ts';
import { axeViolations } from '../support/browser.ts';
import { consoleStory } from '../support/console-story.ts';
import { freePort } from '../support/free-port.ts';
import { type OidcFixture, oidcFixture } from '../support/oidc-provider.ts';
import { call, startedGateway } from '../support/started-gateway.ts';

/** Of a request: its client's. */
const OWN_ID = '0b6f7a52-6c1e-4c0b-8f0e-6a4f5f1d2c3b';

let provider: OidcFixture;
after(() => provider?.[Symbol.asyncDispose]());

await consoleStory(
  'the console',
  async () => {
    // The redirect address is fixed, so the port is chosen before.
    const port = await freePort();
    const redirect = `http://127.0.0.1:${port}/admin/v1/oidc/callback`;
    provider = await oidcFixture(redirect);
    return startedGateway({
      env: {
        GATEWAY_ADMIN_PORT: String(port),
        GATEWAY_OIDC_ISSUER: provider.issuer,
        GATEWAY_OIDC_CLIENT_ID: 'gateway',
        GATEWAY_OIDC_CLIENT_SECRET: 'a-secret-for-tests',
        GATEWAY_OIDC_REDIRECT: redirect,
      },
    });
  },
  (story) => {
    test('a wrong token is refused in plain words, a sign-in link signs in', async () => {
      const { page, origin } = story;
      await page.goto(origin);
      await page.getByLabel('Token').fill('wrong');
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.getByText('This token is not valid').waitFor();
      await story.inOrder();
      await page.goto(await story.link());
      await page.getByRole('heading', { name: 'Overview' }).waitFor();
      assert.equal(page.url(), `${origin}/`, 'the token is not left in the address');
      await story.inOrder();
    });

    test('through the organisation: the role of the claim; without one, nobody is signed in and is told whom to ask', async () => {
      const { origin } = story;
      const own = await story.another({}, provider.issuer);
      const { page: signing, complaints } = own;
      provider.claims = { email: 'nobody@example.com' };
      await signing.goto(origin);
      await signing.getByRole('link', { name: 'Sign in with your organisation' }).click();
      await signing.getByText('gives you no role here').waitFor();
      assert.deepEqual(await axeViolations(signing), []);
      provider.claims = { email: 'ann@example.com', gateway_role: 'viewer' };
      await signing.getByRole('link', { name: 'Sign in with your organisation' }).click();
      await signing.getByRole('heading', { name: 'Overview' }).waitFor();
      await signing.getByRole('button', { name: 'ann@example.com viewer' }).waitFor();
      assert.equal(signing.url(), `${origin}/`);
      assert.deepEqual(await axeViolations(signing), []);
      assert.deepEqual(complaints, []);
      await own.close();
    });

    test('a key: created, its secret shown once and used, topped up, suspended, revoked', async () => {
      const { page, gateway } = story;
      await story.goTo('k');
      await page.getByRole('heading', { name: 'Keys' }).waitFor();
      await story.inOrder();
      await page.keyboard.press('c');
      await page.getByLabel('Name', { exact: true }).fill('<b>Acme</b> & "sons"');
      await page.getByLabel('Credit', { exact: true }).fill('0.5');
      await page.getByRole('dialog').getByRole('button', { name: 'Create key' }).click();
      const secret = (await page.getByTestId('secret').textContent()) ?? '';
      assert.match(secret, /^mg_c_/);
      await page.getByText('Waiting for the first request').waitFor();
      await story.inOrder();
      const answer = await call(`${gateway.origin}/v1/chat/completions`, {
        key: secret,
        headers: { 'x-client-request-id': OWN_ID },
        body: { model: 'sandbox/alpha', messages: [{ role: 'user', content: 'Hello!' }] },
      });
      assert.equal(answer.status, 200);
      await page.getByText('The first request is here').waitFor();
      await page.getByRole('button', { name: 'I have copied it' }).click();
      await page.getByRole('heading', { name: '<b>Acme</b> & "sons"' }).waitFor();
      const [key] = (await gateway.admin.listKeys()).filter(({ label }) => label?.includes('Acme'));
      assert(key?.mode === 'credit');
      await page.getByText(`${key.used} credits`).first().waitFor();
      await page.getByRole('button', { name: 'Add credit' }).click();
      await page.getByLabel('Amount').fill('1.25');
      await page.getByRole('dialog').getByRole('button', { name: 'Add credit' }).click();
      await page.getByText('of 1.7500 credits').waitFor();
      await page.getByRole('button', { name: 'Suspend' }).click();
      await page.getByRole('button', { name: 'Resume' }).waitFor();
      assert.equal((await gateway.admin.showKey(key.id)).status, 'suspended');
      await story.inOrder();
    });

    test('what is wrong with a field is said at the field, and nothing that was typed is lost', async () => {
      const { page } = story;
      await page.keyboard.press('e');
      const name = page.getByLabel('Name', { exact: true });
      await name.fill('x'.repeat(10_000));
      await page.getByRole('button', { name: 'Save' }).click();
      await page.getByText('one line of 1 to 200 characters').waitFor();
      assert.equal((await name.inputValue()).length, 10_000);
      await story.inOrder();
      await name.fill('Acme');
      await page.getByRole('button', { name: 'Save' }).click();
      await page.getByRole('heading', { name: 'Acme', exact: true }).waitFor();
      await story.inOrder();
    });

    test("a request is found by its client's own id and told as a timeline with its exact charge", async () => {
      const { page } = story;
      await page.getByRole('link', { name: 'Requests' }).click();
      await page.getByRole('heading', { name: 'Requests' }).waitFor();
      await story.logged(`client_request_id=${OWN_ID}`, 1);
      await page.getByPlaceholder('Request id, client’s id, or model').fill(OWN_ID);
      await page.getByRole('button', { name: `client’s own id ${OWN_ID}` }).waitFor();
      await page.getByText('1 request', { exact: true }).waitFor();
      await story.inOrder();
      await page.locator('tbody tr').first().click();
      await page.getByText('charged', { exact: false }).first().waitFor();
      await page.getByRole('figure', { name: 'What happened when' }).waitFor();
      await story.inOrder();
    });

    test('the timeline is legible, whichever of its parts took all the time', async () => {
      const { page } = story;
      const shown = page.getByRole('figure', { name: 'What happened when' });
      const asAdmin = adminFetch(story.gateway.dataDir);
      const found = (await asAdmin(`/requests?client_request_id=${OWN_ID}`)).body as { data: { id: string }[] };
      const path = `/requests/${found.data[0]?.id}`;
      const told = (await asAdmin(path)).body as { request: { attempts: object[] } };
      const { request } = told;
      const long = { admitted_ms: 987, first_byte_ms: 0, last_byte_ms: 987, settled_ms: 987, duration_ms: 987 };
      const attempts = [{ ...request.attempts[0], started_ms: 0, ended_ms: 987 }];
      await page.route(`**/admin/v1${path}`, (route) =>
        route.fulfill({ json: { ...told, request: { ...request, ...long, attempts } } }),
      );
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme });
        await page.reload();
        await shown.getByText('987 ms', { exact: true }).first().waitFor();
        await story.inOrder();
      }
      await page.unroute(`**/admin/v1${path}`);
      await page.emulateMedia({ colorScheme: 'light' });
      await page.reload();
      await shown.waitFor();
    });

    test('the palette finds pages and keys by name', async () => {
      const { page } = story;
      await page.keyboard.press('Control+k');
      await page.getByLabel('Search pages, accounts, keys and requests').fill('acme');
      await page.getByRole('option', { name: /Acme/ }).waitFor();
      await story.inOrder();
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { name: 'Acme', exact: true }).waitFor();
    });

    test('the overview agrees with the ledger, in the dark and at phone width', async () => {
      const { page, gateway, origin } = story;
      const { cost } = (await gateway.admin.usage({ since: '1d' })).total;
      await page.getByRole('link', { name: 'Overview' }).click();
      await page.locator(`[title="${cost} credits"]`).first().waitFor();
      await page.getByRole('button', { name: 'Use the dark theme' }).click();
      await page.setViewportSize({ width: 390, height: 844 });
      await page.getByRole('button', { name: 'Open the menu' }).waitFor();
      await story.inOrder();
      await page.setViewportSize({ width: 1_280, height: 800 });
      await page.goto(`${origin}/?by=format`);
      await page.getByRole('region', { name: 'Usage by format' }).getByRole('cell', { name: 'chat' }).click();
      await page.getByRole('button', { name: 'format chat' }).waitFor();
      await page.locator('tbody tr').first().waitFor();
      await story.inOrder();
      await page.getByRole('button', { name: 'More filters' }).click();
      await page.getByLabel('Model with').fill('ALPHA');
      await page.getByLabel('Slower than').fill('0ms');
      await story.inOrder();
      await page.getByRole('button', { name: 'Apply' }).click();
      await page.getByRole('button', { name: 'model with ALPHA' }).waitFor();
      await page.locator('tbody tr').first().waitFor();
      const downloaded = page.waitForEvent('download');
      await page.getByRole('button', { name: 'Download CSV' }).click();
      const file = await (await downloaded).path();
      assert.match(
        await readFile(file, 'utf8'),
        /^Received,Outcome,Model,[^\r\n]*"Cost, credits","First byte, ms","Took, ms",/,
      );
    });

    test('the overview is of any period, and says whose days it counts', async () => {
      const { page, origin } = story;
      const today = new Date().toISOString().slice(0, 10);
      await page.goto(`${origin}/`);
      await page.getByRole('combobox', { name: 'Another period' }).click();
      await page.getByRole('option', { name: 'This month' }).click();
      await page.getByText('credits spent this month (UTC)').waitFor();
      await page.getByRole('combobox', { name: 'Another period' }).click();
      await page.getByRole('option', { name: 'From – to' }).click();
      await page.getByLabel('From', { exact: true }).fill(today);
      await page.getByText(`credits spent on ${today} (UTC)`).waitFor();
      await story.inOrder();
      const own = await story.another({ timezoneId: 'Asia/Tokyo' });
      const { page: abroad, complaints } = own;
      await abroad.goto(await story.link());
      await abroad.getByRole('combobox', { name: 'Days of' }).click();
      await abroad.getByRole('option', { name: 'Asia/Tokyo' }).click();
      await abroad.getByText('in the last 30 days (Asia/Tokyo)').waitFor();
      await abroad.getByText('per day (Asia/Tokyo)').waitFor();
      assert.deepEqual(await axeViolations(abroad), []);
      assert.deepEqual(complaints, []);
      await own.close();
    });

    test('two operators edit one key: the second is told what changed, and loses nothing', async () => {
      const { page, gateway, origin } = story;
      const [key] = (await gateway.admin.listKeys()).filter(({ label }) => label === 'Acme');
      await page.goto(`${origin}/keys/${key?.id}`);
      await page.getByRole('button', { name: 'Edit', exact: true }).click();
      await page.getByLabel('Name', { exact: true }).fill('Acme & Co');
      await gateway.admin.changeKey(key?.id ?? '', { rpm_limit: 77 });
      await page.getByRole('button', { name: 'Save', exact: true }).click();
      await page.getByText('Somebody else has changed this key').waitFor();
      await page.getByText('Requests per minute: none').waitFor();
      await story.inOrder();
      await page.getByRole('button', { name: 'Save my changes on top' }).click();
      await page.getByRole('heading', { name: 'Acme & Co' }).waitFor();
      const { label, rpm_limit } = await gateway.admin.showKey(key?.id ?? '');
      assert.deepEqual([label, rpm_limit], ['Acme & Co', 77]);
    });

    test('a viewer sees everything and changes nothing', async () => {
      const { gateway, origin } = story;
      const made = await adminFetch(gateway.dataDir)('/operators', 'POST', { name: 'Vera', role: 'viewer' });
      const { token } = made.body as { token: string };
      const own = await story.another();
      const { page: seen, complaints } = own;
      await seen.goto(`${origin}/keys`);
      await seen.getByLabel('Token', { exact: true }).fill(token);
      await seen.getByRole('button', { name: 'Sign in' }).click();
      await seen.getByRole('link', { name: 'Acme & Co' }).click();
      await seen.getByRole('heading', { name: 'Acme & Co' }).waitFor();
      for (const name of ['Edit', 'Suspend', 'Rotate', 'Add credit']) {
        assert.equal(await seen.getByRole('button', { name, exact: true }).count(), 0, name);
      }
      assert.equal(await seen.getByRole('link', { name: 'Playground' }).count(), 0);
      await seen.goto(`${origin}/playground`);
      await seen.getByText('The playground spends credit').waitFor();
      assert.deepEqual(await axeViolations(seen), []);
      assert.deepEqual(complaints, []);
      await own.close();
    });
  },
  { signedIn: false },
);
