/** Takes a changed config file, or a file that it names, into use while the process runs. What counts is the content. */
import { readFileSync } from 'node:fs';
import type { Config } from './config.ts';
import { ConfigError } from './problem.ts';
import { SettingError } from './settings.ts';
import { type FileWatch, watchFiles } from './watch-files.ts';

interface ConfigWatchOptions {
  readonly file: string;
  /** Asked for a new Config after each change. */
  load(): Promise<Config>;
  /** What counts now: its files are watched too, and its commands run again. */
  inUse(): Pick<Config, 'files' | 'secrets'>;
  onConfig(config: Config): void;
  /** Told what is wrong with a broken or vanished file, and of nothing once it can be used: what is in use stays meanwhile. */
  onProblems(lines: readonly string[]): void;
  readonly intervalMs?: number;
  /** How often commands run again. */
  readonly execRefreshMs: number;
}

/** Of each file; null where it cannot be read. */
type Contents = ReadonlyMap<string, string | null>;

export function watchConfig(options: ConfigWatchOptions): FileWatch {
  const { file, inUse, onConfig, onProblems } = options;
  let closed = false;
  /** Of a configuration that could not be taken: it may be taken when they change. */
  let filesOfFailure: readonly string[] = [];
  const others = (): readonly string[] => [...inUse().files, ...filesOfFailure];
  const contentsOfOthers = (): Contents => new Map(others().map((name) => [name, contentOf(name)]));
  let content = contentOf(file);
  let contents = contentsOfOthers();

  const reload = async (): Promise<void> => {
    const text = contentOf(file);
    const before = contentsOfOthers();
    if (text === content && areSame(before, contents)) return;
    content = text;
    contents = before;
    await take(() => true);
    // What a file holds by now may be newer than what was loaded of it: only those named for the first time are read here.
    contents = new Map(others().map((name) => [name, before.has(name) ? (before.get(name) ?? null) : contentOf(name)]));
  };

  const take = async (wanted: (config: Config) => boolean): Promise<void> => {
    try {
      const config = await options.load();
      filesOfFailure = [];
      if (closed) return;
      onProblems([]);
      if (wanted(config)) onConfig(config);
    } catch (error) {
      filesOfFailure = error instanceof ConfigError ? error.files : [];
      if (!closed) onProblems(problemLines(error, file));
    }
  };

  const refresh = async (): Promise<void> => {
    if (inUse().secrets.ranCommands) await take(({ secrets }) => !secrets.sameAs(inUse().secrets));
    if (!closed) timer = setTimeout(refresh, options.execRefreshMs).unref();
  };
  let timer = setTimeout(refresh, options.execRefreshMs).unref();

  const watch = watchFiles(() => [file, ...others()], reload, options.intervalMs);
  return {
    close() {
      closed = true;
      clearTimeout(timer);
      watch.close();
    },
  };
}

function problemLines(error: unknown, file: string): readonly string[] {
  if (error instanceof ConfigError) return error.problems;
  return [error instanceof SettingError ? error.message : `${file}: ${String(error)}`];
}

function areSame(one: Contents, other: Contents): boolean {
  return one.size === other.size && [...one].every(([name, content]) => other.get(name) === content);
}

/** Null: there is no such file, or it cannot be read; loading it reports which. The file is small and rarely changes. */
function contentOf(file: string): string | null {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return null;
  }
}
