/**
 * Tells when files have changed. They are looked at once a second instead of asking the system to tell: that works on
 * every file system and mount, however an editor replaces a file or a link is swapped, and leaves nothing open.
 */
import { stat } from 'node:fs/promises';

export interface FileWatch {
  /** `onChange` is not called after this. */
  close(): void;
}

const INTERVAL_MS = 1_000;

/**
 * `onChange` is called once the files look the same in two looks running, so not while they are being written; also
 * once at the beginning. It must compare what it reads itself: a file may look new and have its old content.
 */
export function watchFiles(
  files: () => readonly string[],
  onChange: () => Promise<void>,
  intervalMs = INTERVAL_MS,
): FileWatch {
  let closed = false;
  /** How the files looked when they were read last, and at the last look. */
  let readAs: string | null = null;
  let seenAs: string | null = null;

  const look = async (): Promise<void> => {
    const looks = (await Promise.all(files().map(looksOf))).join('\n');
    if (closed) return;
    if (looks === seenAs && looks !== readAs) {
      readAs = looks;
      await onChange();
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
    return `${file} ${ino} ${size} ${mtimeNs}`;
  } catch {
    return `${file} not there`;
  }
}
