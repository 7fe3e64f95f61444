/** Totals in memory that the database does not have as they are. */
export class DirtyRows<Row extends { dirty: boolean }> {
  /** Since the journal was written. */
  #dirty: Row[] = [];
  readonly #journalled = new Set<Row>();

  add(row: Row): void {
    if (row.dirty) return;
    row.dirty = true;
    this.#dirty.push(row);
  }

  get empty(): boolean {
    return this.#dirty.length === 0 && this.#journalled.size === 0;
  }

  /** What has changed since the last time, for the journal; the database still lacks it. */
  forJournal(): readonly Row[] {
    const rows = this.#take();
    for (const row of rows) this.#journalled.add(row);
    return rows;
  }

  /** Each once, for the database. */
  forDatabase(): Iterable<Row> {
    if (this.#journalled.size === 0) return this.#take();
    const rows = new Set([...this.#journalled, ...this.#take()]);
    this.#journalled.clear();
    return rows;
  }

  drop(): void {
    this.#dirty = [];
    this.#journalled.clear();
  }

  #take(): readonly Row[] {
    const rows = this.#dirty;
    if (rows.length === 0) return rows;
    this.#dirty = [];
    for (const row of rows) row.dirty = false;
    return rows;
  }
}
