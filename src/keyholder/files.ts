/** The page's own files, as the build of the console made them: read once, the same for everybody. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** As deep below the package in `dist` as in `src`. */
const BUILD = fileURLToPath(new URL('../../console/dist/account', import.meta.url));
export const NONCE_PLACE = '__CSP_NONCE__';

const TYPES: Readonly<Record<string, string>> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
};

export interface PageFile {
  readonly type: string;
  readonly bytes: Buffer;
  readonly encoding: 'br' | 'gzip' | null;
}

export class PageFiles {
  readonly #folder: string;
  readonly #files = new Map<string, Buffer>();
  /** The page with a place for the nonce; null where it is not built. */
  readonly page: string | null;

  constructor(folder: string = BUILD) {
    this.#folder = folder;
    this.page = this.#read();
  }

  #read(): string | null {
    try {
      const assets = join(this.#folder, 'assets');
      for (const name of readdirSync(assets)) this.#files.set(name, readFileSync(join(assets, name)));
      return readFileSync(join(this.#folder, 'index.html'), 'utf8');
    } catch {
      return null;
    }
  }

  /** In the smallest form that the client says it can read. */
  find(name: string, accepted: string | null): PageFile | null {
    const type = TYPES[name.slice(name.lastIndexOf('.') + 1)];
    const plain = this.#files.get(name);
    if (type === undefined || plain === undefined) return null;
    for (const [encoding, suffix] of [
      ['br', '.br'],
      ['gzip', '.gz'],
    ] as const) {
      const bytes = this.#files.get(name + suffix);
      if (bytes !== undefined && new RegExp(`(?:^|[\\s,])${encoding}(?:[\\s,;]|$)`).test(accepted ?? '')) {
        return { type, bytes, encoding };
      }
    }
    return { type, bytes: plain, encoding: null };
  }
}
