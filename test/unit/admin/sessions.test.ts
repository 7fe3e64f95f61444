/** Sign-in links, sessions and operator tokens. */
import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import { describe, test } from 'node:test';
import { NO_LOG } from '../../../src/core/log.ts';
import { ADMIN_SECRET, type AppFixture, appFixture, HOST, signedIn } from '../../support/admin-app.ts';

const NEW_KEY = { mode: 'credit', credit: '1' };
const MINUTE_MS = 60_000;

/** The token in a link's fragment. */
async function signInToken({ service }: AppFixture, id = 'owner'): Promise<string> {
  const { url } = await service.operators.link(id);
  const { origin, hash, search } = new URL(url);
  assert.deepEqual([origin, search], ['http://127.0.0.1:8081', '']);
  return hash.replace('#token=', '');
}

function signIn({ send }: AppFixture, token: unknown, headers: Record<string, string> = {}) {
  return send('POST', '/session', { body: { token }, headers: { authorization: '', ...headers } });
}

describe('a sign-in link', () => {
  test('signs in once, with a cookie that scripts cannot read', async (t) => {
    const fixture = await appFixture(t);
    const token = await signInToken(fixture);
    const { status, body, headers } = await signIn(fixture, token);
    assert.equal(status, 200);
    assert.deepEqual(body.operator, { id: 'owner', name: 'owner', role: 'owner', account_id: null });
    assert.equal(body.expires_at, new Date(fixture.clock.atMs + 12 * 60 * MINUTE_MS).toISOString());
    assert.match(
      String(headers['set-cookie']),
      /^gateway_session=[\w-]{43}; Max-Age=43200; Path=\/; HttpOnly; SameSite=Strict$/,
    );
    const again = await signIn(fixture, token);
    assert.deepEqual(
      [again.status, again.body.error.code, again.headers['set-cookie']],
      [401, 'unauthorized', undefined],
    );
  });

  test('signs in one of those who come with it at once', async (t) => {
    const fixture = await appFixture(t);
    const token = await signInToken(fixture);
    const answers = await Promise.all([1, 2, 3, 4].map(() => signIn(fixture, token)));
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 401, 401, 401]);
  });

  test('is worth nothing after 15 minutes, nor as a bearer token or a cookie', async (t) => {
    const fixture = await appFixture(t);
    const token = await signInToken(fixture);
    for (const headers of [
      { authorization: `Bearer ${token}` },
      { authorization: '', cookie: `gateway_session=${token}` },
    ]) {
      assert.equal((await fixture.send('GET', '/keys', { headers })).status, 401);
    }
    fixture.clock.atMs += 15 * MINUTE_MS;
    assert.equal((await signIn(fixture, token)).status, 401);
  });

  test('gives a cookie for TLS only to a browser that came through TLS', async (t) => {
    const fixture = await appFixture(t, { hosts: ['console.example.com'] });
    const proxy = { host: 'console.example.com', origin: 'https://console.example.com' };
    const { status, headers } = await signIn(fixture, await signInToken(fixture), proxy);
    assert.equal(status, 200);
    assert.match(String(headers['set-cookie']), /; HttpOnly; Secure; SameSite=Strict$/);
  });

  test('cannot be guessed for long', async (t) => {
    const fixture = await appFixture(t);
    for (let tries = 0; tries < 30; tries++) assert.equal((await signIn(fixture, `mg_l_${tries}`)).status, 401);
    const { status, body, headers } = await signIn(fixture, 'mg_l_30');
    assert.deepEqual([status, body.error.code, headers['set-cookie']], [429, 'rate_limited', undefined]);
    // Whoever else is at this address and has a link is let in.
    assert.equal((await signIn(fixture, await signInToken(fixture))).status, 200);
  });

  test('is bounded however its path is written', async (t) => {
    const { app } = await appFixture(t);
    const paths = ['/%61dmin/v1/session', '/admin/v1/%73ession', '/admin/v1/session?x', '/admin/v1/session#x'];
    const statuses: number[] = [];
    for (let tries = 0; tries < 32; tries++) {
      const url = paths[tries % paths.length] ?? '';
      const { statusCode } = await app.inject({
        method: 'POST',
        url,
        headers: { host: HOST },
        payload: { token: 'x' },
      });
      statuses.push(statusCode);
    }
    assert.deepEqual(statuses, [...Array(30).fill(401), 429, 429]);
    const headers = { host: HOST, authorization: `Bearer ${ADMIN_SECRET}` };
    assert.equal((await app.inject({ method: 'GET', url: '/%61dmin/v1/keys', headers })).statusCode, 200);
    assert.equal(
      (await app.inject({ method: 'GET', url: '/%61dmin/v1/keys', headers: { host: HOST } })).statusCode,
      401,
    );
  });

  test('that is refused is logged and counted, and leaves no entry in the audit trail', async (t) => {
    const refused: string[] = [];
    const warn = (fields: object, message: string): void => void refused.push(`${message} ${JSON.stringify(fields)}`);
    const fixture = await appFixture(t, { log: { ...NO_LOG, warn } });
    for (let tries = 0; tries < 40; tries++) await signIn(fixture, `mg_l_${tries}`);
    for (const headers of [{ authorization: '' }, { authorization: 'Bearer mg_o_guessed' }]) {
      await fixture.send('POST', '/keys', { body: NEW_KEY, headers });
      await fixture.send('DELETE', '/sessions', { headers });
    }
    assert.deepEqual(await fixture.operators.auditTrail({ limit: 10 }), []);
    assert.equal(fixture.operators.unauthenticated, 44);
    assert.equal(refused.length, 30, 'what is throttled does not fill the log');
    for (const line of refused) {
      assert.match(line, /^a sign-in of an operator was refused {"address":"127\.0\.0\.1","requestId":/);
      assert.ok(!line.includes('mg_l_1'));
    }
  });

  test('is refused from another origin, or under a name that is not ours', async (t) => {
    const fixture = await appFixture(t);
    const token = await signInToken(fixture);
    for (const headers of [{ origin: 'https://evil.example' }, { host: 'evil.example' }, { origin: 'null' }]) {
      assert.equal((await signIn(fixture, token, headers as Record<string, string>)).status, 403);
    }
    assert.equal((await signIn(fixture, token, { origin: `http://${HOST}` })).status, 200);
  });
});

describe('a session', () => {
  test('reads with its cookie alone, and changes only with the token against other pages', async (t) => {
    const fixture = await appFixture(t);
    const { send } = fixture;
    const session = await signedIn(fixture, await signInToken(fixture));
    const { 'x-csrf-token': csrf = '', ...cookieOnly } = session;
    assert.equal((await send('GET', '/keys', { headers: cookieOnly })).status, 200);
    const other = await signedIn(fixture, await signInToken(fixture));
    for (const wrong of [undefined, '', 'x', `${csrf}x`, other['x-csrf-token']]) {
      const headers = { ...cookieOnly, ...(wrong !== undefined && { 'x-csrf-token': wrong }) };
      const { status, body } = await send('POST', '/keys', { body: NEW_KEY, headers });
      assert.deepEqual([status, body.error.code], [403, 'forbidden'], `x-csrf-token: ${wrong}`);
    }
    assert.deepEqual(await fixture.service.listKeys(), []);
    const refused = await fixture.operators.auditTrail({ limit: 10, action: 'key.create' });
    assert.deepEqual(
      refused.map(({ outcome, actor }) => [outcome, actor?.via]),
      Array(5).fill(['refused', 'session']),
    );
    assert.equal((await send('POST', '/keys', { body: NEW_KEY, headers: session })).status, 201);
    assert.equal((await send('DELETE', '/sessions', { headers: cookieOnly })).status, 403);
  });

  test('gives its token again, and goes on with it after a reload of the page', async (t) => {
    const fixture = await appFixture(t);
    const { send } = fixture;
    const { authorization = '', cookie = '' } = await signedIn(fixture, await signInToken(fixture));
    const shown = await send('GET', '/session', { headers: { authorization, cookie } });
    assert.equal(shown.status, 200);
    const headers = { authorization, cookie, 'x-csrf-token': String(shown.body.csrf_token) };
    assert.equal((await send('POST', '/keys', { body: NEW_KEY, headers })).status, 201);
    const nobody = await send('GET', '/session', { headers: { authorization: '' } });
    assert.equal(nobody.status, 401);
  });

  test('is refused from another origin, whatever it carries', async (t) => {
    const fixture = await appFixture(t);
    const session = await signedIn(fixture, await signInToken(fixture));
    for (const origin of ['https://evil.example', 'null', `http://${HOST}.evil.example`]) {
      const { status } = await fixture.send('POST', '/keys', { body: NEW_KEY, headers: { ...session, origin } });
      assert.equal(status, 403);
    }
  });

  test('ends when it is signed out, here or everywhere, and after 12 hours', async (t) => {
    const fixture = await appFixture(t);
    const { send, clock } = fixture;
    const sessions: Record<string, string>[] = [];
    for (let number = 0; number < 4; number++) sessions.push(await signedIn(fixture, await signInToken(fixture)));
    const [first = {}, second = {}, third = {}, fourth = {}] = sessions;
    const statuses = async () =>
      Promise.all(sessions.map(async (headers) => (await send('GET', '/session', { headers })).status));
    const out = await send('DELETE', '/session', { headers: first });
    assert.match(String(out.headers['set-cookie']), /^gateway_session=; /);
    assert.deepEqual(await statuses(), [401, 200, 200, 200]);
    assert.deepEqual((await send('DELETE', '/sessions', { headers: second })).body, { ended: 3 });
    assert.deepEqual(await statuses(), [401, 401, 401, 401]);
    assert.equal((await send('GET', '/keys', { headers: third })).status, 401);
    assert.equal((await send('GET', '/keys', { headers: fourth })).status, 401);
    const late = await signedIn(fixture, await signInToken(fixture));
    clock.atMs += 12 * 60 * MINUTE_MS;
    assert.equal((await send('GET', '/session', { headers: late })).status, 401);
  });

  test('has the role that its operator has now, and ends with its operator', async (t) => {
    const fixture = await appFixture(t);
    const { send, service } = fixture;
    const { token, operator } = await service.operators.create({ name: 'ann', role: 'viewer' });
    const session = await signedIn(fixture, token);
    const create = async (headers: Record<string, string>) =>
      (await send('POST', '/keys', { body: NEW_KEY, headers })).status;
    const bearer = { authorization: `Bearer ${token}` };
    assert.deepEqual([await create(session), await create(bearer)], [403, 403]);
    await service.operators.change(operator.id, { role: 'operator' });
    assert.deepEqual([await create(session), await create(bearer)], [201, 201]);
    await service.operators.revoke(operator.id);
    assert.deepEqual([await create(session), await create(bearer)], [401, 401]);
    assert.equal((await signIn(fixture, token)).status, 401);
    await assert.rejects(service.operators.link(operator.id), /ann is revoked, which is final/);
  });
});

describe('a session that was made with a token', () => {
  test('ends at once when that token is revoked; those of other tokens and links go on', async (t) => {
    const fixture = await appFixture(t);
    const { send, service } = fixture;
    const { token, token_id, operator } = await service.operators.create({ name: 'ann', role: 'viewer' });
    const other = await service.operators.addToken(operator.id, { label: 'laptop' });
    const sessions = [
      await signedIn(fixture, token),
      await signedIn(fixture, other.token),
      await signedIn(fixture, await signInToken(fixture, operator.id)),
    ];
    const statuses = () =>
      Promise.all(sessions.map(async (headers) => (await send('GET', '/keys', { headers })).status));
    assert.deepEqual(await statuses(), [200, 200, 200]);
    await service.operators.revokeToken(operator.id, token_id);
    assert.deepEqual(await statuses(), [401, 200, 200]);
  });

  test('ends when that token expires', async (t) => {
    const fixture = await appFixture(t);
    const expires_at = new Date(fixture.clock.atMs + 60 * MINUTE_MS).toISOString();
    const { token } = await fixture.service.operators.create({ name: 'ci', role: 'viewer', expires_at });
    assert.equal((await signIn(fixture, token)).body.expires_at, expires_at);
    const session = await signedIn(fixture, token);
    fixture.clock.atMs += 60 * MINUTE_MS;
    assert.equal((await fixture.send('GET', '/session', { headers: session })).status, 401);
  });
});

describe('a stream of requests', () => {
  test('ends with the token that it was asked with', async (t) => {
    const { app, service } = await appFixture(t);
    const { token, operator } = await service.operators.create({ name: 'ann', role: 'viewer' });
    const answer = await app.inject({
      method: 'GET',
      url: '/admin/v1/requests/stream',
      headers: { host: HOST, authorization: `Bearer ${token}` },
      payloadAsStream: true,
    });
    assert.equal(answer.statusCode, 200);
    await service.operators.revoke(operator.id);
    let text = '';
    for await (const chunk of answer.stream()) text += String(chunk);
    assert.match(text, /^: requests as they end/);
  });
});

describe('streams of requests', () => {
  test('an account has four of them at most, and account-admins never take the places of operators', async (t) => {
    const fixture = await appFixture(t);
    const open = async (token: string): Promise<number> => {
      const headers = { host: HOST, authorization: `Bearer ${token}` };
      const url = '/admin/v1/requests/stream';
      const answer = await fixture.app.inject({ method: 'GET', url, headers, payloadAsStream: true });
      return answer.statusCode;
    };
    const opened = async (token: string, count: number): Promise<readonly number[]> =>
      (await Promise.all(Array.from({ length: count }, () => open(token)))).sort();
    const account = await fixture.service.accounts.create({ name: 'Acme' });
    const [one, two] = [
      await fixture.token('account-admin', account.id),
      await fixture.token('account-admin', account.id),
    ];
    assert.deepEqual(await opened(one, 5), [200, 200, 200, 200, 429]);
    assert.deepEqual(await opened(two, 1), [429], 'the share is that of the account');
    for (let accounts = 1; accounts < 5; accounts++) {
      assert.deepEqual(await opened(await fixture.token('account-admin'), 4), [200, 200, 200, 200]);
    }
    assert.deepEqual(await opened(await fixture.token('account-admin'), 1), [429], 'all account-admins have 20');
    const viewer = await fixture.token('viewer');
    assert.deepEqual(await opened(viewer, 21), [...Array(20).fill(200), 429]);
  });
});

describe('an operator token', () => {
  test('works until it expires or is revoked, without the others of its operator', async (t) => {
    const { send, service, clock } = await appFixture(t);
    const made = await service.operators.create({ name: 'ci', role: 'operator', expires_at: '2026-01-16' });
    const more = await service.operators.addToken(made.operator.id, { label: 'second' });
    const status = async (token: string) =>
      (await send('GET', '/keys', { headers: { authorization: `Bearer ${token}` } })).status;
    assert.deepEqual([await status(made.token), await status(more.token)], [200, 200]);
    clock.atMs += 12 * 60 * MINUTE_MS;
    assert.deepEqual([await status(made.token), await status(more.token)], [401, 200]);
    const shown = await service.operators.revokeToken(made.operator.id, more.token_id);
    assert.deepEqual(shown.tokens.map((token) => [token.label, token.status]).sort(), [
      [null, 'expired'],
      ['second', 'revoked'],
    ]);
    assert.equal(await status(more.token), 401);
  });

  test('and the admin secret are compared as digests, in constant time', async (t) => {
    const { send, service } = await appFixture(t);
    const { token } = await service.operators.create({ name: 'ci', role: 'viewer' });
    const compare = t.mock.method(crypto, 'timingSafeEqual');
    syncBuiltinESMExports();
    t.after(() => {
      compare.mock.restore();
      syncBuiltinESMExports();
    });
    const lengths = async (sent: string): Promise<readonly (readonly number[])[]> => {
      compare.mock.resetCalls();
      await send('GET', '/keys', { headers: { authorization: `Bearer ${sent}` } });
      return compare.mock.calls.map(({ arguments: [a, b] }) => [a.byteLength, b.byteLength]);
    };
    // Whatever is sent, it is compared with the secret, and what is compared has one length.
    for (const sent of ['x', ADMIN_SECRET, ADMIN_SECRET.slice(1), 'y'.repeat(500)]) {
      assert.deepEqual(await lengths(sent), [[32, 32]], sent);
    }
    // A token is looked up by its keyed digest, and the digest that was found is compared again.
    assert.deepEqual(await lengths(token), [
      [32, 32],
      [44, 44],
    ]);
  });

  test('bad input names the field and makes nothing', async (t) => {
    const { send, service } = await appFixture(t);
    const viewer = { name: 'ann', role: 'viewer' };
    const wrong: readonly (readonly [object, string | null, RegExp])[] = [
      [{}, 'name', /is missing/],
      [{ ...viewer, name: '' }, 'name', /must be a name of 1 to 100/],
      [{ ...viewer, name: 'a\nb' }, 'name', /must be a name/],
      [{ ...viewer, role: 'root' }, 'role', /one of owner, operator, viewer, account-admin/],
      [{ ...viewer, expires_at: '2020-01-01' }, 'expires_at', /must be in the future/],
      [{ ...viewer, expires_at: '2036-01-01' }, 'expires_at', /at most a year/],
      [{ ...viewer, expires_at: 'soon' }, 'expires_at', /a time like/],
      [{ ...viewer, account_id: 'acc_1' }, 'account_id', /belongs to the role account-admin/],
      [{ name: 'ann', role: 'account-admin' }, 'account_id', /is missing/],
      [{ ...viewer, colour: 'red' }, null, /unknown field "colour"/],
    ];
    for (const [body, field, message] of wrong) {
      const answer = await send('POST', '/operators', { body });
      assert.equal(answer.status, 400, JSON.stringify(body));
      assert.match(answer.body.error.message, message);
      assert.equal(Reflect.get(answer.body.error, 'field'), field);
    }
    assert.equal((await send('POST', '/operators', { body: { name: 'owner', role: 'viewer' } })).status, 409);
    assert.equal((await service.operators.list()).length, 1);
    for (const method of ['DELETE', 'PATCH']) {
      const answer = await send(method, '/operators/owner', {
        body: method === 'PATCH' ? { role: 'viewer' } : undefined,
      });
      assert.deepEqual([answer.status, answer.body.error.code], [409, 'refused']);
    }
  });
});
