/** Puts something around every commit of a database, or of all of them where it is given their prototype. */
import type { DatabaseSync, StatementResultingChanges } from 'node:sqlite';

/** To be called before the statements are prepared. */
export function aroundCommits(target: Pick<DatabaseSync, 'prepare'>, around: (commit: () => void) => void): void {
  const { prepare } = target;
  target.prepare = function prepared(this: DatabaseSync, sql: string) {
    const statement = prepare.call(this, sql);
    if (sql !== 'COMMIT') return statement;
    const commit = statement.run.bind(statement);
    statement.run = () => {
      let changes: StatementResultingChanges = { changes: 0, lastInsertRowid: 0 };
      around(() => {
        changes = commit();
      });
      return changes;
    };
    return statement;
  };
}
