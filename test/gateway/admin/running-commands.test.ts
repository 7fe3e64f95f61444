/** Commands that ask a running gateway: what runs there, how its providers do, what it runs with, and who may. */
import assert from 'node:assert/strict';
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
    assert.match(settings, /\nadmin_host +127\.0\.0\.1 +environment\n/);
    assert.match(settings, /\nlimits\.drain_ms +\d+ +config file\n/);
    const tested = await command(dataDir, 'models', 'test', 'sandbox/alpha');
    assert.equal(tested.code, 0, tested.stdout + tested.stderr);
    assert.match(tested.stdout, /\nsandbox-a +\S+ +chat +ok: /);
    const unknown = await command(dataDir, 'models', 'test', 'no/such');
    assert.deepEqual([unknown.code, /no model "no\/such" is served/.test(unknown.stderr)], [1, true]);
    assert.equal((await command(dataDir, 'models', 'refresh')).code, 0);
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
