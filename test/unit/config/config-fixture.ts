/** A config file in a folder of its own, gone after the test. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config, Settings } from '../../../src/config/config.ts';
import { type LoadOptions, loadConfig } from '../../../src/config/load.ts';
import { readSettings } from '../../../src/config/settings.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

export interface ConfigFolder {
  readonly file: string;
  readonly settings: Settings;
  write(text: string): Promise<void>;
  load(options?: Partial<LoadOptions>): Promise<Config>;
}

export const SANDBOX_URL = 'http://127.0.0.1:4321';

/** The file is not named by the operator unless `named`, so that it may be missing. */
export async function configFolder(named = false): Promise<ConfigFolder> {
  const folder = temporaryFolder('gateway-config');
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
