/** What a connection relies on, by what the other side shows of itself. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { databaseAddress } from '../../../../src/core/database-url.ts';
import type { Row } from '../../../../src/storage/columns.ts';
import { StoreError } from '../../../../src/storage/errors.ts';
import { beginSession } from '../../../../src/storage/postgres/session.ts';

const SETTINGS = { statementTimeoutMs: 10_000, lockTimeoutMs: 5_000 };
const DIRECT = databaseAddress('postgres://h/db');
const DECLARED = databaseAddress('postgres://h/db?pgbouncer=true');

interface OtherSide {
  /** The process of each query in turn; the last one stays. */
  readonly processes: readonly number[];
  readonly readOnly?: boolean;
  readonly recovering?: boolean;
  readonly keepsSettings?: 'session' | 'transaction' | 'none';
  readonly renames?: boolean;
  readonly losesCommits?: boolean;
  readonly fails?: RegExp;
}

function otherSide({ processes, keepsSettings = 'session', ...other }: OtherSide) {
  const asked: string[] = [];
  let queries = 0;
  let timeout = '0';
  const query = async (text: string, name?: string): Promise<readonly Row[]> => {
    asked.push(text);
    const process = processes[Math.min(queries++, processes.length - 1)];
    if (other.fails?.test(text)) throw new Error('transaction blocks not allowed in statement pooling mode');
    const set = /SET (LOCAL )?statement_timeout = (\d+)/.exec(text);
    if (set !== null && (keepsSettings === 'session' || (keepsSettings === 'transaction' && set[1] !== undefined))) {
      timeout = set[2] ?? '';
    }
    if (text.includes('pg_is_in_recovery')) {
      const { recovering = false, readOnly = false, losesCommits = false } = other;
      return [{ process, recovering, read_only: readOnly, loses_commits: losesCommits }];
    }
    if (text.includes('pg_settings')) return [{ process, statement_timeout: timeout }];
    if (name !== undefined) return [{ name: other.renames === true ? 'PGBOUNCER_1' : name }];
    return [];
  };
  return { asked, query };
}

const hasSession = (asked: readonly string[]): boolean => asked.some((text) => /\bSET statement_timeout/.test(text));

describe('[F52] a session', () => {
  test('straight to the server has its settings for good, and prepares statements', async () => {
    const { query } = otherSide({ processes: [7] });
    assert.deepEqual(await beginSession(query, 7, DIRECT, SETTINGS), { perTransaction: null, prepares: true });
  });

  test('whose process is not the one that was announced is a pooler’s: nothing is set outside of a transaction', async () => {
    const { query, asked } = otherSide({ processes: [7] });
    const { perTransaction, prepares } = await beginSession(query, 99, DIRECT, SETTINGS);
    assert.match(perTransaction ?? '', /^SET LOCAL statement_timeout = 10000;.*SET LOCAL jit = off;/s);
    assert.equal(prepares, false);
    assert.equal(hasSession(asked), false);
    assert.ok(
      asked.some((text) => text.startsWith('DEALLOCATE')),
      'what was prepared to find it out is removed',
    );
  });

  test('waits for its commits where the server would not, and takes no snapshot for its settings', async () => {
    for (const losesCommits of [true, false]) {
      const direct = otherSide({ processes: [7], losesCommits });
      await beginSession(direct.query, 7, DIRECT, SETTINGS);
      const pooled = otherSide({ processes: [7], losesCommits });
      const { perTransaction } = await beginSession(pooled.query, 99, DIRECT, SETTINGS);
      const set = direct.asked.find((text) => /SET statement_timeout/.test(text)) ?? '';
      assert.equal(/SET synchronous_commit = on/.test(set), losesCommits);
      assert.equal(/SET LOCAL synchronous_commit = on/.test(perTransaction ?? ''), losesCommits);
      // Of a transaction that locks tables, none may be older than its locks.
      assert.doesNotMatch(perTransaction ?? '', /SELECT/);
    }
  });

  test('that the operator says is pooled is, whatever it shows', async () => {
    const { query, asked } = otherSide({ processes: [7] });
    assert.notEqual((await beginSession(query, 7, DECLARED, SETTINGS)).perTransaction, null);
    assert.equal(hasSession(asked), false);
  });

  test('with a pooler that keeps prepared statements uses them', async () => {
    const { query } = otherSide({ processes: [7], renames: true });
    assert.equal((await beginSession(query, 99, DIRECT, SETTINGS)).prepares, true);
  });

  test('that loses its settings or its process is treated as a pooler’s', async () => {
    for (const side of [{ processes: [7, 7, 8] }, { processes: [7], keepsSettings: 'transaction' as const }]) {
      const { query } = otherSide(side);
      assert.notEqual((await beginSession(query, 7, DIRECT, SETTINGS)).perTransaction, null);
    }
  });

  test('with a pooler that drops settings even in a transaction is refused with one line', async () => {
    for (const side of [
      { processes: [7], keepsSettings: 'none' as const },
      { processes: [7], fails: /^BEGIN/ },
    ]) {
      const { query } = otherSide(side);
      await assert.rejects(beginSession(query, 99, DIRECT, SETTINGS), (error: Error) => {
        assert.ok(error instanceof StoreError);
        assert.match(error.message, /^The pooler in front of PostgreSQL drops .*pool_mode = transaction or session/);
        return true;
      });
    }
  });

  test('with a server that takes no writes is refused, as far as one that does is wanted', async () => {
    const attempt = (target: string, side: Partial<OtherSide>) =>
      beginSession(
        otherSide({ processes: [7], ...side }).query,
        7,
        databaseAddress(`postgres://h/db?target_session_attrs=${target}`),
        SETTINGS,
      );
    await assert.rejects(attempt('read-write', { readOnly: true, recovering: true }), { code: '25006' });
    await assert.rejects(attempt('read-write', { readOnly: true }), { code: '25006' });
    await assert.rejects(attempt('primary', { readOnly: true, recovering: true }), { code: '25006' });
    await attempt('primary', { readOnly: true });
    await attempt('any', { readOnly: true, recovering: true });
  });
});
