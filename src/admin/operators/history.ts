/** What was done to a key, an account or a request: the part of the audit trail that is about it. */
import { creditsFromNanos } from '../../core/money.ts';
import { isObject } from '../../lib/json.ts';
import type { RequestView } from '../../observe/request-log/view.ts';
import type { Operators } from '../../operators/operators.ts';
import type { AuditTrailEntry } from '../../operators/port.ts';
import type { HistoryEventView, HistoryView, RequestHistoryView } from './history-schema.ts';

const EVENTS_MAX = 200;
/** The newest ones are looked through for those that an account or a key got back. */
const REFUNDS_MAX = 1_000;
const REFUND = 'request.refund';
/** What is told by the amount where there is one. */
const BOOKED: ReadonlySet<string> = new Set(['credit', 'promotional', 'purchased']);
/** What an entry says of itself rather than of the object, or what moves with every request. */
const NO_CHANGE: ReadonlySet<string> = new Set([
  ...['amount', 'reason', 'note', 'entry_id', 'version', 'object', 'updated_at', 'payer', 'key', 'request_id'],
  ...['refunded', 'charged', 'balance', 'used', 'reserved', 'live_holds', 'requests', 'input_tokens', 'output_tokens'],
]);

interface HistoryOptions {
  readonly trail: Pick<Operators, 'auditTrail'>;
  /** Whether the caller may see who did it, and what an operator only read. */
  readonly seesActors: boolean;
}

export class HistoryService {
  readonly #options: HistoryOptions;

  constructor(options: HistoryOptions) {
    this.#options = options;
  }

  /** Of a key or an account, with what it got back for its requests. */
  async of(id: string): Promise<HistoryView> {
    const { trail } = this.#options;
    const own = await trail.auditTrail({ target: id, outcome: 'done', limit: EVENTS_MAX });
    const refunds = await trail.auditTrail({ action: REFUND, outcome: 'done', limit: REFUNDS_MAX });
    const received = refunds.filter(({ after }) => {
      const { payer, key } = stateOf(after);
      return payer === id || key === id;
    });
    const newest = [...own, ...received].sort((a, b) => b.number - a.number);
    return {
      object: 'list',
      data: withoutRepeats(newest)
        .slice(0, EVENTS_MAX)
        .map((entry) => this.#event(entry)),
    };
  }

  async ofRequest({ id, mode, charged }: RequestView): Promise<RequestHistoryView> {
    const { trail, seesActors } = this.#options;
    const all = await trail.auditTrail({ target: id, outcome: 'done', limit: EVENTS_MAX });
    const shown = seesActors ? all : all.filter(({ action }) => action === REFUND);
    const refunds = all.filter(({ action }) => action === REFUND).map(({ after }) => stateOf(after));
    // Each says how much all of them together have given back by then.
    const refunded = Math.max(0, ...refunds.map((refund) => numberIn(refund.refunded) ?? 0));
    const paid = mode === 'credit' && charged !== null ? creditsFromNanos(BigInt(charged)) : 0;
    const refundable = Math.max(0, Number((paid - refunded).toFixed(9)));
    return { refunded, refundable, events: withoutRepeats(shown).map((entry) => this.#event(entry)) };
  }

  #event({ atMs, action, actor, target, before, after }: AuditTrailEntry): HistoryEventView {
    const [earlier, later] = [stateOf(before), stateOf(after)];
    const isRefund = action === REFUND;
    return {
      at: new Date(atMs).toISOString(),
      action,
      actor: this.#options.seesActors ? (actor?.name ?? null) : null,
      amount: numberIn(later.amount),
      reason: textIn(later.reason) ?? textIn(later.note),
      request_id: isRefund ? target : null,
      changes:
        before === null
          ? []
          : changesOf(earlier, later).filter(({ field }) => later.amount === undefined || !BOOKED.has(field)),
    };
  }
}

/** Newest first. What was sent again with the id of its entry has booked nothing: only the first of them is kept. */
function withoutRepeats(entries: readonly AuditTrailEntry[]): readonly AuditTrailEntry[] {
  const booked = new Set<string>();
  const first = entries.toReversed().filter(({ action, target, after }) => {
    const { entry_id: entryId } = stateOf(after);
    if (typeof entryId !== 'string') return true;
    const name = JSON.stringify([action, target, entryId]);
    const isNew = !booked.has(name);
    booked.add(name);
    return isNew;
  });
  return first.reverse();
}

/** For a terminal; nothing where nothing was done. */
export function historyLines({ events, refundable }: RequestHistoryView): readonly string[] {
  if (events.length === 0) return [];
  const left = `${refundable} credits are left to refund`;
  return ['', 'History:', ...events.map((event) => `  ${eventText(event)}`), `  ${left}`];
}

export function eventText({ at, action, actor, amount, reason, request_id, changes }: HistoryEventView): string {
  const parts = [
    amount === null ? null : `${amount} credits`,
    request_id === null ? null : `for ${request_id}`,
    ...changes.map(({ field, from, to }) => `${field} ${from ?? 'none'} → ${to ?? 'none'}`),
    reason,
  ].filter((part) => part !== null);
  const told = `${at} ${action}${actor === null ? '' : ` by ${actor}`}`;
  return (parts.length === 0 ? told : `${told}: ${parts.join(', ')}`).replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]/gu, '\u{fffd}');
}

type State = Readonly<Record<string, unknown>>;

function stateOf(json: string | null): State {
  const state: unknown = json === null ? null : JSON.parse(json);
  return isObject(state) ? state : {};
}

function changesOf(before: State, after: State): HistoryEventView['changes'] {
  const fields = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return fields
    .filter((field) => !NO_CHANGE.has(field))
    .map((field) => ({ field, from: fieldText(before, field), to: fieldText(after, field) }));
}

/** Up to release 0.2 a state that was too long was left out as a whole, apart from its length. */
function fieldText(state: State, field: string): string | null {
  if (state[field] === undefined && state.too_large !== undefined) return 'unknown';
  const value = state[field];
  if (value === undefined || value === null) return null;
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** As it was given: a number, or a text of one. */
function numberIn(value: unknown): number | null {
  const number = typeof value === 'string' && value !== '' ? Number(value) : value;
  return typeof number === 'number' && Number.isFinite(number) ? number : null;
}

function textIn(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}
