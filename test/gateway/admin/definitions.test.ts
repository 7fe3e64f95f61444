/** Providers, models and prices that operators define beside the config file. */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { CreatedKey } from '../../../src/admin/keys/schema.ts';
import { configFileIn } from '../../support/gateway-environment.ts';
import { usage } from '../../support/requests.ts';
import { call, type StartedGateway, startedGateway } from '../../support/started-gateway.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { recordingUpstream } from '../../support/upstreams/recording.ts';

const upstream = await recordingUpstream();
after(() => upstream[Symbol.asyncDispose]());

const FILE = `
providers:
  filed: { kind: openai, base_url: "${upstream.url}", api_key: of-the-file-0123456789 }
models:
  - { id: filed-model, provider: filed, pricing: { input: 1, output: 2 } }
`;
const PRIVATE = `${FILE}providers_by_api: { allow_private: true, references: [HOUSE_KEY] }\n`;
const PRICING = { input: 10, output: 20 };

async function chat(key: CreatedKey, model: string): Promise<Response> {
  const body = { model, max_tokens: 200, messages: [{ role: 'user', content: 'Hello' }] };
  return call(`${key.origin}/v1/chat/completions`, { key: key.key, body });
}

/** In nanos, of a request with two input tokens and one of output. */
async function costOf(key: CreatedKey, model: string): Promise<number> {
  const response = await chat(key, model);
  assert.equal(response.status, 200, await response.clone().text());
  await response.text();
  const { credits } = await usage(key);
  return Math.round(credits.last_request_cost * 1e9);
}

async function house(gateway: StartedGateway, extra: object = {}): Promise<void> {
  await gateway.admin.call('createProvider', {
    body: { name: 'house', kind: 'openai', base_url: upstream.url, api_key: 'sk-of-the-house-0123456789', ...extra },
  });
}

describe('a provider and a model that operators define', () => {
  test('serve requests at their price when the call returns, and are gone when they are removed', async () => {
    await using gateway = await startedGateway({ config: PRIVATE });
    const { admin } = gateway;
    const key = await gateway.creditKey();
    await house(gateway);
    const made = await admin.call('createModel', { body: { id: 'house/m', provider: 'house', pricing: PRICING } });
    assert.deepEqual([made.state, made.version, made.changed_by], ['in_use', 1, 'owner']);
    assert.equal(await costOf(key, 'house/m'), 40_000);
    assert.equal(upstream.credentials.at(-1), 'Bearer sk-of-the-house-0123456789');
    const { data } = await admin.call('models', {});
    const origins = Object.fromEntries(data.map(({ id, defined_by }) => [id, defined_by]));
    assert.deepEqual(
      [origins['house/m'], origins['filed-model'], origins['sandbox/alpha']],
      ['api', 'file', 'sandbox'],
    );

    await assert.rejects(admin.call('removeProvider', { name: 'house' }), {
      code: 'refused',
      message: /model "house\/m" needs it/,
    });
    await admin.call('removeModel', { id: 'house/m' });
    assert.equal((await chat(key, 'house/m')).status, 404);
    await admin.call('removeProvider', { name: 'house' });
    assert.deepEqual((await admin.call('definitions', {})).data, []);
    // A name can be used again, and its versions go on.
    await house(gateway);
    assert.equal((await admin.call('showProvider', { name: 'house' })).version, 3);
    assert.deepEqual((await gateway.audit()).findings, []);
  });

  test('are there after a restart; credentials rotate by API, are never shown again, and each change is in the trail', async () => {
    const dataDir = temporaryFolder();
    const first = await startedGateway({ dataDir, config: PRIVATE });
    await house(first, { headers: { 'x-team': 'sk-secret-header-value' } });
    await first.admin.call('createModel', { body: { id: 'm', provider: 'house', pricing: PRICING } });
    await first.stop();
    await using gateway = await startedGateway({ dataDir, config: PRIVATE });
    const key = await gateway.creditKey();
    assert.equal(await costOf(key, 'm'), 40_000);
    const before = await gateway.admin.call('showProvider', { name: 'house' });
    const changed = await gateway.admin.call('changeProvider', {
      name: 'house',
      body: { api_key: 'sk-rotated-0123456789', markup: 2 },
      version: before.version,
    });
    assert.equal(await costOf(key, 'm'), 80_000);
    assert.equal(upstream.credentials.at(-1), 'Bearer sk-rotated-0123456789');
    assert.match(String(changed.definition.api_key), /^set \([0-9a-f]{8}\)$/);
    assert.notEqual(changed.definition.api_key, before.definition.api_key);
    const trail = await gateway.admin.call('auditTrail', { query: { target: 'house' } });
    const [change, create] = trail.data;
    assert.deepEqual([change?.action, create?.action], ['provider.change', 'provider.create']);
    assert.equal(Reflect.get(Object(change?.after), 'markup'), 2);
    assert.equal(Reflect.get(Object(change?.before), 'version'), 1);
    assert.equal(Reflect.get(Object(change?.before), 'api_key'), before.definition.api_key);
    const shown = JSON.stringify([before, changed, trail]);
    // What was shown can be sent back beside something new, and means what is stored.
    const headers = { ...Object(changed.definition.headers), 'x-other': 'plain' };
    await gateway.admin.call('changeProvider', {
      name: 'house',
      body: { headers, api_key: changed.definition.api_key },
    });
    await costOf(key, 'm');
    assert.equal(upstream.credentials.at(-1), 'Bearer sk-rotated-0123456789');
    assert.deepEqual([upstream.headers['x-team'], upstream.headers['x-other']], ['sk-secret-header-value', 'plain']);
    assert.doesNotMatch(shown, /sk-of-the-house|sk-rotated|sk-secret-header/);
  });

  test('are left out, with the reason, where the file has their name or no longer has what they need; the file wins', async () => {
    const dataDir = temporaryFolder();
    await using gateway = await startedGateway({ dataDir, config: PRIVATE });
    const { admin } = gateway;
    const key = await gateway.creditKey();
    await admin.call('createModel', { body: { id: 'one', provider: 'filed', pricing: PRICING } });
    await admin.call('createModel', { body: { id: 'two', provider: 'filed', pricing: PRICING } });
    const renamed = PRIVATE.replaceAll('filed', 'other').replace('other-model', 'one');
    await writeFile(configFileIn(dataDir), renamed);
    const states = async () => (await admin.call('definitions', {})).data.map(({ state }) => state);
    while ((await states()).join() !== 'shadowed,refused') await delay(50);
    while ((await chat(key, 'two')).status !== 404) await delay(50);
    assert.equal(await costOf(key, 'one'), 4_000);
    const [, two] = (await admin.call('definitions', {})).data;
    assert.match(two?.problem ?? '', /unknown provider `filed`/);
    await writeFile(configFileIn(dataDir), PRIVATE);
    while ((await chat(key, 'two')).status !== 200) await delay(50);
    assert.equal(await costOf(key, 'one'), 40_000);
  });

  test('take a credential from a file that the config file allows, and its new content without a restart', async () => {
    const folder = temporaryFolder();
    const file = join(folder, 'credential');
    await writeFile(file, 'sk-first-0123456789\n');
    const config = `${FILE}providers_by_api: { allow_private: true, references: ["file:${file}", HOUSE_KEY] }\n`;
    await using gateway = await startedGateway({ config, env: { HOUSE_KEY_FILE: file } });
    const key = await gateway.creditKey();
    await house(gateway, { api_key: `\${file:${file}}` });
    await gateway.admin.call('createModel', { body: { id: 'm', provider: 'house', pricing: PRICING } });
    await costOf(key, 'm');
    assert.equal(upstream.credentials.at(-1), 'Bearer sk-first-0123456789');
    const shown = await gateway.admin.call('changeProvider', { name: 'house', body: { api_key: `\${HOUSE_KEY}` } });
    assert.equal(shown.definition.api_key, `\${HOUSE_KEY}`);
    await writeFile(file, 'sk-second-0123456789\n');
    while (upstream.credentials.at(-1) !== 'Bearer sk-second-0123456789') await costOf(key, 'm');
  });
});

describe('a definition is refused', () => {
  test('where the file defines the name, where it exists, and where two operators change it at once', async () => {
    await using gateway = await startedGateway({ config: PRIVATE });
    const { admin } = gateway;
    const ofFile = { code: 'refused', message: /is defined by the config file, which wins: change it there/ };
    const filed = { name: 'filed', kind: 'openai', base_url: upstream.url };
    await assert.rejects(admin.call('createProvider', { body: filed }), ofFile);
    await assert.rejects(admin.call('changeProvider', { name: 'filed', body: { markup: 2 } }), ofFile);
    await assert.rejects(admin.call('removeModel', { id: 'filed-model' }), ofFile);
    await assert.rejects(admin.call('setPrice', { id: 'filed-model', body: { markup: 2 } }), ofFile);
    await house(gateway);
    await assert.rejects(house(gateway), { code: 'refused', message: /defined already/ });
    await admin.call('changeProvider', { name: 'house', body: { markup: 2 }, version: 1 });
    await assert.rejects(admin.call('changeProvider', { name: 'house', body: { markup: 3 }, version: 1 }), {
      code: 'precondition_failed',
      message: /changed meanwhile by owner at .* \(markup\); it is at version 2/,
    });
    const atOnce = await Promise.allSettled(
      [3, 4, 5].map((markup) => admin.call('changeProvider', { name: 'house', body: { markup } })),
    );
    const saved = atOnce.filter(({ status }) => status === 'fulfilled').length;
    const { version } = await admin.call('showProvider', { name: 'house' });
    assert.equal(version, 2 + saved);
    for (const result of atOnce) {
      if (result.status === 'rejected') assert.match(String(result.reason), /changed meanwhile/);
    }
  });

  test('where its address is not public and the file does not allow that, by its name as well', async () => {
    await using gateway = await startedGateway({ config: FILE });
    const { admin } = gateway;
    for (const host of ['127.0.0.1', '10.1.2.3', '[::1]', 'localhost', '169.254.169.254', '0x7f.1']) {
      const body = { name: 'inside', kind: 'openai', base_url: `http://${host}:8080/v1` };
      await assert.rejects(admin.call('createProvider', { body }), {
        code: 'invalid_input',
        message: /^base_url: must lead to a public address/,
      });
    }
    const body = { name: 'outside', kind: 'openai', base_url: 'https://provider.invalid/v1' };
    assert.equal((await admin.call('createProvider', { body })).state, 'in_use');
  });

  test('where it refers to what the file does not allow, or asks for what only the file may say', async () => {
    await using gateway = await startedGateway({
      config: PRIVATE,
      env: { OTHER_KEY: 'sk-other', HOUSE_KEY: 'sk-house' },
    });
    const refused = async (extra: object, message: RegExp) =>
      assert.rejects(house(gateway, extra), (error: Error) => message.test(error.message) || assert.fail(error));
    await refused({ api_key: `\${OTHER_KEY}` }, /the reference \$\{OTHER_KEY\} is not allowed/);
    await refused({ api_key: `\${file:/etc/passwd}` }, /the reference \$\{file:\/etc\/passwd\} is not allowed/);
    await refused({ api_key: `\${exec:id}` }, /the reference \$\{exec:id\} is not allowed/);
    await refused({ base_url: `http://\${HOUSE_KEY}\${OTHER_KEY:-x}/v1` }, /\$\{OTHER_KEY\} is not allowed/);
    await refused({ ca: '/etc/ssl/cert.pem', base_url: 'https://h.example/v1' }, /^ca: the file .* is not allowed/);
    await refused({ kind: 'ai-sdk', package: '@ai-sdk/google' }, /only the config file can have it/);
    await refused({ proxy: 'http://10.0.0.1:1' }, /^proxy: can be given by the config file only/);
    await refused({ bse_url: 'x' }, /unknown key `bse_url`/);
    await refused({ timeouts: { connect: '3s' } }, /timeouts\.connect: must be a number/);
    assert.deepEqual((await gateway.admin.call('definitions', {})).data, []);
    await house(gateway, { api_key: `\${HOUSE_KEY}` });
  });

  test('where the caller is not an owner (providers) or operator (models and prices)', async () => {
    await using gateway = await startedGateway({ config: PRIVATE });
    const base = `http://127.0.0.1:${gateway.adminPort}/admin/v1`;
    const tokenOf = async (role: string): Promise<string> => {
      const { token } = await gateway.admin.operators.create({ name: role, role });
      return token;
    };
    const statusOf = async (role: string, path: string, body: object): Promise<number> =>
      (await call(`${base}${path}`, { key: await tokenOf(role), body })).status;
    const provider = { name: 'p', kind: 'openai', base_url: upstream.url };
    assert.equal(await statusOf('operator', '/providers', provider), 403);
    await gateway.admin.operators.revoke(
      (await gateway.admin.operators.list()).find(({ name }) => name === 'operator')?.id ?? '',
    );
    assert.equal(await statusOf('operator', '/models', { id: 'm', provider: 'filed', pricing: PRICING }), 201);
    assert.equal(await statusOf('viewer', '/models', { id: 'n', provider: 'filed', pricing: PRICING }), 403);
  });
});

describe('a price', () => {
  test('changes now, or at its time and not before; what was charged stays', async () => {
    await using gateway = await startedGateway({ config: PRIVATE });
    const { admin } = gateway;
    const key = await gateway.creditKey();
    await admin.call('createModel', { body: { id: 'm', provider: 'filed', pricing: PRICING } });
    await admin.call('setPrice', { id: 'm', body: { markup: 1.5 } });
    assert.equal(await costOf(key, 'm'), 60_000);
    const fromMs = Date.now() + 1_500;
    const from = new Date(fromMs).toISOString();
    await admin.call('setPrice', { id: 'm', body: { from, pricing: { input: 1, output: 2 } } });
    for (let cost = 0; cost !== 6_000; ) {
      const beganAtMs = Date.now();
      cost = await costOf(key, 'm');
      if (Date.now() < fromMs) assert.equal(cost, 60_000);
      if (beganAtMs > fromMs + 100) assert.equal(cost, 6_000);
    }
    // The next change follows what has taken effect.
    const { definition } = await admin.call('setPrice', { id: 'm', body: { markup: 2 } });
    assert.deepEqual(definition, { provider: 'filed', pricing: { input: 1, output: 2 }, markup: 2 });
    assert.equal(await costOf(key, 'm'), 8_000);
    assert.deepEqual((await gateway.audit()).findings, []);
  });

  test('is refused for the past, for no day, and for a model that nobody has defined; a price to come can be cancelled', async () => {
    await using gateway = await startedGateway({ config: PRIVATE });
    const { admin } = gateway;
    const past = { code: 'invalid_input', message: /^from is in the past .*requests since then have been charged/ };
    const prices = [{ from: '2020-01-01', markup: 2 }];
    const model = { id: 'm', provider: 'filed', pricing: PRICING };
    await assert.rejects(admin.call('createModel', { body: { ...model, prices } }), past);
    await admin.call('createModel', { body: model });
    await assert.rejects(admin.call('setPrice', { id: 'm', body: prices[0] ?? {} }), past);
    await assert.rejects(admin.call('changeModel', { id: 'm', body: { prices } }), past);
    await assert.rejects(admin.call('setPrice', { id: 'm', body: { from: '2099-02-30', markup: 2 } }), /must be a day/);
    await assert.rejects(admin.call('setPrice', { id: 'm', body: {} }), /nothing changes/);
    await assert.rejects(admin.call('setPrice', { id: 'none', body: { markup: 2 } }), { code: 'not_found' });
    await admin.call('setPrice', { id: 'm', body: { from: '2099-01-01', markup: 2 } });
    const listed = (await admin.call('models', {})).data.find(({ id }) => id === 'm');
    assert.deepEqual(listed?.price_changes, [
      { from: '2099-01-01T00:00:00.000Z', value: { input: 20, output: 40 }, markup: 2 },
    ]);
    await admin.call('cancelPrice', { id: 'm', from: '2099-01-01' });
    await assert.rejects(admin.call('cancelPrice', { id: 'm', from: '2099-01-01' }), { code: 'not_found' });
    await assert.rejects(admin.call('cancelPrice', { id: 'm', from: '2020-01-01' }), past);
  });

  test('cannot be changed while the config file is broken: the refusal says so, and what is in use stays', async () => {
    const dataDir = temporaryFolder();
    await using gateway = await startedGateway({ dataDir, config: PRIVATE });
    const key = await gateway.creditKey();
    await gateway.admin.call('createModel', { body: { id: 'm', provider: 'filed', pricing: PRICING } });
    await writeFile(configFileIn(dataDir), `${PRIVATE}modells: []\n`);
    await assert.rejects(gateway.admin.call('setPrice', { id: 'm', body: { markup: 2 } }), {
      code: 'refused',
      message: /the config file cannot be used as it is now: correct it first .*modells/,
    });
    assert.equal(await costOf(key, 'm'), 40_000);
  });
});
