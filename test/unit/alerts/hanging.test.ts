/** Receivers that never answer, and what others notice of them. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { describe, type TestContext, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import type { Alert } from '../../../src/alerts/alert.ts';
import { certificateOfLocalhost } from '../../support/certificate.ts';
import { webhookReceiver } from '../../support/webhook-receiver.ts';
import { policyOf, SECRET, world } from './world.ts';

const WAITING = 100;

/** Accepts connections, and never says a word. */
async function hangingReceiver(t: TestContext) {
  const sockets = new Set<Socket>();
  let calls = 0;
  const server = createServer((socket) => {
    calls += 1;
    sockets.add(socket.on('error', () => {}).on('close', () => sockets.delete(socket)));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const end = (): void => {
    server.close();
    for (const socket of sockets) socket.destroy();
  };
  t.after(end);
  return {
    url: `https://localhost:${(server.address() as AddressInfo).port}/hook`,
    /** Calls that it has been made, and that are being made. */
    calls: () => calls,
    open: () => sockets.size,
    end,
  };
}

function alertOf(id: string): Alert {
  return { id, type: 'usage.level', atMs: 1, accountIds: [], data: { level: 80 } };
}

describe('[F45] a receiver that hangs', () => {
  test('holds up neither what is noticed nor the alerts of others, however many of its own wait', async (t) => {
    const hanging = await hangingReceiver(t);
    const certificate = certificateOfLocalhost();
    let secret = '';
    const customer = await webhookReceiver(t, () => secret, certificate);
    const operator = await webhookReceiver(t, () => SECRET, certificate);
    const webhooks = [{ name: 'ops', url: operator.url, secret: SECRET, types: ['credential.refused'] }];
    let refusedAt: string | null = null;
    const providers = async () => [{ name: 'p', credential_refused_at: refusedAt, targets: [] }];
    const { alerts, store, clock, service } = world(
      t,
      () => policyOf({ webhooks, ca: certificate.cert, accountsAllowPrivate: true }),
      {
        providers,
      },
    );
    const slow = await service.accounts.create({ name: 'slow' });
    const other = await service.accounts.create({ name: 'other' });
    await alerts.receivers.setWebhook(slow.id, hanging.url);
    secret = String((await alerts.receivers.setWebhook(other.id, customer.url)).secret);
    for (let i = 0; i < WAITING; i++) await store.raise(alertOf(`slow-${i}`), [`account ${slow.id}`], clock.atMs);
    alerts.start();
    while (hanging.open() === 0) await turn();

    refusedAt = new Date(clock.atMs).toISOString();
    await store.raise(alertOf('other-1'), [`account ${other.id}`], clock.atMs);
    await store.raise(alertOf('other-2'), [`account ${other.id}`], clock.atMs);
    await operator.until(({ body }) => body.type === 'credential.refused');
    await customer.until(({ id }) => id === 'other-2');
    assert.deepEqual(
      customer.received.map(({ id }) => id),
      ['other-1', 'other-2'],
    );
    assert.deepEqual([hanging.open(), hanging.calls()], [1, 1], 'the first call of the one that hangs has not ended');
    hanging.end();
    await alerts.close();
  });

  test('or whose name is never resolved is given up in time', async (t) => {
    const webhooks = [{ name: 'ops', url: 'https://hook.example/', secret: SECRET, types: null }];
    const resolve = () => new Promise<never>(() => {});
    const { alerts } = world(t, () => policyOf({ webhooks }), { resolve, timeoutMs: 50 });
    const { deliveries } = await alerts.test();
    assert.deepEqual([deliveries[0]?.state, deliveries[0]?.error], ['pending', 'no answer within 0.05 s']);
  });

  test('does not hold up a test of the webhooks of the operator', async (t) => {
    const hanging = await hangingReceiver(t);
    const receiver = await webhookReceiver(t, () => SECRET);
    const webhooks = [{ name: 'ops', url: receiver.url, secret: SECRET, types: null }];
    const { alerts, store, clock, service } = world(t, () => policyOf({ webhooks, ca: receiver.ca }));
    const slow = await service.accounts.create({ name: 'slow' });
    await alerts.receivers.setWebhook(slow.id, hanging.url);
    for (let i = 0; i < WAITING; i++) await store.raise(alertOf(`slow-${i}`), [`account ${slow.id}`], clock.atMs);
    const { deliveries } = await alerts.test();
    assert.deepEqual(
      deliveries.map(({ target, state }) => [target, state]),
      [['webhook ops', 'delivered']],
    );
    assert.equal(hanging.calls(), 0);
  });

  test('takes the share of one account with all that are below it', async (t) => {
    const hanging = await hangingReceiver(t);
    const { alerts, store, clock, service } = world(t, () => policyOf({ accountsAllowPrivate: true }));
    const root = await service.accounts.create({ name: 'root' });
    const alone = await service.accounts.create({ name: 'alone' });
    const teams = [];
    for (let i = 0; i < 5; i++) teams.push(await service.accounts.create({ name: `team ${i}`, parent: root.id }));
    const all = [root, ...teams, alone];
    for (const { id } of all) {
      await alerts.receivers.setWebhook(id, hanging.url);
      await store.raise(alertOf(`to-${id}`), [`account ${id}`], clock.atMs);
    }
    const delivering = alerts.deliver();
    while (hanging.open() < 3) await turn();
    const again = alerts.deliver();
    const before = await store.dueTargets(clock.atMs, 100);
    assert.deepEqual(
      before.map(({ target }) => target),
      teams.slice(1).map(({ id }) => `account ${id}`),
    );
    assert.equal(hanging.calls(), 3);
    hanging.end();
    await Promise.all([delivering, again]);
    assert.deepEqual(await store.dueTargets(clock.atMs, 100), [], 'each had its turn');
  });

  test('with more that waits below one account than is looked at together, keeps nobody else waiting', async (t) => {
    const hanging = await hangingReceiver(t);
    const certificate = certificateOfLocalhost();
    let secret = '';
    const customer = await webhookReceiver(t, () => secret, certificate);
    const operator = await webhookReceiver(t, () => SECRET, certificate);
    const webhooks = [{ name: 'pager', url: operator.url, secret: SECRET, types: null }];
    const { alerts, store, clock, service } = world(t, () =>
      policyOf({ webhooks, ca: certificate.cert, accountsAllowPrivate: true }),
    );
    const root = await service.accounts.create({ name: 'root' });
    const team = await service.accounts.create({ name: 'team', parent: root.id });
    const other = await service.accounts.create({ name: 'other' });
    for (const { id } of [root, team]) await alerts.receivers.setWebhook(id, hanging.url);
    secret = String((await alerts.receivers.setWebhook(other.id, customer.url)).secret);
    // The two that hang have waited longest, and those behind them are more than two looks find.
    await store.raise(alertOf('first'), [`account ${root.id}`, `account ${team.id}`], clock.atMs - 2);
    const behind = Array.from({ length: 2_100 }, (_, index) => `account ${root.id} slack_${index}`);
    await store.raise(alertOf('behind'), behind, clock.atMs - 1);
    await store.raise(alertOf('newer'), [`account ${other.id}`, 'webhook pager'], clock.atMs);
    const delivering = alerts.deliver();
    await operator.until(({ id }) => id === 'newer');
    await customer.until(({ id }) => id === 'newer');
    assert.equal(hanging.calls(), 2, 'the account has its share');
    const closing = alerts.close();
    hanging.end();
    await Promise.all([delivering, closing]);
  });
});
