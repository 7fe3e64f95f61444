/** The frozen configuration of a process, from the environment and the config file. */
import type { DefinedBy, DefinitionKind, DefinitionState } from '../core/definition.ts';
import type { Policy, USAGE_RECORDS } from '../core/policy.ts';
import type { Catalog } from '../core/provider.ts';
import type { Values } from '../lib/setting-rows.ts';
import type { TlsFiles } from './pem.ts';
import type { FileConfig } from './schema.ts';
import type { Secrets } from './secrets.ts';

export type { Settings } from './settings.ts';

/** The config file as it was read, with its references expanded. */
export interface ConfigSource {
  readonly file: FileConfig;
  /** False where there was no file: defaults and the environment count. */
  readonly found: boolean;
  /** There is a file, and it has no content: nobody has written that the defaults are meant. */
  readonly empty: boolean;
  readonly secrets: Secrets;
}

/** From the config file; can change while the process runs. */
export interface Config extends Policy, Values<typeof USAGE_RECORDS> {
  /** Null: plain HTTP. Named by the environment or the file. */
  readonly tls: TlsFiles | null;
  /** Files that the config file or a `*_FILE` variable names and that were read with it. */
  readonly files: readonly string[];
  /** What was read from files and commands; tells whether that has changed, and never what it is. */
  readonly secrets: Secrets;
  readonly catalog: Catalog;
  /** Of the providers by name, and of the models by id. */
  readonly definedBy: Readonly<Record<DefinitionKind, ReadonlyMap<string, DefinedBy>>>;
  /** What has become of the definitions of operators, at the revision that this configuration has. */
  readonly stored: { readonly revision: number; readonly states: readonly DefinitionState[] };
  /** What was read of the file, for a configuration that differs in something else. */
  readonly source: ConfigSource;
  readonly sandbox: boolean;
  /** Whether providers are asked for their model lists. */
  readonly modelLists: boolean;
}
