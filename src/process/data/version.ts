/** What this release is: its version, its commit, and the schemas that it brings stores to. */
import { execFileSync, type StdioOptions } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { readMigrations } from '../../ledger/migrations.ts';

export function versionLine(version: string): string {
  const schema = (dialect: 'sqlite' | 'postgres') => readMigrations(dialect).at(-1)?.version ?? 0;
  const schemas = `schema: SQLite ${schema('sqlite')}, PostgreSQL ${schema('postgres')}`;
  return `${version} (commit ${commit() ?? 'unknown'}; ${schemas})`;
}

/** From the build, else from the repository that the sources are in. */
function commit(): string | null {
  const build = new URL('../../build.json', import.meta.url);
  if (existsSync(build)) return (JSON.parse(readFileSync(build, 'utf8')) as { commit: string | null }).commit;
  const root = new URL('../../../', import.meta.url);
  if (!existsSync(new URL('.git', root))) return null;
  try {
    const stdio: StdioOptions = ['ignore', 'pipe', 'ignore'];
    return execFileSync('git', ['rev-parse', 'HEAD'], { cwd: fileURLToPath(root), stdio })
      .toString()
      .trim();
  } catch {
    return null;
  }
}
