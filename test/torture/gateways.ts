/** One gateway as a process: killed, frozen, drained and started again, always on the same data. */
import type { ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import type { Random } from '../simulation/random.ts';
import { type GatewayProcess, gatewayProcess } from '../support/gateway-process.ts';
import { LEASE_S } from './world.ts';

const SLOW_DISK = pathToFileURL(resolve(import.meta.dirname, 'slow-disk-preload.ts')).href;
/** Far beyond what a start takes on a busy machine. */
const START_WITHIN_MS = 240_000;

export class TorturedGateway {
  readonly #dataDir: string;
  readonly #env: Record<string, string>;
  readonly #flags: readonly string[];
  readonly #deaths: string[];
  #process: GatewayProcess | null = null;
  #asked = true;

  constructor(dataDir: string, env: Record<string, string>, workers: number, deaths: string[]) {
    this.#dataDir = dataDir;
    this.#env = { GATEWAY_LOG: 'error', GATEWAY_LEASE_SECONDS: String(LEASE_S), ...env };
    this.#flags = workers === 1 ? [] : ['--workers', String(workers)];
    this.#deaths = deaths;
  }

  get process(): GatewayProcess {
    if (this.#process === null) throw new Error('the gateway was never started');
    return this.#process;
  }

  /** With a disk that takes this much longer for each flush. */
  async start(diskMs = 0, onSpawn?: (child: ChildProcess) => void): Promise<void> {
    const env = diskMs === 0 ? {} : { NODE_OPTIONS: `--import ${SLOW_DISK}`, TORTURE_DISK_MS: String(diskMs) };
    let spawned: ChildProcess | null = null;
    const late = setTimeout(() => spawned?.kill('SIGKILL'), START_WITHIN_MS);
    try {
      const started = await gatewayProcess(this.#dataDir, { ...this.#env, ...env }, this.#flags, undefined, (child) => {
        spawned = child;
        onSpawn?.(child);
      });
      this.#process = started;
      this.#asked = false;
      started.child.once('exit', (code, signal) => {
        if (!this.#asked && this.#process === started)
          this.#deaths.push(`a gateway ended by itself (${code ?? signal}): ${started.output().slice(-2_000)}`);
      });
    } finally {
      clearTimeout(late);
    }
  }

  async kill(): Promise<void> {
    this.#asked = true;
    await this.process.kill('SIGKILL');
  }

  async killAndStart(random: Random): Promise<number> {
    let crashes = 1;
    await this.kill();
    // Some are killed once more while they start: recovery itself is cut off.
    if (random.chance(25)) {
      const afterMs = random.between(50, 1_200);
      const cut = this.start(0, (child) => void delay(afterMs).then(() => child.kill('SIGKILL')));
      await cut.then(
        () => this.kill(),
        () => undefined,
      );
      crashes += 1;
    }
    await this.start(random.chance(30) ? random.between(20, 300) : 0);
    return crashes;
  }

  /** Past its lease, so that everybody else takes it for dead. */
  async freeze(random: Random): Promise<number> {
    const pids = [this.process.child.pid ?? 0, ...this.#workers()];
    for (const pid of pids) process.kill(pid, 'SIGSTOP');
    await delay(LEASE_S * 1_000 + random.between(200, 2_000));
    for (const pid of pids) process.kill(pid, 'SIGCONT');
    return 0;
  }

  /** One of its workers, which is replaced. */
  async killWorker(random: Random): Promise<number> {
    const pid = random.pick(this.#workers());
    if (pid === undefined) return 0;
    process.kill(pid, 'SIGKILL');
    return 1;
  }

  /** The processes that serve for it; none where it serves by itself. */
  #workers(): readonly number[] {
    const { pid } = this.process.child;
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number);
  }

  async drainAndStart(): Promise<number> {
    this.#asked = true;
    await this.process.kill('SIGTERM');
    const { exitCode } = this.process.child;
    if (exitCode !== 0) this.#deaths.push(`a drain ended with ${exitCode}: ${this.process.output().slice(-2_000)}`);
    await this.start();
    return 0;
  }
}
