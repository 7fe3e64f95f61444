/** One client program under test: started with a home of its own, and asked line by line. */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { SeenUsage } from './ledger.ts';
import type { TriedModel } from './models.ts';

export type StreamMode = 'whole' | 'streamed';

/** What a program says first. */
export interface Announcement {
  readonly client: string;
  readonly version: string;
  readonly cases: readonly {
    readonly name: string;
    readonly route: string;
    readonly modes: readonly StreamMode[];
    /** Only with the models of this one. */
    readonly provider?: TriedModel['provider'] | null;
    /** It asks for a restart of the gateway. */
    readonly restarts?: boolean;
  }[];
}

export interface Task {
  readonly case: string;
  readonly key: string;
  readonly origin: string;
  readonly baseUrl: string;
  readonly model: string;
  readonly text: string;
  readonly stream: boolean;
}

export type Answer =
  | ({ readonly ok: true } & SeenUsage)
  | { readonly ok: false; readonly name: string; readonly message: string };

/** Only so that a program that hangs ends some time: what a slow machine needs for a task is far less. */
const TASK_MS = 300_000;

export interface ProgramOptions {
  readonly command: string;
  readonly args: readonly string[];
  readonly home: string;
  /** Everything that is not on this machine is sent here. */
  readonly proxy: string;
  /** How the gateway is restarted when the program asks for that. */
  readonly restart?: () => Promise<void>;
}

export class ClientProgram implements AsyncDisposable {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #lines: AsyncIterator<string>;
  readonly #restart: () => Promise<void>;
  #errors = '';

  constructor({ command, args, home, proxy, restart }: ProgramOptions) {
    this.#restart = restart ?? (() => Promise.reject(new Error('the gateway cannot be restarted here')));
    this.#child = spawn(command, args, {
      cwd: home,
      env: {
        PATH: process.env.PATH ?? '',
        HOME: home,
        HTTP_PROXY: proxy,
        HTTPS_PROXY: proxy,
        NO_PROXY: '127.0.0.1,localhost',
        // Each of them asks its maker for something otherwise.
        DO_NOT_TRACK: '1',
        LITELLM_LOCAL_MODEL_COST_MAP: 'True',
        LITELLM_TELEMETRY: 'False',
        MASTRA_TELEMETRY_DISABLED: '1',
        OPENAI_AGENTS_DISABLE_TRACING: '1',
        PYTHONUNBUFFERED: '1',
      },
    });
    this.#child.stderr.on('data', (data: Buffer) => {
      this.#errors = (this.#errors + data.toString()).slice(-4_000);
    });
    this.#lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]();
  }

  announcement(): Promise<Announcement> {
    return this.#next<Announcement>();
  }

  run(task: Task): Promise<Answer> {
    this.#child.stdin.write(`${JSON.stringify(task)}\n`);
    return this.#next<Answer>();
  }

  /** Programs may print lines of their own. */
  async #next<T>(): Promise<T> {
    const late = setTimeout(() => this.#child.kill('SIGKILL'), TASK_MS);
    try {
      for (;;) {
        const { done, value } = await this.#lines.next();
        if (done) throw new Error(`the program ended, or took more than ${TASK_MS / 1_000} s: ${this.#errors.trim()}`);
        if (value === '{"restart":true}') {
          await this.#restart();
          this.#child.stdin.write('{}\n');
        } else if (value.startsWith('{"')) return JSON.parse(value) as T;
      }
    } finally {
      clearTimeout(late);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const closed = once(this.#child, 'close');
    this.#child.stdin.end();
    const late = setTimeout(() => this.#child.kill('SIGKILL'), 2_000);
    await closed;
    clearTimeout(late);
  }
}
