/** The one frozen configuration of a process, made from the environment and the config file. */
import type { Policy } from '../core/policy.ts';
import type { Catalog } from '../core/provider.ts';

/** From the environment; fixed for the life of the process. */
export interface Settings {
  readonly host: string;
  readonly port: number;
  readonly adminPort: number;
  readonly dataDir: string;
  readonly configFile: string;
  /** True when the operator named the file: then it must exist. */
  readonly configFileNamed: boolean;
  /** Null: embedded SQLite in the data folder. */
  readonly databaseUrl: string | null;
  /** Keys the digests of API keys; replicas share it. Null: the one kept in the data folder. */
  readonly installationSecret: string | null;
  /** How long a silent process still counts as living; then others end what it held. */
  readonly leaseMs: number;
  readonly workers: number;
  readonly logLevel: 'debug' | 'info' | 'warn' | 'error' | 'silent';
  /** Whether to look for model servers on this machine when no config file names providers. */
  readonly discoverLocal: boolean;
}

/** From the config file; can change while the process runs. */
export interface Config extends Policy {
  readonly catalog: Catalog;
  readonly sandbox: boolean;
  /** Whether providers are asked for their model lists. */
  readonly modelLists: boolean;
}
