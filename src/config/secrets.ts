/**
 * Where the values of a configuration come from besides the file itself: variables, files that variables or the config
 * file name, and commands. No message shows a value.
 */
import { execFile } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import { errorCode } from '../lib/error-code.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** The value, or one line that says why there is none; null where nothing was given. */
type SecretValue = { readonly value: string } | { readonly problem: string } | null;

const SECRET_BYTES_MAX = 64 * 1024;
const COMMAND_TIMEOUT_MS = 10_000;

/** What one load of the configuration has read. */
export class Secrets {
  readonly #env: Environment;
  readonly #allowExec: boolean;
  readonly #commandTimeoutMs: number;
  readonly #files = new Set<string>();
  readonly #commands = new Map<string, Promise<SecretValue>>();
  /** Everything that was read from files and commands. Private: a Config may be printed, a secret never. */
  readonly #values = new Map<string, string>();

  constructor(env: Environment, allowExec = false, commandTimeoutMs = COMMAND_TIMEOUT_MS) {
    this.#env = env;
    this.#allowExec = allowExec;
    this.#commandTimeoutMs = commandTimeoutMs;
  }

  /** The files that were read, whether they could be or not: what they hold may change. */
  get files(): readonly string[] {
    return [...this.#files];
  }

  /** Whether a command was run, whose output may change without any file changing. */
  get ranCommands(): boolean {
    return this.#commands.size > 0;
  }

  /** Whether both have read the same values. */
  sameAs(other: Secrets): boolean {
    if (this.#values.size !== other.#values.size) return false;
    return [...this.#values].every(([source, value]) => other.#values.get(source) === value);
  }

  /** `NAME`, or the content of the file that `NAME_FILE` names. */
  variable(name: string): SecretValue {
    const file = givenVariable(this.#env, `${name}_FILE`);
    if (file !== undefined) this.#files.add(file);
    return this.#kept(`variable ${name}`, readVariable(this.#env, name));
  }

  file(file: string): SecretValue {
    this.#files.add(file);
    return this.#kept(`file ${file}`, readSecretFile(file));
  }

  /** What a command prints. Each command runs once, however often it is named. */
  command(text: string): Promise<SecretValue> {
    const running = this.#commands.get(text) ?? this.#run(text);
    this.#commands.set(text, running);
    return running;
  }

  async #run(text: string): Promise<SecretValue> {
    if (!this.#allowExec) {
      return { problem: 'commands are switched off: GATEWAY_ALLOW_EXEC=on allows the config file to run programs' };
    }
    const line = argumentsOf(text);
    if (line === null) {
      return {
        problem:
          'is not a command: write the program and its arguments with spaces between them, or as a JSON list of strings',
      };
    }
    return this.#kept(`command ${text}`, await outputOf(line, this.#env, this.#commandTimeoutMs));
  }

  #kept(source: string, read: SecretValue): SecretValue {
    if (read !== null && 'value' in read) this.#values.set(source, read.value);
    return read;
  }
}

/** Unset and empty mean the same. */
export function givenVariable(env: Environment, name: string): string | undefined {
  const value = env[name];
  return value === undefined || value === '' ? undefined : value;
}

/** `NAME`, or the content of the file that `NAME_FILE` names; never both, so that it is clear which one counts. */
export function readVariable(env: Environment, name: string): SecretValue {
  const value = givenVariable(env, name);
  const file = givenVariable(env, `${name}_FILE`);
  if (file === undefined) return value === undefined ? null : { value };
  if (value !== undefined) return { problem: `${name} and ${name}_FILE are both set: unset one of them` };
  const read = readSecretFile(file);
  return 'problem' in read ? { problem: `${name}_FILE: ${read.problem}` } : read;
}

/** The content without the line ends that an editor or `echo` puts after it. An empty file is a problem. */
function readSecretFile(file: string): { readonly value: string } | { readonly problem: string } {
  const problem = (what: string) => ({ problem: `the file ${file} ${what}` });
  try {
    const stat = statSync(file);
    // A pipe or a device could make the process wait for ever.
    if (!stat.isFile()) return problem('is not a regular file');
    if (stat.size > SECRET_BYTES_MAX) return problem(`is larger than ${SECRET_BYTES_MAX} bytes`);
    const value = readFileSync(file, 'utf8').replace(/[\r\n]+$/, '');
    return value === '' ? problem('is empty') : { value };
  } catch (error) {
    const code = errorCode(error);
    return problem(code === 'ENOENT' ? 'does not exist' : `cannot be read (${code ?? 'it is not a path'})`);
  }
}

/** No shell reads it: nothing is expanded, and quotes mean nothing. Null: it is not a command. */
function argumentsOf(text: string): readonly string[] | null {
  const trimmed = text.trim();
  if (!trimmed.startsWith('[')) return trimmed === '' ? null : trimmed.split(/\s+/);
  try {
    const list: unknown = JSON.parse(trimmed);
    const [program] = Array.isArray(list) ? list : [];
    const words = Array.isArray(list) && list.every((word) => typeof word === 'string' && !word.includes('\0'));
    return words && typeof program === 'string' && program !== '' ? (list as string[]) : null;
  } catch {
    return null;
  }
}

/** Only the program is named in messages: arguments and what it writes may hold secrets. */
function outputOf(
  [program = '', ...rest]: readonly string[],
  env: Environment,
  timeoutMs: number,
): Promise<SecretValue> {
  const problem = (what: string) => ({ problem: `the command ${program} ${what}` });
  return new Promise((resolve) => {
    const options = {
      env,
      timeout: timeoutMs,
      killSignal: 'SIGKILL',
      maxBuffer: SECRET_BYTES_MAX,
      shell: false,
    } as const;
    const child = execFile(program, rest, options, (error, stdout) => {
      if (error === null) {
        const value = stdout.replace(/[\r\n]+$/, '');
        resolve(value === '' ? problem('printed nothing') : { value });
        return;
      }
      const { code, killed } = error;
      if (code === 'ERR_CHILD_PROCESS_STDIO_MAXBUFFER') resolve(problem(`printed more than ${SECRET_BYTES_MAX} bytes`));
      else if (code === 'ENOENT') resolve(problem('does not exist'));
      else if (killed === true) resolve(problem(`did not end within ${timeoutMs / 1000} seconds`));
      else if (typeof code === 'number') resolve(problem(`ended with exit code ${code}: run it by hand to see why`));
      else resolve(problem(`cannot be run (${errorCode(error) ?? error.signal ?? 'unknown reason'})`));
    });
    child.stdin?.end();
  });
}
