/** Takes a changed config file into use while the process runs. What counts is whether its content is another. */
import { readFileSync } from 'node:fs';
import type { Config } from './config.ts';
import { ConfigError } from './problem.ts';
import { type FileWatch, watchFiles } from './watch-files.ts';

/**
 * `load` is asked for a new Config after each change; `onConfig` gets it. A broken or vanished file is reported to
 * `onProblem`, line by line, and nothing else happens: what is in use stays.
 */
export function watchConfig(
  file: string,
  load: () => Promise<Config>,
  onConfig: (config: Config) => void,
  onProblem: (line: string) => void,
  intervalMs?: number,
): FileWatch {
  let closed = false;
  let content = contentOf(file);

  const reload = async (): Promise<void> => {
    const text = contentOf(file);
    if (text === content) return;
    content = text;
    if (text === null) {
      onProblem(`${file}: is gone; the configuration in use stays`);
      return;
    }
    try {
      const config = await load();
      if (!closed) onConfig(config);
    } catch (error) {
      const lines = error instanceof ConfigError ? error.problems : [`${file}: ${String(error)}`];
      if (!closed) for (const line of lines) onProblem(line);
    }
  };

  const watch = watchFiles(() => [file], reload, intervalMs);
  return {
    close() {
      closed = true;
      watch.close();
    },
  };
}

/** Null: there is no such file, or it cannot be read; loading it says which. The file is small, and rarely changes. */
function contentOf(file: string): string | null {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return null;
  }
}
