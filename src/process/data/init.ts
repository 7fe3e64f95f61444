/** `gateway init`: a config file with comments from the credentials that are there, and the first operator, account and key. */
import { existsSync } from 'node:fs';
import { link, rm, writeFile } from 'node:fs/promises';
import { createInterface } from 'node:readline/promises';
import type { AccountView } from '../../admin/accounts/schema.ts';
import type { AdminConnection } from '../../admin/client.ts';
import { AdminError } from '../../admin/error.ts';
import type { CreatedKey } from '../../admin/keys/schema.ts';
import type { IssuedTokenView } from '../../admin/operators/schema.ts';
import type { Settings } from '../../config/config.ts';
import { KNOWN_HOSTS, type KnownHost } from '../../config/kinds.ts';
import { loadConfig } from '../../config/load.ts';
import { decodeModelLists } from '../../config/model-lists.ts';
import { type Environment, givenVariable } from '../../config/secrets.ts';
import type { Model } from '../../core/model.ts';
import { refreshModelLists } from '../model-lists.ts';

export interface InitOptions {
  readonly settings: Settings;
  readonly env: Environment;
  /** Names of providers, whether their credential is there or not; null takes those whose credential is. */
  readonly providers: readonly string[] | null;
  readonly check: boolean;
  /** Null makes no key, and buys no credit. */
  readonly credit: string | null;
  /** The name of the account that owns the credit; null: the key pays for itself. */
  readonly account: string | null;
  /** The name of the first operator, an owner; null makes none. */
  readonly operator: string | null;
  /** Asks a person; null where none is there. */
  readonly ask: ((question: string) => Promise<string>) | null;
  connectAdmin(): Promise<AdminConnection>;
}

export interface InitReport {
  readonly file: string;
  readonly providers: readonly { readonly name: string; readonly credential: string }[];
  readonly models: number;
  readonly key: CreatedKey | null;
  readonly account: AccountView | null;
  /** With its token; null where none was asked for, or one of this name is there. */
  readonly operator: IssuedTokenView | null;
}

/** Typed where nothing is wanted. */
export const NONE = 'none';

export async function init(options: InitOptions): Promise<InitReport> {
  const { settings, env } = options;
  const file = settings.configFile;
  if (existsSync(file)) {
    throw new AdminError('refused', `${file} exists already: edit it, or set GATEWAY_CONFIG to another path`);
  }
  const hosts = await chosenHosts(options);
  const { credentials, models } = await checked(hosts, options);
  const text = configText(hosts, models);
  await writeChecked(file, text, settings, env);
  return {
    file,
    providers: hosts.map(({ name }) => ({ name, credential: credentials.get(name) ?? 'not checked' })),
    models: models.length,
    ...(await firstRecords(options)),
  };
}

/** Reads lines from a terminal. */
export function terminal(): { ask(question: string): Promise<string>; close(): void } {
  const lines = createInterface({ input: process.stdin, output: process.stdout });
  return { ask: (question) => lines.question(question), close: () => lines.close() };
}

async function chosenHosts({ env, providers, ask }: InitOptions): Promise<readonly KnownHost[]> {
  if (providers !== null) return providers.map(hostNamed);
  const there = KNOWN_HOSTS.filter((host) => hasCredential(host, env));
  if (ask === null) return there;
  const chosen: KnownHost[] = [];
  for (const host of there) {
    const answer = await ask(`Use ${host.name} (${host.variable} is set)? [Y/n] `);
    if (!/^n/i.test(answer.trim())) chosen.push(host);
  }
  const others = KNOWN_HOSTS.filter((host) => !there.includes(host)).map(({ name }) => name);
  const more = await ask(`Others, separated by commas (${others.join(', ')}), or nothing: `);
  const names = more.split(',').map((name) => name.trim());
  return [...chosen, ...names.filter((name) => name !== '').map(hostNamed)];
}

function hostNamed(name: string): KnownHost {
  const host = KNOWN_HOSTS.find((candidate) => candidate.name === name);
  if (host !== undefined) return host;
  const known = KNOWN_HOSTS.map((candidate) => candidate.name).join(', ');
  throw new AdminError('invalid_input', `unknown provider ${JSON.stringify(name)}: expected one of ${known}`);
}

function hasCredential({ variable }: KnownHost, env: Environment): boolean {
  return givenVariable(env, variable) !== undefined || givenVariable(env, `${variable}_FILE`) !== undefined;
}

interface Checked {
  /** By the name of the provider: what is known of its credential. */
  readonly credentials: ReadonlyMap<string, string>;
  readonly models: readonly Model[];
}

/** Asks each provider for its models with the credential that is there: one call that costs nothing. */
async function checked(hosts: readonly KnownHost[], { settings, env, check }: InitOptions): Promise<Checked> {
  const without = hosts.filter((host) => !hasCredential(host, env));
  const credentials = new Map(without.map(({ name, variable }) => [name, `missing: set ${variable}`]));
  const own = new Set(hosts.map(({ variable }) => variable));
  const others = KNOWN_HOSTS.filter(({ variable }) => !own.has(variable)).map(({ variable }) => variable);
  // Models are listed for providers without a credential too.
  const placeholders = Object.fromEntries(without.map(({ variable }) => [variable, 'placeholder']));
  const hidden = Object.fromEntries(
    others.flatMap((name) => [
      [name, ''],
      [`${name}_FILE`, ''],
    ]),
  );
  const withoutFile = {
    ...settings,
    configFile: `${settings.configFile}.none`,
    configFileNamed: false,
    discoverLocal: false,
  };
  let document: string | null = null;
  if (check && hosts.length > without.length) {
    const documents = {
      getDocument: async () => null,
      putDocument: async (_: string, value: string) => {
        document = value;
      },
    };
    const missing = Object.fromEntries(without.map(({ variable }) => [variable, '']));
    const asking = { settings: withoutFile, env: { ...env, ...hidden, ...missing }, documents, freshMs: 0 };
    const { asked, failed } = await refreshModelLists(asking);
    for (const { provider, models } of asked) credentials.set(provider, `works: it lists ${models} models`);
    for (const { provider, reason } of failed) credentials.set(provider, `failed: ${reason}`);
  }
  const config = await loadConfig({
    settings: withoutFile,
    env: { ...env, ...hidden, ...placeholders },
    sandboxUrl: null,
    lists: decodeModelLists(document),
  });
  return { credentials, models: [...config.catalog.models.values()] };
}

function configText(hosts: readonly KnownHost[], models: readonly Model[]): string {
  const lines = [
    '# yaml-language-server: $schema=https://unpkg.com/model-gateway/docs/gateway.schema.json',
    '# The providers and models of this gateway: docs/run/configuration.md explains every key.',
    '# A change takes effect while the gateway runs; "gateway doctor" checks it.',
    '',
  ];
  if (hosts.length === 0) {
    return [
      ...lines,
      '# No credential was found, so only the simulated models are served. To add a provider:',
      '# providers:',
      '#   openai:',
      `#     api_key: \${file:/run/secrets/openai}`,
      '# models:',
      '#   - { id: gpt-5, provider: openai }',
      'sandbox: true',
      '',
    ].join('\n');
  }
  lines.push('providers:');
  for (const { name, variable } of hosts) {
    lines.push(`  ${name}:`, `    # From the variable, or from the file that ${variable}_FILE names.`);
    lines.push(
      `    api_key: \${${variable}}`,
      '    # What callers pay, as a multiple of what the provider charges.',
      '    markup: 1',
    );
  }
  lines.push(
    '',
    '# What callers can ask for. Delete what you do not offer; prices and limits come from published data.',
    'models:',
  );
  for (const model of models) {
    const { id, provider } = model;
    lines.push(`  - { id: ${JSON.stringify(id)}, provider: ${provider}, targets: [${targetTexts(hosts, model)}] }`);
  }
  lines.push('', '# The simulated models (sandbox/alpha and others), for trying things out.', 'sandbox: true', '');
  return lines.join('\n');
}

/** A target without a format stands for one of each format that its provider has. */
function targetTexts(hosts: readonly KnownHost[], { targets }: Model): string {
  const [first] = targets;
  const formats = hosts.find(({ name }) => name === first?.provider)?.formats ?? [];
  const isAll =
    formats.length === targets.length &&
    targets.every(({ format, upstreamModel }) => formats.includes(format) && upstreamModel === first?.upstreamModel);
  return (isAll ? targets.slice(0, 1) : targets)
    .map(({ provider, upstreamModel, format }) => {
      const chosen = isAll ? '' : `, format: ${format}`;
      return `{ provider: ${provider}, model: ${JSON.stringify(upstreamModel)}${chosen} }`;
    })
    .join(', ');
}

/** The file appears when it has been read without a problem. A credential that is still missing is none. */
async function writeChecked(file: string, text: string, settings: Settings, env: Environment): Promise<void> {
  const draft = `${file}.draft`;
  await writeFile(draft, text, { mode: 0o644 });
  try {
    const missing = KNOWN_HOSTS.filter((host) => !hasCredential(host, env)).map(({ variable }) => [
      variable,
      'placeholder',
    ]);
    await loadConfig({
      settings: { ...settings, configFile: draft },
      env: { ...env, ...Object.fromEntries(missing) },
      sandboxUrl: 'http://sandbox.invalid',
    });
    await link(draft, file);
  } finally {
    await rm(draft, { force: true });
  }
}

/** The first operator, account and key, as far as they are wanted. */
async function firstRecords(options: InitOptions): Promise<Pick<InitReport, 'key' | 'account' | 'operator'>> {
  const name = await answered(options, 'Name of the first operator, an owner (none: no operator)', options.operator);
  const payer = await answered(
    options,
    'Name of the account that owns the credit (none: the key itself)',
    options.account,
  );
  const { credit } = options;
  if (name === null && payer === null && credit === null) return { key: null, account: null, operator: null };
  const connection = await options.connectAdmin();
  const { api } = connection;
  try {
    const account = payer === null ? null : await api.call('createAccount', { body: { name: payer } });
    if (account !== null && credit !== null)
      await api.call('addAccountCredit', { id: account.id, body: { amount: credit } });
    const pays = account === null ? { credit } : { account: account.id };
    const key =
      credit === null ? null : await api.call('createKey', { body: { mode: 'credit', label: 'first key', ...pays } });
    const taken =
      name === null || (await api.call('listOperators', {})).data.some((operator) => operator.name === name);
    const operator = taken ? null : await api.call('createOperator', { body: { name, role: 'owner' } });
    return { key, account: account && (await api.call('showAccount', { id: account.id })), operator };
  } finally {
    await connection.close();
  }
}

/** What a person says, where one is asked; nothing is the value that is offered. */
async function answered({ ask }: InitOptions, question: string, offered: string | null): Promise<string | null> {
  if (ask === null) return offered;
  const answer = (await ask(`${question} [${offered ?? NONE}] `)).trim();
  if (answer === '') return offered;
  return answer === NONE ? null : answer;
}
