/** Alerts on their way: webhooks over real HTTPS, commands, repeats and dead letters. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { checkedAddress } from '../../../src/alerts/address.ts';
import { RETRY_AFTER_MS } from '../../../src/alerts/deliverer.ts';
import type { SqlAlertStore } from '../../../src/alerts/sql-store.ts';
import { signature, wrongWebhookUrl } from '../../../src/alerts/webhook.ts';
import { isPublic } from '../../../src/core/public-address.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { webhookReceiver } from '../../support/webhook-receiver.ts';
import { policyOf, SECRET, world } from './world.ts';

describe('a webhook', () => {
  test('gets an alert once, signed as Standard Webhooks has it', async (t) => {
    const receiver = await webhookReceiver(t, () => SECRET);
    const webhooks = [{ name: 'ops', url: receiver.url, secret: SECRET, types: null }];
    const { alerts } = world(t, () => policyOf({ webhooks, ca: receiver.ca }));
    const { id, deliveries } = await alerts.test();
    assert.deepEqual(
      deliveries.map(({ target, state, attempts, error }) => [target, state, attempts, error]),
      [['webhook ops', 'delivered', 1, null]],
    );
    await alerts.deliver();
    assert.deepEqual(
      receiver.received.map((one) => [one.id, one.body.type]),
      [[id, 'alert.test']],
    );
  });

  test('is signed as the example of the specification', () => {
    const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
    const body = '{"test": 2432232314}';
    assert.equal(
      signature(secret, 'msg_p5jXN8AQM9LWM0D4loKWxJek', 1614265330, body),
      'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    );
  });

  test('that fails is tried again with the same id, later and later, and is a dead letter in the end', async (t) => {
    const receiver = await webhookReceiver(t, () => SECRET);
    const webhooks = [{ name: 'ops', url: receiver.url, secret: SECRET, types: null }];
    const { alerts, clock } = world(t, () => policyOf({ webhooks, ca: receiver.ca }));
    receiver.answer(500);
    const { id, deliveries } = await alerts.test();
    assert.match(String(deliveries[0]?.error), /status 500/);
    for (const [index, waitMs] of RETRY_AFTER_MS.entries()) {
      clock.atMs += waitMs - 1;
      await alerts.deliver();
      assert.equal(receiver.received.length, index + 1);
      clock.atMs += 1;
      await alerts.deliver();
      assert.equal(receiver.received.length, index + 2);
    }
    const query = { limit: 10, before: null };
    const dead = await alerts.deliveries({ ...query, state: 'dead' });
    assert.deepEqual(
      dead.map(({ alertId, attempts }) => [alertId, attempts]),
      [[id, RETRY_AFTER_MS.length + 1]],
    );
    assert.deepEqual(new Set(receiver.received.map((one) => one.id)), new Set([id]));
    assert.deepEqual(await alerts.deliveries({ ...query, state: 'pending' }), []);
  });

  test('that fails rests until what failed is due, and then gets all that waits, the oldest first', async (t) => {
    const receiver = await webhookReceiver(t, () => SECRET);
    const webhooks = [{ name: 'ops', url: receiver.url, secret: SECRET, types: null }];
    const { alerts, another, clock, store } = world(t, () => policyOf({ webhooks, ca: receiver.ca }));
    const gateways = [alerts, another()];
    const raise = (id: string): Promise<boolean> =>
      store.raise({ id, type: 'alert.test', atMs: clock.atMs, accountIds: [], data: {} }, ['webhook ops'], clock.atMs);
    /** What it is sent when so much time has passed. */
    const sentAfter = async (ms: number): Promise<readonly string[]> => {
      const before = receiver.received.length;
      clock.atMs += ms;
      for (const gateway of gateways) await gateway.deliver();
      return receiver.received.slice(before).map(({ id }) => id);
    };
    const [first = 0, second = 0, third = 0, fourth = 0, fifth = 0] = RETRY_AFTER_MS;
    for (const id of ['a', 'b', 'c']) await raise(id);
    receiver.answer(500);
    assert.deepEqual(await sentAfter(0), ['a']);
    await raise('d');
    assert.deepEqual(await sentAfter(first - 1), []);
    assert.deepEqual(await sentAfter(1), ['a']);
    receiver.answer(204);
    assert.deepEqual(await sentAfter(second), ['a', 'b', 'c', 'd']);

    // Half an hour at most: what is never taken does not keep the rest back for days.
    for (const id of ['e', 'f', 'g']) await raise(id);
    receiver.answer(500);
    for (const wait of [0, first, second, third, fourth]) assert.deepEqual(await sentAfter(wait), ['e']);
    receiver.answer(204);
    assert.deepEqual(await sentAfter(1_800_000 - 1), []);
    assert.deepEqual(await sentAfter(1), ['f', 'g']);
    assert.deepEqual(await sentAfter(fifth - 1_800_000), ['e']);

    // Nor does it rest where something was taken meanwhile.
    for (const id of ['h', 'i']) await raise(id);
    receiver.answer(500);
    assert.deepEqual(await sentAfter(0), ['h']);
    receiver.answer(204);
    clock.atMs += 1;
    await alerts.test();
    assert.deepEqual(await sentAfter(0), ['i']);
    assert.deepEqual(await sentAfter(first), ['h']);
  });

  test('whose answer was not noted before the gateway died gets the alert again, with the same id', async (t) => {
    const receiver = await webhookReceiver(t, () => SECRET);
    const webhooks = [{ name: 'ops', url: receiver.url, secret: SECRET, types: null }];
    const { another, clock } = world(t, () => policyOf({ webhooks, ca: receiver.ca }));
    const dying = another((store) =>
      Object.assign(Object.create(store) as SqlAlertStore, {
        raise: store.raise.bind(store),
        waitingOf: store.waitingOf.bind(store),
        webhooks: store.webhooks.bind(store),
        delivered: async () => {
          throw new Error('killed between delivery and mark');
        },
      }),
    );
    await assert.rejects(dying.test(), /killed/);
    assert.equal(receiver.received.length, 1);
    const survivor = another();
    await survivor.deliver();
    assert.equal(receiver.received.length, 1, 'the lease of the one that died still counts');
    clock.atMs += 60_000;
    await survivor.deliver();
    const [first, second] = receiver.received;
    assert.ok(first !== undefined && second !== undefined);
    assert.equal(second.id, first.id);
    clock.atMs += 3_600_000;
    await survivor.deliver();
    assert.equal(receiver.received.length, 2);
  });

  test('a test says what became of it, whoever looks for deliveries meanwhile', async (t) => {
    const receiver = await webhookReceiver(t, () => SECRET);
    const webhooks = [{ name: 'ops', url: receiver.url, secret: SECRET, types: null }];
    const { another } = world(t, () => policyOf({ webhooks, ca: receiver.ca }));
    const other = another();
    const tested = another((store) =>
      Object.assign(Object.create(store) as SqlAlertStore, {
        raise: async (...alert: Parameters<SqlAlertStore['raise']>) => {
          const isNew = await store.raise(...alert);
          await other.deliver();
          assert.equal(receiver.received.length, 0, 'it is not the other one’s to deliver');
          return isNew;
        },
        waitingOf: store.waitingOf.bind(store),
        webhooks: store.webhooks.bind(store),
        delivered: store.delivered.bind(store),
        deliveries: store.deliveries.bind(store),
      }),
    );
    const { deliveries } = await tested.test();
    assert.deepEqual(
      deliveries.map(({ state }) => state),
      ['delivered'],
    );
  });

  test('is called by one of several gateways that look at the same time', async (t) => {
    const receiver = await webhookReceiver(t, () => SECRET);
    const webhooks = [{ name: 'ops', url: receiver.url, secret: SECRET, types: null }];
    const { another } = world(t, () => policyOf({ webhooks, ca: receiver.ca }));
    const gateways = [another(), another(), another()];
    const failed = {
      ok: false,
      keys: 1,
      entries: 1,
      liveHolds: 0,
      findings: ['key k: 1 is missing'],
      flagged: 0,
      flaggedCharges: [],
    };
    await Promise.all(gateways.map((gateway) => gateway.auditFailed(failed)));
    await Promise.all(gateways.map((gateway) => gateway.deliver()));
    assert.deepEqual(
      receiver.received.map(({ body }) => [body.type, body.data.count]),
      [['audit.failed', 1]],
    );
  });

  test('that redirects or is gone is not followed, and one that is gone is not tried again', async (t) => {
    const receiver = await webhookReceiver(t, () => SECRET);
    const webhooks = [{ name: 'ops', url: receiver.url, secret: SECRET, types: null }];
    const { alerts } = world(t, () => policyOf({ webhooks, ca: receiver.ca }));
    receiver.answer(307, { location: receiver.url });
    const redirected = await alerts.test();
    assert.match(String(redirected.deliveries[0]?.error), /status 307, and redirects are not followed/);
    receiver.answer(410);
    const gone = await alerts.test();
    assert.deepEqual([gone.deliveries[0]?.state, receiver.received.length], ['dead', 2]);
  });

  test('that does not answer is given up, and the delivery says so', async (t) => {
    const sockets = new Set<Socket>();
    const silent = createServer((socket) => sockets.add(socket.on('error', () => {}))).listen(0, '127.0.0.1');
    t.after(() => {
      silent.close();
      for (const socket of sockets) socket.destroy();
    });
    await once(silent, 'listening');
    const url = `https://localhost:${(silent.address() as AddressInfo).port}/hook`;
    const webhooks = [{ name: 'ops', url, secret: SECRET, types: null }];
    const { alerts } = world(t, () => policyOf({ webhooks }), { timeoutMs: 50 });
    const { deliveries } = await alerts.test();
    assert.deepEqual([deliveries[0]?.state, deliveries[0]?.error], ['pending', 'no answer within 0.05 s']);
  });

  test('gets only the types that it asks for, and nothing of a certificate that nobody vouches for', async (t) => {
    const receiver = await webhookReceiver(t, () => SECRET);
    const hook = { url: receiver.url, secret: SECRET };
    const webhooks = [
      { name: 'circuits', ...hook, types: ['circuit.open'] },
      { name: 'all', ...hook, types: null },
    ];
    const { alerts } = world(t, () => policyOf({ webhooks }));
    const { deliveries } = await alerts.test();
    assert.deepEqual(
      deliveries.map(({ target, state }) => [target, state]),
      [['webhook all', 'pending']],
    );
    assert.match(String(deliveries[0]?.error), /certificate/);
    assert.equal(receiver.received.length, 0);
  });

  test('never leads to this machine or a private network, whatever its name says, unless the operator allows it', async (t) => {
    const receiver = await webhookReceiver(t, () => SECRET);
    const webhooks = [{ name: 'ops', url: receiver.url, secret: SECRET, types: null }];
    const refused = world(t, () => policyOf({ webhooks, ca: receiver.ca, allowPrivate: false }));
    const { deliveries } = await refused.alerts.test();
    assert.match(String(deliveries[0]?.error), /localhost leads to (127\.0\.0\.1|::1), which is not a public address/);
    const answers = [['203.0.114.7'], ['8.8.8.8', '10.0.0.1'], ['::ffff:10.0.0.1'], ['fd00::1'], []];
    const outcomes = answers.map((addresses) =>
      checkedAddress('hook.example', { allowPrivate: false }, async () =>
        addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }) as const),
      ).then(
        ({ address }) => address,
        (error: Error) => error.message.replace(/ \(the config file.*/, ''),
      ),
    );
    assert.deepEqual(await Promise.all(outcomes), [
      '203.0.114.7',
      'hook.example leads to 10.0.0.1, which is not a public address',
      'hook.example leads to ::ffff:10.0.0.1, which is not a public address',
      'hook.example leads to fd00::1, which is not a public address',
      'hook.example has no address',
    ]);
    await assert.rejects(checkedAddress('[::1]', { allowPrivate: false }), /not a public address/);
    await assert.rejects(checkedAddress('169.254.169.254', { allowPrivate: false }), /not a public address/);
    for (const address of ['0.0.0.0', '100.64.0.1', '192.168.1.1', '172.31.0.1', '224.0.0.1', '255.255.255.255']) {
      assert.equal(isPublic({ address, family: 4 }), false, address);
    }
    const local = [
      '::',
      '::1',
      '::127.0.0.1',
      'fc00::1',
      'fd00::1',
      'fe80::1',
      'fec0::1',
      'ff02::1',
      '100::1',
      '5f00::1',
    ];
    const documented = ['2001:db8::1', '3fff::1'];
    // Mapped, translated, NAT64 of both kinds, Teredo, 6to4.
    const carriers = [
      '::ffff:10.0.0.1',
      '::ffff:0:10.0.0.1',
      '64:ff9b::a00:1',
      '64:ff9b:1::a00:1',
      '2001::1',
      '2002:a00:1::',
    ];
    for (const address of [...local, ...documented, ...carriers]) {
      assert.equal(isPublic({ address, family: 6 }), false, address);
    }
    for (const address of ['2606:4700::1111', '2001:4860:4860::8888', '2a00:1450::1']) {
      assert.equal(isPublic({ address, family: 6 }), true, address);
    }
  });

  test('of an account leads into a private network only where a setting for accounts allows it', async (t) => {
    const receiver = await webhookReceiver(t, () => ofAccount);
    let accountsAllowPrivate = false;
    const { alerts, store, clock } = world(t, () => policyOf({ ca: receiver.ca, accountsAllowPrivate }));
    const ofAccount = String((await alerts.receivers.setWebhook('acct_1', receiver.url)).secret);
    const alert = { id: 'alrt_1', type: 'usage.level', atMs: clock.atMs, accountIds: ['acct_1'], data: {} } as const;
    await store.raise(alert, ['account acct_1'], clock.atMs);
    const delivery = async () =>
      (await store.deliveries({ limit: 1, before: null, state: null, alertId: alert.id }))[0];
    await alerts.deliver();
    assert.match(String((await delivery())?.error), /localhost leads to \S+, which is not a public address/);
    assert.equal(receiver.received.length, 0);
    accountsAllowPrivate = true;
    clock.atMs += RETRY_AFTER_MS[0] ?? 0;
    await alerts.deliver();
    assert.deepEqual([(await delivery())?.state, receiver.received.length], ['delivered', 1]);
  });

  test('connects to the address that was judged, even if the name has another one a moment later', async (t) => {
    const receiver = await webhookReceiver(t, () => SECRET);
    const webhooks = [{ name: 'ops', url: receiver.url, secret: SECRET, types: null }];
    let asked = 0;
    const resolve = async () => [{ address: asked++ === 0 ? '127.0.0.1' : '127.0.0.2', family: 4 as const }];
    const { alerts } = world(t, () => policyOf({ webhooks, ca: receiver.ca }), { resolve });
    const { deliveries } = await alerts.test();
    assert.deepEqual([deliveries[0]?.state, asked], ['delivered', 1]);
  });

  test('has an https address without credentials', () => {
    assert.equal(wrongWebhookUrl('https://hook.example/a?b=c'), null);
    for (const url of [
      'http://hook.example',
      'ftp://x',
      'hook',
      'https://u:p@hook.example',
      'https://hook.example/#x',
    ]) {
      assert.notEqual(wrongWebhookUrl(url), null, url);
    }
  });
});

describe('the command', () => {
  test('is run without a shell, with its arguments as they are and the alert on its input', async (t) => {
    const folder = temporaryFolder();
    const script = join(folder, 'notify.mjs');
    const seen = join(folder, 'seen.json');
    writeFileSync(
      script,
      `import { readFileSync, writeFileSync } from 'node:fs';
      const { GATEWAY_ALERT_ID, PATH, ...others } = process.env;
      const input = JSON.parse(readFileSync(0, 'utf8'));
      writeFileSync(${JSON.stringify(seen)}, JSON.stringify({ argv: process.argv.slice(2), input, id: GATEWAY_ALERT_ID, others }));`,
    );
    const command = [process.execPath, script, '$(touch injected)', '; exit 1', 'a b'];
    const { alerts } = world(t, () => policyOf({ command }));
    const { id, deliveries } = await alerts.test();
    assert.deepEqual(
      [deliveries[0]?.target, deliveries[0]?.state, deliveries[0]?.error],
      ['command', 'delivered', null],
    );
    const ran = JSON.parse(readFileSync(seen, 'utf8'));
    assert.deepEqual([ran.argv, ran.id, ran.input.type], [command.slice(2), id, 'alert.test']);
    assert.deepEqual(
      Object.keys(ran.others).filter((name) => !/^(PWD|SHLVL|_|LC_CTYPE|NODE_.*)$/.test(name)),
      [],
      'nothing of the environment of the gateway',
    );
  });

  test('that fails, or is not there, is tried again', async (t) => {
    let command = [process.execPath, '-e', 'console.error("no pager"); process.exit(3)'];
    const { alerts } = world(t, () => policyOf({ command }));
    const failed = await alerts.test();
    assert.match(String(failed.deliveries[0]?.error), /ended with 3: no pager/);
    command = ['/nowhere/to/be/found'];
    assert.match(String((await alerts.test()).deliveries[0]?.error), /ENOENT/);
  });
});

describe('without a section alerts', () => {
  test('nothing is stored, watched or delivered', async (t) => {
    const { alerts, store } = world(t, () => null);
    await alerts.auditFailed({
      ok: false,
      keys: 0,
      entries: 0,
      liveHolds: 0,
      findings: ['x'],
      flagged: 0,
      flaggedCharges: [],
    });
    await alerts.deliver();
    assert.equal(alerts.enabled, false);
    assert.deepEqual(await store.alerts({ limit: 5, before: null, type: null }), []);
  });
});
