/**
 * References inside the string values of the config file: `${NAME}` and `${NAME:-default}` for an environment variable,
 * `${file:PATH}` for the content of a file, `${exec:PROGRAM ARGUMENT …}` for what a command prints, and `$${` for a
 * literal `${`. An empty variable counts as missing, so that a key is never silently empty.
 */
import { joinPath } from '../lib/schema-errors.ts';
import type { Problem } from './problem.ts';
import type { Secrets } from './secrets.ts';

const REFERENCE = /\$\$\{|\$\{([^}]*)\}?/g;
const NAME = /^([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?$/s;
const SOURCE = /^(file|exec):(?!-)(.+)$/s;

interface Expansion {
  readonly value: unknown;
  readonly problems: readonly Problem[];
}

/** Commands run at the same time; problems are in the order of the file. */
export async function expandReferences(value: unknown, secrets: Secrets, path = ''): Promise<Expansion> {
  if (typeof value === 'string') return expandText(value, secrets, path);
  if (typeof value !== 'object' || value === null) return { value, problems: [] };
  if (Array.isArray(value)) {
    const items = await Promise.all(value.map((item, index) => expandReferences(item, secrets, joinPath(path, index))));
    return { value: items.map((item) => item.value), problems: items.flatMap((item) => item.problems) };
  }
  const members = await Promise.all(
    Object.entries(value).map(async ([key, item]) => ({
      key,
      expansion: await expandReferences(item, secrets, joinPath(path, key)),
    })),
  );
  return {
    value: Object.fromEntries(members.map(({ key, expansion }) => [key, expansion.value])),
    problems: members.flatMap(({ expansion }) => expansion.problems),
  };
}

async function expandText(text: string, secrets: Secrets, path: string): Promise<Expansion> {
  const problems: Problem[] = [];
  let expanded = '';
  let from = 0;
  for (const match of text.matchAll(REFERENCE)) {
    const [whole, inside] = match;
    const read = inside === undefined ? '${' : await resolve(whole, inside, secrets);
    if (typeof read !== 'string') problems.push({ path, message: read.problem });
    expanded += text.slice(from, match.index) + (typeof read === 'string' ? read : '');
    from = match.index + whole.length;
  }
  return { value: expanded + text.slice(from), problems };
}

async function resolve(whole: string, inside: string, secrets: Secrets): Promise<string | { problem: string }> {
  const ended = whole.endsWith('}');
  const [, source, rest = ''] = (ended && SOURCE.exec(inside)) || [];
  if (source !== undefined) {
    const read = source === 'file' ? secrets.file(rest) : await secrets.command(rest);
    if (read === null) return '';
    return 'value' in read ? read.value : { problem: source === 'file' ? read.problem : `\${exec:…}: ${read.problem}` };
  }
  const match = ended ? NAME.exec(inside) : null;
  if (match === null) {
    return {
      problem: `\`${whole}\` is not a variable: write \${NAME} or \${NAME:-default} (or \${file:/path} for a file)`,
    };
  }
  const [, name = '', fallback] = match;
  const read = secrets.variable(name);
  if (read !== null) return 'value' in read ? read.value : { problem: read.problem };
  if (fallback !== undefined) return fallback;
  return { problem: `the environment variable ${name} is not set (\${${name}:-default} gives a default)` };
}

/** What the references name, without their defaults: `NAME`, `file:PATH`, `exec:PROGRAM …`. */
export function referencesIn(value: unknown): readonly string[] {
  if (typeof value === 'string') {
    return [...value.matchAll(REFERENCE)].flatMap(([, inside]) => {
      if (inside === undefined) return [];
      return SOURCE.test(inside) ? [inside] : [NAME.exec(inside)?.[1] ?? inside];
    });
  }
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).flatMap(referencesIn);
}
