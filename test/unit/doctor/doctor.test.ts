/** `gateway doctor`: what it finds, what it says to do, and what it never does. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { describe, test } from 'node:test';
import type { Report } from '../../../src/doctor/report.ts';
import { startedGateway } from '../../support/started-gateway.ts';
import {
  command,
  configOf,
  deadOrigin,
  fakeProvider,
  honest,
  type Looked,
  look,
  SECRET,
  writeConfig,
} from './doctor-fixture.ts';

/** Again where the provider could not answer in time, because this process, which it is part of, was held up. */
async function inTime(looks: () => Promise<Looked>): Promise<Looked> {
  for (;;) {
    const looked = await looks();
    if (looked.p.reachable.state === 'ok') return looked;
    assert.match(looked.p.reachable.detail, /^no answer within /);
  }
}

/** A provider and a model as an operator defines them. */
function definedBy(origin: string) {
  const target = { provider: 'house', model: 'upstream-m' };
  return {
    provider: { name: 'house', kind: 'openai', base_url: `${origin}/v1`, api_key: SECRET },
    model: {
      ...{ id: 'house/m', targets: [target], pricing: { input: 1, output: 2 } },
      ...{ context_window: 1_000, max_output_tokens: 100 },
    },
  };
}

describe('the command', () => {
  test('no problems with the sandbox: exit 0, one JSON object, and no data folder is made', async () => {
    const { env } = await writeConfig('');
    const { code, stdout, stderr } = await command(env, '--json');
    assert.deepEqual([code, stderr], [0, '']);
    assert.equal(stdout.indexOf('\n'), stdout.length - 1);
    const report = JSON.parse(stdout) as Report;
    assert.deepEqual([report.ok, report.to_do], [true, []]);
    assert.deepEqual(
      report.providers.map(({ name, simulated, probes }) => [name, simulated, probes.map(({ format }) => format)]),
      [
        ['sandbox-a', true, ['chat', 'responses', 'chat', 'responses']],
        ['sandbox-b', true, ['messages']],
      ],
    );
    assert.ok(report.providers.every(({ probes }) => probes.every(({ state }) => state === 'ok')));
    assert.equal(existsSync(env.GATEWAY_DATA ?? ''), false);
  });

  test('a broken config file: exit 1, each problem is a line, and the rest is still looked at', async () => {
    const { env } = await writeConfig('providers: { p: { kind: openai, api_kye: x } }\nmodels: [{ id: a b }]');
    const { code, stdout } = await command(env);
    assert.equal(code, 1);
    assert.match(stdout, /Config file +!! 2 problems/);
    assert.match(stdout, /Store +ok/);
    assert.match(
      stdout,
      /What to do:\n.*providers\.p: unknown key `api_kye`: did you mean `api_key`\?\n.*models\[0\]\.id/,
    );
  });

  test('wrong usage: exit 2 and one line', async () => {
    const { env } = await writeConfig('');
    const { code, stdout, stderr } = await command(env, '--probes');
    assert.deepEqual([code, stdout], [2, '']);
    assert.equal(stderr, 'gateway: doctor: unknown flag --probes: expected one of --no-probe, --json\n');
  });

  test('while a gateway runs its store is asked through it, and it goes on', async () => {
    await using gateway = await startedGateway({ config: '' });
    const env = {
      GATEWAY_DATA: gateway.dataDir,
      GATEWAY_CONFIG: `${gateway.dataDir}/gateway.yaml`,
      GATEWAY_DISCOVER_LOCAL: 'off',
    };
    const { code, stdout } = await command(env, '--no-probe');
    assert.match(stdout, new RegExp(`Store +ok answers; the gateway is running \\(process ${process.pid}\\)`));
    assert.match(stdout, /No problems found\.\n$/);
    assert.equal(code, 0);
    assert.equal((await gateway.audit()).ok, true);

    await gateway.stop();
    assert.match((await command(env, '--no-probe')).stdout, /Store +ok can be opened; no gateway is running/);
  });

  test('looks at what operators have defined as well, through the gateway that runs or in its store', async (t) => {
    let refuses = false;
    const answer = honest(['upstream-m']);
    const provider = await fakeProvider(t, (asked) =>
      refuses ? { status: 401, body: { error: { message: 'no such key' } } } : answer(asked),
    );
    await using gateway = await startedGateway({
      config: 'sandbox: false\nproviders_by_api: { allow_private: true }\nmodel_lists: false\n',
    });
    const { provider: house, model } = definedBy(provider.origin);
    await gateway.admin.call('createProvider', { body: house });
    const { context_window, max_output_tokens, ...unlimited } = model;
    await gateway.admin.call('createModel', { body: unlimited });
    const env = {
      GATEWAY_DATA: gateway.dataDir,
      GATEWAY_CONFIG: `${gateway.dataDir}/gateway.yaml`,
      GATEWAY_DISCOVER_LOCAL: 'off',
    };
    const looked = async (): Promise<Report> => {
      const { stdout, stderr } = await command(env, '--json');
      assert.equal(stderr, '');
      assert.ok(!stdout.includes(SECRET));
      return JSON.parse(stdout) as Report;
    };
    const unknown = 'house/m: limits are unknown: gateway models update house/m';
    assert.deepEqual((await looked()).to_do, [`${unknown} --context-window TOKENS --max-output TOKENS`]);
    await gateway.admin.call('changeModel', { id: model.id, body: { context_window } });
    const guess = 'house/m: the output limit is a guess: gateway models update house/m';
    assert.deepEqual((await looked()).to_do, [`${guess} --max-output TOKENS`]);
    await gateway.admin.call('changeModel', { id: model.id, body: { max_output_tokens } });
    for (const running of [true, false]) {
      if (!running) await gateway.stop();
      refuses = false;
      const well = await looked();
      assert.match(well.store.detail, running ? /the gateway is running/ : /no gateway is running/);
      assert.deepEqual(well.to_do, []);
      assert.deepEqual(
        well.providers.map(({ name, authorised, probes }) => [name, authorised.state, probes[0]?.state]),
        [['house', 'ok', 'ok']],
      );
      assert.deepEqual(
        well.models.map(({ id, targets }) => [id, targets.detail]),
        [['house/m', '1 of 1']],
      );
      assert.equal(provider.asked.at(-1)?.headers.authorization, `Bearer ${SECRET}`);
      refuses = true;
      assert.match((await looked()).to_do[0] ?? '', /^house: 1 of 1 credentials refused \(status 401/);
    }
    await writeFile(env.GATEWAY_CONFIG, 'sandbox: false\n');
    const { to_do } = await looked();
    const why = (name: string): string => to_do.find((line) => line.startsWith(`${name}, which an operator`)) ?? '';
    assert.match(why('provider house'), /is not in use: .*must lead to a public address/);
    assert.match(why('model house/m'), /is not in use: .*unknown provider `house`/);
  });
});

describe('a provider', () => {
  test('that is well is asked for one token at each target, as a request would ask for it', async (t) => {
    const provider = await fakeProvider(t, honest(['upstream-m']));
    const { report, p } = await look(configOf(provider.origin, { headers: { 'X-Team': 'doctors' } }));
    assert.deepEqual(report.to_do, []);
    assert.deepEqual(
      [p.reachable.state, p.authorised.detail, p.models.detail, p.clock.state],
      ['ok', 'accepted', '1 of 1', 'ok'],
    );
    const [list, generation, ...others] = provider.asked;
    assert.deepEqual([list?.path, generation?.path, others], ['/v1/models', '/v1/chat/completions', []]);
    assert.deepEqual([generation?.body.model, generation?.body.max_tokens], ['upstream-m', 1]);
    for (const asked of [list, generation]) {
      assert.deepEqual([asked?.headers.authorization, asked?.headers['x-team']], [`Bearer ${SECRET}`, 'doctors']);
    }
  });

  test('is asked to generate nothing with --no-probe', async (t) => {
    const provider = await fakeProvider(t, honest(['upstream-m']));
    const { report, p } = await look(configOf(provider.origin), { probes: false });
    assert.deepEqual([report.ok, p.probes], [true, []]);
    assert.deepEqual(
      provider.asked.map(({ method }) => method),
      ['GET'],
    );
  });

  test('with many targets is probed at twenty of them, every format among these', async (t) => {
    const names = Array.from({ length: 30 }, (_, index) => `upstream-${index}`);
    const provider = await fakeProvider(t, honest(names));
    const targets = names.map((model) => ({
      provider: 'p',
      model,
      format: model.endsWith('29') ? 'messages' : 'chat',
    }));
    const { p } = await look(configOf(provider.origin, { formats: ['chat', 'messages'] }, { targets }));
    assert.equal(provider.asked.filter(({ method }) => method === 'POST').length, 20);
    assert.equal(p.probes.filter(({ format }) => format === 'messages').length, 1);
  });

  test('that nobody listens for', async () => {
    const origin = await deadOrigin();
    const { report, p } = await look(configOf(origin));
    assert.deepEqual(p.reachable, { state: 'problem', detail: 'ECONNREFUSED' });
    assert.deepEqual([p.authorised.state, p.probes], ['skipped', []]);
    assert.deepEqual(report.to_do, [
      `p: cannot be reached at ${origin}/v1 (ECONNREFUSED): check its base_url and the network`,
      'm: no target works: fix its provider (see above), add a target, or remove the model',
    ]);
  });

  test('that never answers does not hold the doctor up', async (t) => {
    const silent = await fakeProvider(t, () => null);
    const { p } = await look(configOf(silent.origin), { timeoutMs: 100 });
    assert.deepEqual(p.reachable, { state: 'problem', detail: 'no answer within 0.1 s' });
    const lists = await fakeProvider(t, (asked) => (asked.method === 'GET' ? honest(['upstream-m'])(asked) : null));
    const { report } = await inTime(() => look(configOf(lists.origin), { timeoutMs: 1_500 }));
    assert.equal(report.to_do[0], 'p: upstream-m (chat) does not answer: no answer within 1.5 s');
  });

  test('that refuses the credential is reported, without the credential', async (t) => {
    const words = `Incorrect API key provided: ${SECRET}\u001b[31m\nsee docs`;
    const provider = await fakeProvider(t, () => ({ status: 401, body: { error: { message: words } } }));
    const { report, p } = await look(configOf(provider.origin));
    assert.equal(p.authorised.state, 'problem');
    assert.match(report.to_do[0] ?? '', /^p: 1 of 1 credentials refused \(status 401: .*\[redacted\]/);
    assert.equal(provider.asked.length, 1, 'no probe is made with it');
    const { env } = await writeConfig(configOf(provider.origin));
    for (const flags of [[], ['--json']]) {
      const { code, stdout, stderr } = await command(env, ...flags);
      assert.equal(code, 1);
      assert.doesNotMatch(stdout + stderr, /very-secret|u001b/);
      assert.equal(stdout.includes('\u001b'), false);
    }
  });

  test('one bad credential of a pool is named by its place, and the others serve', async (t) => {
    const answer = honest(['upstream-m']);
    const provider = await fakeProvider(t, (asked) =>
      asked.headers.authorization === 'Bearer key-b' ? { status: 403, body: { error: 'no' } } : answer(asked),
    );
    const pool = { api_key: undefined, api_keys: ['key-a', 'key-b'] };
    const { report } = await look(configOf(provider.origin, pool));
    assert.deepEqual(report.to_do, [
      'p: 1 of 2 credentials refused (status 403: no): check its credential 2 and the permissions of that account',
    ]);
    assert.equal(report.models[0]?.targets.state, 'ok');
  });

  test('without the model of a target', async (t) => {
    for (const probes of [true, false]) {
      const provider = await fakeProvider(t, honest(['other', 'upstream-m-mini']));
      const { report, p } = await look(configOf(provider.origin), { probes });
      assert.deepEqual([p.models.detail, p.models.missing], ['0 of 1', ['upstream-m']]);
      assert.deepEqual(report.to_do, [
        'p: does not list upstream-m: correct the model of these targets, or request access',
        'm: no target works: fix its provider (see above), add a target, or remove the model',
      ]);
    }
  });

  test('that lists a model under the name of its newest version has it', async (t) => {
    for (const id of ['upstream-m-20260101', 'upstream-m-2026-01-01', 'models/upstream-m', 'upstream-m:latest']) {
      const provider = await fakeProvider(t, honest([id]));
      const { p } = await look(configOf(provider.origin), { probes: false });
      assert.equal(p.models.state, 'ok', id);
    }
  });

  test('that lists nothing is judged by its probe', async (t) => {
    const answer = honest(['upstream-m']);
    const provider = await fakeProvider(t, (asked) =>
      asked.method === 'GET' ? { status: 404, body: 'none' } : answer(asked),
    );
    const { report, p } = await look(configOf(provider.origin));
    assert.deepEqual([report.ok, p.authorised.detail, p.models.state], [true, 'accepted by the probe', 'skipped']);
  });

  test('whose clock is another than ours', async (t) => {
    const answer = honest(['upstream-m']);
    const late = await fakeProvider(t, (asked) => ({
      ...answer(asked),
      headers: { date: new Date(Date.now() - 120_000).toUTCString() },
    }));
    const { report, p } = await look(configOf(late.origin));
    assert.equal(p.clock.state, 'problem');
    assert.ok(Math.abs((p.clock.skew_ms ?? 0) - 120_000) < 30_000);
    assert.match(report.to_do.join('\n'), /^p: our clock is \d+ s ahead of its own: synchronise this machine \(NTP\)$/);
  });

  test('that answers with something else than its format', async (t) => {
    const provider = await fakeProvider(t, (asked) =>
      asked.method === 'GET' ? honest(['upstream-m'])(asked) : { body: '<html>Welcome</html>' },
    );
    const { report } = await look(configOf(provider.origin));
    assert.match(
      report.to_do[0] ?? '',
      /^p: upstream-m \(chat\) does not answer: its answer does not have this format/,
    );
  });

  test('whose reasoning model cannot end within one token serves all the same', async (t) => {
    const message = 'Could not finish the message because max_tokens or model output limit was reached.';
    const provider = await fakeProvider(t, (asked) =>
      asked.method === 'GET' ? honest(['upstream-m'])(asked) : { status: 400, body: { error: { message } } },
    );
    assert.equal((await look(configOf(provider.origin))).report.ok, true);
  });
});

describe('a model', () => {
  test('that is free by its configuration is priced; one without a context window is a problem', async (t) => {
    const provider = await fakeProvider(t, honest(['upstream-m']));
    const free = { pricing: { input: 0, output: 0 }, context_window: undefined };
    const { report } = await look(configOf(provider.origin, {}, free));
    assert.deepEqual(report.models[0]?.priced, { state: 'ok', detail: 'free' });
    assert.deepEqual(report.models[0]?.limits, { state: 'problem', detail: 'unknown / 100' });
    assert.deepEqual(report.to_do, [
      'm: limits are unknown: set context_window and max_output_tokens in the config file',
    ]);
  });

  test('whose output limit nobody states has a guess, which is told', async (t) => {
    const provider = await fakeProvider(t, honest(['upstream-m']));
    const { report } = await look(configOf(provider.origin, {}, { max_output_tokens: undefined }));
    assert.deepEqual(report.models[0]?.limits, { state: 'problem', detail: '1000 / 1000 (a guess)' });
    assert.deepEqual(report.to_do, ['m: the output limit is a guess: set max_output_tokens in the config file']);
  });

  test('with one target that serves and one that does not is told apart from one with none', async (t) => {
    const provider = await fakeProvider(t, honest(['upstream-m']));
    const targets = [
      { provider: 'p', model: 'gone' },
      { provider: 'p', model: 'upstream-m' },
    ];
    const { report } = await look(configOf(provider.origin, {}, { targets }));
    assert.deepEqual(report.models[0]?.targets, { state: 'ok', detail: '1 of 2' });
    assert.equal(report.to_do.length, 1);
  });
});
