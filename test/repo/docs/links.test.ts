/** The pages lead somewhere: no dead link, and no promise without its test. */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { describe, test } from 'node:test';

const root = resolve(import.meta.dirname, '../../..');
const PROMISES = 'docs/understand/promises.md';
const pages = [
  ...readdirSync(root).filter((name) => name.endsWith('.md')),
  ...['bench/README.md', 'bench/results/history.md', 'console/README.md', 'deploy/README.md'],
  ...readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name.replaceAll('\\', '/')}`),
];

function textOf(page: string): string {
  return readFileSync(join(root, page), 'utf8');
}

/** The anchors that GitHub makes of the headings of a page. */
function anchorsOf(page: string): string[] {
  return [...textOf(page).matchAll(/^#+ (.*)$/gm)].map((match) =>
    (match[1] ?? '')
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

function linksOf(page: string): string[] {
  const prose = textOf(page).replaceAll(/^```.*?^```$/gms, '');
  return [...prose.matchAll(/\]\(([^)\s]+)\)/g)]
    .map((match) => match[1] ?? '')
    .filter((link) => !/^[a-z]+:/.test(link));
}

describe('links', () => {
  for (const page of pages) {
    test(`of ${page} lead to files and headings that exist`, () => {
      const dead = linksOf(page).filter((link) => {
        const [path = '', anchor] = link.split('#');
        const target = path === '' ? page : join(dirname(page), path);
        if (!existsSync(join(root, target))) return true;
        return anchor !== undefined && target.endsWith('.md') && !anchorsOf(target).includes(anchor);
      });
      assert.deepEqual(dead, []);
    });
  }
});

test('every page of docs/ is in its index', () => {
  const indexed = linksOf('docs/README.md').map((link) => join('docs', link));
  const own = pages.filter((page) => page.startsWith('docs/') && !page.startsWith('docs/connect/clients/'));
  assert.deepEqual(
    own.filter((page) => page !== 'docs/README.md' && !indexed.includes(page)),
    [],
  );
});

test('no text of the repository names a page of docs/ that does not exist', () => {
  const folders = ['bench', 'console/src', 'deploy', 'docs', 'site', 'src', 'test', 'tools'];
  const files = folders
    .flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)),
    )
    .filter((file) => /\.(ts|tsx|mjs|ya?ml|sql|md)$/.test(file) && !/node_modules|(^|\/)dist\//.test(file));
  const dead = files.flatMap((file) =>
    [...textOf(file).matchAll(/(?<![\w/.])docs\/[\w/-]+\.md\b/g)]
      .filter(([name]) => !existsSync(join(root, name)))
      .map(([name]) => `${file}: ${name}`),
  );
  assert.deepEqual(dead, []);
});

test('the page of promises names, for every one, tests that carry it', () => {
  const rows = [...textOf(PROMISES).matchAll(/^\| (.+) \| (.*\]\(.*) \|$/gm)];
  assert.ok(rows.length > 0);
  const missing: string[] = [];
  for (const [, promise = '', links = ''] of rows) {
    const files = [...links.matchAll(/\]\(([^)]+)\)/g)].map((match) => match[1] ?? '');
    const tests = files.map((file) => readFileSync(join(root, dirname(PROMISES), file), 'utf8')).join('\n');
    for (const tag of tagsOf(promise)) if (!tests.includes(`[${tag}]`)) missing.push(`${tag}: ${promise}`);
  }
  assert.deepEqual(missing, []);
});

/** `R1`, `F12`, and every number of `R3–R10`. */
function tagsOf(promise: string): string[] {
  return [...promise.matchAll(/\b([RF])(\d+)(?:–[RF](\d+))?/g)].flatMap(([, letter = '', first, last]) => {
    const from = Number(first);
    const count = Number(last ?? first) - from + 1;
    return Array.from({ length: count }, (_, index) => `${letter}${from + index}`);
  });
}
