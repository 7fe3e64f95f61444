/** A story in the console: a gateway, a Chromium that looks at it, and what must hold wherever a part of the story ends. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, afterEach, before, beforeEach, describe, type TestContext } from 'node:test';
import type { BrowserContext, BrowserContextOptions, Locator, Page } from 'playwright-core';
import { adminFetch } from './admin-fetch.ts';
import {
  axeViolations,
  type BrowserStart,
  newContext,
  shownBy,
  startBrowser,
  type WatchedPage,
  watchedPage,
} from './browser.ts';
import { builtConsole } from './console-build.ts';
import type { StartedGateway } from './started-gateway.ts';

export class ConsoleStory {
  readonly #started: BrowserStart;
  #gateway: StartedGateway | null = null;
  #context: BrowserContext | null = null;
  #watched: WatchedPage | null = null;

  constructor(started: BrowserStart) {
    this.#started = started;
  }

  get gateway(): StartedGateway {
    assert(this.#gateway !== null);
    return this.#gateway;
  }

  /** Where the console is. */
  get origin(): string {
    return `http://127.0.0.1:${this.gateway.adminPort}`;
  }

  get context(): BrowserContext {
    assert(this.#context !== null);
    return this.#context;
  }

  get page(): Page {
    assert(this.#watched !== null);
    return this.#watched.page;
  }

  async begin(gateway: StartedGateway, signedIn: boolean): Promise<void> {
    this.#gateway = gateway;
    this.#context = await newContext(this.#started);
    this.#watched = await watchedPage(this.#context, this.origin);
    if (signedIn) await this.signIn(this.page);
  }

  async end(): Promise<void> {
    if ('browser' in this.#started) await this.#started.browser.close();
    await this.#gateway?.[Symbol.asyncDispose]();
  }

  /** On the same port, after the one before has ended. */
  goesOnWith(gateway: StartedGateway): void {
    this.#gateway = gateway;
  }

  async signIn(page: Page): Promise<void> {
    await page.goto(await this.link());
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
  }

  /** That signs in once. */
  async link(): Promise<string> {
    const { body } = await adminFetch(this.gateway.dataDir)('/operators/owner/link', 'POST', {});
    return (body as { url: string }).url;
  }

  /** Somebody else, in a browser of their own. */
  async another(options: BrowserContextOptions = {}, ...origins: readonly string[]) {
    const context = await newContext(this.#started, options);
    return { ...(await watchedPage(context, this.origin, ...origins)), close: () => context.close() };
  }

  /** Ends every part of the story: nothing was complained about, and axe finds nothing. */
  async inOrder(): Promise<void> {
    assert.deepEqual(await axeViolations(this.page), []);
    assert.deepEqual(this.#watched?.complaints, []);
  }

  /** Both keys are sent before either is answered: the second counts for a second only, and a machine may be slow. */
  async goTo(letter: string): Promise<void> {
    await Promise.all([this.page.keyboard.press('g'), this.page.keyboard.press(letter)]);
  }

  dialog(): Locator {
    return this.page.getByRole('dialog');
  }

  /** A button of the dialog. */
  press(name: string): Promise<void> {
    return this.dialog().getByRole('button', { name }).click();
  }

  closed(): Promise<void> {
    return this.dialog().waitFor({ state: 'hidden' });
  }

  /** An item of the menu of what is done rarely. */
  async more(item: string): Promise<void> {
    await this.page.getByRole('button', { name: 'More', exact: true }).click();
    await this.page.getByRole('menuitem', { name: item }).click();
    // It fades away: what is looked at next is looked at without it.
    await this.page.locator('[role=menu]').waitFor({ state: 'hidden' });
  }

  /** Comes when the log, which is written a moment after an answer, has so many requests. */
  async logged(filters: string, wanted: number): Promise<void> {
    for (let found = 0; found < wanted; await new Promise((resolve) => setTimeout(resolve, 20))) {
      const { body } = await adminFetch(this.gateway.dataDir)(`/requests?${filters}`);
      found = (body as { data: readonly unknown[] }).data.length;
    }
  }
}

/** `tell` has its parts, as tests that follow each other: what follows one that failed could only wait for what never comes. */
export async function consoleStory(
  name: string,
  start: () => Promise<StartedGateway>,
  tell: (story: ConsoleStory) => void,
  { signedIn = true }: { readonly signedIn?: boolean } = {},
): Promise<void> {
  await builtConsole();
  const started = await startBrowser();
  const skip = 'reason' in started ? started.reason : false;
  describe(name, { skip }, () => {
    const story = new ConsoleStory(started);
    let broken = false;
    before(async () => story.begin(await start(), signedIn));
    after(() => story.end());
    beforeEach(() => assert(!broken, 'an earlier part of the story failed'));
    afterEach(async (context) => {
      const t = context as TestContext;
      if (t.passed || broken) return;
      broken = true;
      t.diagnostic(await shownBy(story.page));
    });
    tell(story);
  });
}

/** The lines of a file that a click downloads. */
export async function downloaded(page: Page, click: () => Promise<void>): Promise<readonly string[]> {
  const coming = page.waitForEvent('download');
  await click();
  const text = await readFile(await (await coming).path(), 'utf8');
  return text.trimEnd().split('\r\n');
}
