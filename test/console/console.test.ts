/** The console in a real Chromium, on a real gateway: the story of an operator, and what must never happen on any page. */
import assert from 'node:assert/strict';
import { readFile, rm } from 'node:fs/promises';
import { after, afterEach, before, beforeEach, describe, type TestContext, test } from 'node:test';
import type { BrowserContext, Page } from 'playwright-core';
import { adminFetch } from '../support/admin-fetch.ts';
import {
  axeViolations,
  complaintsOf,
  newContext,
  startBrowser,
  type WatchedPage,
  watchedPage,
} from '../support/browser.ts';
import { builtConsole } from '../support/console-build.ts';
import { freePort } from '../support/free-port.ts';
import { type OidcFixture, oidcFixture } from '../support/oidc-provider.ts';
import { call, type StartedGateway, startedGateway } from '../support/started-gateway.ts';

await builtConsole();
const started = await startBrowser();
const skip = 'reason' in started ? started.reason : false;

/** Of a request: its client's. */
const OWN_ID = '0b6f7a52-6c1e-4c0b-8f0e-6a4f5f1d2c3b';
describe('the console', { skip }, () => {
  let gateway: StartedGateway;
  let context: BrowserContext;
  let watched: WatchedPage;
  let page: Page;
  let origin: string;
  let provider: OidcFixture;

  before(async () => {
    // The redirect address is fixed, so the port is chosen before.
    const port = await freePort();
    origin = `http://127.0.0.1:${port}`;
    const redirect = `${origin}/admin/v1/oidc/callback`;
    provider = await oidcFixture(redirect);
    gateway = await startedGateway({
      config: 'account_page: true\n',
      env: {
        GATEWAY_ADMIN_PORT: String(port),
        GATEWAY_OIDC_ISSUER: provider.issuer,
        GATEWAY_OIDC_CLIENT_ID: 'gateway',
        GATEWAY_OIDC_CLIENT_SECRET: 'a-secret-for-tests',
        GATEWAY_OIDC_REDIRECT: redirect,
      },
    });
    context = await newContext(started);
    watched = await watchedPage(context, origin);
    page = watched.page;
  });

  after(async () => {
    if ('browser' in started) await started.browser.close();
    await gateway?.[Symbol.asyncDispose]();
    await provider?.[Symbol.asyncDispose]();
    // A gateway on a given folder leaves it where it is.
    if (gateway !== undefined) await rm(gateway.dataDir, { recursive: true, force: true });
  });

  // One story: what follows a part that failed could only wait for what never comes.
  let broken = false;
  beforeEach(() => assert(!broken, 'an earlier part of the story failed'));
  afterEach((t) => {
    broken ||= !(t as TestContext).passed;
  });

  /** Both keys are sent before either is answered: the second counts for a second only, and a machine may be slow. */
  const goTo = (letter: string): Promise<unknown> =>
    Promise.all([page.keyboard.press('g'), page.keyboard.press(letter)]);

  /** Ends every part of the story: nothing was complained about, and axe finds nothing. */
  const inOrder = async (): Promise<void> => {
    assert.deepEqual(await axeViolations(page), []);
    assert.deepEqual(watched.complaints, []);
  };

  /** Comes when the log, which is written a moment after an answer, has so many requests. */
  async function logged(filters: string, wanted: number): Promise<void> {
    for (let found = 0; found < wanted; await new Promise((resolve) => setTimeout(resolve, 20))) {
      const { body } = await adminFetch(gateway.dataDir)(`/requests?${filters}`);
      found = (body as { data: readonly unknown[] }).data.length;
    }
  }

  test('a wrong token is refused in plain words, a sign-in link signs in', async () => {
    await page.goto(origin);
    await page.getByLabel('Token').fill('wrong');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('This token is not valid').waitFor();
    await inOrder();
    const { body } = await adminFetch(gateway.dataDir)('/operators/owner/link', 'POST', {});
    await page.goto((body as { url: string }).url);
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    assert.equal(page.url(), `${origin}/`, 'the token is not left in the address');
    await inOrder();
  });

  test('through the organisation: the role of the claim; without one, nobody is signed in and is told whom to ask', async () => {
    const own = await newContext(started);
    const { page: signing, complaints } = await watchedPage(own, origin, provider.issuer);
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
    await goTo('k');
    await page.getByRole('heading', { name: 'Keys' }).waitFor();
    await inOrder();
    await page.keyboard.press('c');
    await page.getByLabel('Name', { exact: true }).fill('<b>Acme</b> & "sons"');
    await page.getByLabel('Credit', { exact: true }).fill('0.5');
    await page.getByRole('dialog').getByRole('button', { name: 'Create key' }).click();
    const secret = (await page.getByTestId('secret').textContent()) ?? '';
    assert.match(secret, /^mg_c_/);
    await page.getByText('Waiting for the first request').waitFor();
    await inOrder();
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
    await inOrder();
  });

  test('what is wrong with a field is said at the field, and nothing that was typed is lost', async () => {
    await page.keyboard.press('e');
    const name = page.getByLabel('Name', { exact: true });
    await name.fill('x'.repeat(10_000));
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('one line of 1 to 200 characters').waitFor();
    assert.equal((await name.inputValue()).length, 10_000);
    await inOrder();
    await name.fill('Acme');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('heading', { name: 'Acme', exact: true }).waitFor();
    await inOrder();
  });

  test("a request is found by its client's own id and told as a timeline with its exact charge", async () => {
    await page.getByRole('link', { name: 'Requests' }).click();
    await page.getByRole('heading', { name: 'Requests' }).waitFor();
    await logged(`client_request_id=${OWN_ID}`, 1);
    await page.getByPlaceholder('Request id, client’s id, or model').fill(OWN_ID);
    await page.getByRole('button', { name: `client’s own id ${OWN_ID}` }).waitFor();
    await page.getByText('1 request', { exact: true }).waitFor();
    await inOrder();
    await page.locator('tbody tr').first().click();
    await page.getByText('charged', { exact: false }).first().waitFor();
    await page.getByRole('figure', { name: 'What happened when' }).waitFor();
    await inOrder();
  });

  test('the palette finds pages and keys by name', async () => {
    await page.keyboard.press('Control+k');
    await page.getByLabel('Search pages, accounts, keys and requests').fill('acme');
    await page.getByRole('option', { name: /Acme/ }).waitFor();
    await inOrder();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Acme', exact: true }).waitFor();
  });

  test('the overview agrees with the ledger, in the dark and at phone width', async () => {
    const { cost } = (await gateway.admin.usage({ since: '1d' })).total;
    await page.getByRole('link', { name: 'Overview' }).click();
    await page.locator(`[title="${cost} credits"]`).first().waitFor();
    await page.getByRole('button', { name: 'Use the dark theme' }).click();
    await page.setViewportSize({ width: 390, height: 844 });
    await page.getByRole('button', { name: 'Open the menu' }).waitFor();
    await inOrder();
    await page.setViewportSize({ width: 1_280, height: 800 });
    await page.goto(`${origin}/?by=format`);
    await page.getByRole('region', { name: 'Usage by format' }).getByRole('cell', { name: 'chat' }).click();
    await page.getByRole('button', { name: 'format chat' }).waitFor();
    await page.locator('tbody tr').first().waitFor();
    await inOrder();
    await page.getByRole('button', { name: 'More filters' }).click();
    await page.getByLabel('Model with').fill('ALPHA');
    await page.getByLabel('Slower than').fill('0ms');
    await inOrder();
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
    const today = new Date().toISOString().slice(0, 10);
    await page.goto(`${origin}/`);
    await page.getByRole('combobox', { name: 'Another period' }).click();
    await page.getByRole('option', { name: 'This month' }).click();
    await page.getByText('credits spent this month (UTC)').waitFor();
    await page.getByRole('combobox', { name: 'Another period' }).click();
    await page.getByRole('option', { name: 'From – to' }).click();
    await page.getByLabel('From', { exact: true }).fill(today);
    await page.getByText(`credits spent on ${today} (UTC)`).waitFor();
    await inOrder();
    const own = await newContext(started, { timezoneId: 'Asia/Tokyo' });
    const { page: abroad, complaints } = await watchedPage(own, origin);
    const { body } = await adminFetch(gateway.dataDir)('/operators/owner/link', 'POST', {});
    await abroad.goto((body as { url: string }).url);
    await abroad.getByRole('combobox', { name: 'Days of' }).click();
    await abroad.getByRole('option', { name: 'Asia/Tokyo' }).click();
    await abroad.getByText('in the last 30 days (Asia/Tokyo)').waitFor();
    await abroad.getByText('per day (Asia/Tokyo)').waitFor();
    assert.deepEqual(await axeViolations(abroad), []);
    assert.deepEqual(complaints, []);
    await own.close();
  });

  test('a customer, a team with a cap and its key; the cap is used up, explained, raised; suspended, it is refused', async () => {
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
    await inOrder();
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
    await inOrder();
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
    await inOrder();
  });

  test('by account: the figures agree with the ledger and lead to the requests behind them', async () => {
    const team = (await gateway.admin.accounts.list()).find(({ name }) => name === 'Support');
    const { data } = await gateway.admin.usage({ by: 'account' });
    const row = data.find(({ account }) => account === team?.id);
    assert(row !== undefined && row.cost > 0 && row.cost === team?.used);
    await logged(`account=${team.id}&status=200`, row.requests);
    await page.goto(`${origin}/?by=account`);
    const table = page.getByRole('region', { name: 'Usage by account' });
    await table.getByRole('cell', { name: 'keys without an account' }).waitFor();
    await table.locator(`[title="${row.cost} credits"]`).waitFor();
    await inOrder();
    await table.getByRole('cell', { name: 'Support' }).click();
    await page.getByRole('button', { name: 'account Support' }).waitFor();
    // What was refused is among them; what was charged is what the figure counts.
    const answered = page.getByRole('cell', { name: '200', exact: true });
    const charged = page.getByRole('region', { name: 'Requests' }).getByRole('row').filter({ has: answered });
    await charged.nth(row.requests - 1).waitFor();
    assert.equal(await charged.count(), row.requests);
    await inOrder();
  });

  test('a statement: a page to print, and a CSV whose lines add up to its closing balance', async () => {
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
    await inOrder();
  });

  test('an account-admin finds its own accounts and keys, and no page that is not for it', async () => {
    const customer = (await gateway.admin.accounts.list()).find(({ name }) => name === 'Globex <i>');
    const made = await adminFetch(gateway.dataDir)('/operators', 'POST', {
      name: 'Ada',
      role: 'account-admin',
      account_id: customer?.id,
    });
    const { token } = made.body as { token: string };
    const own = await newContext(started);
    const { page: seen, complaints } = await watchedPage(own, origin);
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

  test('two operators edit one key: the second is told what changed, and loses nothing', async () => {
    const [key] = (await gateway.admin.listKeys()).filter(({ label }) => label === 'Acme');
    await page.goto(`${origin}/keys/${key?.id}`);
    await page.getByRole('button', { name: 'Edit', exact: true }).click();
    await page.getByLabel('Name', { exact: true }).fill('Acme & Co');
    await gateway.admin.changeKey(key?.id ?? '', { rpm_limit: 77 });
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('Somebody else has changed this key').waitFor();
    await page.getByText('Requests per minute: none').waitFor();
    await inOrder();
    await page.getByRole('button', { name: 'Save my changes on top' }).click();
    await page.getByRole('heading', { name: 'Acme & Co' }).waitFor();
    const { label, rpm_limit } = await gateway.admin.showKey(key?.id ?? '');
    assert.deepEqual([label, rpm_limit], ['Acme & Co', 77]);
  });

  test('a request is refunded from its page, with its cost by class', async () => {
    const { id, key } = await gateway.creditKey({ label: 'Refunded' });
    const body = { model: 'sandbox/alpha', messages: [{ role: 'user', content: 'Hello!' }] };
    const answer = await call(`${gateway.origin}/v1/chat/completions`, { key, body });
    await answer.text();
    const { used } = await gateway.admin.showKey(id);
    await page.goto(`${origin}/requests?live=1`);
    await page.getByRole('heading', { name: 'Requests' }).waitFor();
    await (await call(`${gateway.origin}/v1/chat/completions`, { key, body })).text();
    await page.getByRole('cell', { name: 'Refunded' }).first().waitFor();
    await inOrder();
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
    await inOrder();
    await page.goto(`${origin}/keys/${id}`);
    await page.getByRole('region', { name: 'History' }).getByRole('link', { name: 'a request' }).waitFor();
    await inOrder();
  });

  test('a viewer sees everything and changes nothing', async () => {
    const made = await adminFetch(gateway.dataDir)('/operators', 'POST', { name: 'Vera', role: 'viewer' });
    const { token } = made.body as { token: string };
    const own = await newContext(started);
    const { page: seen, complaints } = await watchedPage(own, origin);
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

  test('the audit, the doctor, the settings in force, and who did what', async () => {
    await page.getByRole('link', { name: 'Settings' }).click();
    await page.getByRole('button', { name: 'Run the audit' }).click();
    await page.getByText('All balances match their entries').waitFor();
    await page.getByRole('button', { name: 'Run the doctor' }).click();
    await page.getByText('No problems found').waitFor();
    await page.getByRole('cell', { name: 'limits.body_bytes' }).waitFor();
    await page.getByText('request.refund').first().waitFor();
    await inOrder();
    await page.getByRole('link', { name: 'Alerts' }).click();
    await page.getByText('Nobody is told of alerts').waitFor();
    await inOrder();
  });

  test('models with their sources; a target is tried; the playground shows what it held and charged', async () => {
    await goTo('m');
    await page.getByText('all of them answer').waitFor();
    await inOrder();
    await page.getByRole('link', { name: 'sandbox/alpha' }).click();
    await page.getByRole('button', { name: /^Test .* chat$/ }).click();
    await page.getByText(/^answers, /).waitFor();
    await inOrder();
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
    await inOrder();
    await answer.getByText('See the request').click();
    await page.getByRole('figure', { name: 'What happened when' }).waitFor();
  });

  test("[R74] the key holder's page: signed in with the key, it shows this key; signed out, nothing", async () => {
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
    await page.getByRole('link', { name: 'Keys' }).click();
    await page.getByRole('button', { name: 'Create key' }).click();
    await page.getByLabel('Name', { exact: true }).fill('Typed before the end');
    await adminFetch(gateway.dataDir)('/sessions', 'DELETE');
    await page.getByRole('dialog').getByRole('button', { name: 'Create key' }).click();
    await page.getByText('Your session has ended').waitFor();
    await inOrder();
    const { body } = await adminFetch(gateway.dataDir)('/operators/owner/link', 'POST', {});
    await page.getByLabel('Token', { exact: true }).fill((body as { url: string }).url);
    await page.getByRole('button', { name: 'Sign in' }).click();
    assert.equal(await page.getByLabel('Name', { exact: true }).inputValue(), 'Typed before the end');
    await page.getByRole('dialog').getByRole('button', { name: 'Create key' }).click();
    await page.getByTestId('secret').waitFor();
    assert.deepEqual(watched.complaints, []);
  });

  test('a gateway that restarts under the page: a banner, and the page catches up by itself', async () => {
    await page.getByRole('button', { name: 'I have copied it' }).click();
    await page.getByRole('heading', { name: 'Typed before the end' }).waitFor();
    const { adminPort, dataDir } = gateway;
    await gateway.stop();
    await page.getByRole('button', { name: 'Suspend' }).click();
    await page.getByText('This page updates as soon as it answers again').waitFor();
    gateway = await startedGateway({ dataDir, env: { GATEWAY_ADMIN_PORT: String(adminPort) } });
    await page.getByText('This page updates as soon as it answers again').waitFor({ state: 'hidden' });
    await page.getByRole('button', { name: 'Suspend' }).click();
    await page.getByRole('button', { name: 'Resume' }).waitFor();
    await inOrder();
  });
});

/** The lines of a file that a click downloads. */
async function downloaded(page: Page, click: () => Promise<void>): Promise<readonly string[]> {
  const coming = page.waitForEvent('download');
  await click();
  const text = await readFile(await (await coming).path(), 'utf8');
  return text.trimEnd().split('\r\n');
}
