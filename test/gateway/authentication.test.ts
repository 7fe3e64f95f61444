/** Who may call what: keys, their states, their origins, their scope, and how a credential is sent. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { CreatedKey } from '../../src/admin/keys/schema.ts';
import { ENDPOINTS, type EndpointName } from '../../src/core/endpoints.ts';
import { isKeyText, newKeyText } from '../../src/core/key.ts';
import {
  auditClean,
  bodyOf,
  errorReply,
  GENERATIONS,
  POSTS,
  type RawReply,
  rawCall,
  readError,
  refusal,
  say,
  usage,
  visit,
} from '../support/requests.ts';
import { call, withGatedGateway } from '../support/started-gateway.ts';
import { RawPeer } from '../unit/transport/server/fixture.ts';

const NAMES = Object.keys(ENDPOINTS) as EndpointName[];
const READS: readonly EndpointName[] = ['models', 'get_model', 'usage'];

const { gateway, upstream } = await withGatedGateway();
const credit = await gateway.creditKey();
const budget = await gateway.tokenKey();

/** One request with these credential headers, none by default. */
function send(
  name: EndpointName,
  headers: readonly (readonly [string, string])[],
  origin = gateway.origin,
): Promise<RawReply> {
  const { method, path } = ENDPOINTS[name];
  const body = method === 'POST' ? { body: JSON.stringify(bodyOf(name)) } : {};
  return rawCall(origin + path, { method, headers: [['content-type', 'application/json'], ...headers], ...body });
}

async function refused401(name: EndpointName, headers: readonly (readonly [string, string])[]): Promise<string> {
  const reply = await send(name, headers);
  const error = readError(reply.status, reply.headers, reply.text, ENDPOINTS[name].envelope);
  assert.deepEqual([error.status, error.code, error.type], [401, 'invalid_credentials', 'authentication_error'], name);
  assert.equal(reply.headers.get('x-should-retry'), 'false');
  return error.message;
}

test('[R3] a credential is judged before its body is read: nothing more is asked of whoever has none', async () => {
  const { port } = new URL(gateway.origin);
  for (const name of POSTS) {
    const peer = await RawPeer.connect(Number(port));
    const { path } = ENDPOINTS[name];
    const head = [`POST ${path} HTTP/1.1`, 'host: x', 'content-type: application/json', 'content-length: 100'];
    // `100 Continue` would be sent when the body is wanted.
    peer.send(
      `${[...head, 'expect: 100-continue', `authorization: Bearer ${newKeyText('credit')}`].join('\r\n')}\r\n\r\n`,
    );
    assert.match(await peer.until(/^HTTP\/1\.1 \d{3} /), /^HTTP\/1\.1 401 /, name);
    peer.socket.destroy();
  }
});

describe('the state of a key', () => {
  /** What each state answers on POST routes and on the two routes without a 403. */
  const STATES = [
    { name: 'suspended', change: { status: 'suspended' }, post: [401, 'invalid_credentials'], says: /suspended/ },
    { name: 'disabled', change: { status: 'disabled' }, post: [403, 'key_disabled'], says: /disabled/ },
    { name: 'expired', change: { expires_at: '2020-01-01T00:00:00Z' }, post: [403, 'key_expired'], says: /expired/ },
    { name: 'revoked', change: { status: 'revoked' }, post: [401, 'invalid_credentials'], says: /revoked/ },
  ] as const;

  for (const { name, change, post, says } of STATES) {
    test(`[R1] [R3] [R4] a key that is ${name} is refused on every route, at both origins, and the message says why`, async () => {
      for (const key of [await gateway.creditKey(), await gateway.tokenKey()]) {
        assert.equal((await visit(key, 'usage')).status, 200);
        assert.equal((await gateway.admin.changeKey(key.id, change)).status, name);
        const [status, code] = post;
        for (const route of POSTS) {
          const error = await refusal(visit(key, route), route, status, code);
          assert.match(error.message, says);
          assert.equal(error.headers.get('x-should-retry'), 'false');
        }
        for (const route of READS) {
          const error = await refusal(visit(key, route), route, 401, 'invalid_credentials');
          assert.match(error.message, says);
        }
      }
    });
  }

  test('[R1] the usage summary of a key that works says active; expired is derived, and moving the expiry revives it', async () => {
    const key = await gateway.creditKey({ expires_at: '2020-01-01T00:00:00Z' });
    assert.equal((await gateway.admin.showKey(key.id)).status, 'expired');
    await refusal(visit(key, 'usage'), 'usage', 401, 'invalid_credentials');
    await gateway.admin.changeKey(key.id, { expires_at: null });
    assert.equal((await usage(key)).key.status, 'active');
    await gateway.admin.changeKey(key.id, { status: 'suspended' });
    await refusal(visit(key, 'chat'), 'chat', 401, 'invalid_credentials');
    await gateway.admin.changeKey(key.id, { status: 'active' });
    assert.equal((await usage(key)).key.status, 'active');
  });

  test('[R3] unknown and malformed keys get the same answer, on every route', async () => {
    const unknown = newKeyText('credit');
    for (const name of NAMES) {
      const messages = new Set<string>();
      const foreign = `sk-${'unknown'.repeat(4)}`;
      for (const text of [unknown, 'mg_c_short', 'sk-something', foreign, unknown.toLowerCase()]) {
        messages.add(await refused401(name, [['authorization', `Bearer ${text}`]]));
      }
      assert.equal(messages.size, 1, name);
    }
  });

  test('[R3] a key whose text was taken over from another gateway is a key like any other, and no other text is', async () => {
    const text = 'sk-TakenOver_0123456789abcdef';
    const { data } = await gateway.admin.importKeys({ keys: [{ mode: 'credit', credit: 1, key: text }] });
    const [made] = data;
    assert.ok(made);
    assert.deepEqual([made.key, made.prefix], [null, 'sk-Take']);
    const key = { ...made, key: text };
    assert.equal((await usage(key)).key.prefix, 'sk-Take');
    const reply = await send('messages', [['x-api-key', text]]);
    assert.equal(reply.status, 200, reply.text);
    for (const other of [`${text}x`, text.slice(0, -1), text.toLowerCase()]) {
      await refused401('usage', [['authorization', `Bearer ${other}`]]);
    }
    await gateway.admin.changeKey(made.id, { status: 'revoked' });
    await refusal(visit(key, 'usage'), 'usage', 401, 'invalid_credentials');
  });

  test('[R3] a missing key is a 401 on every route but those of models', async () => {
    for (const name of NAMES) {
      if (name === 'models') assert.equal((await send(name, [])).status, 200);
      else if (name === 'get_model') assert.equal((await send(name, [])).status, 404);
      else assert.match(await refused401(name, []), /Authorization: Bearer/);
    }
  });

  test('[F26] a key revoked mid-stream: the stream finishes and is charged, the next request is refused', async () => {
    const key = await gateway.creditKey();
    const asked = say(key, 'chat', 'go on', { model: 'gated/one', stream: true, max_tokens: 50 });
    const gated = await upstream.next();
    gated.begin();
    const response = await asked;
    await gateway.admin.changeKey(key.id, { status: 'revoked' });
    await refusal(visit(key, 'chat'), 'chat', 401, 'invalid_credentials');
    gated.finish(10, 5);
    const text = await response.text();
    assert.match(text, /through\./);
    assert.ok(text.endsWith('data: [DONE]\n\n'));
    const view = await gateway.admin.showKey(key.id);
    assert.deepEqual([view.used, view.requests, view.status], [0.00003, 1, 'revoked']);
    await refusal(visit(key, 'usage'), 'usage', 401, 'invalid_credentials');
    await auditClean(gateway);
  });
});

describe('the origin of a key', () => {
  test('[R5] a key at the other origin: 403 on POST routes, 401 elsewhere, and the message names the right base URL', async () => {
    for (const [key, wrong] of [
      [credit, budget],
      [budget, credit],
    ] as const) {
      for (const name of NAMES) {
        const reply = await send(name, [['authorization', `Bearer ${key.key}`]], wrong.origin);
        const error = readError(reply.status, reply.headers, reply.text, ENDPOINTS[name].envelope);
        const expected = READS.includes(name) ? [401, 'invalid_credentials'] : [403, 'key_disabled'];
        assert.deepEqual([error.status, error.code], expected, name);
        assert.ok(error.message.split(/[ )]/).includes(key.base_url), `${error.message} names ${key.base_url}`);
        assert.equal(error.headers.get('x-should-retry'), 'false');
      }
    }
  });

  test('every route serves a key at its own origin', async () => {
    for (const key of [credit, budget]) {
      for (const name of NAMES) {
        const { status } = await visit(key, name);
        assert.equal(status, name === 'cancel_response' ? 400 : 200, `${key.mode} ${name}`);
      }
    }
    await auditClean(gateway);
  });
});

describe('what a key may use', () => {
  test('[R6] [R10] a scoped key sees and uses the models of its provider only', async () => {
    const key = await gateway.creditKey({ provider_scope: 'sandbox-a' });
    assert.equal((await usage(key)).key.provider_scope, 'sandbox-a');
    assert.equal((await usage(credit)).key.provider_scope, 'all');
    assert.deepEqual(await modelIds(key), ['sandbox/alpha', 'sandbox/tiny']);
    assert.equal((await visit(key, 'chat')).status, 200);
    for (const name of ['messages', 'count_tokens'] as const) {
      const error = await refusal(visit(key, name), name, 403, 'key_disabled');
      assert.equal(error.param, 'model');
      assert.match(error.message, /sandbox-a/);
    }
    await auditClean(gateway);
  });

  test('[R6] a model outside of the entitlements is a 403, one in no catalog a 404, on every POST route', async () => {
    const key = await gateway.tokenKey({ models: ['sandbox/tiny'] });
    assert.deepEqual(await modelIds(key), ['sandbox/tiny']);
    for (const name of POSTS) {
      await refusal(visit(key, name), name, 403, 'key_disabled');
      const error = await refusal(say(key, name, 'Hi', { model: 'sandbox/none' }), name, 404, 'model_not_found');
      assert.equal(error.param, 'model');
    }
    assert.equal((await say(key, 'chat', 'Hi', { model: 'sandbox/tiny' })).status, 200);
    await auditClean(gateway);
  });

  test('a change of scope counts for the very next request', async () => {
    const key = await gateway.creditKey();
    assert.equal((await visit(key, 'messages')).status, 200);
    await gateway.admin.changeKey(key.id, { provider_scope: 'sandbox-a' });
    await refusal(visit(key, 'messages'), 'messages', 403, 'key_disabled');
    assert.deepEqual(await modelIds(key), ['sandbox/alpha', 'sandbox/tiny']);
  });
});

describe('the model list', () => {
  test('[R57] without a credential: the models that the operator marked public, and no others', async () => {
    for (const origin of [credit.origin, budget.origin]) {
      const response = await call(`${origin}/v1/models`);
      assert.equal(response.status, 200);
      const { data } = (await response.json()) as { data: { id: string }[] };
      assert.deepEqual(data.map(({ id }) => id).sort(), ['sandbox/alpha', 'sandbox/beta', 'sandbox/tiny']);
    }
  });

  test('with a valid credential of either scheme: everything that the key may use, public or not', async () => {
    const ids = ['gated/few', 'gated/one', 'gated/two', 'sandbox/alpha', 'sandbox/beta', 'sandbox/tiny'];
    assert.deepEqual(await modelIds(credit), ids);
    const response = await call(`${credit.origin}/v1/models`, { headers: { 'x-api-key': credit.key } });
    const { data } = (await response.json()) as { data: { id: string }[] };
    assert.deepEqual(data.map(({ id }) => id).sort(), ids);
  });

  test('a supplied but invalid credential never falls back to the public catalog', async () => {
    for (const headers of [
      { authorization: 'Bearer nonsense' },
      { 'x-api-key': 'nonsense' },
      { 'x-api-key': newKeyText('credit') },
      { authorization: `Bearer ${newKeyText('token_budget')}` },
    ]) {
      const error = await errorReply(await call(`${gateway.origin}/v1/models`, { headers }), 'A');
      assert.deepEqual([error.status, error.code], [401, 'invalid_credentials']);
    }
  });
});

describe('how a credential is sent', () => {
  const bearer = (): [string, string] => ['authorization', `Bearer ${credit.key}`];
  const header = (): [string, string] => ['x-api-key', credit.key];

  test('[R7] two credentials in one request are refused, even equal ones, on every route', async () => {
    const other = newKeyText('credit');
    for (const name of NAMES) {
      await refused401(name, [bearer(), header()]);
      await refused401(name, [bearer(), ['x-api-key', other]]);
      await refused401(name, [bearer(), ['x-api-key', '']]);
    }
  });

  test('[R7] a repeated credential header is refused, on every route', async () => {
    for (const name of NAMES) {
      await refused401(name, [bearer(), bearer()]);
      await refused401(name, [header(), header()]);
      await refused401(name, [bearer(), ['Authorization', 'Bearer x']]);
    }
  });

  test('[R7] what is not the Bearer scheme, and an empty token, is refused, on every route', async () => {
    for (const name of NAMES) {
      const basic = Buffer.from(`${credit.key}:`).toString('base64');
      for (const value of [`Basic ${basic}`, credit.key, 'Bearer', 'Bearer ', '', `Token ${credit.key}`]) {
        await refused401(name, [['authorization', value]]);
      }
      await refused401(name, [['authorization', `Bearer ${credit.key} ${credit.key}`]]);
      await refused401(name, [['x-api-key', '']]);
    }
  });

  test('[R7] an empty credential is said to be empty', async () => {
    for (const name of NAMES) {
      for (const value of ['Bearer', 'Bearer ', '', 'bearer  ']) {
        assert.match(await refused401(name, [['authorization', value]]), /credential is empty/);
      }
    }
    assert.match(await refused401('messages', [['x-api-key', ' ']]), /credential is empty/);
  });

  test('after a rotation the usage summary shows the prefix of the secret that asked', async () => {
    const first = await gateway.creditKey();
    const second = await gateway.admin.addSecret(first.id);
    for (const { key } of [first, second, first]) {
      assert.equal((await usage({ ...first, key })).key.prefix, key.slice(0, 12));
    }
  });

  test('[R8] x-api-key is refused on chat, responses and usage, and the message names the Bearer scheme', async () => {
    for (const name of ['chat', 'responses', 'usage'] as const) {
      assert.match(await refused401(name, [header()]), /Bearer/);
    }
    for (const name of ['messages', 'count_tokens', 'models'] as const) {
      assert.equal((await send(name, [header()])).status, 200, name);
    }
  });

  test('the scheme is read without regard to case, as HTTP wants it', async () => {
    assert.equal((await send('usage', [['AUTHORIZATION', `bearer ${credit.key}`]])).status, 200);
  });
});

describe('the text of a key', () => {
  test('[R9] says its mode, carries at least 192 random bits and a checksum, and shows its first 12 characters only', async () => {
    assert.match(credit.key, /^mg_c_[0-9A-Za-z]+$/);
    assert.match(budget.key, /^mg_t_[0-9A-Za-z]+$/);
    const CHECKSUM = 6;
    const randomCharacters = credit.key.length - 'mg_c_'.length - CHECKSUM;
    assert.ok(randomCharacters * Math.log2(62) >= 192);
    const { key } = await usage(credit);
    assert.equal(key.prefix, credit.key.slice(0, 12));
    assert.equal(key.prefix.length, 12);
  });

  test('[R9] every single mistyped character is noticed without a look-up', () => {
    for (let at = 0; at < credit.key.length; at++) {
      const typed = credit.key[at] === 'x' ? 'y' : 'x';
      assert.equal(isKeyText(credit.key.slice(0, at) + typed + credit.key.slice(at + 1)), false);
    }
    assert.equal(isKeyText(credit.key), true);
  });

  test('[R9] a key may have several secrets; the revoked one stops working at once', async () => {
    const key = await gateway.creditKey();
    const second = await gateway.admin.addSecret(key.id);
    for (const { key: secret } of [key, second]) {
      assert.equal((await call(`${key.origin}/v1/usage`, { key: secret })).status, 200);
    }
    await gateway.admin.revokeSecret(key.id, key.prefix);
    await refusal(visit(key, 'usage'), 'usage', 401, 'invalid_credentials');
    for (const name of GENERATIONS) await refusal(visit(key, name), name, 401, 'invalid_credentials');
    assert.equal((await call(`${key.origin}/v1/usage`, { key: second.key })).status, 200);
  });
});

async function modelIds(key: CreatedKey): Promise<string[]> {
  const { data } = (await (await visit(key, 'models')).json()) as { data: { id: string }[] };
  return data.map(({ id }) => id).sort();
}
