/** Writes what an operator did, or was refused, into the audit trail. */
import { hash } from 'node:crypto';
import { isObject } from '../../lib/json.ts';
import type { AuditRecord, Caller } from '../../operators/port.ts';
import { AdminError } from '../error.ts';

/** Where an entry goes. */
interface AuditTrailSink {
  record(record: Omit<AuditRecord, 'atMs'>): Promise<void>;
}

interface AuditTrailOptions {
  readonly sink: AuditTrailSink;
  readonly caller: Caller;
  /** The trail could not be written. What was done is done: whoever is told has to tell somebody. */
  onFailure(error: unknown, record: Omit<AuditRecord, 'atMs'>): void;
  onRecorded(): void;
}

export interface Change<T> {
  /** What is done, as `key.create`. */
  readonly action: string;
  /** The id of what it is done to; null where it is still to be made. */
  readonly target: string | null;
  before?(): Promise<unknown>;
  /** Without secrets. */
  after?(result: T): unknown;
  made?(result: T): string | null;
}

const STATE_CHARACTERS_MAX = 20_000;

export class AuditTrail {
  readonly #options: AuditTrailOptions;

  constructor(options: AuditTrailOptions) {
    this.#options = options;
  }

  /** Does the work and records it, whatever becomes of it. */
  async change<T>(change: Change<T>, work: () => Promise<T>): Promise<T> {
    let before: unknown = null;
    try {
      before = (await change.before?.()) ?? null;
      const result = await work();
      const states = differences(before, change.after?.(result) ?? null);
      await this.#record(change, change.made?.(result) ?? change.target, 'done', null, states);
      return result;
    } catch (error) {
      const refused = error instanceof AdminError && error.code !== 'unavailable' && error.code !== 'internal';
      const reason = error instanceof Error ? error.message : String(error);
      const outcome = refused ? 'refused' : 'unknown';
      await this.#record(change, change.target, outcome, reason, [null, null]);
      throw error;
    }
  }

  async #record(
    { action }: Pick<Change<never>, 'action'>,
    target: string | null,
    outcome: AuditRecord['outcome'],
    reason: string | null,
    [before, after]: readonly [unknown, unknown],
  ): Promise<void> {
    const { sink, caller, onFailure, onRecorded } = this.#options;
    const { actor, from } = caller;
    const record = {
      actor,
      from: { ...from, userAgent: withoutSecrets(from.userAgent) },
      action,
      target: withoutSecrets(target),
      outcome,
      reason: withoutSecrets(reason),
      before: stateText(before),
      after: stateText(after),
    };
    onRecorded();
    try {
      await sink.record(record);
    } catch (error) {
      onFailure(error, record);
    }
  }
}

/** Of two states of the same thing, what differs; of one alone, all of it. */
function differences(before: unknown, after: unknown): readonly [unknown, unknown] {
  if (!isObject(before) || !isObject(after)) return [before, after];
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  const changed = names.filter((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]));
  const pick = (state: Readonly<Record<string, unknown>>): unknown =>
    Object.fromEntries(changed.filter((name) => name in state).map((name) => [name, state[name]]));
  return [pick(before), pick(after)];
}

/** How credentials of this gateway, and many of others, begin: what follows is short enough to be overlooked otherwise. */
const MARKED = /\b(mg_[a-z]_|sk[-_]|whsec_|Bearer\s+)[\w~+/=.-]{8,}/gi;
const LONG_WORD = /[\w~+/=-]{20,}/g;
/** The ids of keys, accounts, requests and so on are not secrets: they say what an entry is about. */
const OWN_ID = /^(key|acct|credit|transfer|refund|correction|op|tok|ses|req|resp|msg|alrt)_[0-9a-f]+$/;
/** Letters and digits without the dashes that names have; a date or a version is shorter. */
const RANDOM_PART = /(?=[A-Za-z]*[0-9])(?=[0-9]*[A-Za-z])[A-Za-z0-9]{16,}|[A-Za-z0-9]{24,}/;
const SHOWN = 4;

/** Somebody may have put a secret, of whatever origin, where it does not belong: a refusal quotes what was sent. */
export function withoutSecrets(text: string | null): string | null {
  if (text === null) return null;
  return text
    .replaceAll(MARKED, '$1…')
    .replaceAll(LONG_WORD, (word) =>
      OWN_ID.test(word) || !RANDOM_PART.test(word) ? word : `${word.slice(0, SHOWN)}…`,
    );
}

/**
 * Of a state that is too long, the longest fields are left out until it fits: a change that is made long may not hide what else
 * it changes. Their digests still tell whether they are the same.
 */
function stateText(state: unknown): string | null {
  if (state === null || state === undefined) return null;
  const text = JSON.stringify(state);
  if (text.length <= STATE_CHARACTERS_MAX) return text;
  if (!isObject(state)) return JSON.stringify(leftOut(text));
  const longest = Object.entries(state)
    .map(([name, value]) => ({ name, text: JSON.stringify(value) ?? '' }))
    .sort((a, b) => b.text.length - a.text.length);
  const kept: Record<string, unknown> = { ...state };
  for (const field of longest) {
    if (JSON.stringify(kept).length <= STATE_CHARACTERS_MAX) break;
    kept[field.name] = leftOut(field.text);
  }
  return JSON.stringify(kept);
}

function leftOut(text: string): string {
  return `(${text.length} characters, sha256 ${hash('sha256', text, 'hex').slice(0, 16)})`;
}
