/** What `gateway requests show` says of a request, and the texts that are kept of it. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { readSettings } from '../../src/config/settings.ts';
import { showRequest } from '../../src/process/requests.ts';

const FOLDER = join(import.meta.dirname, '../gateway/requests/stories');

/** As `gateway requests show` prints it, once the request is logged. */
export async function story(dataDir: string, id: string | null | undefined): Promise<string> {
  const settings = readSettings({ GATEWAY_DATA: dataDir });
  for (const untilMs = Date.now() + 120_000; ; await delay(20)) {
    try {
      return await showRequest(settings, { operands: [String(id)], flags: {}, switches: new Set() });
    } catch (error) {
      if (Date.now() > untilMs) throw error;
    }
  }
}

/** What differs from run to run is replaced; the order of what happened in the same moment is not looked at. */
export function assertGolden(name: string, found: string): void {
  const masked = found
    .replace(/req_[0-9a-f]{32}/g, 'REQUEST')
    .replace(/key_(?!disabled|expired)[0-9A-Za-z_-]+/g, 'KEY')
    .replace(/acct_[0-9A-Za-z_-]+/g, 'ACCOUNT')
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME')
    .replace(/[\d.]+ (ms|s)\b(?!\))/g, 'N ms')
    .replace(/^ *N ms {2}/gm, '        N ms  ')
    .replace(/Retry in N ms/g, 'Retry in N s')
    .replace(/(\d+ bytes|\d+ in all)/g, 'N bytes')
    .replace(/in \d+ pieces/g, 'in N pieces')
    .replace(/127\.0\.0\.1:\d+/g, 'ADDRESS');
  const file = join(FOLDER, `${name}.txt`);
  if (process.env.UPDATE_GOLDEN === '1') writeFileSync(file, masked);
  assert.equal(masked, readFileSync(file, 'utf8'));
}
