/**
 * Whose limits or credit somebody has changed, as the audit trail tells it: whatever gateway or command did it, it is there,
 * and only what is new in it is read. A cap that was lowered reaches a level without a request.
 */
import type { AuditTrailEntry, AuditTrailQuery } from '../operators/port.ts';

/** The audit trail of all gateways on one store. */
export interface ChangeTrail {
  auditTrail(query: AuditTrailQuery): Promise<readonly AuditTrailEntry[]>;
}

const CHANGES = /^(account\.(change|credit|key|move)|credit\.correct|key\.(change|credit|create))$/;
const PAGE = 1_000;
/** An entry may become visible after one with a greater number: so far back it is looked for again. */
const LATE_ENTRIES = 100;

export class ChangeWatch {
  readonly #trail: ChangeTrail;
  /** Null: nothing was read yet. */
  #newest: number | null = null;
  /** Entries that were read, of the last ones. */
  #read = new Set<number>();

  constructor(trail: ChangeTrail) {
    this.#trail = trail;
  }

  forget(): void {
    this.#newest = null;
    this.#read = new Set();
  }

  /**
   * The ids of keys and accounts that were changed since the last time, in the order of their changes; at first, of the last
   * changes that there were.
   */
  async next(): Promise<readonly string[]> {
    const after = this.#newest === null ? undefined : this.#newest - LATE_ENTRIES;
    const changed = new Set<string>();
    const read = new Set<number>();
    for (let before: number | undefined; ; ) {
      const page = await this.#trail.auditTrail({ limit: PAGE, after, before });
      for (const { number, action, target, outcome } of page) {
        read.add(number);
        if (!this.#read.has(number) && outcome !== 'refused' && target !== null && CHANGES.test(action))
          changed.add(target);
      }
      before = page.at(-1)?.number;
      if (page.length < PAGE || after === undefined) break;
    }
    this.#newest = [...read].reduce((most, number) => Math.max(most, number), this.#newest ?? 0);
    const oldest = this.#newest - LATE_ENTRIES;
    this.#read = new Set([...read].filter((number) => number > oldest));
    // The trail is read from its end.
    return [...changed].reverse();
  }
}
