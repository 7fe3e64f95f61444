/** What another gateway's configuration becomes here: a config file, accounts, keys, and what could not be taken. */
import { stringify } from 'yaml';
import { csvLine } from '../admin/csv.ts';
import { KNOWN_HOSTS } from '../config/kinds.ts';

export interface ProviderEntry {
  kind?: 'openai' | 'anthropic' | 'azure';
  base_url?: string;
  api_key?: string;
  api_keys?: string[];
  api_version?: string;
}

interface ModelEntry {
  readonly id: string;
  readonly targets: { readonly provider: string; readonly model: string; readonly weight?: number }[];
  max_output_tokens?: number;
  pricing?: { readonly input: number; readonly output: number; cache_read?: number };
}

/** A root of its own; credit is added to it where there was a balance. */
interface AccountEntry {
  readonly externalId: string;
  readonly name: string;
  readonly flags: readonly string[];
  readonly credit: string | null;
}

/** By the columns of `gateway import`. */
export type KeyEntry = Readonly<Record<string, string>>;

export class ImportPlan {
  readonly providers: Record<string, ProviderEntry> = {};
  readonly models: ModelEntry[] = [];
  /** By their id, `openai/*`: every model of a provider whose price is known. */
  readonly patterns = new Map<string, { readonly id: string; readonly provider: string }>();
  readonly accounts: AccountEntry[] = [];
  readonly keys: KeyEntry[] = [];
  /** What could not be taken, each with its reason. */
  readonly notes: string[] = [];
  /** Credentials of providers, by the environment variable that the config file names. */
  readonly secrets = new Map<string, string>();
  readonly #names = new Map<string, string>();

  /** The name of the provider with these settings; `wanted` where it is free. */
  provider(wanted: string, entry: ProviderEntry): string {
    const identity = JSON.stringify([wanted, entry]);
    const known = this.#names.get(identity);
    if (known !== undefined) return known;
    const base = nameOf(wanted);
    let name = base;
    for (let number = 2; name in this.providers; number++) name = `${base}-${number}`;
    // A second account of a known provider can no longer be recognised by its name.
    const host = KNOWN_HOSTS.find((each) => each.name === base);
    const needed = name === base || host === undefined ? {} : { kind: host.kind, base_url: host.baseUrl };
    this.providers[name] = { ...needed, ...entry };
    this.#names.set(identity, name);
    return name;
  }

  /** What the config file says instead of a credential that stands in plain text. */
  secret(wanted: string, text: string): string {
    const base = `IMPORTED_${wanted.toUpperCase().replaceAll(/[^A-Z0-9]+/g, '_')}_KEY`;
    for (const [name, known] of this.secrets) if (known === text) return `\${${name}}`;
    let name = base;
    for (let number = 2; this.secrets.has(name); number++) name = `${base}_${number}`;
    this.secrets.set(name, text);
    return `\${${name}}`;
  }

  /** One more place where a model is served. */
  target(id: string, target: ModelEntry['targets'][number]): ModelEntry {
    const known = this.models.find((model) => model.id === id);
    if (known !== undefined) {
      known.targets.push(target);
      return known;
    }
    const model: ModelEntry = { id, targets: [target] };
    this.models.push(model);
    return model;
  }

  /** A model, a pattern, or a provider with all that only it serves. */
  drop(id: string): void {
    if (this.patterns.delete(id)) return;
    const at = this.models.findIndex((model) => model.id === id);
    if (at >= 0) {
      this.models.splice(at, 1);
      return;
    }
    delete this.providers[id];
    for (const [pattern, { provider }] of this.patterns) if (provider === id) this.patterns.delete(pattern);
    for (const model of [...this.models]) {
      const others = model.targets.filter(({ provider }) => provider !== id);
      model.targets.splice(0, model.targets.length, ...others);
      if (others.length === 0) this.drop(model.id);
    }
  }

  /** The text of the config file. Without a provider there is only the sandbox, so that the file can be started with. */
  config(): string {
    const models = [
      ...this.models.map((model) => ({ provider: model.targets[0]?.provider, ...model })),
      ...this.patterns.values(),
    ];
    return stringify(models.length === 0 ? { sandbox: true } : { providers: this.providers, models, sandbox: false });
  }

  /** The files of the import, by name; none where there is nothing to write. */
  files(source: string): ReadonlyMap<string, string> {
    const files = new Map<string, string>();
    files.set('gateway.yaml', `# Imported from ${source}. Check it before you use it.\n${this.config()}`);
    if (this.secrets.size > 0) {
      files.set('secrets.env', [...this.secrets].map(([name, text]) => `${name}=${quoted(text)}\n`).join(''));
    }
    if (this.accounts.length > 0) files.set('accounts.sh', this.#accountScript());
    if (this.keys.length > 0) files.set('keys.csv', `${this.#keyLines().join('\n')}\n`);
    return files;
  }

  #accountScript(): string {
    const commands = this.accounts.map(({ externalId, name, flags, credit }) => {
      const create = ['npx gateway accounts create --external-id', quoted(externalId), ...flags.map(quoted)];
      // A name may look like a flag.
      const named = ['--', quoted(name)];
      if (credit === null) return [...create, ...named].join(' ');
      const id = `id=$(${[...create, '--json', ...named].join(' ')} | sed 's/^{"id":"\\([^"]*\\)".*/\\1/')`;
      return `${id}\nnpx gateway accounts credit "$id" ${credit} --note 'imported balance' --id ${quoted(externalId)}`;
    });
    return [
      '#!/bin/sh',
      '# The accounts that the keys of keys.csv belong to: run this first.',
      'set -e',
      ...commands,
      '',
    ].join('\n');
  }

  #keyLines(): readonly string[] {
    const columns = [...new Set(this.keys.flatMap((key) => Object.keys(key)))];
    return [columns.join(','), ...this.keys.map((key) => csvLine(columns.map((column) => key[column] ?? '')))];
  }
}

/** Lower-case letters, digits, dots, dashes and underscores; not `all`. */
function nameOf(wanted: string): string {
  const name = wanted
    .toLowerCase()
    .replaceAll(/[^a-z0-9._-]+/g, '-')
    .replaceAll(/^[^a-z0-9]+|-+$/g, '');
  return name === '' || name === 'all' ? 'provider' : name;
}

function quoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

/** `https://host/v1`, whatever the end of the address was. */
export function withVersion(address: string): string {
  const base = address.replace(/\/+$/, '');
  return /\/v\d+[a-z]*(\/|$)/.test(base) ? base : `${base}/v1`;
}

export function withoutPath(address: string): string {
  return URL.canParse(address) ? new URL(address).origin : address;
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function recordsIn(value: unknown): readonly Readonly<Record<string, unknown>>[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}

export function textIn(record: Readonly<Record<string, unknown>>, name: string): string | null {
  const value = record[name];
  return typeof value === 'string' && value !== '' ? value : null;
}

export function numberIn(record: Readonly<Record<string, unknown>>, name: string): number | null {
  const value = record[name];
  const number =
    typeof value === 'bigint' ? Number(value) : typeof value === 'string' && value !== '' ? Number(value) : value;
  return typeof number === 'number' && Number.isFinite(number) ? number : null;
}
