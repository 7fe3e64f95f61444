/** One gateway process on SQLite under load, with everything that can happen to it. */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { type Sandbox, startSandbox } from '../../../src/sandbox/server.ts';
import { type GatewayProcess, gatewayProcess } from '../../support/gateway-process.ts';
import { ChaosProxy } from './chaos-proxy.ts';
import { assertBooks, farProvider, Load, newJobs } from './load.ts';

const JOBS = 20;
const LEASE_S = 1;

let dataDir: string;
let sandbox: Sandbox;
let proxy: ChaosProxy;
let gateway: GatewayProcess;

const start = () => gatewayProcess(dataDir, { GATEWAY_LEASE_SECONDS: String(LEASE_S) });

before(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'gateway-chaos-'));
  sandbox = await startSandbox();
  proxy = await ChaosProxy.start(sandbox.port);
  await writeFile(join(dataDir, 'gateway.yaml'), farProvider(proxy.port));
  gateway = await start();
});
after(async () => {
  await gateway.kill('SIGKILL');
  await proxy.close();
  await sandbox.close();
  await rm(dataDir, { recursive: true, force: true });
});

test('[F10] frozen past its lease and resumed: every stream goes on and is charged once', async () => {
  const jobs = await newJobs(gateway.admin, JOBS);
  const load = new Load(jobs, () => gateway.origin);
  await load.frames(JOBS * 10);
  gateway.child.kill('SIGSTOP');
  await delay(LEASE_S * 2_000);
  gateway.child.kill('SIGCONT');
  await load.ended;
  // Nobody else was there to end its holds, so nothing is lost.
  assert.equal((await assertBooks(gateway.admin, jobs)).complete, JOBS);
});

test('[F15] the connections to the provider are cut: what was produced is charged once, nothing that was not', async () => {
  const jobs = await newJobs(gateway.admin, JOBS);
  const load = new Load(jobs, () => gateway.origin);
  await load.frames(JOBS * 20);
  proxy.cut();
  await load.ended;
  await assertBooks(gateway.admin, jobs);
});

test('[F1] [F2] [F3] [F4] killed under load, again and again: a repeat with the same Idempotency-Key never pays twice', async () => {
  const jobs = await newJobs(gateway.admin, JOBS);
  const load = new Load(jobs, () => gateway.origin);
  for (const round of [1, 2]) {
    await load.frames(JOBS * 20 * round);
    await gateway.kill('SIGKILL');
    gateway = await start();
  }
  await load.ended;
  await assertBooks(gateway.admin, jobs);
});
