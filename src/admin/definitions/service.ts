/** Adds and changes providers, models and prices beside the config file, which wins. */
import { priceTimeMs } from '../../config/price-changes.ts';
import { ConfigError } from '../../config/problem.ts';
import type { Clock } from '../../core/clock.ts';
import type {
  DefinedBy,
  DefinitionKind,
  DefinitionState,
  StoredDefinition,
  StoredDefinitions,
} from '../../core/definition.ts';
import { isObject } from '../../lib/json.ts';
import type { Definitions } from '../../operators/definitions.ts';
import type { AuditTrailEntry, AuditTrailQuery } from '../../operators/port.ts';
import { AdminError } from '../error.ts';
import { invalid } from '../http/validate.ts';
import type { View } from '../http/view.ts';
import type { DefinitionList, DefinitionView, PriceBody, RemovedDefinition } from './schema.ts';
import { definitionView, withStoredSecrets } from './view.ts';

type Fields = Readonly<Record<string, unknown>>;

/** What a running gateway does with definitions. */
export interface DefinitionsOptions {
  readonly store: Pick<Definitions, 'all' | 'change' | 'version'>;
  /** What has become of those that are stored. */
  states(): Promise<readonly DefinitionState[]>;
  /** What would become of them, by the config file as it is now. Rejects with a `ConfigError` where that cannot be used. */
  check(stored: StoredDefinitions): Promise<readonly DefinitionState[]>;
  /** Who defines what is in use under this name; null: nobody. */
  definedBy(kind: DefinitionKind, name: string): Promise<DefinedBy | null>;
  /** Resolves when every gateway on the store serves by what is stored. */
  apply(): Promise<void>;
}

interface ServiceOptions {
  /** Absent where no gateway is running. */
  readonly definitions: DefinitionsOptions | undefined;
  readonly trail: { auditTrail(query: AuditTrailQuery): Promise<readonly AuditTrailEntry[]> };
  readonly installationSecret: string;
  readonly clock: Clock;
  /** The name of whoever acts. */
  readonly actor: string;
}

export class DefinitionService {
  readonly #options: ServiceOptions;

  constructor(options: ServiceOptions) {
    this.#options = options;
  }

  async list(): Promise<View<typeof DefinitionList>> {
    const stored = await this.#definitions.store.all();
    const states = await this.#definitions.states();
    const data = stored.list.map((one) => this.#view(one, states));
    return { object: 'list', data };
  }

  async show(kind: DefinitionKind, name: string): Promise<DefinitionView> {
    const stored = await this.#definitions.store.all();
    const found = stored.list.find((one) => one.kind === kind && one.name === name);
    if (found === undefined) throw await this.#missing(kind, name);
    return this.#view(found, await this.#definitions.states());
  }

  /** What the trail keeps of the state before a change; null where there is none. */
  async before(kind: DefinitionKind, name: string): Promise<object | null> {
    const { list } = await this.#definitions.store.all();
    const found = list.find((one) => one.kind === kind && one.name === name);
    return found === undefined ? null : recorded(this.#view(found, []));
  }

  async create(kind: DefinitionKind, name: string, fields: object): Promise<DefinitionView> {
    const stored = await this.#definitions.store.all();
    if (stored.list.some((one) => one.kind === kind && one.name === name)) {
      throw new AdminError('refused', `${kind} ${quoted(name)} has been defined already: change it instead`);
    }
    const definition: Fields = { ...fields };
    this.#requireFuturePrices(definition, null);
    return this.#save(stored, kind, name, definition, await this.#definitions.store.version(kind, name));
  }

  /** `null` takes a field out. With `version`, only where that is still the version. */
  async change(
    kind: DefinitionKind,
    name: string,
    fields: object,
    version: number | undefined,
  ): Promise<DefinitionView> {
    const { stored, found } = await this.#find(kind, name, version);
    const { installationSecret } = this.#options;
    const changes = withStoredSecrets({ ...fields }, found.definition ?? {}, installationSecret);
    const named = kind === 'model' ? 'id' : 'name';
    if (changes[named] !== undefined) throw invalid(named, 'cannot be changed: define a new one, and remove this one');
    const next = { ...found.definition, ...changes };
    const definition = Object.fromEntries(Object.entries(next).filter(([, value]) => value !== null));
    this.#requireFuturePrices(definition, found.definition);
    return this.#save(stored, kind, name, definition, found.version);
  }

  async remove(
    kind: DefinitionKind,
    name: string,
    version: number | undefined,
  ): Promise<View<typeof RemovedDefinition>> {
    const { stored, found } = await this.#find(kind, name, version);
    const list = stored.list.filter((one) => one !== found);
    await this.#requireOthersWork(stored, list);
    await this.#write(kind, name, null, found.version);
    return { kind, name, removed: true, now: await this.#definitions.definedBy(kind, name) };
  }

  /** Without `from`, now. */
  async setPrice(id: string, body: View<typeof PriceBody>, version: number | undefined): Promise<DefinitionView> {
    const { from, pricing, markup } = body;
    if (pricing === undefined && markup === undefined) {
      throw new AdminError('invalid_input', 'nothing changes: give pricing, markup or both');
    }
    const { stored, found } = await this.#find('model', id, version);
    const given = { ...(pricing !== undefined && { pricing }), ...(markup !== undefined && { markup }) };
    const changes = priceChangesOf(found.definition);
    if (from !== undefined) {
      const fromMs = this.#futureMs(from);
      const others = changes.filter((change) => timeOf(change) !== fromMs);
      return this.#save(
        stored,
        'model',
        id,
        { ...found.definition, prices: [...others, { from, ...given }] },
        found.version,
      );
    }
    // What has taken effect becomes the price that this one follows.
    const nowMs = this.#nowMs();
    const past = changes.filter((change) => timeOf(change) <= nowMs).toSorted((a, b) => timeOf(a) - timeOf(b));
    const prices = changes.filter((change) => timeOf(change) > nowMs);
    const definition = Object.assign({}, found.definition, ...past.map(({ from: _from, ...terms }) => terms), given, {
      prices: prices.length === 0 ? null : prices,
    });
    const kept = Object.fromEntries(Object.entries(definition).filter(([, value]) => value !== null));
    return this.#save(stored, 'model', id, kept, found.version);
  }

  async cancelPrice(id: string, from: string, version: number | undefined): Promise<DefinitionView> {
    const { stored, found } = await this.#find('model', id, version);
    const fromMs = this.#futureMs(from);
    const changes = priceChangesOf(found.definition);
    const prices = changes.filter((change) => timeOf(change) !== fromMs);
    if (prices.length === changes.length) {
      throw new AdminError('not_found', `no price of model ${quoted(id)} takes effect at ${from}`);
    }
    const { prices: _prices, ...rest } = found.definition ?? {};
    return this.#save(stored, 'model', id, prices.length === 0 ? rest : { ...rest, prices }, found.version);
  }

  async #save(
    stored: StoredDefinitions,
    kind: DefinitionKind,
    name: string,
    definition: Fields,
    version: number,
  ): Promise<DefinitionView> {
    const changedAtMs = this.#nowMs();
    const saved: StoredDefinition = {
      kind,
      name,
      definition,
      version: version + 1,
      changedAtMs,
      changedBy: this.#options.actor,
    };
    const others = stored.list.filter((one) => one.kind !== kind || one.name !== name);
    const states = await this.#requireOthersWork(stored, [...others, saved]);
    const own = states.find((one) => one.kind === kind && one.name === name);
    if (own?.state === 'shadowed') throw ofFile(kind, name);
    if (own?.problem) throw new AdminError('invalid_input', ownProblem(own.problem, name));
    await this.#write(kind, name, definition, version);
    return this.#view(saved, states);
  }

  /** What would become of all; refuses what would break another definition. */
  async #requireOthersWork(
    stored: StoredDefinitions,
    list: readonly StoredDefinition[],
  ): Promise<readonly DefinitionState[]> {
    const before = await this.#checked(stored);
    const after = await this.#checked({ ...stored, list });
    const works = ({ kind, name }: DefinitionState): boolean =>
      before.some((one) => one.kind === kind && one.name === name && one.state === 'in_use');
    const changed = (one: DefinitionState): boolean =>
      stored.list.find(({ kind, name }) => kind === one.kind && name === one.name) !==
      list.find(({ kind, name }) => kind === one.kind && name === one.name);
    const broken = after.find((one) => one.state === 'refused' && works(one) && !changed(one));
    if (broken === undefined) return after;
    throw new AdminError(
      'refused',
      `${broken.kind} ${quoted(broken.name)} needs it: change or remove that first (${broken.problem})`,
    );
  }

  async #write(kind: DefinitionKind, name: string, definition: Fields | null, version: number): Promise<void> {
    const { store, apply } = this.#definitions;
    const change = { kind, name, definition, version, changedAtMs: this.#nowMs(), changedBy: this.#options.actor };
    if (!(await store.change(change))) {
      throw new AdminError('refused', `${await this.#changedBy(kind, name)}; nothing was done: read it again`);
    }
    await apply();
  }

  async #find(
    kind: DefinitionKind,
    name: string,
    version: number | undefined,
  ): Promise<{ readonly stored: StoredDefinitions; readonly found: StoredDefinition }> {
    const stored = await this.#definitions.store.all();
    const found = stored.list.find((one) => one.kind === kind && one.name === name);
    if (found === undefined) throw await this.#missing(kind, name);
    if (version === undefined || version === found.version) return { stored, found };
    const what = await this.#changedBy(kind, name);
    throw new AdminError('precondition_failed', `${what}; it is at version ${found.version}: read it again`);
  }

  /** Who has changed what of it last. */
  async #changedBy(kind: DefinitionKind, name: string): Promise<string> {
    const [last] = await this.#options.trail.auditTrail({ limit: 1, target: name, outcome: 'done' });
    const after: unknown = last?.after == null ? null : JSON.parse(last.after);
    const fields = isObject(after) ? Object.keys(after).filter((field) => field !== 'version') : [];
    const what = fields.length === 0 ? '' : ` (${fields.join(', ')})`;
    const by = last?.actor == null ? '' : ` by ${last.actor.name} at ${new Date(last.atMs).toISOString()}${what}`;
    return `${kind} ${quoted(name)} has been changed meanwhile${by}`;
  }

  async #missing(kind: DefinitionKind, name: string): Promise<AdminError> {
    const by = await this.#definitions.definedBy(kind, name);
    if (by === 'file' || by === 'sandbox') return ofFile(kind, name);
    const hint =
      by === 'environment' ? ': it comes from the environment, and a definition of this name counts instead' : '';
    return new AdminError('not_found', `no ${kind} ${quoted(name)} has been defined by API${hint}`);
  }

  #requireFuturePrices(definition: Fields, before: Fields | null): void {
    const known = new Set(priceChangesOf(before).map((change) => JSON.stringify(change)));
    for (const change of priceChangesOf(definition)) {
      if (!known.has(JSON.stringify(change))) this.#futureMs(change.from);
    }
  }

  #futureMs(from: string): number {
    const fromMs = priceTimeMs(from);
    if (fromMs === null) {
      throw invalid('from', 'must be a day like 2027-01-01, or a time with its zone like 2027-01-01T00:00:00Z');
    }
    if (fromMs > this.#nowMs()) return fromMs;
    throw invalid(
      'from',
      `is in the past (${new Date(fromMs).toISOString()}): requests since then have been charged; leave it out to change the price now`,
    );
  }

  async #checked(stored: StoredDefinitions): Promise<readonly DefinitionState[]> {
    try {
      return await this.#definitions.check(stored);
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      throw new AdminError(
        'refused',
        `the config file cannot be used as it is now: correct it first (${error.message})`,
      );
    }
  }

  #view(one: StoredDefinition, states: readonly DefinitionState[]): DefinitionView {
    const state = states.find(({ kind, name }) => kind === one.kind && name === one.name);
    return definitionView(one, state ?? { state: 'in_use', problem: null }, this.#options.installationSecret);
  }

  get #definitions(): DefinitionsOptions {
    const { definitions } = this.#options;
    if (definitions !== undefined) return definitions;
    throw new AdminError('unavailable', 'no gateway is running here: start it, or change the config file');
  }

  #nowMs(): number {
    return this.#options.clock.nowMs();
  }
}

interface StoredPriceChange extends Fields {
  readonly from: string;
}

function priceChangesOf(definition: Fields | null): readonly StoredPriceChange[] {
  const { prices } = definition ?? {};
  if (!Array.isArray(prices)) return [];
  return prices.filter((change): change is StoredPriceChange => isObject(change) && typeof change.from === 'string');
}

function timeOf({ from }: StoredPriceChange): number {
  return priceTimeMs(from) ?? Number.POSITIVE_INFINITY;
}

/** What the trail keeps of a definition: its fields, so that what has changed can be seen. */
export function recorded({ definition, version }: DefinitionView): object {
  return { ...definition, version };
}

function ofFile(kind: DefinitionKind, name: string): AdminError {
  return new AdminError(
    'refused',
    `${kind} ${quoted(name)} is defined by the config file, which wins: change it there`,
  );
}

/** By its fields alone: where in a file it would be does not help here. */
function ownProblem(problem: string, name: string): string {
  const prefixes = [`providers.${name}`, `providers[${JSON.stringify(name)}]`];
  const short = prefixes.reduce(
    (text, prefix) => text.replaceAll(`${prefix}.`, '').replaceAll(`${prefix}: `, ''),
    problem,
  );
  return short.replaceAll(/models\[\d+\](\.|: )/g, '');
}

function quoted(name: string): string {
  return JSON.stringify(name.slice(0, 200));
}
