/** The commands that the pages print: the lines of their blocks for a shell. */
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '../..');

export const PAGES: readonly string[] = [
  'README.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  'bench/README.md',
  'deploy/README.md',
  ...readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name.replaceAll('\\', '/')}`)
    .sort(),
];

export interface ShellBlock {
  readonly page: string;
  /** `sh` is meant to be pasted as it stands; without a language it has places to fill in. */
  readonly language: string;
  readonly text: string;
}

export function shellBlocks(): readonly ShellBlock[] {
  return PAGES.flatMap((page) => {
    const text = readFileSync(join(root, page), 'utf8');
    return [...text.matchAll(/^ *```(\w*)\n(.*?)^ *```$/gms)]
      .map(([, language = '', content = '']) => ({ page, language, text: content }))
      .filter(({ language }) => language === '' || language === 'sh' || language === 'bash');
  });
}

/** One per line; a line that ends with a backslash goes on. Without comments, variables before it and what its output is given to. */
export function commandsOf(text: string): readonly string[] {
  return text
    .replaceAll(/\\\n\s*/g, ' ')
    .split('\n')
    .flatMap((line) => line.split(/ && | \|\| /))
    .map((line) =>
      line
        .trim()
        .replace(/^\$ /, '')
        .replace(/\s+#.*$| {3,}.*$/, '')
        .replace(/^(export )?(\w+=(\$\(|\S*\s*))+/, '')
        .replace(/ \| .*$/, '')
        .replace(/\)$/, ''),
    )
    .filter((line) => line !== '' && !line.startsWith('#'));
}
