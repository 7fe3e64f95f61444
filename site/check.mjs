// Every link of the built site leads somewhere: to a page or a file of it, and to an anchor that is there. What leads elsewhere is
// listed, not asked. Nothing is loaded from another host.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const dist = join(dirname(fileURLToPath(import.meta.url)), 'dist');
const pages = new Map();
for (const name of readdirSync(dist, { recursive: true })) {
  if (!name.endsWith('.html')) continue;
  const html = readFileSync(join(dist, name), 'utf8');
  pages.set(`/${name.replaceAll('\\', '/')}`, {
    ids: new Set([...html.matchAll(/ id="([^"]+)"/g)].map((match) => match[1])),
    links: [...html.matchAll(/<a [^>]*href="([^"]+)"/g)].map((match) => match[1].replaceAll('&amp;', '&')),
    loaded: [...html.matchAll(/<(?:script|img|link|iframe)\b[^>]*(?:src|href)="([^"]+)"/g)].map((match) => match[1]),
  });
}

const wrong = [];
const linked = new Set(pages.get('/README.html')?.links);
for (const page of pages.keys()) {
  const name = page.replace(/(\bindex)?\.html$/, '');
  if (!['/', '/404'].includes(name) && !linked.has(name)) wrong.push(`${page} is not in the navigation`);
}
for (const [page, { links, loaded }] of pages) {
  for (const link of links) {
    const url = new URL(link, `https://site.invalid${page}`);
    if (url.host !== 'site.invalid') continue;
    const target = [url.pathname, `${url.pathname}.html`, `${url.pathname.replace(/\/$/, '')}/index.html`].find(
      (path) => pages.has(path),
    );
    if (target === undefined) {
      if (!existsSync(join(dist, decodeURIComponent(url.pathname)))) wrong.push(`${page}: ${link} leads nowhere`);
    } else if (url.hash !== '' && !pages.get(target).ids.has(decodeURIComponent(url.hash.slice(1)))) {
      wrong.push(`${page}: ${link} has an anchor that is not there`);
    }
  }
  for (const source of loaded) if (/^(https?:)?\/\//.test(source)) wrong.push(`${page} loads ${source}`);
}
for (const line of new Set(wrong)) console.error(line);
console.log(
  `${pages.size} pages, ${[...pages.values()].reduce((sum, { links }) => sum + links.length, 0)} links, ${new Set(wrong).size} wrong`,
);
process.exitCode = wrong.length === 0 && pages.size > 20 ? 0 : 1;
