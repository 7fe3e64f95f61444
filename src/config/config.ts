/** The frozen configuration of a process, from the environment and the config file. */
import type { ForwardingHeader } from '../core/client-address.ts';
import type { Policy, USAGE_RECORDS } from '../core/policy.ts';
import type { Catalog } from '../core/provider.ts';
import type { Values } from '../lib/setting-rows.ts';
import type { OidcSettings } from './oidc.ts';
import type { Secrets } from './secrets.ts';

/** Paths of PEM files: a certificate chain and its private key. */
export interface TlsFiles {
  readonly cert: string;
  readonly key: string;
}

/** From the environment; fixed for the life of the process. */
export interface Settings {
  readonly host: string;
  readonly port: number;
  readonly adminHost: string;
  readonly adminPort: number;
  /** Names, in lower case, under which the operator's listener is reached besides `localhost` and IP addresses. */
  readonly adminHosts: readonly string[];
  /** The certificate of the operator's listener; null: plain HTTP. */
  readonly adminTls: TlsFiles | null;
  /** Whether the operator's listener can only be reached through a proxy that speaks TLS. */
  readonly adminProxy: boolean;
  /** Opens the metrics and nothing else; null: only the admin secret does. */
  readonly metricsToken: string | null;
  /** Null: operators sign in by links and tokens only. */
  readonly oidc: OidcSettings | null;
  /** Whether every key has metrics of its own. */
  readonly metricsPerKey: boolean;
  /** Where clients reach the gateway, without a slash at the end; null where the operator does not say. */
  readonly publicUrl: string | null;
  /** Ranges of addresses of proxies in front, and the header in which these say whom they forward for. */
  readonly trustedProxies: readonly string[];
  readonly proxyHeader: ForwardingHeader;
  /** Origins whose pages may send requests to the public listener; `*` is any. */
  readonly corsOrigins: readonly string[];
  readonly dataDir: string;
  readonly configFile: string;
  /** True when the operator named the file: then it must exist. */
  readonly configFileNamed: boolean;
  /** Null: embedded SQLite in the data folder. */
  readonly databaseUrl: string | null;
  /** Keys the digests of API keys; replicas share it. Null: the one kept in the data folder. */
  readonly installationSecret: string | null;
  /** How long a silent process counts as alive; after that, other processes recover its holds. */
  readonly leaseMs: number;
  readonly workers: number;
  /** The certificate of the public listener, where the environment names it. */
  readonly tls: TlsFiles | null;
  readonly logLevel: 'debug' | 'info' | 'warn' | 'error' | 'silent';
  /** Whether to look for model servers on this machine when no config file names providers. */
  readonly discoverLocal: boolean;
  /** Whether the config file may name commands whose output is a value. */
  readonly allowExec: boolean;
  /** How often such commands are run again. */
  readonly execRefreshMs: number;
  /** Whether the sandbox judges every request as the real APIs do. */
  readonly sandboxStrict: boolean;
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
  readonly sandbox: boolean;
  /** Whether providers are asked for their model lists. */
  readonly modelLists: boolean;
}
