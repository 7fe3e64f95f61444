/**
 * How long a start takes, from the command to the first complete answer: `node bench/start.ts [RUNS] [CHECKOUT]`.
 * Wall time depends on what else the machine does; CPU time hardly does. `cold` has no compile cache, as the first start
 * after `npm ci`; `fresh` has one and makes a new data folder; `again` finds both.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { treeUse } from './cpu.ts';
import { type Child, freePort, sleep, startChild } from './processes.ts';
import { median } from './stats.ts';
import { footprintLine } from './targets.ts';

const POLL_MS = 2;
const DEADLINE_MS = 30_000;

interface Start {
  /** Of the CPU, until `/healthz` was answered. */
  readonly healthyCpuMs: number;
  readonly listeningMs: number;
  readonly answerMs: number;
  readonly cpuMs: number;
}

interface Place {
  readonly data: string;
  /** Null: where the gateway keeps it itself. */
  readonly cache: string | null;
}

const [, , runsGiven = '7', checkout = fileURLToPath(new URL('../', import.meta.url))] = process.argv;
const runs = Number(runsGiven);
const PROGRAM = join(checkout, 'bin/gateway.mjs');

/** The key that the first start prints; a later one finds it in the data folder still. */
const keys = new Map<string, string>();

async function measureStart({ data, cache }: Place): Promise<Start> {
  const port = await freePort();
  const origin = `http://127.0.0.1:${port}`;
  const begunMs = performance.now();
  const child = startChild([], {
    command: process.execPath,
    args: [PROGRAM, 'start'],
    env: {
      GATEWAY_PORT: String(port),
      GATEWAY_ADMIN_PORT: '0',
      GATEWAY_DATA: data,
      GATEWAY_CONFIG: '',
      GATEWAY_DISCOVER_LOCAL: 'off',
      ...(cache === null ? {} : { NODE_COMPILE_CACHE: cache }),
    },
  });
  try {
    const healthyCpuMs = await healthyAt(child, origin);
    await until(child, () => /SDK settings:|List keys: npx/.test(child.output()));
    const listeningMs = performance.now() - begunMs;
    const key = /credit key .*: +(\S+)/.exec(child.output())?.[1] ?? keys.get(data) ?? '';
    keys.set(data, key);
    await answer(origin, key);
    const answerMs = performance.now() - begunMs;
    return { healthyCpuMs, listeningMs, answerMs, cpuMs: treeUse(child.pid).cpuNs / 1e6 };
  } finally {
    await child.stop();
  }
}

async function healthyAt(child: Child, origin: string): Promise<number> {
  for (const deadlineMs = performance.now() + DEADLINE_MS; performance.now() < deadlineMs; await sleep(POLL_MS)) {
    const response = await fetch(`${origin}/healthz`, { headers: { connection: 'close' } }).catch(() => null);
    await response?.arrayBuffer();
    if (response?.ok === true) return treeUse(child.pid).cpuNs / 1e6;
    if (child.hasExited()) break;
  }
  throw new Error(`it did not start: ${child.output()}`);
}

async function until(child: Child, holds: () => boolean): Promise<void> {
  for (const deadlineMs = performance.now() + DEADLINE_MS; !holds(); await sleep(POLL_MS)) {
    if (child.hasExited() || performance.now() > deadlineMs) throw new Error(`it did not start: ${child.output()}`);
  }
}

async function answer(origin: string, key: string): Promise<void> {
  const response = await fetch(`${origin}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'sandbox/alpha', messages: [{ role: 'user', content: 'Hello' }] }),
  });
  const text = await response.text();
  if (response.status !== 200) throw new Error(`the first request was answered with ${response.status}: ${text}`);
}

const folder = mkdtempSync(join(tmpdir(), 'bench-start-'));
try {
  const kept = join(folder, 'kept');
  const newFolder = (name: string, index: number): string => {
    const path = join(folder, `${name}-${index}`);
    mkdirSync(path);
    return path;
  };
  await measureStart({ data: kept, cache: null });
  const kinds = {
    cold: (index: number) => ({ data: newFolder('cold', index), cache: newFolder('cold-cache', index) }),
    fresh: (index: number) => ({ data: newFolder('fresh', index), cache: null }),
    again: () => ({ data: kept, cache: null }),
  };
  const starts = new Map<string, Start[]>(Object.keys(kinds).map((name) => [name, []]));
  // Interleaved, so that a slow moment of the machine does not fall on one kind alone.
  for (let index = 0; index < runs; index++) {
    for (const [name, place] of Object.entries(kinds)) starts.get(name)?.push(await measureStart(place(index)));
  }
  process.stdout.write(`${runs} starts each; medians (best)\n`);
  for (const [name, list] of starts) {
    const show = (pick: (start: Start) => number): string => {
      const values = list.map(pick).toSorted((a, b) => a - b);
      return `${median(values).toFixed(0)} (${(values[0] ?? Number.NaN).toFixed(0)}) ms`;
    };
    process.stdout.write(
      `${name.padEnd(6)} CPU to /healthz ${show((start) => start.healthyCpuMs)} · listening ${show((start) => start.listeningMs)} · first answer ${show((start) => start.answerMs)} · CPU ${show((start) => start.cpuMs)}\n`,
    );
  }
  process.stdout.write(
    footprintLine('startCpuMs', median((starts.get('again') ?? []).map((start) => start.healthyCpuMs))),
  );
} finally {
  rmSync(folder, { recursive: true, force: true });
}
