/** One gateway with the embedded store, and one data folder for the whole run. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startSandbox } from '../../src/sandbox/server.ts';
import { ChaosProxy } from '../resilience/chaos/chaos-proxy.ts';
import { sqliteCharges } from '../support/charges.ts';
import { TorturedGateway } from './gateways.ts';
import { configFor, cut, LEASE_S, type World } from './world.ts';

export async function sqliteWorld(): Promise<World> {
  await using parts = new AsyncDisposableStack();
  const dataDir = await mkdtemp(join(tmpdir(), 'gateway-torture-'));
  parts.defer(() => rm(dataDir, { recursive: true, force: true }));
  const sandbox = await startSandbox();
  parts.defer(() => sandbox.close());
  const proxy = await ChaosProxy.start(sandbox.port);
  parts.defer(() => proxy.close());
  await writeFile(join(dataDir, 'gateway.yaml'), configFor(proxy.port));
  const deaths: string[] = [];
  const gateway = new TorturedGateway(dataDir, {}, 1, deaths);
  await gateway.start();
  parts.defer(() => gateway.kill());

  const opened = parts.move();
  return {
    name: 'sqlite',
    faults: [
      { name: 'kill -9', weight: 10, run: (random) => gateway.killAndStart(random) },
      { name: 'frozen past its lease', weight: 2, run: (random) => gateway.freeze(random) },
      { name: 'drained and started', weight: 1, run: () => gateway.drainAndStart() },
      { name: 'provider cut', weight: 2, run: () => cut(proxy) },
    ],
    recoveryMs: LEASE_S * 1_000 + 120_000,
    origin: () => gateway.process.origin,
    get admin() {
      return gateway.process.admin;
    },
    charges: async (keyIds) => sqliteCharges(join(dataDir, 'gateway.db'), keyIds),
    deaths,
    deadlocks: 0,
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}
