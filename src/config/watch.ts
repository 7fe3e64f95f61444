/** Takes a changed config file, or a file that it names, into use while the process runs. What counts is the content. */
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
  /** Files beside it that are read with it. */
  others: () => readonly string[] = () => [],
): FileWatch {
  let closed = false;
  let content = contentOf(file);
  let contentOfOthers = others().map(contentOf).join('\n');

  const reload = async (): Promise<void> => {
    const text = contentOf(file);
    const textOfOthers = others().map(contentOf).join('\n');
    if (text === content && textOfOthers === contentOfOthers) return;
    content = text;
    contentOfOthers = textOfOthers;
    if (text === null) {
      onProblem(`${file}: does not exist any more; the configuration in use stays`);
      return;
    }
    try {
      const config = await load();
      if (closed) return;
      onConfig(config);
      contentOfOthers = others().map(contentOf).join('\n');
    } catch (error) {
      const lines = error instanceof ConfigError ? error.problems : [`${file}: ${String(error)}`];
      if (!closed) for (const line of lines) onProblem(line);
    }
  };

  const watch = watchFiles(() => [file, ...others()], reload, intervalMs);
  return {
    close() {
      closed = true;
      watch.close();
    },
  };
}

/** Null: there is no such file, or it cannot be read; loading it reports which. The file is small and rarely changes. */
function contentOf(file: string): string | null {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return null;
  }
}
