/** Runs test files one after the other in this process: to load and warm up the gateway for each of them takes most of their time. */
import { globSync } from 'node:fs';
import { resolve } from 'node:path';
import { test } from 'node:test';

const PROJECT = resolve(import.meta.dirname, '../..');

/** What a file starts at its top level is stopped by its own hooks before the next file is loaded. */
export function runTogether(...patterns: readonly string[]): void {
  for (const file of globSync(patterns, { cwd: PROJECT }).toSorted()) {
    test(file, async () => {
      await import(resolve(PROJECT, file));
    });
  }
}
