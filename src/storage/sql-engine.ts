/** What stores in SQL that both engines understand are written on. */
import type { Row } from './columns.ts';

export type Value = string | number | null;

/** Parameters are `$1`, `$2` and so on, each used at least once; tables have an `@` before their names. */
export interface SqlEngine {
  read(sql: string, values?: readonly Value[]): Promise<readonly Row[]>;
  /** Resolves when the change is safe from a loss of power. */
  write(sql: string, values?: readonly Value[]): Promise<readonly Row[]>;
  close(): Promise<void>;
}

/** An engine that is opened when it is first needed; where that fails, the next call tries again. */
export function lateEngine(open: () => Promise<SqlEngine>): SqlEngine {
  let opening: Promise<SqlEngine> | null = null;
  const opened = (): Promise<SqlEngine> => {
    opening ??= open().catch((error: unknown) => {
      opening = null;
      throw error;
    });
    return opening;
  };
  return {
    read: async (sql, values) => (await opened()).read(sql, values),
    write: async (sql, values) => (await opened()).write(sql, values),
    close: async () => {
      const engine = await opening?.catch(() => null);
      await engine?.close();
    },
  };
}

/** The conditions that have a value, such as `number <`, as one; what has none does not matter. Adds to `values`. */
export function allOf(wanted: Readonly<Record<string, Value | undefined>>, values: Value[]): string {
  const conditions = Object.entries(wanted).flatMap(([condition, value]) =>
    value === undefined || value === null ? [] : [`${condition} $${values.push(value)}`],
  );
  return ['true', ...conditions].join(' AND ');
}
