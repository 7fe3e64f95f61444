/** Several workers are one gateway on PostgreSQL: what holds for one holds for all of them together. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { CreatedKey } from '../../../src/admin/keys/schema.ts';
import { type GatewayProcess, gatewayProcess } from '../../support/gateway-process.ts';
import { startPostgres, type TestPostgres } from '../../support/postgres.ts';
import { bodyOf, refusal, say, usage, visit } from '../../support/requests.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { type GatedUpstream, gatedUpstream } from '../../support/upstreams/gated.ts';

const LAUNCHER = resolve(import.meta.dirname, '../../../bin/gateway.mjs');
const WITNESS = new URL('witness.ts', import.meta.url).href;
const GATED = { model: 'gated/one', max_tokens: 50 };
const AT_ONCE = 64;

let postgres: TestPostgres;
let upstream: GatedUpstream;
/** Of each folder. */
const databases = new Map<string, string>();

before(async () => {
  postgres = await startPostgres();
  // A drain ends with the last stream, however long a busy machine takes for that.
  upstream = await gatedUpstream({ drain: 600 });
});
after(async () => {
  await upstream[Symbol.asyncDispose]();
  await postgres.stop();
});

async function newFolder(): Promise<string> {
  const folder = temporaryFolder('gateway-workers');
  await writeFile(join(folder, 'gateway.yaml'), `${upstream.config}\naccount_page: true\n`);
  databases.set(folder, postgres.url(await postgres.createDatabase()));
  return folder;
}

function envOf(folder: string): Record<string, string> {
  // What a killed process held is free again after a second.
  return { DATABASE_URL: databases.get(folder) ?? '', GATEWAY_LEASE_SECONDS: '1' };
}

function startTwo(folder: string): Promise<GatewayProcess> {
  const witnessed = { NODE_OPTIONS: `--import ${WITNESS}`, WITNESS_FILE: witnessFile(folder) };
  return gatewayProcess(folder, { ...envOf(folder), ...witnessed }, ['--workers', '2']);
}

function witnessFile(folder: string): string {
  return join(folder, 'witness');
}

/** How many workers have taken requests since the last time. */
async function workersUsed(folder: string): Promise<number> {
  const lines = (await readFile(witnessFile(folder), 'utf8')).trim().split('\n');
  await writeFile(witnessFile(folder), '');
  return new Set(lines).size;
}

async function assertClean(gateway: GatewayProcess): Promise<void> {
  const audit = await gateway.admin.audit();
  assert.deepEqual(audit.findings, []);
  assert.equal(audit.live_holds, 0);
}

/** What a process held that was killed is recovered when its lease is over. */
async function recovered(gateway: GatewayProcess): Promise<void> {
  while ((await gateway.admin.audit()).live_holds > 0);
  await assertClean(gateway);
}

describe('two workers', () => {
  let folder: string;
  let gateway: GatewayProcess;

  before(async () => {
    folder = await newFolder();
    gateway = await startTwo(folder);
  });
  after(() => gateway.kill('SIGTERM'));

  const creditKey = (input: object = {}): Promise<CreatedKey> =>
    gateway.admin.createKey({ mode: 'credit', credit: '5', ...input });

  /** What one such request holds, in credits. */
  async function heldByOne(): Promise<number> {
    const key = await creditKey();
    const answer = say(key, 'chat', 'go', GATED);
    const gated = await upstream.next();
    const { reserved } = await gateway.admin.showKey(key.id);
    gated.answer();
    assert.equal((await answer).status, 200);
    return reserved;
  }

  test('[F12] 64 at once on a key that can afford one: one runs, 63 get a 429', async () => {
    const key = await creditKey({ credit: ((await heldByOne()) * 1.9).toFixed(9) });
    const arrivals = upstream.arrivals;
    const statuses: number[] = [];
    await workersUsed(folder);
    await Promise.all(
      Array.from({ length: AT_ONCE }, async () => {
        const response = await say(key, 'chat', 'go', GATED);
        statuses.push(response.status);
        if (response.status === 200) return;
        await refusal(response, 'chat', 429, 'balance_temporarily_reserved');
        if (statuses.length === AT_ONCE - 1) (await upstream.next()).answer(10, 5);
      }),
    );
    assert.equal(await workersUsed(folder), 2, 'both workers had a part in it');
    assert.equal(statuses.filter((status) => status === 200).length, 1);
    assert.equal(upstream.arrivals, arrivals + 1, 'the provider saw one request');
    assert.equal((await usage(key)).requests.total, 1);
    await assertClean(gateway);
  });

  test('[F27] the requests of a minute are counted over both workers, exactly', async () => {
    const key = await creditKey({ rpm_limit: 20 });
    await workersUsed(folder);
    const responses = await Promise.all(Array.from({ length: AT_ONCE }, () => visit(key, 'models')));
    assert.equal(await workersUsed(folder), 2, 'both workers had a part in it');
    assert.equal(responses.filter(({ status }) => status === 200).length, 20);
    assert.equal(responses.filter(({ status }) => status === 429).length, AT_ONCE - 20);
    const remaining = responses
      .filter(({ status }) => status === 200)
      .map(({ headers }) => Number(headers.get('x-ratelimit-remaining-requests')));
    assert.deepEqual(
      remaining.toSorted((a, b) => a - b),
      Array.from({ length: 20 }, (_, index) => index),
      'no place was given twice',
    );
  });

  test("[R74] the key holder's page: the cookie that one worker sealed opens on both", async () => {
    const { key } = await creditKey({ label: 'mine' });
    const signedIn = await fetch(`${gateway.origin}/account/session`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ key }),
    });
    const cookie = signedIn.headers.get('set-cookie')?.split(';')[0] ?? '';
    await workersUsed(folder);
    const looks = await Promise.all(
      Array.from({ length: AT_ONCE }, () => fetch(`${gateway.origin}/account/data`, { headers: { cookie } })),
    );
    assert.equal(await workersUsed(folder), 2, 'both workers had a part in it');
    for (const look of looks) assert.match(await look.text(), /"label":"mine"/);
  });

  test('[F21] the same Idempotency-Key at once on both workers: one runs, the rest conflict, later ones replay', async () => {
    const key = await creditKey();
    const arrivals = upstream.arrivals;
    const ask = (): Promise<Response> =>
      visit(key, 'chat', { body: bodyOf('chat', 'once', GATED), headers: { 'Idempotency-Key': 'the-one' } });
    await workersUsed(folder);
    let refused = 0;
    const answers = await Promise.all(
      Array.from({ length: AT_ONCE }, async () => {
        const response = await ask();
        if (response.status === 200) return response.text();
        await refusal(response, 'chat', 409, 'idempotency_in_flight');
        refused += 1;
        if (refused === AT_ONCE - 1) (await upstream.next()).answer(10, 5, 'said once');
        return null;
      }),
    );
    assert.equal(refused, AT_ONCE - 1);
    const [first] = answers.filter((answer) => answer !== null);
    const replays = await Promise.all(Array.from({ length: AT_ONCE }, ask));
    assert.equal(await workersUsed(folder), 2, 'both workers had a part in it');
    for (const replay of replays) {
      assert.equal(replay.headers.get('idempotent-replayed'), 'true');
      assert.equal(await replay.text(), first);
    }
    assert.equal(upstream.arrivals, arrivals + 1);
    assert.equal((await usage(key)).requests.total, 1, 'charged once');
    await assertClean(gateway);
  });

  test('a key that is revoked is refused by both workers at once', async () => {
    const key = await creditKey();
    await Promise.all(Array.from({ length: AT_ONCE }, async () => (await visit(key, 'models')).arrayBuffer()));
    await gateway.admin.changeKey(key.id, { status: 'revoked' });
    await workersUsed(folder);
    const responses = await Promise.all(Array.from({ length: AT_ONCE }, () => visit(key, 'models')));
    assert.equal(await workersUsed(folder), 2, 'both workers had a part in it');
    assert.deepEqual([...new Set(responses.map(({ status }) => status))], [401]);
  });

  test('a second gateway on the port is noticed, in one line', async () => {
    const port = new URL(gateway.origin).port;
    for (const workers of ['1', '2']) {
      const { code, stderr } = await failedStart({ GATEWAY_PORT: port }, ['--workers', workers]);
      assert.equal(code, 1);
      assert.match(stderr, new RegExp(`^gateway: 127\\.0\\.0\\.1:${port} is in use: .*\\n$`));
    }
    assert.equal((await fetch(`${gateway.origin}/readyz`)).status, 200);
  });

  test('a host that is no address of this machine is told in one line', async () => {
    for (const workers of ['1', '2']) {
      const { code, stderr } = await failedStart({ GATEWAY_HOST: '192.0.2.1' }, ['--workers', workers]);
      assert.equal(code, 1);
      assert.match(stderr, /^gateway: GATEWAY_HOST is "192\.0\.2\.1": must be an address of this machine .*\n$/);
    }
  });

  test('a configuration that a worker cannot read is told in its own lines', async () => {
    const { code, stderr } = await failedStart({}, ['--workers', '2'], 'models: 7\n');
    assert.equal(code, 1);
    assert.match(stderr, /^gateway: .*gateway\.yaml: models: .*\n$/);
  });
});

/** A start that must fail, in a folder of its own. */
async function failedStart(
  env: Record<string, string>,
  flags: readonly string[],
  config?: string,
): Promise<{ code: number | null; stderr: string }> {
  const folder = await newFolder();
  if (config !== undefined) await writeFile(join(folder, 'gateway.yaml'), config);
  const child = execFile(process.execPath, [LAUNCHER, 'start', ...flags], {
    env: {
      PATH: process.env.PATH,
      GATEWAY_PORT: '0',
      GATEWAY_ADMIN_PORT: '0',
      GATEWAY_DATA: folder,
      GATEWAY_CONFIG: join(folder, 'gateway.yaml'),
      GATEWAY_DISCOVER_LOCAL: 'off',
      GATEWAY_LOG: 'warn',
      ...envOf(folder),
      ...env,
    },
  });
  let stderr = '';
  child.stderr?.on('data', (text: string) => {
    stderr += text;
  });
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, stderr };
}

describe('the end of two workers', () => {
  /** Streams that have begun, on both workers. */
  async function openStreams(gateway: GatewayProcess, folder: string, count: number) {
    const keys = await Promise.all(
      Array.from({ length: count }, () => gateway.admin.createKey({ mode: 'credit', credit: '5' })),
    );
    const clients = keys.map((key) => say(key, 'chat', 'go', { ...GATED, stream: true }));
    const gated = await Promise.all(keys.map(() => upstream.next()));
    for (const call of gated) call.begin();
    const responses = await Promise.all(clients);
    assert.equal(await workersUsed(folder), 2, 'both workers hold streams');
    return { keys, gated, responses };
  }

  test('[F9] SIGTERM drains all workers: running streams finish and are charged', async (t) => {
    const folder = await newFolder();
    const gateway = await startTwo(folder);
    const { keys, gated, responses } = await openStreams(gateway, folder, 32);
    const gone = gateway.kill('SIGTERM');
    // The port is closed to new connections before the streams go on.
    await untilRefused(gateway.origin);
    for (const call of gated) call.finish(10, 5);
    for (const response of responses) assert.match(await response.text(), /data: \[DONE\]\n\n$/);
    await gone;
    assert.equal(gateway.child.exitCode, 0);

    const again = await gatewayProcess(folder, envOf(folder));
    t.after(() => again.kill('SIGTERM'));
    for (const key of keys) assert.equal((await again.admin.showKey(key.id)).used, 0.00003);
    await assertClean(again);
  });

  test('[F1] [F2] kill -9 with streams on both workers, then a start: the books are right, nothing is held', async (t) => {
    const folder = await newFolder();
    const gateway = await startTwo(folder);
    const { keys, responses } = await openStreams(gateway, folder, 32);
    await gateway.kill('SIGKILL');
    // Workers do not go on without the process that they belong to.
    await Promise.allSettled(responses.map((response) => response.text()));
    await untilRefused(gateway.origin);

    const again = await startTwo(folder);
    t.after(() => again.kill('SIGTERM'));
    await recovered(again);
    for (const key of keys) {
      const { used, reserved } = await again.admin.showKey(key.id);
      assert.equal(reserved, 0);
      assert.ok(used < 0.001, `at most what was marked: ${used}`);
    }
  });

  for (const [how, line] of [
    ['by-error', /a worker ended by itself/],
    ['by-exit', /"how":"exit code 3".*a worker ended by itself/],
    ['by-kill', /"how":"signal SIGKILL".*a worker ended by itself/],
  ] as const) {
    test(`[F1] [F2] a worker that dies (${how}) is replaced; what the other serves finishes, and the books are right`, async (t) => {
      const folder = await newFolder();
      const gateway = await startTwo(folder);
      t.after(() => gateway.kill('SIGKILL'));
      const { keys, gated, responses } = await openStreams(gateway, folder, 32);
      await fetch(`${gateway.origin}/end/${how}`, { headers: { connection: 'close' } }).then(
        (response) => response.arrayBuffer(),
        () => undefined,
      );
      await gateway.until(line);
      for (const call of gated) call.finish(10, 5);
      const texts = await Promise.allSettled(responses.map((response) => response.text()));
      const whole = texts.filter(({ status }) => status === 'fulfilled').length;
      assert.ok(whole > 0 && whole < 32, `${whole} of 32 streams were on the other worker`);
      // The new one takes its part.
      await workersUsed(folder);
      do {
        const looks = Array.from({ length: AT_ONCE }, () =>
          fetch(`${gateway.origin}/readyz`, { headers: { connection: 'close' } }),
        );
        for (const look of await Promise.all(looks)) assert.equal(look.status, 200);
      } while ((await workersUsed(folder)) < 2);
      await recovered(gateway);
      const charges = await Promise.all(keys.map(async ({ id }) => (await gateway.admin.showKey(id)).used));
      assert.ok(charges.filter((used) => used === 0.00003).length >= whole, 'what was seen whole is charged once');
      for (const used of charges) assert.ok(used < 0.001, `at most what was marked: ${used}`);
      await gateway.kill('SIGTERM');
      assert.equal(gateway.child.exitCode, 0);
    });
  }
});

/** Waits until nobody listens there any more. */
async function untilRefused(origin: string): Promise<void> {
  for (;;) {
    try {
      await (await fetch(origin, { headers: { connection: 'close' } })).arrayBuffer();
    } catch {
      return;
    }
  }
}
