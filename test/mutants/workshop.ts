/** A copy of the project in which one mutant after the other is made, tested and undone. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { edited, sourceText } from '../support/edits.ts';
import type { Mutant, TestRun } from './list.ts';

const PROJECT = resolve(import.meta.dirname, '../..');
/** Linked, or of no use to a test. */
const NOT_COPIED: ReadonlySet<string> = new Set(['node_modules', '.git', 'data', 'dist']);
/** Of one test; a test that waits for something that a mutant never does ends red by this. */
const TEST_TIMEOUT_MS = 20_000;
/** What a failed test has left open is given up after this. */
const TEST_END_MS = 8_000;
const OUTPUT_CHARACTERS_MAX = 200_000;
/** How a mutant shows that is no program: every test would notice it, so it says nothing about them. */
const NOT_A_PROGRAM = /SyntaxError|ERR_MODULE_NOT_FOUND|ERR_INVALID_TYPESCRIPT_SYNTAX|does not provide an export/;

export class TestFailedToLoad extends Error {}

export class Workshop implements Disposable {
  readonly #folder: string;
  readonly #running = new Set<ChildProcess>();
  readonly #onExit = (): void => this[Symbol.dispose]();
  /** Of the last run. */
  output = '';

  constructor() {
    this.#folder = mkdtempSync(join(tmpdir(), 'gateway-mutants-'));
    for (const name of readdirSync(PROJECT)) {
      if (!NOT_COPIED.has(name)) cpSync(join(PROJECT, name), join(this.#folder, name), { recursive: true });
    }
    symlinkSync(join(PROJECT, 'node_modules'), join(this.#folder, 'node_modules'));
    process.once('exit', this.#onExit);
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
  }

  /** Until the result is disposed of. Nothing is changed where an edit does not fit any more. */
  breakIt({ edits }: Mutant): Disposable {
    const before = new Map<string, string>();
    const broken = new Map<string, string>();
    for (const edit of edits) {
      const path = join(this.#folder, 'src', edit[0]);
      const text = broken.get(path) ?? sourceText(path);
      if (!before.has(path)) before.set(path, text);
      broken.set(path, edited(text, edit));
    }
    for (const [path, text] of broken) writeFileSync(path, text);
    return {
      [Symbol.dispose]: () => {
        for (const [path, text] of before) writeFileSync(path, text);
      },
    };
  }

  /** `hung`: it did not end by itself; it was killed, with everything that it had started. */
  async test([file, ...names]: TestRun, timeoutMs: number): Promise<'green' | 'red' | 'hung'> {
    const patterns = names.map((name) => `--test-name-pattern=${escaped(name)}`);
    const child = spawn(
      process.execPath,
      [
        '--import',
        './test/support/leftovers.ts',
        '--test',
        '--test-reporter=tap',
        `--test-timeout=${TEST_TIMEOUT_MS}`,
        ...patterns,
        file,
      ],
      // A process group of its own, so that a time-out ends gateways and databases too.
      { cwd: this.#folder, detached: true, stdio: ['ignore', 'pipe', 'pipe'], env: testEnvironment() },
    );
    this.#running.add(child);
    this.output = '';
    const keep = (chunk: Buffer): void => {
      if (this.output.length < OUTPUT_CHARACTERS_MAX) this.output += chunk.toString();
    };
    child.stdout.on('data', keep);
    child.stderr.on('data', keep);
    let late = false;
    const timer = setTimeout(() => {
      late = true;
      killGroup(child);
    }, timeoutMs);
    const [code] = (await once(child, 'exit')) as [number | null];
    clearTimeout(timer);
    // What its tests have left behind.
    killGroup(child);
    this.#running.delete(child);
    if (late) return 'hung';
    if (code === 0) {
      if (!/^ *ok \d+ - (?!.*# SKIP)/m.test(this.output)) throw new Error(`${file} has no test ${names.join(' or ')}`);
      return 'green';
    }
    if (NOT_A_PROGRAM.test(this.output)) throw new TestFailedToLoad(this.output.slice(0, 2_000));
    if (!/^ *not ok /m.test(this.output))
      throw new Error(`${file} ended with ${code}:\n${this.output.slice(0, 2_000)}`);
    return 'red';
  }

  [Symbol.dispose](): void {
    process.off('exit', this.#onExit);
    for (const child of this.#running) killGroup(child);
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

function killGroup({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL');
  } catch {
    // The group is empty.
  }
}

/** As `npm test` would run it; without what this process itself got from a test runner. */
function testEnvironment(): NodeJS.ProcessEnv {
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  return { ...env, TEST_END_MS: String(TEST_END_MS) };
}

function escaped(name: string): string {
  return name.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&');
}
