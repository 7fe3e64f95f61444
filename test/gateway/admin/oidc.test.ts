/** Sign-in at the console through OpenID Connect, at a real provider in this process. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { readSettings } from '../../../src/config/settings.ts';
import { NO_LOG } from '../../../src/core/log.ts';
import { freePort } from '../../support/free-port.ts';
import { type OidcFixture, oidcFixture } from '../../support/oidc-provider.ts';
import { type StartedGateway, startedGateway } from '../../support/started-gateway.ts';

let provider: OidcFixture;
let gateway: StartedGateway;
let origin: string;
const warned: object[] = [];

before(async () => {
  // The redirect address is fixed, so the port of the operator's listener is chosen before.
  const port = await freePort();
  origin = `http://127.0.0.1:${port}`;
  provider = await oidcFixture(`${origin}/admin/v1/oidc/callback`);
  gateway = await startedGateway({
    log: { ...NO_LOG, warn: (fields) => warned.push(fields) },
    env: {
      GATEWAY_ADMIN_PORT: String(port),
      GATEWAY_OIDC_ISSUER: provider.issuer,
      GATEWAY_OIDC_CLIENT_ID: 'gateway',
      GATEWAY_OIDC_CLIENT_SECRET: 'a-secret-for-tests',
      GATEWAY_OIDC_REDIRECT: `${origin}/admin/v1/oidc/callback`,
    },
  });
});
after(async () => {
  await gateway?.[Symbol.asyncDispose]();
  await provider?.[Symbol.asyncDispose]();
});

/** A browser as far as it matters here: cookies by host, and redirects one by one. */
class Browser {
  readonly #cookies = new Map<string, Map<string, string>>();

  async get(address: string): Promise<Response> {
    const { host } = new URL(address);
    const own = this.#cookies.get(host) ?? new Map<string, string>();
    this.#cookies.set(host, own);
    const cookie = [...own].map(([name, value]) => `${name}=${value}`).join('; ');
    const answer = await fetch(address, { redirect: 'manual', headers: cookie === '' ? {} : { cookie } });
    for (const line of answer.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (/max-age=0|expires=thu, 01 jan 1970/i.test(line)) own.delete(name);
      else own.set(name, value);
    }
    return answer;
  }

  /** The address at which it ends up at the gateway itself, and the way there. */
  async follow(address: string): Promise<readonly string[]> {
    const way = [address];
    for (let step = 0; step < 20; step += 1) {
      const here = way.at(-1) ?? '';
      const answer = await this.get(here);
      await answer.arrayBuffer();
      const next = answer.headers.get('location');
      if (next === null) return way;
      way.push(new URL(next, here).href);
      if (new URL(next, here).pathname === '/' && next.startsWith('/')) return way;
    }
    throw new Error('the provider leads round in circles');
  }

  /** Without following what comes back to the gateway. */
  async untilCallback(address: string): Promise<string> {
    for (let here = address; ; ) {
      const answer = await this.get(here);
      await answer.arrayBuffer();
      const next = new URL(answer.headers.get('location') ?? '', here).href;
      if (next.startsWith(`${origin}/admin/v1/oidc/callback`)) return next;
      here = next;
    }
  }
}

interface Who {
  readonly operator: { readonly id: string; readonly name: string; readonly role: string };
}

async function whoIs(browser: Browser): Promise<Who | number> {
  const answer = await browser.get(`${origin}/admin/v1/session`);
  return answer.status === 200 ? ((await answer.json()) as Who) : answer.status;
}

const LOGIN = '/admin/v1/oidc/login';

describe('sign-in through OpenID Connect', () => {
  test('the code flow with PKCE, state and nonce ends in a session with the role of the claim', async () => {
    provider.claims = { email: 'ann@example.com', gateway_role: ['staff', 'operator'] };
    const browser = new Browser();
    const way = await browser.follow(`${origin}${LOGIN}`);
    const asked = new URL(way[1] ?? '').searchParams;
    assert.equal(asked.get('code_challenge_method'), 'S256');
    assert.equal(asked.get('response_type'), 'code');
    assert.equal(asked.get('redirect_uri'), `${origin}/admin/v1/oidc/callback`);
    for (const name of ['state', 'nonce', 'code_challenge']) assert((asked.get(name) ?? '').length > 20, name);
    assert.equal(way.at(-1), `${origin}/`);
    const who = await whoIs(browser);
    assert(typeof who === 'object');
    assert.deepEqual([who.operator.name, who.operator.role], ['ann@example.com', 'operator']);

    provider.claims = { email: 'ann@example.com', gateway_role: 'viewer' };
    const again = new Browser();
    await again.follow(`${origin}${LOGIN}`);
    const later = await whoIs(again);
    assert(typeof later === 'object');
    assert.deepEqual(later.operator, { ...later.operator, id: who.operator.id, role: 'viewer' });
  });

  test('no claim, no role: nobody is signed in, and the log says why', async () => {
    for (const claims of [{}, { gateway_role: 'king' }, { gateway_role: 'account-admin' }, { gateway_role: [] }]) {
      provider.claims = claims;
      const browser = new Browser();
      const way = await browser.follow(`${origin}${LOGIN}`);
      assert.equal(way.at(-1), `${origin}/#problem=no_role`);
      assert.equal(await whoIs(browser), 401);
    }
    const reasons = warned.map((fields) => Reflect.get(fields, 'reason'));
    assert.deepEqual(reasons, Array(4).fill('OpenID Connect: no claim gives a role'));
  });

  test('an answer for another browser, with a changed state, or used twice is worth nothing', async () => {
    provider.claims = { gateway_role: 'owner' };
    const victim = new Browser();
    const callback = await victim.untilCallback(`${origin}${LOGIN}`);
    const stranger = new Browser();
    assert.equal((await stranger.get(callback)).headers.get('location'), '/#problem=failed');
    const other = new Browser();
    await other.untilCallback(`${origin}${LOGIN}`);
    assert.equal((await other.get(callback)).headers.get('location'), '/#problem=failed', 'another state');
    assert.equal((await victim.get(`${callback}x`)).headers.get('location'), '/#problem=failed');
    assert.equal((await victim.get(callback)).headers.get('location'), '/#problem=failed', 'its cookie is gone');
    for (const browser of [victim, stranger, other]) assert.equal(await whoIs(browser), 401);
  });

  test('an operator who was revoked here does not come back', async () => {
    provider.claims = { email: 'bob@example.com', gateway_role: 'viewer' };
    provider.subject = 'bob';
    const browser = new Browser();
    await browser.follow(`${origin}${LOGIN}`);
    const who = await whoIs(browser);
    assert(typeof who === 'object');
    await gateway.admin.operators.revoke(who.operator.id);
    assert.equal(await whoIs(browser), 401);
    const way = await new Browser().follow(`${origin}${LOGIN}`);
    assert.equal(way.at(-1), `${origin}/#problem=revoked`);
  });

  test('without it there is no such route, and settings that are wrong are refused', async () => {
    await using plain = await startedGateway();
    const at = (path: string): Promise<Response> => fetch(`http://127.0.0.1:${plain.adminPort}/admin/v1${path}`);
    assert.deepEqual(await (await at('/sign-in')).json(), { oidc: false });
    assert.equal((await at('/oidc/login')).status, 404);
    assert.equal((await at('/oidc/callback?code=1')).status, 404);
    const base = { GATEWAY_OIDC_ISSUER: 'https://id.example.com', GATEWAY_OIDC_CLIENT_ID: 'gateway' };
    const wrong: readonly (readonly [Record<string, string>, RegExp])[] = [
      [{ ...base }, /GATEWAY_OIDC_REDIRECT must be/],
      [{ ...base, GATEWAY_OIDC_REDIRECT: 'https://console.example.com/' }, /GATEWAY_OIDC_REDIRECT must be/],
      [{ ...base, GATEWAY_OIDC_ISSUER: 'http://id.example.com' }, /GATEWAY_OIDC_ISSUER must be an https address/],
      [{ GATEWAY_OIDC_ISSUER: 'https://id.example.com' }, /GATEWAY_OIDC_CLIENT_ID is missing/],
    ];
    for (const [env, message] of wrong) assert.throws(() => readSettings(env), message);
  });
});
