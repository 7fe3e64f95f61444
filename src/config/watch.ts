/**
 * Reloads the config file when it changes. The file is polled once a second instead of watched: that works on every
 * file system and mount, however an editor replaces the file or a link is swapped, and keeps nothing open. A reload
 * happens only when the content differs.
 */
import { readFileSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import type { Config } from './config.ts';
import { ConfigError } from './problem.ts';

export interface ConfigWatch {
  /** No callback is called after this. */
  close(): void;
}

const INTERVAL_MS = 1_000;

/**
 * `load` is called for a new Config after each change, and `onConfig` gets it. A broken or missing file is reported to
 * `onProblem`, line by line, and the configuration in use stays.
 */
export function watchConfig(
  file: string,
  load: () => Promise<Config>,
  onConfig: (config: Config) => void,
  onProblem: (line: string) => void,
  intervalMs = INTERVAL_MS,
): ConfigWatch {
  let closed = false;
  let content = contentOf(file);
  /** How the file looked when its content was read last, and at the last look; the two differ while it is being written. */
  let readAs: string | null = null;
  let seenAs: string | null = null;

  const reload = async (): Promise<void> => {
    const text = contentOf(file);
    if (text === content) return;
    content = text;
    if (text === null) {
      onProblem(`${file}: does not exist any more; the configuration in use stays`);
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

  const look = async (): Promise<void> => {
    const looks = await looksOf(file);
    if (closed) return;
    if (looks === seenAs && looks !== readAs) {
      readAs = looks;
      await reload();
    }
    seenAs = looks;
    if (!closed) timer = setTimeout(look, intervalMs).unref();
  };
  let timer = setTimeout(look, intervalMs).unref();

  return {
    close() {
      closed = true;
      clearTimeout(timer);
    },
  };
}

/** Changes whenever the file is written or replaced. */
async function looksOf(file: string): Promise<string> {
  try {
    const { mtimeNs, size, ino } = await stat(file, { bigint: true });
    return `${ino} ${size} ${mtimeNs}`;
  } catch {
    return 'not there';
  }
}

/** Null: there is no such file, or it cannot be read; loading it reports which. The file is small and rarely changes. */
function contentOf(file: string): string | null {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return null;
  }
}
