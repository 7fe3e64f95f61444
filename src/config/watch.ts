/**
 * Takes a changed config file into use while the process runs. The folder is watched rather than the file, because
 * editors replace files and mounted configuration swaps links; what counts is whether the content is another.
 */
import { type FSWatcher, readFileSync, realpathSync, watch } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import type { Config } from './config.ts';
import { ConfigError } from './problem.ts';

export interface ConfigWatch {
  /** No callback comes after this. */
  close(): void;
}

const DEBOUNCE_MS = 100;

/**
 * `load` is asked for a new Config after each change; `onConfig` gets it. A broken or vanished file is told to
 * `onProblem`, line by line, and nothing else happens: what is in use stays.
 */
export function watchConfig(
  file: string,
  load: () => Promise<Config>,
  onConfig: (config: Config) => void,
  onProblem: (line: string) => void,
  debounceMs = DEBOUNCE_MS,
): ConfigWatch {
  let closed = false;
  let timer: NodeJS.Timeout | undefined;
  const watchers: FSWatcher[] = [];

  const report = (error: unknown): void => {
    const lines = error instanceof ConfigError ? error.problems : [`${file}: ${reasonOf(error)}`];
    if (!closed) for (const line of lines) onProblem(line);
  };

  let names = namesOf(file);
  const reload = async (before: string | null): Promise<string | null> => {
    names = namesOf(file);
    const text = contentOf(file);
    if (closed || text === before) return before;
    if (text === null) {
      report(new ConfigError([`${file}: is gone; the configuration in use stays`]));
      return null;
    }
    try {
      const config = await load();
      if (!closed) onConfig(config);
    } catch (error) {
      report(error);
    }
    return text;
  };

  // Reloads run one after another, each with the content that the one before it saw.
  let content = Promise.resolve(contentOf(file));
  const changed = (event: string, name: string | null): void => {
    // A ledger or a log in the same folder is written all the time; only the config file's own content counts.
    if (event === 'change' && name !== null && !names.has(name)) return;
    clearTimeout(timer);
    timer = setTimeout(() => {
      content = content.then(reload);
    }, debounceMs);
    timer.unref();
  };

  try {
    for (const folder of foldersOf(file)) {
      watchers.push(watch(folder, { persistent: false }, changed).on('error', report));
    }
  } catch (error) {
    report(new ConfigError([`${file}: cannot be watched for changes (${reasonOf(error)})`]));
  }
  return {
    close() {
      closed = true;
      clearTimeout(timer);
      for (const watcher of watchers) watcher.close();
    },
  };
}

/** Where the file is listed, and where it really is when that is a link. */
function foldersOf(file: string): Set<string> {
  const listed = resolve(dirname(file));
  try {
    return new Set([listed, dirname(realpathSync(file))]);
  } catch {
    // There is no file yet: it can only appear where it is listed.
    return new Set([listed]);
  }
}

/** What the file is called where it is listed, and where it really is. */
function namesOf(file: string): Set<string> {
  try {
    return new Set([basename(file), basename(realpathSync(file))]);
  } catch {
    return new Set([basename(file)]);
  }
}

/** Null: there is no such file, or it cannot be read; loading it says which. The file is small, and rarely changes. */
function contentOf(file: string): string | null {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return null;
  }
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
