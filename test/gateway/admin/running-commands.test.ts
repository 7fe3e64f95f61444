/** Commands that ask a running gateway: what runs there, how its providers do, what it runs with, and who may. */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { command, commandJson } from '../../support/admin-fixture.ts';
import { call, startedGateway } from '../../support/started-gateway.ts';

describe('commands of a running gateway', () => {
  test('show what runs with its key, and stop one request or all of a key', async () => {
    await using gateway = await startedGateway();
    const { dataDir, origin } = gateway;
    const { key, id } = await gateway.creditKey({ credit: '5' });
    const content = '[[tokens=20000]] [[delay=50]]';
    const body = { model: 'sandbox/alpha', stream: true, messages: [{ role: 'user', content }] };
    const ask = async (): Promise<string> => (await call(`${origin}/v1/chat/completions`, { key, body })).text();
    const running = async (wanted: number): Promise<readonly { readonly id: string }[]> => {
      for (;;) {
        const found = await commandJson<{ id: string }[]>(dataDir, 'top');
        if (found.length === wanted) return found;
      }
    };
    const first = ask();
    const [request] = await running(1);
    assert.ok(request !== undefined);
    const shown = (await command(dataDir, 'top')).stdout;
    assert.ok(shown.includes(request.id) && shown.includes(id), shown);
    const stopped = await command(dataDir, 'requests', 'stop', request.id);
    assert.match(stopped.stdout, /is stopped; what was produced is charged/);
    assert.match(await first, /service_unavailable/);
    const again = await command(dataDir, 'requests', 'stop', request.id);
    assert.deepEqual([again.code, /"gateway top"/.test(again.stderr)], [1, true]);
    const others = [ask(), ask()];
    await running(2);
    const all = await command(dataDir, 'keys', 'stop', id);
    assert.equal(all.stdout, `2 running requests of ${id} stopped\n`);
    for (const answer of await Promise.all(others)) assert.match(answer, /service_unavailable/);
    assert.equal((await command(dataDir, 'keys', 'stop', 'key_none')).code, 1);
    assert.equal((await gateway.audit()).ok, true);
  });

  test('show providers, settings and models, and test each target of a model', async () => {
    await using gateway = await startedGateway();
    const { dataDir } = gateway;
    assert.match((await command(dataDir, 'providers')).stdout, /\nsandbox-a +ok +\S+ of \S+ +http/);
    const settings = (await command(dataDir, 'settings')).stdout;
    assert.match(settings, /\nGATEWAY_ADMIN_HOST +127\.0\.0\.1 +default\n/);
    assert.match(settings, /\nlimits\.drain +30 +default\n/);
    const file = (await command(dataDir, 'config', 'status')).stdout;
    assert.equal(file, 'no config file (./gateway.yaml does not exist): defaults and the environment are in use\n');
    const tested = await command(dataDir, 'models', 'test', 'sandbox/alpha');
    assert.equal(tested.code, 0, tested.stdout + tested.stderr);
    assert.match(tested.stdout, /\nsandbox-a +\S+ +chat +ok: /);
    const unknown = await command(dataDir, 'models', 'test', 'no/such');
    assert.deepEqual([unknown.code, /no model "no\/such" is served/.test(unknown.stderr)], [1, true]);
    assert.equal((await command(dataDir, 'models', 'refresh')).code, 0);
  });

  test('define providers, models and prices, change and remove them, and say whether the config file is in use', async () => {
    await using gateway = await startedGateway({ config: 'sandbox: true\nproviders: {}\n' });
    const { dataDir } = gateway;
    const run = async (...words: string[]): Promise<string> => {
      const { code, stdout, stderr } = await command(dataDir, ...words);
      assert.equal(code, 0, stderr);
      return stdout;
    };
    const keyFile = join(dataDir, 'house.key');
    await writeFile(keyFile, 'sk-of-the-house-0123456789\n');
    const address = ['--kind', 'openai', '--base-url', 'https://house.example/v1', '--api-key-file', keyFile];
    assert.match(
      await run('providers', 'add', 'house', ...address),
      /provider house: in use\nversion 1, changed .* by owner\n/,
    );
    const price = [
      '--provider',
      'house',
      '--upstream-model',
      'llama-4',
      '--input',
      '3',
      '--output',
      '15',
      '--cache-read',
      '0.3',
    ];
    const added = await run('models', 'add', 'house/large', ...price);
    assert.match(added, /\n {2}pricing +\{"input":3,"output":15,"cache_read":0\.3\}/);
    assert.match(added, /\n {2}targets +\[\{"provider":"house","model":"llama-4"\}\]/);
    await run('providers', 'update', 'house', '--markup', '2', '--if-version', '1');
    const stale = await command(dataDir, 'providers', 'update', 'house', '--markup', '3', '--if-version', '1');
    assert.deepEqual([stale.code, /changed meanwhile by owner .*\(markup\)/.test(stale.stderr)], [1, true]);
    await run('prices', 'set', 'house/large', '--markup', '1.5', '--from', '2099-01-01');
    assert.match(await run('prices', 'list'), /\nhouse\/large +6 \/ 30 +× 2 +api +4\.5 \/ 22\.5 from 2099-01-01T/);
    await run('prices', 'cancel', 'house/large', '--from', '2099-01-01');
    const half = await command(dataDir, 'prices', 'set', 'house/large', '--input', '1');
    assert.deepEqual([half.code, /pricing: the key `output` is missing/.test(half.stderr)], [2, true], half.stderr);
    assert.match(await run('models'), /\nhouse\/large +6 \/ 30 +an operator/);
    const definition = join(dataDir, 'model.yaml');
    await writeFile(definition, 'display_name: Large\nhidden: true\n');
    assert.match(await run('models', 'update', 'house/large', '--definition', definition), /display_name +Large/);
    assert.match(await run('models', 'show', 'house/large'), /hidden +true/);
    assert.match(await run('providers', 'show', 'house'), /api_key +set \([0-9a-f]{8}\)/);
    assert.match(await run('definitions'), /\nprovider +house +in_use +2 /);
    const needed = await command(dataDir, 'providers', 'remove', 'house');
    assert.deepEqual([needed.code, /model "house\/large" needs it/.test(needed.stderr)], [1, true]);
    await run('models', 'remove', 'house/large');
    assert.equal(await run('providers', 'remove', 'house'), 'provider house is removed\n');
    assert.match(await run('definitions'), /Nothing is defined/);
    assert.match(await run('config', 'status'), /is in use as it is now/);
  });

  test('show an operator with its tokens, and change its role', async () => {
    await using gateway = await startedGateway();
    const { dataDir } = gateway;
    await command(dataDir, 'operators', 'create', 'ann', '--role', 'viewer');
    assert.match(
      (await command(dataDir, 'operators', 'show', 'ann')).stdout,
      /\n\S+ +ann +viewer +active .*\n\nTOKEN .*\n\S+ +- +active /,
    );
    assert.match((await command(dataDir, 'operators', 'update', 'ann', '--role', 'operator')).stdout, /ann +operator/);
    const refused = await command(dataDir, 'operators', 'update', 'ann', '--role', 'account-admin');
    assert.deepEqual([refused.code, /--account is missing/.test(refused.stderr)], [2, true]);
  });
});
