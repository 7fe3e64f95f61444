import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { readSettings } from '../../../src/config/settings.ts';
import { NO_LOG } from '../../../src/core/log.ts';
import type { DefinitionReader } from '../../../src/operators/definitions.ts';
import { followDefinitions, servedEverywhere } from '../../../src/process/definitions.ts';

const settings = readSettings({ DATABASE_URL: 'postgres://nowhere/gateway' });

/** The store, in memory. */
class Store {
  newest = 0;
  fails = false;
  readonly readers = new Map<string, DefinitionReader>();

  async beat(reader: DefinitionReader): Promise<number> {
    if (this.fails) throw new Error('the store does not answer');
    this.readers.set(reader.id, reader);
    return this.newest;
  }

  async readersBefore(revision: number): Promise<readonly DefinitionReader[]> {
    return [...this.readers.values()].filter((reader) => reader.revision < revision);
  }

  async forgetReader({ id }: Pick<DefinitionReader, 'id' | 'beat'>): Promise<void> {
    this.readers.delete(id);
  }
}

async function follower(store: Store, beatMs: number) {
  const served = { revision: -1 };
  const follow = await followDefinitions({
    settings,
    definitions: store,
    log: NO_LOG,
    revision: () => served.revision,
    take: async () => {
      served.revision = store.newest;
      return [];
    },
    beatMs,
  });
  return { served, follow };
}

describe('a process that serves by the definitions of operators', () => {
  test('is waited for from before it has loaded them, and may serve when it has said by which it does', async () => {
    const store = new Store();
    const { follow, served } = await follower(store, 60_000);
    assert.equal((await store.readersBefore(0)).length, 1);
    assert.equal(follow.lease.held(), false);
    await follow.begin();
    assert.equal(follow.lease.held(), true);
    assert.equal((await store.readersBefore(0)).length, 0);
    store.newest = 3;
    assert.equal((await store.readersBefore(3)).length, 1);
    await follow.lease.renew();
    assert.deepEqual([served.revision, (await store.readersBefore(3)).length], [3, 0]);
    await follow.stop();
    assert.equal(store.readers.size, 0);
  });

  test('finds changes by itself, and whoever made one waits for that', async () => {
    const store = new Store();
    const { follow, served } = await follower(store, 5);
    await follow.begin();
    store.newest = 1;
    await servedEverywhere(store, 1);
    assert.equal(served.revision, 1);
    await follow.stop();
  });

  test('refuses requests where it cannot find out whether something has changed', async () => {
    const store = new Store();
    const { follow } = await follower(store, 60_000);
    store.fails = true;
    await assert.rejects(follow.lease.renew(), { condition: 'service_unavailable' });
    store.fails = false;
    await follow.lease.renew();
    assert.equal(follow.lease.held(), true);
    await follow.stop();
  });

  test('goes on with what it has where the change cannot be taken, and is not counted among those that have it', async () => {
    const store = new Store();
    store.newest = 2;
    const options = { settings, definitions: store, log: NO_LOG, revision: () => 1, beatMs: 60_000 };
    const { begin, lease, stop } = await followDefinitions({ ...options, take: async () => ['ca: does not exist'] });
    await begin();
    assert.equal(lease.held(), true);
    assert.equal((await store.readersBefore(2)).length, 1);
    await stop();
  });

  test('is not waited for any longer than it may serve, once it has died or stands still', async () => {
    const store = new Store();
    store.readers.set('dead', { id: 'dead', revision: 0, beat: 7 });
    await servedEverywhere(store, 1, { leaseMs: 20, driftMs: 5 });
    assert.equal(store.readers.size, 0);
  });

  test('is named to whoever waits where it lives and does not take the change', async () => {
    let beat = 0;
    const stuck = {
      readersBefore: async () => [{ id: 'stuck', revision: 0, beat: ++beat }],
      forgetReader: () => assert.fail('it lives'),
    };
    await assert.rejects(servedEverywhere(stuck, 1, { waitMs: 20 }), {
      code: 'unavailable',
      message: /the change is saved, but 1 other process does not have it yet/,
    });
  });

  test('needs none of this where it is the only one', async () => {
    const alone = readSettings({});
    const definitions = { beat: () => assert.fail('nobody asks'), forgetReader: () => assert.fail('nobody asks') };
    const options = { settings: alone, definitions, log: NO_LOG, revision: () => 0, take: async () => [] };
    const { lease, begin, stop } = await followDefinitions(options);
    await begin();
    assert.equal(lease.held(), true);
    await stop();
  });
});
