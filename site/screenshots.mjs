// `npm run screenshots`: every page of the built site, at desktop and phone width and in both themes, and the API reference of a
// started gateway. What a reader would see go wrong is printed, and fails the command: a picture that does not load, something
// wider than the page, an error of the page, a request to another host, a search that finds nothing.
import { mkdirSync, readdirSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { complaintsOf, startBrowser } from '../test/support/browser.ts';
import { fontsFile } from '../test/support/fonts.ts';
import { startedGateway } from '../test/support/started-gateway.ts';
import { fileOfSite } from './files.mjs';

const { values } = parseArgs({
  options: {
    out: { type: 'string', default: fileURLToPath(new URL('screenshots', import.meta.url)) },
    only: { type: 'string', default: '' },
    desktop: { type: 'boolean', default: false },
  },
});
const LOOKS = [
  { name: 'desktop', theme: 'light', viewport: { width: 1_360, height: 900 } },
  { name: 'desktop-dark', theme: 'dark', viewport: { width: 1_360, height: 900 } },
  { name: 'phone', theme: 'light', viewport: { width: 390, height: 844 } },
  { name: 'phone-dark', theme: 'dark', viewport: { width: 390, height: 844 } },
].slice(0, values.desktop ? 1 : undefined);
/** A page is taken in pieces: Chromium does not draw a picture of any height, and nobody reads one. */
const PIECE_PX = 2_400;
/** For a page that never loads; a slow machine is not meant by it. */
const PATIENCE_MS = 300_000;
const WORDS = ['hold', 'idempotency', 'vLLM', 'GATEWAY_PUBLIC_URL'];

const dist = fileURLToPath(new URL('dist', import.meta.url));
const paths = readdirSync(dist, { recursive: true })
  .filter((name) => name.endsWith('.html') && name !== '404.html')
  .map((name) => `/${name.replaceAll('\\', '/').replace(/(\bindex)?\.html$/, '')}`)
  .filter((path) => path.includes(values.only))
  .sort();
const wrong = [];
mkdirSync(values.out, { recursive: true });

const server = createServer((request, response) => fileOfSite(dist, request.url ?? '/', response));
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
const site = `http://127.0.0.1:${server.address().port}`;
const gateway = await startedGateway();
const started = await startBrowser({ FONTCONFIG_FILE: fontsFile() });
if ('reason' in started) throw new Error(started.reason);
const { browser } = started;
try {
  for (const look of LOOKS) {
    const context = await browser.newContext({ viewport: look.viewport, colorScheme: look.theme, locale: 'en-GB' });
    const page = await context.newPage();
    page.setDefaultTimeout(PATIENCE_MS);
    const complaints = complaintsOf(page, site, gateway.origin);
    for (const path of paths) {
      const answer = await page.goto(`${site}${path}`, { waitUntil: 'networkidle' });
      if (answer?.status() !== 200) wrong.push(`${path} is answered with ${answer?.status()}`);
      await capture(page, path === '/' ? 'home' : path.slice(1).replaceAll('/', '-'), look);
    }
    if (values.only === '') {
      await page.goto(`${gateway.origin}/docs`, { waitUntil: 'networkidle' });
      await page.getByRole('heading', { name: 'Model Gateway' }).first().waitFor();
      await capture(page, 'api-reference', look, 3);
      await search(page, look);
    }
    for (const complaint of complaints) wrong.push(`${look.name}: ${complaint}`);
    await context.close();
  }
} finally {
  await browser.close();
  await gateway[Symbol.asyncDispose]();
  server.close();
}
for (const line of wrong) console.error(line);
console.log(`${paths.length} pages in ${values.out}, ${wrong.length} wrong`);
process.exitCode = wrong.length === 0 ? 0 : 1;

async function capture(page, name, { name: look, viewport }, most = 40) {
  for (const problem of await page.evaluate(problemsOfPage)) wrong.push(`${look} ${name}: ${problem}`);
  const height = await page.evaluate(() => document.documentElement.scrollHeight);
  const pieces = Math.min(most, Math.ceil(height / PIECE_PX));
  for (let piece = 0; piece < pieces; piece += 1) {
    const top = piece * PIECE_PX;
    const clip = { x: 0, y: top, width: viewport.width, height: Math.min(PIECE_PX, height - top) };
    const path = join(values.out, `${look}-${name}${pieces > 1 ? `-${piece + 1}` : ''}.png`);
    await page.screenshot({ fullPage: true, clip, path });
  }
}

/** Runs in the page. */
function problemsOfPage() {
  const problems = [];
  const width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth > width) {
    problems.push(`is ${document.documentElement.scrollWidth - width} px wider than the window`);
  }
  for (const image of document.images) {
    if (!image.complete || image.naturalWidth === 0) problems.push(`the picture ${image.src} does not load`);
  }
  for (const heading of ['h1']) {
    const found = document.querySelectorAll(`main ${heading}, .VPHome ${heading}`).length;
    if (found !== 1 && document.querySelector('.VPContent') !== null) problems.push(`has ${found} ${heading}`);
  }
  return problems;
}

async function search(page, { name, viewport }) {
  await page.goto(`${site}/README`, { waitUntil: 'networkidle' });
  for (const word of WORDS) {
    await page.locator('#local-search button').click();
    await page.locator('.VPLocalSearchBox input').fill(word);
    const result = page.locator('.VPLocalSearchBox .result').first();
    if (
      !(await result.waitFor().then(
        () => true,
        () => false,
      ))
    )
      wrong.push(`${name}: the search finds nothing for ${word}`);
    await page.screenshot({ clip: { x: 0, y: 0, ...viewport }, path: join(values.out, `${name}-search-${word}.png`) });
    await page.keyboard.press('Escape');
  }
}
