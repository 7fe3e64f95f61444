/**
 * What operators have set on keys and accounts that account-admins administer: limits, caps, expiry, suspension. An
 * account-admin may make it tighter and take that back, and may not make it looser than the operator has set it.
 */
import type { Cap } from '../../core/account.ts';
import { isRangeWithin } from '../../core/address-list.ts';
import { coversModels } from '../../core/model-pattern.ts';
import { isObject } from '../../lib/json.ts';
import type { OperatorSetting } from '../../operators/port.ts';
import { AdminError } from '../error.ts';

type Field = keyof typeof LOOSER;
/** Fields of a key or of an account, or of a change of one. */
type Values = { readonly [Name in Field]?: unknown };
type Made = Values & { readonly id: string };

/** Where settings are kept. */
interface OperatorSettingsStore {
  noteSettings(settings: readonly OperatorSetting[]): Promise<void>;
  settingsOf(subject: string): Promise<readonly OperatorSetting[]>;
}

export class OperatorSettings {
  readonly #store: OperatorSettingsStore;

  constructor(store: OperatorSettingsStore) {
    this.#store = store;
  }

  /** An operator has made it as it is, or has changed these fields of it. */
  async note(made: Made, changed: readonly string[] | null = null): Promise<void> {
    await this.#note(settingsIn(made, changed));
  }

  async noteAll(made: readonly Made[]): Promise<void> {
    await this.#note(made.flatMap((one) => settingsIn(one, null)));
  }

  async #note(settings: readonly OperatorSetting[]): Promise<void> {
    if (settings.length > 0) await this.#store.noteSettings(settings);
  }

  /** Throws where an account-admin would make something looser than an operator has set it. */
  async requireKept(subject: string, change: Values): Promise<void> {
    const set = await this.#valuesOf(subject);
    for (const field of FIELDS) {
      const [bound, wanted] = [set[field], change[field]];
      if (bound === undefined || wanted === undefined || !isLooser(field, bound, wanted, set)) continue;
      const name = NAMES[field];
      throw new AdminError(
        'forbidden',
        `${name}: an operator has set it, so an account-admin can tighten it but not loosen it`,
        { field: name },
      );
    }
  }

  /** Whether an operator has limited or stopped what is in this account. */
  async binds(accountId: string): Promise<boolean> {
    return Object.values(await this.#valuesOf(accountId)).some((value) => value !== null && value !== 'active');
  }

  async #valuesOf(subject: string): Promise<Values> {
    const settings = await this.#store.settingsOf(subject);
    return Object.fromEntries(settings.map(({ field, value }) => [field, JSON.parse(value, revived)]));
  }
}

type Looser<Value> = (bound: Value, wanted: Value) => boolean;

/** Whether `wanted` is looser; null is no limit, and never the bound. */
const LOOSER = {
  status: (bound: string, wanted: string) => strictness(wanted) < strictness(bound),
  rpmLimit: isMore,
  tpmLimit: isMore,
  parallelLimit: isMore,
  runsLimit: isMore,
  outputLimit: isMore,
  expiresAtMs: isMore,
  cap: isMore,
  // What a cap is per: another period is another cap.
  period: (bound: string, wanted: string) => wanted !== bound,
  creditCap: isMoreCap,
  tokenCap: isMoreCap,
  models: (bound: readonly string[], wanted: readonly string[]) =>
    wanted.some((entry) => !bound.some((other) => coversModels(other, entry))),
  addresses: (bound: readonly string[], wanted: readonly string[]) =>
    wanted.some((range) => !isRangeWithin(bound, range)),
} as const;

const FIELDS = Object.keys(LOOSER) as Field[];

/** As the admin API calls them. */
const NAMES: Readonly<Record<Field, string>> = {
  status: 'status',
  rpmLimit: 'rpm_limit',
  tpmLimit: 'tpm_limit',
  parallelLimit: 'parallel_limit',
  runsLimit: 'runs_limit',
  outputLimit: 'output_limit',
  expiresAtMs: 'expires_at',
  cap: 'cap',
  period: 'period',
  creditCap: 'credit_cap',
  tokenCap: 'token_cap',
  models: 'models',
  addresses: 'addresses',
};

function isLooser(field: Field, bound: unknown, wanted: unknown, set: Values): boolean {
  if (bound === null || (field === 'period' && (set.cap ?? null) === null)) return false;
  return wanted === null || (LOOSER[field] as Looser<unknown>)(bound, wanted);
}

function isMore(bound: number | bigint, wanted: number | bigint): boolean {
  return wanted > bound;
}

function isMoreCap(bound: Cap, wanted: Cap): boolean {
  return wanted.period !== bound.period || wanted.amount > bound.amount;
}

function strictness(status: string): number {
  if (status === 'active') return 0;
  return status === 'revoked' || status === 'closed' ? 2 : 1;
}

/** Of what is made, only what limits something. A cap goes with its period, and a period is nothing without one. */
function settingsIn(made: Made, changed: readonly string[] | null): readonly OperatorSetting[] {
  const isMeant = (field: Field): boolean => {
    const leads = field === 'period' ? 'cap' : field;
    if (changed === null) return (made[leads] ?? null) !== null && made[leads] !== 'active';
    return changed.includes(field) || changed.includes(leads);
  };
  return FIELDS.filter((field) => made[field] !== undefined && isMeant(field)).map((field) => ({
    subject: made.id,
    field,
    value: JSON.stringify(made[field], stored),
  }));
}

/** JSON has no integers of this size. */
function stored(_name: string, value: unknown): unknown {
  return typeof value === 'bigint' ? { bigint: String(value) } : value;
}

function revived(_name: string, value: unknown): unknown {
  return isObject(value) && typeof value.bigint === 'string' ? BigInt(value.bigint) : value;
}
