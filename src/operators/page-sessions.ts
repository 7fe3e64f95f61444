/**
 * Sessions of the key holder's page that were signed out before their hour was over. A session itself is a sealed cookie that
 * nobody keeps; what is kept here is for every gateway on the store, until the cookie would have ended anyway.
 */
import type { SqlEngine } from '../storage/sql-engine.ts';

export class EndedPageSessions {
  readonly #sql: SqlEngine;

  constructor(sql: SqlEngine) {
    this.#sql = sql;
  }

  async has(id: string): Promise<boolean> {
    const rows = await this.#sql.read(`SELECT id FROM @ended_page_sessions WHERE id = $1`, [id]);
    return rows.length === 1;
  }

  async add(id: string, endsAtMs: number, nowMs: number): Promise<void> {
    await this.#sql.write('DELETE FROM @ended_page_sessions WHERE ends_at_ms <= $1', [nowMs]);
    await this.#sql.write('INSERT INTO @ended_page_sessions (id, ends_at_ms) VALUES ($1, $2) ON CONFLICT DO NOTHING', [
      id,
      endsAtMs,
    ]);
  }
}
