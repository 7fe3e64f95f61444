/** The key holder's page: signed in by posting the key once, for an hour, about this key and no other. */
import assert from 'node:assert/strict';
import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { KeyholderStatement, KeyholderView } from '../../src/keyholder/view.ts';
import { call, startedGateway, withGateway } from '../support/started-gateway.ts';

const gateway = await withGateway({ config: 'account_page: true\n' });
const address = (path: string): string => `${gateway.origin}/account${path}`;

/** The cookie as a browser sends it back. */
async function signIn(key: string): Promise<string> {
  const answer = await call(address('/session'), { body: { key } });
  assert.equal(answer.status, 200);
  return answer.headers.get('set-cookie')?.split(';')[0] ?? '';
}

async function look(cookie: string): Promise<{ readonly status: number; readonly view: KeyholderView }> {
  const answer = await call(address('/data'), { headers: { cookie } });
  return { status: answer.status, view: (await answer.json()) as KeyholderView };
}

async function refusal(answer: Response): Promise<string> {
  return ((await answer.json()) as { error: { message: string } }).error.message;
}

function thisMonth(): string {
  return new Date().toISOString().slice(0, 7);
}

/** Once more where the month ended meanwhile, and with it the statement. */
async function inOneMonth(work: (month: string) => Promise<void>): Promise<void> {
  const month = thisMonth();
  await work(month).catch((error: unknown) => {
    if (month === thisMonth()) throw error;
    return work(thisMonth());
  });
}

function statement(cookie: string, query: string): Promise<Response> {
  return call(address(`/statement?${query}`), { headers: { cookie } });
}

describe("the key holder's page", () => {
  test('[R74] the key is posted once; an HttpOnly cookie of an hour stands for it and does not hold it', async () => {
    const { key } = await gateway.creditKey();
    const answer = await call(address('/session'), { body: { key: ` ${key}\n` } });
    const cookie = answer.headers.get('set-cookie') ?? '';
    assert.match(cookie, /^gateway_account=[\w-]+; Max-Age=3600; Path=\/account; HttpOnly; SameSite=Strict$/);
    const opened = Buffer.from(cookie.split(/[=;]/)[1] ?? '', 'base64url').toString('latin1');
    assert(!opened.includes(key) && !opened.includes(key.slice(5, 20)));
    assert.equal(answer.headers.get('cache-control'), 'no-store');
    assert(!(await answer.text()).includes(key));
  });

  test('shows balance, usage by day and model, and requests with their errors, of this key alone', async () => {
    const mine = await gateway.creditKey({ label: '<i>Mine</i>', rpm_limit: 1_000 });
    const other = await gateway.creditKey({ label: 'somebody else' });
    const messages = [{ role: 'user', content: 'Hello!' }];
    for (const { key } of [mine, other]) {
      const body = { model: 'sandbox/alpha', messages };
      await (await call(`${gateway.origin}/v1/chat/completions`, { key, body })).text();
    }
    const missing = { model: 'no/such', messages };
    await (await call(`${gateway.origin}/v1/chat/completions`, { key: mine.key, body: missing })).text();
    const cookie = await signIn(mine.key);
    let { view } = await look(cookie);
    // The log is written a moment after the answer.
    for (let tries = 0; (view.requests?.length ?? 0) < 2 && tries < 500; tries += 1) {
      await delay(20);
      ({ view } = await look(cookie));
    }
    const shown = await gateway.admin.showKey(mine.id);
    assert(shown.mode === 'credit' && shown.used > 0);
    assert.equal(Number(view.balance.used) / 1e9, shown.used);
    assert.equal(BigInt(view.balance.left ?? 0), BigInt(view.balance.all ?? 0) - BigInt(view.balance.used));
    assert.deepEqual(
      view.usage.map(({ model, charged, requests }) => [model, charged, requests]),
      [['sandbox/alpha', view.balance.used, 1]],
    );
    const outcomes = view.requests?.map(({ condition, model }) => [condition, model]);
    assert.deepEqual(outcomes, [
      ['model_not_found', 'no/such'],
      [null, 'sandbox/alpha'],
    ]);
    assert.match(view.requests?.[0]?.advice ?? '', /GET \/v1\/models/);
    assert.equal(view.key.label, '<i>Mine</i>');
    assert.equal(view.key.prefix, mine.key.slice(0, 12));
    const text = JSON.stringify(view);
    assert(!text.includes('somebody else') && !text.includes(other.id) && !text.includes('provider'));
  });

  test('says of a stream that broke that what had come by then is charged', async () => {
    const { key } = await gateway.creditKey();
    const messages = [{ role: 'user', content: '[[tokens=50]] [[fail-after=5]]' }];
    const body = { model: 'sandbox/alpha', messages, stream: true };
    await (await call(`${gateway.origin}/v1/chat/completions`, { key, body })).text();
    const cookie = await signIn(key);
    let { view } = await look(cookie);
    while (view.requests?.length === 0) {
      await delay(20);
      ({ view } = await look(cookie));
    }
    const [{ condition, charged, advice } = { condition: null, charged: null, advice: null }] = view.requests ?? [];
    assert.notEqual(condition, null);
    assert(Number(charged) > 0);
    assert.match(advice ?? '', /what had been produced by then is charged/);
  });

  test('shows the rest where the request log cannot be read', async () => {
    const { key } = await gateway.creditKey({ credit: '3' });
    const cookie = await signIn(key);
    const file = join(gateway.dataDir, 'requests.db');
    writeFileSync(`${file}.other`, 'this is no database, '.repeat(500));
    for (const suffix of ['-wal', '-shm']) rmSync(`${file}${suffix}`, { force: true });
    renameSync(`${file}.other`, file);
    const { status, view } = await look(cookie);
    assert.deepEqual([status, view.balance.left, view.requests], [200, '3000000000', null]);
    rmSync(file);
    assert.deepEqual((await look(cookie)).view.requests, []);
  });

  test('[R74] the statement of the key adds up to its balance, and names no other key, account or operator', () =>
    inOneMonth(async (month) => {
      const mine = await gateway.creditKey({ label: 'Mine <b>', credit: '2' });
      const other = await gateway.creditKey({ label: 'somebody else' });
      const body = { model: 'sandbox/alpha', messages: [{ role: 'user', content: 'Hello!' }] };
      for (const { key } of [mine, other]) {
        await (await call(`${gateway.origin}/v1/chat/completions`, { key, body })).text();
      }
      const cookie = await signIn(mine.key);
      const asked = `month=${month}&id=${other.id}&key=${other.id}`;
      const answer = await statement(cookie, asked);
      const text = await answer.text();
      const made = JSON.parse(text) as KeyholderStatement;
      assert.deepEqual(
        made.entries.map(({ kind, amount }) => [kind, amount]),
        [['purchase', '2000000000']],
      );
      const [used] = made.usage;
      assert.deepEqual([made.usage.length, used?.model, used?.charges], [1, 'sandbox/alpha', 1]);
      assert.equal(BigInt(made.closing), BigInt(made.opening) + 2_000_000_000n - BigInt(used?.amount ?? 0));
      const shown = await gateway.admin.showKey(mine.id);
      assert(shown.mode === 'credit');
      assert.equal(Number(made.closing) / 1e9, shown.remaining);
      assert.deepEqual([made.closed, made.by_account], [false, null]);
      const csv = await statement(cookie, `${asked}&format=csv`);
      assert.match(csv.headers.get('content-type') ?? '', /^text\/csv/);
      assert.match(csv.headers.get('content-disposition') ?? '', /^attachment; filename="statement-[\d-]+\.csv"$/);
      const lines = await csv.text();
      assert.match(lines, /^usage,,-0\.\d+,,,,key_\w+,sandbox\/alpha,1,/m);
      const printed = await statement(cookie, `${asked}&format=html`);
      assert.match(printed.headers.get('content-security-policy') ?? '', /^default-src 'none'; style-src 'sha256-/);
      const html = await printed.text();
      assert.match(html, /Mine &lt;b&gt;/);
      for (const one of [text, lines, html]) {
        assert(!one.includes(other.id) && !one.includes('somebody else') && !one.includes('"actor"'));
      }
    }));

  test('a key of an account: its statement says what the account paid for it, and not which account', () =>
    inOneMonth(async (month) => {
      const account = await gateway.admin.accounts.create({ name: 'Secret customer' });
      await gateway.admin.accounts.addCredit(account.id, { amount: '5' });
      const mine = await gateway.creditKey({ credit: '1' });
      const ask = async (): Promise<void> => {
        const body = { model: 'sandbox/alpha', messages: [{ role: 'user', content: 'Hello!' }] };
        await (await call(`${gateway.origin}/v1/chat/completions`, { key: mine.key, body })).text();
      };
      await ask();
      const alone = await gateway.admin.showKey(mine.id);
      await gateway.admin.accounts.addKey(account.id, { key: mine.id });
      await ask();
      const answer = await statement(await signIn(mine.key), `month=${month}`);
      const text = await answer.text();
      const made = JSON.parse(text) as KeyholderStatement;
      assert.deepEqual(
        made.entries.map(({ kind }) => kind),
        ['purchase', 'transfer_out'],
      );
      assert.equal(made.closing, '0');
      assert.equal(Number(made.usage[0]?.amount) / 1e9, alone.used);
      const all = await gateway.admin.showKey(mine.id);
      assert.equal(made.by_account?.length, 1);
      const paid = BigInt(made.by_account?.[0]?.amount ?? 0) + BigInt(made.usage[0]?.amount ?? 0);
      assert.equal(Number(paid) / 1e9, all.used);
      assert(!text.includes(account.id) && !text.includes('Secret customer'));
    }));

  test('a statement is refused in plain words: without a session, of no month, and to a key that pays with tokens', async () => {
    const { key } = await gateway.creditKey();
    const cookie = await signIn(key);
    assert.equal((await statement('', `month=${thisMonth()}`)).status, 401);
    for (const wrong of [
      '',
      'month=2026-13',
      'month=now',
      'month=0000-01',
      'month=9999-12',
      `month=${thisMonth()}&format=pdf`,
    ]) {
      const refused = await statement(cookie, wrong);
      assert.equal(refused.status, 400, wrong);
      assert.match(await refusal(refused), /must be/);
    }
    const tokens = await gateway.tokenKey({ budget: '5000', period: 'day' });
    const none = await statement(await signIn(tokens.key), `month=${thisMonth()}`);
    assert.equal(none.status, 400);
    assert.match(await refusal(none), /pays with tokens/);
  });

  test('a token-budget key sees its tokens, and addresses of its own origin', async () => {
    const { key } = await gateway.tokenKey({ budget: '5000', period: 'day' });
    const { view } = await look(await signIn(key));
    assert.deepEqual([view.balance.all, view.balance.left, view.key.mode], ['5000', '5000', 'token_budget']);
    assert.equal(view.access.base_url, `${gateway.origin}/token/v1`);
    assert.notEqual(view.key.period_ends_at, null);
  });

  test('[R74] signing in and every look count in the rate limit of the key', async () => {
    const { key } = await gateway.creditKey({ rpm_limit: 2 });
    const cookie = await signIn(key);
    assert.equal((await look(cookie)).status, 200);
    const limited = await call(address('/data'), { headers: { cookie } });
    assert.equal(limited.status, 429);
    assert.match(await refusal(limited), /2 requests per minute/);
    assert.equal((await call(`${gateway.origin}/v1/usage`, { key })).status, 429);
  });

  test('the state of the key and of its secret counts at each use, not that at the sign-in', async () => {
    const made = await gateway.creditKey();
    const cookie = await signIn(made.key);
    await gateway.admin.changeKey(made.id, { status: 'suspended' });
    const suspended = await call(address('/data'), { headers: { cookie } });
    assert.equal(suspended.status, 401);
    assert.match(await refusal(suspended), /suspended/);
    await gateway.admin.changeKey(made.id, { status: 'active' });
    assert.equal((await look(cookie)).status, 200);
    const rotated = await gateway.admin.addSecret(made.id);
    await gateway.admin.revokeSecret(made.id, made.prefix);
    assert.equal((await look(cookie)).status, 401);
    assert.equal((await look(await signIn(rotated.key))).status, 200);
  });

  test('a cookie that was changed, or that another installation sealed, is worth nothing', async () => {
    const { key } = await gateway.creditKey();
    const cookie = await signIn(key);
    const last = cookie.slice(0, -3) + (cookie.at(-3) === 'A' ? 'B' : 'A') + cookie.slice(-2);
    for (const wrong of ['', 'gateway_account=', 'gateway_account=AAAA', last, `${cookie}AAAA`]) {
      assert.equal((await look(wrong)).status, 401, wrong);
    }
    await using elsewhere = await startedGateway({ config: 'account_page: true\n' });
    const answer = await call(`${elsewhere.origin}/account/data`, { headers: { cookie } });
    assert.equal(answer.status, 401);
    const out = await call(address('/session'), { method: 'DELETE', headers: { cookie } });
    assert.match(out.headers.get('set-cookie') ?? '', /^gateway_account=; .*Max-Age=0/);
  });

  test('a cookie is worth nothing after the sign-out, at every gateway of the store; others of the key go on', async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'gateway-test-'));
    const config = 'account_page: true\n';
    const signedIn = async (origin: string, key: string): Promise<string> => {
      const answer = await call(`${origin}/account/session`, { body: { key } });
      return answer.headers.get('set-cookie')?.split(';')[0] ?? '';
    };
    const asked = async (origin: string, path: string, cookie: string): Promise<number> =>
      (await call(`${origin}/account/${path}`, { headers: { cookie } })).status;
    const first = await startedGateway({ dataDir, config });
    const { key } = await first.creditKey();
    const [kept, other] = [await signedIn(first.origin, key), await signedIn(first.origin, key)];
    const out = await call(`${first.origin}/account/session`, { method: 'DELETE', headers: { cookie: kept } });
    assert.equal(out.status, 200);
    const statement = `statement?month=${thisMonth()}`;
    assert.deepEqual([await asked(first.origin, 'data', kept), await asked(first.origin, statement, kept)], [401, 401]);
    assert.equal(await asked(first.origin, 'data', other), 200);
    await first.stop();
    await using second = await startedGateway({ dataDir, config });
    assert.deepEqual([await asked(second.origin, 'data', kept), await asked(second.origin, 'data', other)], [401, 200]);
  });

  test('bad input is refused in plain words', async () => {
    const post = (body: unknown, headers = {}): Promise<Response> => call(address('/session'), { body, headers });
    assert.equal((await post({})).status, 400);
    assert.equal((await post('{')).status, 400);
    assert.equal((await post({ key: 7 })).status, 400);
    assert.equal((await post({ key: 'x'.repeat(10_000) })).status, 413);
    assert.equal((await post('key=1', { 'content-type': 'application/x-www-form-urlencoded' })).status, 400);
    assert.equal((await post({ key: 'x' }, { 'sec-fetch-site': 'cross-site' })).status, 400);
    assert.equal((await call(address('/session'))).status, 404);
    assert.equal((await call(address('/assets/../../package.json'))).status, 404);
    assert.equal((await call(address('/assets/__proto__'))).status, 404);
    assert.equal((await call(address(''), { method: 'DELETE' })).status, 404);
  });

  test('the page runs no inline script, loads nothing from elsewhere, and is never framed or cached', async () => {
    const { headers, status } = await call(address(''));
    assert([200, 503].includes(status));
    const policy = headers.get('content-security-policy') ?? '';
    assert.match(policy, /^default-src 'none'; script-src 'self'; /);
    assert.match(policy, /frame-ancestors 'none'/);
    assert.equal(headers.get('cache-control'), 'no-store');
    assert.equal(headers.get('x-content-type-options'), 'nosniff');
  });

  test('[R74] keys that do not exist are throttled by address', async () => {
    await using own = await startedGateway({ config: 'account_page: true\n' });
    const statuses: number[] = [];
    for (let tries = 0; tries < 12; tries += 1) {
      const answer = await call(`${own.origin}/account/session`, { body: { key: 'mg_c_wrong' } });
      statuses.push(answer.status);
      if (answer.status === 429) assert.match(answer.headers.get('retry-after') ?? '', /^\d+$/);
    }
    assert.deepEqual(statuses, [...Array(10).fill(401), 429, 429]);
    const { key } = await own.creditKey();
    const answer = await call(`${own.origin}/account/session`, { body: { key } });
    assert.equal(answer.status, 200, 'whoever has a key at this address is let in');
  });

  test('[R74] off by default, and no route then', async () => {
    await using own = await startedGateway();
    for (const path of ['/account', '/account/data', '/account/assets/x.js']) {
      assert.equal((await call(`${own.origin}${path}`)).status, 404);
    }
  });
});
