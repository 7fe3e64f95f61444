/** What `gateway init` writes: the text of the config file, and the credentials of its providers in files of their own. */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { AdminError } from '../../admin/error.ts';
import { assembleProvider } from '../../config/assemble.ts';
import { KNOWN_HOSTS, type KnownHost, knownHostOf, LOCAL_SERVERS } from '../../config/kinds.ts';
import { usualNetwork } from '../../config/network.ts';
import { type Environment, givenVariable, readVariable } from '../../config/secrets.ts';
import { isInRanges } from '../../core/address-list.ts';
import { addressRanges, isLoopback } from '../../core/client-address.ts';
import type { Provider } from '../../core/provider.ts';

/** USD per million tokens. */
export interface OwnPrice {
  readonly input: number;
  readonly output: number;
}

/** A server that speaks the format of OpenAI and that nothing is published of. */
interface OwnServer {
  readonly baseUrl: string;
  readonly price: OwnPrice;
}

export interface ChosenProvider {
  readonly name: string;
  readonly kind: KnownHost['kind'];
  /** The environment variable that has its credential, or will. Null: it needs none. */
  readonly variable: string | null;
  /** Null for a provider whose address and prices are known. */
  readonly own: OwnServer | null;
}

export function knownProvider({ name, kind, variable }: KnownHost): ChosenProvider {
  return { name, kind, variable, own: null };
}

/** An address of a known provider is that provider, with the credential that was given for it. */
export function providerAt(text: string, variable: string | null, price: OwnPrice | null): ChosenProvider {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new AdminError(
      'invalid_input',
      `${JSON.stringify(text)} is not the address of a server: write it as clients have it, e.g. http://127.0.0.1:8000/v1`,
    );
  }
  const host = knownHostOf(text);
  if (host !== undefined) return { ...knownProvider(host), variable: variable ?? host.variable };
  if (price === null && !isNear(url.hostname)) {
    throw new AdminError(
      'invalid_input',
      `nothing is published of the prices of ${url.host}: say what callers pay, in USD per million tokens of input and output, with --price 0.50/1.50 (0/0: nothing)`,
    );
  }
  const baseUrl = url.href.replace(/\/+$/, '');
  return { name: nameOf(url, baseUrl), kind: 'openai', variable, own: { baseUrl, price: price ?? FREE } };
}

const FREE: OwnPrice = { input: 0, output: 0 };

/** Of this machine or network, where nobody sends a bill. */
function isNear(hostname: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, '');
  return isLoopback(host) || !/[.:]/.test(host) || isInRanges(addressRanges('private') ?? [], host);
}

function nameOf({ hostname, host }: URL, baseUrl: string): string {
  const known = LOCAL_SERVERS.find((server) => server.baseUrl === baseUrl.replace('localhost', '127.0.0.1'));
  if (known !== undefined) return known.name;
  if (isLoopback(hostname)) return 'local';
  const name = host
    .toLowerCase()
    .replaceAll(/[^a-z0-9.-]+/g, '-')
    .replaceAll(/^-+|-+$/g, '');
  // The name of a provider that is known belongs to that provider.
  return KNOWN_HOSTS.some((each) => each.name === name) ? `${name}-server` : name;
}

/** Undefined where it is not there. */
export function credentialOf({ variable }: ChosenProvider, env: Environment): string | undefined {
  const read = variable === null ? null : readVariable(env, variable);
  if (read === null) return undefined;
  if ('value' in read) return read.value.trim();
  throw new AdminError('invalid_input', read.problem);
}

/** As the file will have it, to be asked with the credential that is there. */
export function providerOf(chosen: ChosenProvider, env: Environment): Provider {
  const { name, kind, own } = chosen;
  const base_url = own?.baseUrl ?? KNOWN_HOSTS.find((host) => host.name === name)?.baseUrl ?? '';
  const api_key = credentialOf(chosen, env);
  const settings = { kind, base_url, ...(api_key !== undefined && { api_key }) };
  return assembleProvider(name, settings, undefined, usualNetwork(base_url, env));
}

export interface SecretFile {
  readonly provider: string;
  /** Absolute. */
  readonly file: string;
  /** Whether it was written; otherwise it is one that was there. */
  readonly written: boolean;
}

/** A credential in a file can be replaced while the gateway runs, which one in the environment cannot. */
export async function writeSecretFiles(
  chosen: readonly ChosenProvider[],
  dataDir: string,
  env: Environment,
): Promise<readonly SecretFile[]> {
  const files: SecretFile[] = [];
  for (const each of chosen) {
    const text = credentialOf(each, env);
    if (text === undefined) continue;
    const given = givenVariable(env, `${each.variable}_FILE`);
    if (given !== undefined) {
      files.push({ provider: each.name, file: resolve(given), written: false });
      continue;
    }
    const file = resolve(join(dataDir, 'secrets', each.name));
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    const there = await readFile(file, 'utf8').catch(() => null);
    if (there !== null && there.trim() !== text) {
      throw new AdminError(
        'refused',
        `${file} holds another credential: remove it, or refer to variables with --secrets variables`,
      );
    }
    if (there === null) await writeFile(file, `${text}\n`, { flag: 'wx', mode: 0o600, flush: true });
    files.push({ provider: each.name, file, written: there === null });
  }
  return files;
}

/** Where editors find the schema of the config file: in this package, as seen from the file. */
const SCHEMA_FILE = fileURLToPath(new URL('../../../docs/gateway.schema.json', import.meta.url));

/** `file`: where it is written. `listed`: by the name of the provider, the models of a server that nothing is published of. */
export function configText(
  file: string,
  chosen: readonly ChosenProvider[],
  secrets: readonly SecretFile[],
  listed: ReadonlyMap<string, readonly string[]>,
): string {
  const lines = [
    `# yaml-language-server: $schema=${relative(dirname(resolve(file)), SCHEMA_FILE)}`,
    '# The providers and models of this gateway: docs/run/configuration.md explains every key.',
    '# A change takes effect while the gateway runs; "gateway doctor" checks it.',
    '',
  ];
  if (chosen.length === 0) {
    return [
      ...lines,
      '# No credential was found, so only the simulated models are served. To add a provider:',
      '# providers:',
      '#   openai:',
      `#     api_key: \${file:/run/secrets/openai}`,
      '# models:',
      '#   - { id: openai/*, provider: openai }',
      'sandbox: true',
      '',
    ].join('\n');
  }
  lines.push('providers:', ...chosen.flatMap((each) => providerLines(each, secrets)), '');
  lines.push('# What callers can ask for. A pattern is every model of the provider whose price is known; name models');
  lines.push('# one by one (openai/gpt-5) to offer less.', 'models:');
  for (const { name, own } of chosen) {
    if (own === null) lines.push(`  - { id: "${name}/*", provider: ${name} }`);
    else lines.push(...(listed.get(name) ?? []).flatMap((model) => ownModelLines(name, model, own.price)));
  }
  lines.push('', '# The simulated models (sandbox/alpha and others), for trying things out.', 'sandbox: true', '');
  return lines.join('\n');
}

function providerLines(
  { name, kind, variable, own }: ChosenProvider,
  secrets: readonly SecretFile[],
): readonly string[] {
  const lines = [`  ${name}:`];
  if (own !== null) lines.push(`    kind: ${kind}`, `    base_url: ${JSON.stringify(own.baseUrl)}`);
  const secret = secrets.find(({ provider }) => provider === name);
  if (secret !== undefined) {
    lines.push(
      '    # Another credential in this file is used within seconds.',
      `    api_key: ${JSON.stringify(`\${file:${secret.file}}`)}`,
    );
  } else if (variable !== null) {
    lines.push(
      `    # From the variable, or from the file that ${variable}_FILE names.`,
      `    api_key: \${${variable}}`,
    );
  }
  if (own === null) lines.push('    # What callers pay, as a multiple of what the provider charges.', '    markup: 1');
  return lines;
}

function ownModelLines(provider: string, model: string, { input, output }: OwnPrice): readonly string[] {
  return [
    `  - id: ${JSON.stringify(`${provider}/${model}`)}`,
    `    targets: [{ provider: ${provider}, model: ${JSON.stringify(model)} }]`,
    `    # What callers pay, in USD per million tokens.`,
    `    pricing: { input: ${input}, output: ${output} }`,
  ];
}
