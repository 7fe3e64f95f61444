/**
 * Providers and models that operators have defined, for every gateway on the store. What a provider is defined by is sealed
 * with the installation's secret, because it holds credentials.
 */
import { hkdfSync } from 'node:crypto';
import type { DefinitionKind, StoredDefinition, StoredDefinitions } from '../core/definition.ts';
import { isObject, parseJson } from '../lib/json.ts';
import { openText, sealText } from '../lib/sealed-text.ts';
import { integer, type Row, text, textOrNull } from '../storage/columns.ts';
import type { SqlEngine } from '../storage/sql-engine.ts';

export interface DefinitionChange extends Pick<StoredDefinition, 'kind' | 'name' | 'changedAtMs' | 'changedBy'> {
  /** Null: it is removed. */
  readonly definition: Readonly<Record<string, unknown>> | null;
  /** What is changed; 0 where there has never been one of this name. */
  readonly version: number;
}

/** A process that serves by the definitions. */
export interface DefinitionReader {
  readonly id: string;
  /** What it serves by. */
  readonly revision: number;
  /** Grows while it lives. */
  readonly beat: number;
}

export class Definitions {
  readonly #sql: SqlEngine;
  readonly #installationSecret: string;

  constructor(sql: SqlEngine, installationSecret: string) {
    this.#sql = sql;
    this.#installationSecret = installationSecret;
  }

  async all(): Promise<StoredDefinitions> {
    const rows = await this.#sql.read('SELECT * FROM @definitions ORDER BY kind, name');
    return {
      // Rows are never removed, so that every change makes the sum larger.
      revision: rows.reduce((sum, row) => sum + integer(row, 'version'), 0),
      list: rows.filter((row) => textOrNull(row, 'definition') !== null).map((row) => this.#read(row)),
    };
  }

  /** The version of one that was removed too; 0 where there has never been one. */
  async version(kind: DefinitionKind, name: string): Promise<number> {
    const [row] = await this.#sql.read('SELECT version FROM @definitions WHERE kind = $1 AND name = $2', [kind, name]);
    return row === undefined ? 0 : integer(row, 'version');
  }

  /** False where it has another version by now: nothing is changed then. */
  async change(change: DefinitionChange): Promise<boolean> {
    const { kind, name, definition, version, changedAtMs, changedBy } = change;
    const written = definition === null ? null : this.#written(kind, name, JSON.stringify(definition));
    const values = [kind, name, written, version, changedAtMs, changedBy];
    const rows =
      version === 0
        ? await this.#sql.write(
            `INSERT INTO @definitions (kind, name, definition, version, changed_at_ms, changed_by)
            VALUES ($1, $2, $3, $4 + 1, $5, $6) ON CONFLICT DO NOTHING RETURNING version`,
            values,
          )
        : await this.#sql.write(
            `UPDATE @definitions SET definition = $3, version = $4 + 1, changed_at_ms = $5, changed_by = $6
            WHERE kind = $1 AND name = $2 AND version = $4 RETURNING version`,
            values,
          );
    return rows.length === 1;
  }

  /** Notes that a process lives and what it serves by; what it should serve by. */
  async beat({ id, revision, beat }: DefinitionReader): Promise<number> {
    const [row] = await this.#sql.write(
      `INSERT INTO @definition_readers (id, revision, beat) VALUES ($1, $2, $3)
      ON CONFLICT (id) DO UPDATE SET revision = $2, beat = $3
      RETURNING (SELECT coalesce(sum(version), 0) FROM @definitions) AS newest`,
      [id, revision, beat],
    );
    return Number(row?.newest ?? 0);
  }

  async readersBefore(revision: number): Promise<readonly DefinitionReader[]> {
    const rows = await this.#sql.read('SELECT id, revision, beat FROM @definition_readers WHERE revision < $1', [
      revision,
    ]);
    return rows.map((row) => ({ id: text(row, 'id'), revision: integer(row, 'revision'), beat: integer(row, 'beat') }));
  }

  /** One that has not lived on since this beat. */
  async forgetReader({ id, beat }: Pick<DefinitionReader, 'id' | 'beat'>): Promise<void> {
    await this.#sql.write('DELETE FROM @definition_readers WHERE id = $1 AND beat <= $2', [id, beat]);
  }

  #read(row: Row): StoredDefinition {
    const kind = text(row, 'kind') === 'provider' ? 'provider' : 'model';
    const name = text(row, 'name');
    const written = text(row, 'definition');
    const value = parseJson(kind === 'provider' ? (openText(this.#sealingKey(name), written) ?? '') : written);
    return {
      kind,
      name,
      definition: isObject(value) ? value : null,
      version: integer(row, 'version'),
      changedAtMs: integer(row, 'changed_at_ms'),
      changedBy: text(row, 'changed_by'),
    };
  }

  #written(kind: DefinitionKind, name: string, definition: string): string {
    return kind === 'provider' ? sealText(this.#sealingKey(name), definition) : definition;
  }

  #sealingKey(name: string): Uint8Array {
    return new Uint8Array(hkdfSync('sha256', this.#installationSecret, name, 'model-gateway provider', 32));
  }
}
