// Gathers the pages of the site in pages/: docs/, and those at the top of the repository that it is about. The site's own packages are
// found from there.
import { cpSync, mkdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Pages outside of docs/ that are part of the site. */
export const TOP_PAGES = [
  'README.md',
  'CHANGELOG.md',
  'SECURITY.md',
  'CONTRIBUTING.md',
  'bench/README.md',
  'deploy/README.md',
];

const site = dirname(fileURLToPath(import.meta.url));
const root = join(site, '..');

export function gatherPages() {
  const pages = join(site, 'pages');
  rmSync(pages, { recursive: true, force: true });
  for (const name of ['bench', 'deploy']) mkdirSync(join(pages, name), { recursive: true });
  cpSync(join(root, 'docs'), join(pages, 'docs'), { recursive: true });
  // What the first page shows is named by its address, not found beside it.
  cpSync(join(root, 'docs/images'), join(pages, 'public/images'), { recursive: true });
  for (const name of TOP_PAGES) cpSync(join(root, name), join(pages, name));
  cpSync(join(site, 'index.md'), join(pages, 'index.md'));
}
