/**
 * A real Chromium for tests of the console: the one that comes as an npm package, else the system's. What a page
 * does wrong is kept: messages of its console, requests to other places, and what axe finds.
 */
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { setTimeout } from 'node:timers/promises';
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type LaunchOptions,
  type Locator,
  type Page,
} from 'playwright-core';
import { oneAtATime } from './one-at-a-time.ts';

const ARGUMENTS = ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--font-render-hinting=none'];
const SYSTEM = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
/** For a browser that never starts; a slow machine is not meant by it. */
const START_MS = 300_000;

export type BrowserStart = { readonly browser: Browser } | { readonly reason: string };

/** The reason is for the one who reads why a test was skipped. */
export async function startBrowser(env: Readonly<Record<string, string>> = {}): Promise<BrowserStart> {
  const reasons: string[] = [];
  for (const find of [packaged, async () => SYSTEM.find((path) => existsSync(path)) ?? null]) {
    try {
      const executablePath = await find();
      if (executablePath === null) continue;
      const settings = { executablePath, args: ARGUMENTS, timeout: START_MS, env: { ...process.env, ...env } };
      return { browser: await chromium.launch(settings as LaunchOptions) };
    } catch (error) {
      reasons.push(String(error).split('\n', 1)[0] ?? '');
    }
  }
  return { reason: `no Chromium runs on this machine: ${reasons.join('; ') || 'none was found'}` };
}

/** Unpacked once into the folder for temporary files. */
async function packaged(): Promise<string> {
  const { default: packed } = await import('@sparticuz/chromium');
  return oneAtATime('chromium', () => packed.executablePath());
}

/** For what never comes; a slow machine is not meant by it. */
const NEVER_MS = 400_000;

/** For what a page shows, asked once something has failed already. */
const ANSWER_MS = 30_000;

/** Characters of a page in an error. */
const SHOWN_MAX = 2_000;

/** A window of the console's tests. */
export async function newContext(started: BrowserStart, options: BrowserContextOptions = {}): Promise<BrowserContext> {
  if ('reason' in started) throw new Error(started.reason);
  const context = await started.browser.newContext({
    viewport: { width: 1_280, height: 800 },
    // Halfway through a fade a text has not its contrast yet.
    reducedMotion: 'reduce',
    ...options,
  });
  context.setDefaultTimeout(NEVER_MS);
  return context;
}

export interface WatchedPage {
  readonly page: Page;
  /** What must be empty at the end: errors of the page, and requests that left for another place. */
  readonly complaints: string[];
}

export async function watchedPage(context: BrowserContext, ...origins: readonly string[]): Promise<WatchedPage> {
  const page = await context.newPage();
  return { page, complaints: complaintsOf(page, ...origins) };
}

/** Does `work`; where it fails, the error says what the page showed, which nobody else has seen. */
export async function showing(page: Page, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (cause) {
    throw new Error(`${String(cause)}\n${await shownBy(page)}`, { cause });
  }
}

/** A page whose script never ends does not answer, and says so. */
export async function shownBy(page: Page): Promise<string> {
  const silent = setTimeout(ANSWER_MS, `no answer within ${ANSWER_MS / 1_000} seconds`, { ref: false });
  const text = await Promise.race([page.evaluate<string>('document.body.innerText').catch(String), silent]);
  return `${page.url()} showed:\n${text.slice(0, SHOWN_MAX)}`;
}

/**
 * As somebody who holds the End key until `last` is there: in every frame, so that rows that come to the page are scrolled past
 * before the browser has drawn them.
 */
export async function holdEnd(page: Page, last: Locator): Promise<void> {
  await page.evaluate(`globalThis.endIsHeld = true; (function hold() {
    scrollTo(0, document.documentElement.scrollHeight);
    if (endIsHeld) requestAnimationFrame(hold);
  })()`);
  await showing(page, () => last.waitFor());
  await page.evaluate('endIsHeld = false');
}

/** From now on. `origins`: the places that are not outside. */
export function complaintsOf(page: Page, ...origins: readonly string[]): string[] {
  const complaints: string[] = [];
  page.on('console', (message) => {
    // The browser itself reports refused and failed calls, which the page explains to its reader.
    if (message.type() === 'error' && !/Failed to load resource/.test(message.text())) {
      complaints.push(`console: ${message.text()}`);
    }
  });
  page.on('pageerror', (error) => complaints.push(`error: ${error.message}`));
  page.on('request', (request) => {
    const url = request.url();
    const own = origins.some((origin) => url.startsWith(`${origin}/`)) || /^(data|blob):/.test(url);
    if (!own) complaints.push(`outside: ${url}`);
  });
  return complaints;
}

const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

interface AxeResult {
  readonly violations: readonly {
    readonly id: string;
    readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
  }[];
}

/** Violations of WCAG 2 A and AA, each with the elements that it is about. */
export async function axeViolations(page: Page): Promise<readonly string[]> {
  if (!(await page.evaluate<boolean>("'axe' in globalThis"))) await page.evaluate(axeSource);
  // Until the next frame a colour that changes is the former one, even where the change takes no time. A change that is
  // finished may stay in the list until that frame, which only comes to a page that is not busy asking.
  await page.evaluate(`(async () => {
    const changes = () => document.getAnimations().filter((running) => running instanceof CSSTransition);
    for (let left = changes(); left.length > 0; left = changes()) {
      await Promise.allSettled(left.map(({ finished }) => finished));
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  })()`);
  const { violations } = await page.evaluate<AxeResult>(
    "axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa'], resultTypes: ['violations'] })",
  );
  return violations.map(
    ({ id, nodes }) =>
      `${id}: ${nodes.map(({ html, failureSummary }) => `${html} ${failureSummary ?? ''}`).join('\n')}`,
  );
}
