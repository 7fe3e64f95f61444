/**
 * Empty embedded stores with the present schema. Migrations run once per process: a copy opens in 3 ms, a new file in 30, and
 * thousands are opened.
 */
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openDatabase } from '../../src/ledger/sqlite/database.ts';

let template: string | null = null;

/** Creates that file, and returns its path. */
export function emptyStore(file: string): string {
  template ??= newTemplate();
  copyFileSync(template, file);
  return file;
}

function newTemplate(): string {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-template-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'empty.db');
  // Its log is emptied into the file when it is closed.
  openDatabase(file).close();
  return file;
}
