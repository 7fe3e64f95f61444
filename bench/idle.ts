/**
 * What an idle gateway costs: `node bench/idle.ts [SECONDS] [CHECKOUT]`. Memory, CPU time of all its threads and how often they wake
 * up, after it has served a request and come to rest.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { treeUse } from './cpu.ts';
import { freePort, sleep, startChild } from './processes.ts';
import { footprintLine } from './targets.ts';

const CHECKOUT = process.argv[3] ?? fileURLToPath(new URL('../', import.meta.url));
const PROGRAM = join(CHECKOUT, 'bin/gateway.mjs');
/** Until compilation, collection and keep-alives of the start are over, and the threads that the first request needed are gone. */
const REST_MS = 60_000;
const seconds = Number(process.argv[2] ?? 20);

function wakeUps(pid: number): number {
  let sum = 0;
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    const status = readFileSync(`/proc/${pid}/task/${thread}/status`, 'utf8');
    sum += Number(/^voluntary_ctxt_switches:\s+(\d+)/m.exec(status)?.[1] ?? 0);
  }
  return sum;
}

async function measure(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'bench-idle-'));
  const port = await freePort();
  const child = startChild([], {
    command: process.execPath,
    args: [PROGRAM, 'start'],
    env: {
      GATEWAY_PORT: String(port),
      GATEWAY_ADMIN_PORT: '0',
      GATEWAY_DATA: folder,
      GATEWAY_DISCOVER_LOCAL: 'off',
      GATEWAY_LOG: 'warn',
    },
  });
  try {
    while (!child.output().includes('SDK settings:')) {
      if (child.hasExited()) throw new Error(`it did not start: ${child.output()}`);
      await sleep(20);
    }
    const key = /credit key .*: +(\S+)/.exec(child.output())?.[1] ?? '';
    const response = await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', connection: 'close' },
      body: JSON.stringify({ model: 'sandbox/alpha', messages: [{ role: 'user', content: 'Hello' }] }),
    });
    await response.arrayBuffer();
    if (response.status !== 200) throw new Error(`answered with ${response.status}`);
    await sleep(REST_MS);
    const before = { cpuNs: treeUse(child.pid).cpuNs, wakeUps: wakeUps(child.pid), atMs: performance.now() };
    await sleep(seconds * 1_000);
    const elapsedS = (performance.now() - before.atMs) / 1_000;
    const cpuMs = (treeUse(child.pid).cpuNs - before.cpuNs) / 1e6;
    const woken = wakeUps(child.pid) - before.wakeUps;
    const share = cpuMs / 10 / elapsedS;
    const rssMb = treeUse(child.pid).rssBytes / 1_048_576;
    return `${footprintLine('idleMb', rssMb)}${(cpuMs / elapsedS).toFixed(2)} ms of CPU per second (${share.toFixed(3)} % of a core), ${(woken / elapsedS).toFixed(1)} wake-ups per second`;
  } finally {
    await child.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

process.stdout.write(`${await measure()}\n`);
