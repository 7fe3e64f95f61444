/** How each provider is reached: proxy, authorities, client certificate, HTTP/2. The files are read and checked here. */

import { readFile, stat } from 'node:fs/promises';
import { type Network, PLAIN_NETWORK } from '../core/provider.ts';
import { joinPath } from '../lib/schema-errors.ts';
import { baseUrlOf, kindOf } from './assemble.ts';
import { identityProblems, isCertificate, NO_CERTIFICATE, unreadable } from './pem.ts';
import type { Problem } from './problem.ts';
import { isLoopback, proxyAddress, proxyFromEnvironment } from './proxy.ts';
import type { FileConfig, FileProvider } from './schema.ts';
import type { Environment } from './settings.ts';

const PEM_BYTES_MAX = 1024 * 1024;
const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;
/** Where the address of a package is not known: only what the environment says of every address counts. */
const UNKNOWN_ADDRESS = new URL('https://address-of-a-package.invalid');

/** By the name of the provider. `files` gets the files that were named: what they hold may change. */
export async function loadNetworks(
  { providers = {} }: FileConfig,
  env: Environment,
  files: string[],
  problems: Problem[],
): Promise<ReadonlyMap<string, Network>> {
  const networks = new Map<string, Network>();
  for (const [name, provider] of Object.entries(providers)) {
    const kind = kindOf(name, provider);
    const baseUrl = kind && baseUrlOf(name, kind, provider);
    const address = baseUrl !== undefined && URL.canParse(baseUrl) ? new URL(baseUrl) : UNKNOWN_ADDRESS;
    const loader = new NetworkLoader(joinPath('providers', name), files, problems);
    networks.set(name, await loader.load(provider, address, env));
  }
  return networks;
}

/** Of a provider that no file names. */
export function usualNetwork(baseUrl: string, env: Environment): Network {
  const proxy = proxyFromEnvironment(env, new URL(baseUrl));
  return proxy === null ? PLAIN_NETWORK : { ...PLAIN_NETWORK, proxy };
}

class NetworkLoader {
  readonly #path: string;
  readonly #files: string[];
  readonly #problems: Problem[];

  constructor(path: string, files: string[], problems: Problem[]) {
    this.#path = path;
    this.#files = files;
    this.#problems = problems;
  }

  async load(provider: FileProvider, address: URL, env: Environment): Promise<Network> {
    const { ca, client_cert: cert, client_key: key, http2 = false } = provider;
    if (address.protocol !== 'https:') {
      for (const field of ['ca', 'client_cert', 'client_key', 'http2'] as const) {
        if (provider[field] !== undefined && provider[field] !== false) {
          this.#refuse(field, 'needs a base_url that begins with https://');
        }
      }
    }
    if (cert === undefined && key !== undefined) this.#refuse('client_key', 'needs client_cert beside it');
    if (cert !== undefined && key === undefined) this.#refuse('client_cert', 'needs client_key beside it');
    return {
      proxy: this.#proxy(provider.proxy, address, env),
      ca: await this.#authorities(ca),
      ...(cert === undefined || key === undefined ? NO_IDENTITY : await this.#identity(cert, key)),
      http2,
      publicOnly: false,
    };
  }

  #proxy(named: string | undefined, address: URL, env: Environment): string | null {
    if (named === undefined) return proxyFromEnvironment(env, address);
    if (named === 'none' || isLoopback(address)) return null;
    const proxy = proxyAddress(named);
    // The value is never shown: it may hold a password.
    if (proxy === null) this.#refuse('proxy', 'must be the address of a proxy, http://… or https://…, or none');
    return proxy;
  }

  async #authorities(file: string | undefined): Promise<string | null> {
    const pem = await this.#read('ca', file);
    if (pem === null) return null;
    const certificates = pem.match(CERTIFICATE) ?? [];
    if (certificates.length === 0 || !certificates.every(isCertificate))
      this.#refuse('ca', `${file} ${NO_CERTIFICATE}`);
    return pem;
  }

  async #identity(certFile: string, keyFile: string): Promise<Pick<Network, 'clientCert' | 'clientKey'>> {
    const clientCert = await this.#read('client_cert', certFile);
    const clientKey = await this.#read('client_key', keyFile);
    if (clientCert === null || clientKey === null) return NO_IDENTITY;
    const files = { cert: certFile, key: keyFile };
    const problems = identityProblems(files, { cert: clientCert, key: clientKey });
    for (const { of, message } of problems) this.#refuse(`client_${of}`, `${files[of]} ${message}`);
    return { clientCert, clientKey };
  }

  async #read(field: string, file: string | undefined): Promise<string | null> {
    if (file === undefined) return null;
    this.#files.push(file);
    try {
      const { size } = await stat(file);
      if (size <= PEM_BYTES_MAX) return await readFile(file, 'utf8');
      this.#refuse(field, `${file} is larger than ${PEM_BYTES_MAX} bytes`);
    } catch (error) {
      this.#refuse(field, `${file} ${unreadable(error)}`);
    }
    return null;
  }

  #refuse(field: string, message: string): void {
    this.#problems.push({ path: joinPath(this.#path, field), message });
  }
}

const NO_IDENTITY = { clientCert: null, clientKey: null } as const;
