/** A peer is one thing to measure: the gateway is one among others. */
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Books } from './books.ts';
import { type Child, freePort, type Placement, sleep, startChild } from './processes.ts';
import type { RequestShape } from './requests.ts';
import type { TlsFiles } from './tls.ts';

export interface PeerContext {
  readonly upstreamOrigin: string;
  /** What the peer serves HTTPS with; null: plain HTTP. */
  readonly tls: TlsFiles | null;
  /** A folder of the peer's own, deleted after the run. */
  readonly folder: string;
  readonly port: number;
  /** A second free port, for peers with an operator's surface. */
  readonly sparePort: number;
  /** Every shape that the peer will be asked for. */
  readonly shapes: readonly RequestShape[];
  /** How many callers' keys the workload needs. */
  readonly keys: number;
}

export interface Launch {
  /** Null where there is nothing to start (direct). */
  readonly command: string | null;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly origin: string;
  /** A GET that answers below 500 once the peer serves. */
  readonly readyPath: string;
  /** Its engine compiles what runs often, for tens of thousands of requests: it is warmed up for as long. */
  readonly runsOnNode: boolean;
  /** Whether the process that is started is the one whose event loop serves; only Node's can be asked for its delay. */
  readonly tellsLoopDelay: boolean;
  headers(shape: RequestShape, key: number): Readonly<Record<string, string>>;
  /** For peers that want the provider in the name. */
  modelName?(name: string): string;
  /** After the peer is ready: what it takes before it can be measured. Returns what is audited at the end. */
  prepare?(): Promise<Books>;
}

export interface Adapter {
  readonly name: string;
  /** What a reader of its figures must know. */
  readonly note?: string;
  /** Takes too long to start for a quick run, unless it is asked for. */
  readonly notQuick?: true;
  /** Why it cannot run here, with the command that installs it; null when it can. */
  missing(): string | null;
  /** Why the peer cannot serve this shape at all; null when it can. */
  refuses?(shape: RequestShape): string | null;
  launch(context: PeerContext): Launch;
}

export interface RunningPeer {
  readonly name: string;
  readonly launch: Launch;
  /** Null for direct: there is no process between load and upstream. */
  readonly child: Child | null;
  readonly books: Books | null;
  /** 99th percentile since the last call, in milliseconds; null where it cannot be had. */
  loopDelayMs(): Promise<number | null>;
  stop(): Promise<void>;
}

/** Where a peer serves. */
export function originOf({ port, tls }: PeerContext): string {
  return `${tls === null ? 'http' : 'https'}://127.0.0.1:${port}`;
}

const READY_TIMEOUT_MS = 20_000;
const READY_POLL_MS = 20;
const LOOP_DELAY_MODULE = new URL('loop-delay.ts', import.meta.url).href;

export async function startPeer(
  adapter: Adapter,
  placement: Placement,
  context: Omit<PeerContext, 'port' | 'sparePort'>,
): Promise<RunningPeer> {
  const launch = adapter.launch({ ...context, port: await freePort(), sparePort: await freePort() });
  const delayFile = join(context.folder, 'loop-delay');
  const child =
    launch.command === null
      ? null
      : startChild(placement.prefix('peer'), {
          command: launch.command,
          args: launch.args,
          env: {
            ...launch.env,
            ...(launch.tellsLoopDelay
              ? { NODE_OPTIONS: `--import ${LOOP_DELAY_MODULE}`, BENCH_LOOP_DELAY_FILE: delayFile }
              : {}),
          },
        });
  try {
    await waitUntilReady(adapter.name, launch, child);
    const books = (await launch.prepare?.()) ?? null;
    return {
      name: adapter.name,
      launch,
      child,
      books,
      loopDelayMs: () => (child && launch.tellsLoopDelay ? readLoopDelay(child, delayFile) : Promise.resolve(null)),
      stop: async () => child?.stop(),
    };
  } catch (error) {
    await child?.stop();
    throw error;
  }
}

async function waitUntilReady(name: string, launch: Launch, child: Child | null): Promise<void> {
  const deadlineMs = performance.now() + READY_TIMEOUT_MS;
  while (performance.now() < deadlineMs) {
    if (child?.hasExited()) throw new Error(`${name} ended while starting: ${gist(child.output())}`);
    try {
      const response = await fetch(launch.origin + launch.readyPath);
      await response.arrayBuffer();
      if (response.status < 500) return;
    } catch {
      // Not listening yet.
    }
    await sleep(READY_POLL_MS);
  }
  throw new Error(`${name} was not ready within ${READY_TIMEOUT_MS} ms: ${gist(child?.output() ?? '')}`);
}

/** The line that names the error, or else the last thing said. */
function gist(output: string): string {
  const lines = output.trim().split('\n');
  return (lines.find((line) => /error/i.test(line)) ?? lines.at(-1) ?? '').trim().slice(0, 300);
}

async function readLoopDelay(child: Child, file: string): Promise<number | null> {
  rmSync(file, { force: true });
  child.process.kill('SIGUSR2');
  for (let tries = 0; tries < 50; tries++) {
    if (existsSync(file)) {
      const text = readFileSync(file, 'utf8');
      if (text !== '') return Number(text);
    }
    await sleep(10);
  }
  return null;
}
