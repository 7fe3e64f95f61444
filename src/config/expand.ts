/**
 * Environment variables inside the string values of the config file: `${NAME}`, `${NAME:-default}`, and `$${` for a
 * literal `${`. An empty variable counts as missing, so that a key is never silently empty.
 */
import { joinPath } from '../lib/schema-errors.ts';
import type { Problem } from './problem.ts';
import type { Environment } from './settings.ts';

const REFERENCE = /\$\$\{|\$\{([^}]*)\}?/g;
const NAME = /^([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?$/s;

export interface Expansion {
  readonly value: unknown;
  readonly problems: readonly Problem[];
}

export function expandEnvironment(value: unknown, env: Environment): Expansion {
  const problems: Problem[] = [];
  return { value: expanded(value, '', env, problems), problems };
}

function expanded(value: unknown, path: string, env: Environment, problems: Problem[]): unknown {
  if (typeof value === 'string') return expandedText(value, path, env, problems);
  if (Array.isArray(value)) return value.map((item, index) => expanded(item, joinPath(path, index), env, problems));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, expanded(item, joinPath(path, key), env, problems)]),
  );
}

function expandedText(text: string, path: string, env: Environment, problems: Problem[]): string {
  return text.replaceAll(REFERENCE, (whole: string, inside: string | undefined) => {
    if (inside === undefined) return '${';
    const match = whole.endsWith('}') ? NAME.exec(inside) : null;
    if (!match) {
      problems.push({ path, message: `\`${whole}\` is not a variable: write \${NAME} or \${NAME:-default}` });
      return '';
    }
    const [, name = '', fallback] = match;
    const value = env[name];
    if (value !== undefined && value !== '') return value;
    if (fallback !== undefined) return fallback;
    problems.push({
      path,
      message: `the environment variable ${name} is not set (\${${name}:-default} gives a default)`,
    });
    return '';
  });
}
