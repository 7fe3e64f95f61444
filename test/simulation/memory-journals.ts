/** The journals of a ledger in memory, as their files would be found after the death of a process. */
import {
  type ChargeJournal,
  isSameState,
  type JournalBatch,
  type JournalState,
} from '../../src/ledger/sqlite/charge-journal.ts';
import type { RateJournal, RateSlot } from '../../src/ledger/sqlite/rate-journal.ts';

export class MemoryJournal implements RateJournal {
  readonly #slots: RateSlot[] = [];
  #unwritten: RateSlot[] = [];

  get position(): number {
    return this.#slots.length;
  }

  append(slot: RateSlot): void {
    this.#unwritten.push(slot);
  }

  write(): void {
    this.#slots.push(...this.#unwritten.splice(0));
  }

  truncate(position: number): void {
    this.#unwritten = [];
    this.#slots.length = position;
  }

  read(): readonly RateSlot[] {
    return [...this.#slots];
  }

  close(): void {}
}

export class MemoryChargeJournal implements ChargeJournal {
  readonly #records: { readonly state: JournalState; readonly batch: JournalBatch }[] = [];
  #position = 0;

  write(state: JournalState, batch: JournalBatch): void {
    this.#records[this.#position++] = { state, batch };
  }

  startOver(): void {
    this.#position = 0;
  }

  read(state: JournalState): readonly JournalBatch[] {
    const end = this.#records.findIndex((record) => !isSameState(record.state, state));
    return this.#records.slice(0, end === -1 ? undefined : end).map(({ batch }) => batch);
  }

  close(): void {}
}
