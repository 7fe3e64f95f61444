/**
 * Sessions of the key holder's page that were signed out before their hour was over. A session itself is a sealed cookie that
 * nobody keeps; what is kept here is for every gateway on the store, until the cookie would have ended anyway.
 */
import type { SqlEngine, Value } from './sql-store.ts';

export class EndedPageSessions {
  readonly #open: () => Promise<SqlEngine>;

  constructor(open: () => Promise<SqlEngine>) {
    this.#open = open;
  }

  async has(id: string): Promise<boolean> {
    const engine = await this.#open();
    const rows = await engine.read(`SELECT id FROM @ended_page_sessions WHERE id = $1`, [id]);
    return rows.length === 1;
  }

  async add(id: string, endsAtMs: number, nowMs: number): Promise<void> {
    await this.#write('DELETE FROM @ended_page_sessions WHERE ends_at_ms <= $1', nowMs);
    await this.#write(
      'INSERT INTO @ended_page_sessions (id, ends_at_ms) VALUES ($1, $2) ON CONFLICT DO NOTHING',
      id,
      endsAtMs,
    );
  }

  async #write(sql: string, ...values: readonly Value[]): Promise<void> {
    const engine = await this.#open();
    await engine.write(sql, values);
  }
}
