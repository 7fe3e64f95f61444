/**
 * Notices when the files of a database are deleted or replaced while they are open. SQLite itself would go on with the files
 * that it has, which nobody can find after the process has ended.
 */
import { statSync } from 'node:fs';

interface Identity {
  readonly device: bigint;
  readonly inode: bigint;
}

export class OpenedFiles {
  readonly #files: ReadonlyMap<string, Identity | null>;

  /** As the files are now. */
  constructor(paths: readonly string[]) {
    this.#files = new Map(paths.map((path) => [path, identityOf(path)]));
  }

  /** What happened to the first file that is no longer the same; null while all are. */
  change(): string | null {
    for (const [path, opened] of this.#files) {
      const now = identityOf(path);
      if (now === null && opened !== null) return `${path} was deleted`;
      if (now?.inode !== opened?.inode || now?.device !== opened?.device) return `${path} was replaced by another file`;
    }
    return null;
  }
}

function identityOf(path: string): Identity | null {
  const stat = statSync(path, { bigint: true, throwIfNoEntry: false });
  return stat === undefined ? null : { device: stat.dev, inode: stat.ino };
}
