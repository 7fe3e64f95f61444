/** `npm run screenshots`: every page at desktop and phone width in both themes, of a gateway with real requests. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Page } from 'playwright-core';
import { adminFetch } from '../support/admin-fetch.ts';
import { startBrowser } from '../support/browser.ts';
import { builtConsole } from '../support/console-build.ts';
import { fontsFile } from '../support/fonts.ts';
import { mailServer } from '../support/mail-server.ts';
import { slackReceiver } from '../support/slack-receiver.ts';
import { startedGateway } from '../support/started-gateway.ts';
import { furnish, PAST_MS } from './furnish.ts';
import { beginInThePast } from './past.ts';

const { values } = parseArgs({
  options: {
    out: { type: 'string', default: 'screenshots' },
    only: { type: 'string', default: '' },
    full: { type: 'boolean', default: false },
  },
});
/** `--only key,alerts`: pages with one of these in their names. */
const isWanted = (name: string): boolean => values.only.split(',').some((part) => name.includes(part));
const SIZES = { desktop: { width: 1_360, height: 860 }, phone: { width: 390, height: 844 } };

await builtConsole();
const started = await startBrowser({ FONTCONFIG_FILE: fontsFile() });
if ('reason' in started) throw new Error(started.reason);
const { browser } = started;
const past = beginInThePast(PAST_MS);
const ends: (() => void)[] = [];
const ending = { after: (end: () => void) => ends.push(end) };
const channel = await slackReceiver(ending);
const server = await mailServer(ending, { tls: 'none' });
const gateway = await startedGateway({
  config: `account_page: true
alerts:
  allow_private: true
  slack: [{ name: ops, url: "${channel.url}" }]
  smtp: { host: localhost, port: ${server.port}, tls: off, from: gateway@example.com }
  email: [{ name: on-call, to: on-call@example.com, types: [circuit.open, audit.failed, alert.test] }]
`,
});
const scene = await furnish(gateway, past);
const origin = `http://127.0.0.1:${gateway.adminPort}`;
mkdirSync(values.out, { recursive: true });
try {
  for (const theme of ['light', 'dark'] as const) {
    for (const [size, viewport] of Object.entries(SIZES)) {
      const context = await browser.newContext({ viewport, colorScheme: theme, deviceScaleFactor: 1, locale: 'en-GB' });
      const page = await context.newPage();
      await page.goto(origin);
      await shoot(page, 'sign-in', size, theme);
      await signIn(page);
      for (const [name, path, act] of scene.pages) {
        if (!isWanted(name)) continue;
        await page.goto(`${origin}${path}`);
        await page.waitForSelector('h1');
        await page.waitForLoadState('networkidle');
        await act?.(page);
        await shoot(page, name, size, theme);
      }
      if (isWanted('account-sign-in')) {
        await page.goto(`${gateway.origin}/account`);
        await page.getByLabel('API key', { exact: true }).waitFor();
        await shoot(page, 'account-sign-in', size, theme);
        await page.getByLabel('API key', { exact: true }).fill(scene.holder);
        await page.getByRole('button', { name: 'Show it' }).click();
        await page.getByRole('button', { name: 'Show' }).click();
        await page.getByText('Closing balance', { exact: true }).waitFor();
        await shoot(page, 'account', size, theme);
      }
      await context.close();
    }
  }
} finally {
  await browser.close();
  await gateway[Symbol.asyncDispose]();
  for (const end of ends) end();
}

async function signIn(page: Page): Promise<void> {
  const { body } = await adminFetch(gateway.dataDir)('/operators/owner/link', 'POST', {});
  await page.goto((body as { url: string }).url);
  await page.getByRole('heading', { name: 'Sign in to Model Gateway' }).waitFor({ state: 'detached' });
  await page.waitForSelector('main h1');
}

async function shoot(page: Page, name: string, size: string, theme: string): Promise<void> {
  await page.waitForTimeout(350);
  await page.screenshot({ fullPage: values.full, path: join(values.out, `${name}-${size}-${theme}.png`) });
}
