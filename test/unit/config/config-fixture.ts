/** A config file in a folder of its own, gone after the test. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { Config, Settings } from '../../../src/config/config.ts';
import { type LoadOptions, loadConfig } from '../../../src/config/load.ts';
import { readSettings } from '../../../src/config/settings.ts';

export interface ConfigFolder {
  readonly file: string;
  readonly settings: Settings;
  write(text: string): Promise<void>;
  load(options?: Partial<LoadOptions>): Promise<Config>;
}

export const SANDBOX_URL = 'http://127.0.0.1:4321';

/** The file is not named by the operator unless `named`, so that it may be missing. */
export async function configFolder(context: TestContext, named = false): Promise<ConfigFolder> {
  const folder = await mkdtemp(join(tmpdir(), 'gateway-config-'));
  context.after(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
  const file = join(folder, 'gateway.yaml');
  const settings = { ...readSettings({}), configFile: file, configFileNamed: named };
  return {
    file,
    settings,
    write: (text) => writeFile(file, text),
    load: (options = {}) =>
      loadConfig({
        settings,
        env: {},
        sandboxUrl: SANDBOX_URL,
        probe: async () => null,
        now: new Date('2026-09-01T12:00:00Z'),
        ...options,
      }),
  };
}
