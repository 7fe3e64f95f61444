/** When the owners of holds are declared dead: not because the store itself was away. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { promisify } from 'node:util';
import type { OwnedLedger } from '../../../src/ledger/ledger.ts';
import { startMaintenance } from '../../../src/ledger/maintenance.ts';

const LEASE_MS = 30;

/** Counts what is asked of it; `after` resolves when so many more have been asked. */
class Count {
  #count = 0;
  readonly #waiting: { readonly at: number; resolve(): void }[] = [];

  get count(): number {
    return this.#count;
  }

  add(): void {
    this.#count += 1;
    for (const { resolve } of this.#waiting.filter(({ at }) => at <= this.#count)) resolve();
  }

  after(more: number): Promise<void> {
    return new Promise((resolve) => this.#waiting.push({ at: this.#count + more, resolve }));
  }
}

interface Counted {
  readonly shared: boolean;
  readonly beats: Count;
  readonly recoveries: Count;
  /** The store's time since the last heartbeat. */
  sinceMs(): number;
}

function countedLedger({ shared, beats, recoveries, sinceMs }: Counted): OwnedLedger {
  return {
    leaseMs: LEASE_MS,
    shared,
    register: async () => {},
    heartbeat: async () => {
      beats.add();
      return sinceMs();
    },
    recover: async () => {
      recoveries.add();
      return { charged: 0, voided: 0, more: false };
    },
    prune: async () => ({ removed: 0, more: false }),
  } as unknown as OwnedLedger;
}

test('[F7] [F30] after the store was away for everyone, the others get a lease to come back before they count as dead', async () => {
  const beats = new Count();
  const recoveries = new Count();
  let nowMs = 1_000_000;
  let sinceMs = 0;
  const takeSinceMs = (): number => {
    const since = sinceMs;
    sinceMs = 0;
    return since;
  };
  const ledger = countedLedger({ shared: false, beats, recoveries, sinceMs: takeSinceMs });
  const maintenance = await startMaintenance(ledger, { recoverIntervalMs: 5, nowMs: () => nowMs });
  await recoveries.after(2);

  // By the store's clock: everybody's lease is over, whether its owner lives or not. This process may not have seen time pass.
  sinceMs = LEASE_MS;
  await beats.after(1);
  const before = recoveries.count;
  await beats.after(6);
  assert.equal(recoveries.count, before);

  const again = recoveries.after(1);
  for (let step = 0; step < 3; step++) {
    nowMs += LEASE_MS * 0.4;
    await beats.after(2);
  }
  await again;
  await maintenance.stop();
});

test('[F7] [F30] in a shared store whoever starts recovers nothing for a lease; one that is its own alone, at once', async () => {
  for (const shared of [true, false]) {
    const beats = new Count();
    const recoveries = new Count();
    let nowMs = 0;
    const ledger = countedLedger({ shared, beats, recoveries, sinceMs: () => 0 });
    const maintenance = await startMaintenance(ledger, { recoverIntervalMs: 5, nowMs: () => nowMs });
    assert.equal(recoveries.count, shared ? 0 : 1);
    for (let step = 0; step < 2; step++) {
      nowMs += LEASE_MS * 0.4;
      await beats.after(2);
    }
    if (shared) assert.equal(recoveries.count, 0);
    const again = recoveries.after(1);
    nowMs += LEASE_MS * 0.4;
    await again;
    await maintenance.stop();
  }
});

test('a failure of the rollups is told, tried again, and says nothing about the store', async () => {
  const errors: unknown[] = [];
  const rolls = new Count();
  let failing = true;
  const ledger = {
    leaseMs: LEASE_MS,
    register: async () => {},
    heartbeat: async () => {},
    recover: async () => ({ charged: 0, voided: 0, more: false }),
    prune: async () => ({ removed: 0, more: false }),
    rollUp: async () => {
      rolls.add();
      if (failing) throw new Error('no');
      return { charges: 1, more: rolls.count % 3 !== 0 };
    },
  } as unknown as OwnedLedger;
  const maintenance = await startMaintenance(ledger, { rollUpIntervalMs: 2, onError: (error) => errors.push(error) });
  await rolls.after(3);
  assert.ok(maintenance.healthy && errors.length >= 2);
  failing = false;
  await rolls.after(5);
  await maintenance.stop();
  const after = rolls.count;
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(rolls.count, after);
});

test('stopping is waited for, though nothing but a pause between two rollups keeps the process alive', async () => {
  const script = `
    import { startMaintenance } from ${JSON.stringify(import.meta.resolve('../../../src/ledger/maintenance.ts'))};
    const ledger = { leaseMs: 1e6, register() {}, recover: () => ({ more: false }), rollUp: async () => {
      clearTimeout(alive);
      setImmediate(() => maintenance.stop().then(() => console.log('stopped')));
      return { charges: 1, more: true };
    } };
    const alive = setTimeout(() => {}, 1e6);
    const maintenance = await startMaintenance(ledger, { rollUpIntervalMs: 1 });`;
  const child = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script]);
  assert.equal(child.stdout, 'stopped\n');
});

test('the retention of usage records is the one that counts now', async () => {
  const asked: (number | null)[] = [];
  const prunes = new Count();
  let keepMs: number | null = null;
  const ledger = {
    leaseMs: LEASE_MS,
    register: async () => {},
    heartbeat: async () => {},
    recover: async () => ({ charged: 0, voided: 0, more: false }),
    rollUp: async () => ({ charges: 0, more: false }),
    prune: async (usageKeepMs: number | null) => {
      asked.push(usageKeepMs);
      prunes.add();
      return { removed: 0, more: false };
    },
  } as unknown as OwnedLedger;
  const maintenance = await startMaintenance(ledger, { pruneIntervalMs: 2, usageKeepMs: () => keepMs });
  await prunes.after(1);
  keepMs = 5_000;
  await prunes.after(2);
  await maintenance.stop();
  assert.deepEqual([asked[0], asked.at(-1)], [null, 5_000]);
});
