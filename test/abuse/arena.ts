/** One started gateway with a small heap, in front of a provider that does what an attack wants, and everything that is found out about it. */
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { CreatedKey } from '../../src/admin/keys/schema.ts';
import { Random } from '../simulation/random.ts';
import { type Charge, postgresCharges, sqliteCharges } from '../support/charges.ts';
import { configFileIn } from '../support/gateway-environment.ts';
import { type GatewayProcess, gatewayProcess } from '../support/gateway-process.ts';
import type { TestPostgres } from '../support/postgres.ts';
import { ScriptedServer } from '../support/upstreams/scripted.ts';
import { FORMAT_NAMES } from '../support/upstreams/spoken.ts';

export const HEAP_MB = 512;
/** Of the model that is abused, in USD per million tokens. */
export const PRICE = { input: 1, output: 12 };
export const MODEL = 'abused';
export const CALM_MODEL = 'calm';
export const OUTPUT_LIMIT = 64_000;
const SECRET = 'an installation secret for tests only';
const MEMORY_EVERY_MS = 100;
/** A gateway that was attacked gets so long to answer what it still has to, and to an operator. */
const ANSWER_WITHIN_MS = 20_000;

export interface ArenaOptions {
  readonly seed: number;
  /** Null: SQLite. */
  readonly postgres: TestPostgres | null;
  readonly calmPort: number;
  /** Added to the config file; `models` are added to those that there are. */
  readonly settings: {
    readonly models?: readonly object[];
    readonly limits?: object;
    readonly [name: string]: unknown;
  };
}

export class Arena implements AsyncDisposable {
  readonly provider: ScriptedServer;
  readonly random: Random;
  readonly gateway: GatewayProcess;
  /** What an attack wants to be read beside its result. */
  readonly figures: string[] = [];
  /** What must not be. */
  readonly faults: string[] = [];
  wasKilled = false;
  readonly #parts: AsyncDisposableStack;
  readonly #charges: (keyIds: readonly string[]) => Promise<readonly Charge[]>;
  readonly #keys: CreatedKey[] = [];
  #peakBytes = 0;
  #untilMs = 0;

  private constructor(
    parts: AsyncDisposableStack,
    gateway: GatewayProcess,
    provider: ScriptedServer,
    seed: number,
    charges: (keyIds: readonly string[]) => Promise<readonly Charge[]>,
  ) {
    this.#parts = parts;
    this.gateway = gateway;
    this.provider = provider;
    this.random = new Random(seed);
    this.#charges = charges;
    const watch = setInterval(() => this.#measure(), MEMORY_EVERY_MS);
    parts.defer(() => clearInterval(watch));
  }

  static async start({ seed, postgres, calmPort, settings }: ArenaOptions): Promise<Arena> {
    await using parts = new AsyncDisposableStack();
    const dataDir = await mkdtemp(join(tmpdir(), 'gateway-abuse-'));
    parts.defer(() => rm(dataDir, { recursive: true, force: true }));
    const provider = await ScriptedServer.start();
    parts.defer(() => provider.close());
    await writeFile(configFileIn(dataDir), configFor(provider.port, calmPort, settings));
    const database = await postgres?.createDatabase();
    const env = {
      NODE_OPTIONS: `--max-old-space-size=${HEAP_MB}`,
      GATEWAY_LOG: 'error',
      // As the image and the unit file set it.
      MALLOC_ARENA_MAX: '2',
      ...(postgres === null ? {} : { DATABASE_URL: postgres.url(database ?? ''), GATEWAY_SECRET: SECRET }),
    };
    const gateway = await gatewayProcess(dataDir, env);
    parts.defer(() => gateway.kill('SIGKILL'));
    const charges = async (keyIds: readonly string[]): Promise<readonly Charge[]> =>
      postgres === null
        ? sqliteCharges(join(dataDir, 'gateway.db'), keyIds)
        : postgresCharges(postgres, database ?? '', keyIds);
    return new Arena(parts.move(), gateway, provider, seed, charges);
  }

  get origin(): string {
    return this.gateway.origin;
  }

  get isAlive(): boolean {
    const { exitCode, signalCode } = this.gateway.child;
    return exitCode === null && signalCode === null;
  }

  /** The most memory that the process ever had, in MB; null where the system does not tell. */
  get peakMb(): number | null {
    this.#measure();
    return this.#peakBytes === 0 ? null : Math.round(this.#peakBytes / 1_000_000);
  }

  /** Because it hangs. */
  async kill(): Promise<void> {
    this.wasKilled = true;
    await this.gateway.kill('SIGKILL');
  }

  /** From now on. */
  attackFor(ms: number): void {
    this.#untilMs = Date.now() + ms;
  }

  /** Whether the attack may go on. */
  get goesOn(): boolean {
    return this.leftMs > 0 && this.isAlive;
  }

  get leftMs(): number {
    return Math.max(0, this.#untilMs - Date.now());
  }

  async key(input: object = {}): Promise<CreatedKey> {
    const key = await this.gateway.admin.createKey({ mode: 'credit', credit: '1000', ...input });
    this.#keys.push(key);
    return key;
  }

  figure(text: string): void {
    this.figures.push(text);
  }

  fault(text: string): void {
    this.faults.push(text);
  }

  /** By request id. */
  async charges(...keys: readonly CreatedKey[]): Promise<ReadonlyMap<string, number>> {
    const charges = await this.#charges(keys.map(({ id }) => id));
    return new Map(charges.map(({ id, nanos }) => [id, nanos]));
  }

  /** Waits until nothing runs any more, and until the store has it. */
  async settled(keys: readonly CreatedKey[] = this.#keys): Promise<void> {
    for (const key of keys) {
      const endMs = Date.now() + ANSWER_WITHIN_MS;
      for (;;) {
        const { live_holds, reserved } = await this.gateway.admin.showKey(key.id);
        if (live_holds === 0) break;
        if (Date.now() > endMs) {
          this.fault(`${live_holds} holds of ${reserved} were never ended`);
          break;
        }
        await delay(50);
      }
    }
  }

  /** What an operator finds afterwards. */
  async audit(): Promise<void> {
    const late = delay(ANSWER_WITHIN_MS + 1_000, 'late' as const, { ref: false });
    const looked = this.#look().catch((error: unknown) => {
      if (this.isAlive) this.fault(`the operator was not answered: ${String(error)}`);
    });
    if ((await Promise.race([looked, late])) === 'late') this.fault('the operator was not answered in time');
  }

  async #look(): Promise<void> {
    await this.settled();
    const { findings } = await this.gateway.admin.audit();
    for (const finding of findings) this.fault(`audit: ${finding}`);
  }

  #measure(): void {
    const peak = peakBytes(this.gateway.child.pid ?? 0);
    if (peak > this.#peakBytes) this.#peakBytes = peak;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#parts.disposeAsync();
  }
}

/** The high-water mark of the resident set. */
function peakBytes(pid: number): number {
  try {
    const kilobytes = /^VmHWM:\s*(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    return Number(kilobytes ?? 0) * 1_024;
  } catch {
    return 0;
  }
}

function configFor(port: number, calmPort: number, settings: ArenaOptions['settings']): string {
  const at = (own: number): object => ({
    kind: 'openai',
    base_url: `http://127.0.0.1:${own}/v1`,
    api_key: 'sk-abused-0123456789',
    circuit_breaker: false,
  });
  const { models = [], limits = {}, ...others } = settings;
  const config = {
    providers: {
      scripted: { ...at(port), formats: FORMAT_NAMES },
      calm: { ...at(calmPort), formats: ['chat'] },
    },
    models: [modelOf(MODEL), modelOf(CALM_MODEL, { targets: [{ provider: 'calm', model: 'calm' }] }), ...models],
    sandbox: false,
    model_lists: false,
    routing: { max_attempts: 1 },
    limits: { drain: 1, pre_stop: 0, ...limits },
    ...others,
  };
  return JSON.stringify(config);
}

export function modelOf(id: string, more: object = {}): object {
  return {
    id,
    targets: [{ provider: 'scripted', model: 'upstream-model' }],
    context_window: 1_000_000,
    max_output_tokens: OUTPUT_LIMIT,
    pricing: PRICE,
    visible_output: true,
    ...more,
  };
}
