/** `gateway init`: a config file with comments from the credentials that are there, and the first operator, account and key. */
import { existsSync } from 'node:fs';
import { link, rm, writeFile } from 'node:fs/promises';
import { createInterface } from 'node:readline/promises';
import type { AccountView } from '../../admin/accounts/schema.ts';
import type { AdminConnection } from '../../admin/client.ts';
import { ensureDataDir } from '../../admin/data-folder.ts';
import { AdminError } from '../../admin/error.ts';
import type { CreatedKey } from '../../admin/keys/schema.ts';
import type { IssuedTokenView } from '../../admin/operators/schema.ts';
import type { Settings } from '../../config/config.ts';
import { KNOWN_HOSTS, type KnownHost } from '../../config/kinds.ts';
import { loadConfig } from '../../config/load.ts';
import { listKey, type ModelList } from '../../config/model-lists.ts';
import { type Environment, givenVariable } from '../../config/secrets.ts';
import { askAll } from '../model-lists.ts';
import {
  type ChosenProvider,
  configText,
  credentialOf,
  knownProvider,
  type OwnPrice,
  providerAt,
  providerOf,
  type SecretFile,
  writeSecretFiles,
} from './init-config.ts';

export interface InitOptions {
  readonly settings: Settings;
  readonly env: Environment;
  /** Names of providers, whether their credential is there or not; null takes those whose credential is. */
  readonly providers: readonly string[] | null;
  /** The address of a server that speaks the format of OpenAI; null: the one in OPENAI_BASE_URL, if any. */
  readonly baseUrl: string | null;
  /** What callers pay for its models. */
  readonly price: string | null;
  readonly check: boolean;
  /** Whether credentials are written to files, where they can be replaced while the gateway runs. */
  readonly secretFiles: boolean;
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
  /** Where the credentials are read from. */
  readonly secrets: readonly SecretFile[];
  readonly models: number;
  readonly key: CreatedKey | null;
  readonly account: AccountView | null;
  /** With its token; null where none was asked for, or one of this name is there. */
  readonly operator: IssuedTokenView | null;
}

/** Typed where nothing is wanted. */
export const NONE = 'none';
const OPENAI_KEY = 'OPENAI_API_KEY';
const OPENAI_ADDRESS = 'OPENAI_BASE_URL';

export async function init(options: InitOptions): Promise<InitReport> {
  const { settings, env } = options;
  const file = settings.configFile;
  if (existsSync(file)) {
    throw new AdminError('refused', `${file} exists already: edit it, or set GATEWAY_CONFIG to another path`);
  }
  const chosen = await chosenProviders(options);
  const tried = await triedProviders(chosen, options);
  if (options.secretFiles) await ensureDataDir(settings.dataDir);
  const secrets = options.secretFiles ? await writeSecretFiles(chosen, settings.dataDir, env) : [];
  try {
    const models = await writeChecked(file, configText(file, chosen, secrets, tried.listed), tried.lists, options);
    return {
      file,
      providers: chosen.map(({ name }) => ({ name, credential: tried.credentials.get(name) ?? 'not checked' })),
      secrets,
      models,
      ...(await firstRecords(options)),
    };
  } catch (error) {
    if (!existsSync(file)) for (const { file: own, written } of secrets) if (written) await rm(own, { force: true });
    throw error;
  }
}

/** Reads lines from a terminal. */
export function terminal(): { ask(question: string): Promise<string>; close(): void } {
  const lines = createInterface({ input: process.stdin, output: process.stdout });
  return { ask: (question) => lines.question(question), close: () => lines.close() };
}

async function chosenProviders(options: InitOptions): Promise<readonly ChosenProvider[]> {
  const { env, providers, ask } = options;
  const address = options.baseUrl ?? givenVariable(env, OPENAI_ADDRESS) ?? null;
  const server = address === null ? null : providerAt(address, keyOfServer(env), priceOf(options.price));
  const others = providers !== null ? providers.map(hostNamed) : [];
  if (providers !== null || ask === null) {
    const known = providers === null ? KNOWN_HOSTS.filter((host) => isThere(host, env, server)) : others;
    return [...(server === null ? [] : [server]), ...known.map(knownProvider)];
  }
  const chosen: ChosenProvider[] = [];
  const there = KNOWN_HOSTS.filter((host) => isThere(host, env, server));
  for (const host of there) {
    if (isYes(await ask(`Use ${host.name} (${host.variable} is set)? [Y/n] `))) chosen.push(knownProvider(host));
  }
  const names = KNOWN_HOSTS.filter((host) => !there.includes(host)).map(({ name }) => name);
  const more = await ask(`Others, separated by commas (${names.join(', ')}), or nothing: `);
  for (const name of more.split(',').map((each) => each.trim())) {
    if (name !== '') chosen.push(knownProvider(hostNamed(name)));
  }
  const own = await askedServer(ask, address, options);
  return own === null ? chosen : [own, ...chosen];
}

/** A credential beside the address of a server belongs to that server. */
function isThere(host: KnownHost, env: Environment, server: ChosenProvider | null): boolean {
  return server?.variable !== host.variable && server?.name !== host.name && hasVariable(host.variable, env);
}

async function askedServer(
  ask: NonNullable<InitOptions['ask']>,
  offered: string | null,
  { env, price }: InitOptions,
): Promise<ChosenProvider | null> {
  const or = offered === null ? 'or nothing' : `[${offered}], or none`;
  const answer = (await ask(`The address of a compatible server (vLLM, Ollama, LM Studio …), ${or}: `)).trim();
  const address = answer === '' ? offered : answer;
  if (address === null || address === NONE) return null;
  const usual = keyOfServer(env);
  const variable = (await ask(`The environment variable that holds its key, or none [${usual ?? NONE}] `)).trim();
  const key = variable === '' ? usual : variable === NONE ? null : variable;
  const paid =
    price ?? ((await ask('What callers pay, USD per million tokens of input/output [0/0] ')).trim() || '0/0');
  return providerAt(address, key, priceOf(paid));
}

function isYes(answer: string): boolean {
  return !/^n/i.test(answer.trim());
}

function keyOfServer(env: Environment): string | null {
  return hasVariable(OPENAI_KEY, env) ? OPENAI_KEY : null;
}

function priceOf(text: string | null): OwnPrice | null {
  if (text === null) return null;
  const [, input, output] = /^(\d+(?:\.\d+)?)\/(\d+(?:\.\d+)?)$/.exec(text) ?? [];
  if (input !== undefined && output !== undefined) return { input: Number(input), output: Number(output) };
  throw new AdminError(
    'invalid_input',
    `${JSON.stringify(text)} is not a price: write USD per million tokens of input and output, e.g. 0.50/1.50`,
  );
}

function hostNamed(name: string): KnownHost {
  const host = KNOWN_HOSTS.find((candidate) => candidate.name === name);
  if (host !== undefined) return host;
  const known = KNOWN_HOSTS.map((candidate) => candidate.name).join(', ');
  throw new AdminError(
    'invalid_input',
    `unknown provider ${JSON.stringify(name)}: expected one of ${known}, or the address of a server with --base-url`,
  );
}

function hasVariable(variable: string, env: Environment): boolean {
  return givenVariable(env, variable) !== undefined || givenVariable(env, `${variable}_FILE`) !== undefined;
}

interface Tried {
  /** By the name of the provider: what is known of its credential. */
  readonly credentials: ReadonlyMap<string, string>;
  /** By the name of the provider: the models of a server of one's own. */
  readonly listed: ReadonlyMap<string, readonly string[]>;
  readonly lists: ReadonlyMap<string, ModelList>;
}

/** Asks each provider for its models with the credential that is there. Throws where none of them can be used. */
async function triedProviders(chosen: readonly ChosenProvider[], { env, check }: InitOptions): Promise<Tried> {
  const without = chosen.filter((each) => each.variable !== null && credentialOf(each, env) === undefined);
  const credentials = new Map(without.map(({ name, variable }) => [name, `missing: set ${variable}`]));
  const listed = new Map<string, readonly string[]>();
  const lists = new Map<string, ModelList>();
  const own = chosen.find((each) => each.own !== null);
  if (!check && own !== undefined) {
    throw new AdminError('invalid_input', `the models of ${own.name} have to be asked for: leave out --no-check`);
  }
  const asked = check ? chosen.filter((each) => !without.includes(each)) : [];
  let works = 0;
  for (const { provider, answer } of await askAll(asked.map((each) => providerOf(each, env)))) {
    const { name, baseUrl } = provider;
    if ('kind' in answer) {
      credentials.set(name, WHY[answer.kind](answer.reason, baseUrl));
      continue;
    }
    works++;
    credentials.set(name, `works: it lists ${answer.size} models`);
    listed.set(name, [...answer.keys()]);
    lists.set(listKey(provider), { askedAtMs: Date.now(), models: answer });
  }
  const ownFails = own !== undefined && (listed.get(own.name) ?? []).length === 0;
  if (ownFails || (asked.length > 0 && works === 0)) {
    const reasons = [...credentials].map(([name, what]) => `${name}: credential ${what}`);
    const anyway = ownFails ? '' : ' (--no-check writes the file all the same)';
    throw new AdminError('refused', `nothing was written${anyway}: ${reasons.join('; ')}`);
  }
  return { credentials, listed, lists };
}

const WHY = {
  unreachable: (reason: string, address: string) =>
    `unknown: ${new URL(address).host} is unreachable (${reason}): check the address, the network and HTTPS_PROXY`,
  refused: (reason: string) => `refused (${reason}): it is wrong, expired, or not for this address`,
  unusable: (reason: string) => `unknown: ${reason}`,
};

/** The file appears when it has been read without a problem. A credential that is still missing is none. */
async function writeChecked(
  file: string,
  text: string,
  lists: Tried['lists'],
  { settings, env }: InitOptions,
): Promise<number> {
  const draft = `${file}.draft`;
  await writeFile(draft, text, { mode: 0o644 });
  try {
    const missing = KNOWN_HOSTS.filter(({ variable }) => !hasVariable(variable, env));
    const { catalog } = await loadConfig({
      settings: { ...settings, configFile: draft },
      env: { ...env, ...Object.fromEntries(missing.map(({ variable }) => [variable, 'placeholder'])) },
      sandboxUrl: null,
      lists,
    });
    await link(draft, file);
    return catalog.models.size;
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
