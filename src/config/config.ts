/** The frozen configuration of a process, from the environment and the config file. */
import type { Policy, USAGE_RECORDS } from '../core/policy.ts';
import type { Catalog } from '../core/provider.ts';
import type { Values } from '../lib/setting-rows.ts';
import type { TlsFiles } from './pem.ts';
import type { Secrets } from './secrets.ts';

export type { Settings } from './settings.ts';

/** From the config file; can change while the process runs. */
export interface Config extends Policy, Values<typeof USAGE_RECORDS> {
  /** Null: plain HTTP. Named by the environment or the file. */
  readonly tls: TlsFiles | null;
  /** Files that the config file or a `*_FILE` variable names and that were read with it. */
  readonly files: readonly string[];
  /** What was read from files and commands; tells whether that has changed, and never what it is. */
  readonly secrets: Secrets;
  readonly catalog: Catalog;
  readonly sandbox: boolean;
  /** Whether providers are asked for their model lists. */
  readonly modelLists: boolean;
}
