/**
 * The ledger with edits, loaded beside the one that is not edited. Only the edited modules and those that import them are loaded
 * anew, under addresses of their own; all others are shared.
 */
import assert from 'node:assert/strict';
import { registerHooks } from 'node:module';
import type { readMigrations } from '../../src/ledger/migrations.ts';
import { edited, NoLongerFits, sourceText } from '../support/edits.ts';
import type { Mutation } from './mutations.ts';
import type { SqliteParts } from './sqlite-world.ts';

type Edits = Mutation['edits'];

const LEDGER = new URL('../../src/ledger/', import.meta.url);
const ENGINE = new URL('sqlite/engine.ts', LEDGER).href;
const MIGRATIONS = new URL('migrations.ts', LEDGER).href;
const MUTANT = 'mutant';

/** The modules that a mutant has for itself, by their addresses, and what stands in them. */
const mutants: ReadonlyMap<string, string>[] = [];

registerHooks({
  resolve: (specifier, context, next) => {
    const resolved = next(specifier, context);
    const number = mutantOf(context.parentURL ?? '');
    if (number === null || mutants[number]?.has(resolved.url) !== true) return resolved;
    return { ...resolved, url: addressIn(number, resolved.url) };
  },
  load: (url, context, next) => {
    const number = mutantOf(url);
    if (number === null) return next(url, context);
    const source = mutants[number]?.get(withoutQuery(url));
    assert.ok(source !== undefined, url);
    return { format: 'module-typescript', source, shortCircuit: true };
  },
});

export async function mutant({ edits }: Pick<Mutation, 'edits'>): Promise<SqliteParts> {
  const sources = ownSources(edits);
  const number = mutants.push(sources) - 1;
  const load = (url: string) => import(sources.has(url) ? addressIn(number, url) : url);
  const [engine, migrations] = await Promise.all([load(ENGINE), load(MIGRATIONS)]);
  return { createEngine: engine.createEngine, readMigrations: editedMigrations(migrations.readMigrations, edits) };
}

function editedMigrations(read: typeof readMigrations, edits: Edits): typeof readMigrations {
  const migrations = read('sqlite').map((migration) => {
    const file = `migrations/sqlite/${String(migration.version).padStart(4, '0')}-${migration.name}.sql`;
    return { file, migration: { ...migration, sql: editedFile(migration.sql, file, edits) } };
  });
  for (const [file] of edits.filter(([name]) => name.endsWith('.sql'))) {
    if (!migrations.some((one) => one.file === file)) throw new NoLongerFits(`there is no ${file}`);
  }
  return () => migrations.map(({ migration }) => migration);
}

/** Of the edited modules and of all that import them. */
function ownSources(edits: Edits): ReadonlyMap<string, string> {
  const files = edits.map(([file]) => file).filter((file) => file.endsWith('.ts'));
  const own = new Map(
    [...new Set(files)].map((file) => {
      const { href } = new URL(file, LEDGER);
      return [href, editedFile(sourceOf(href), file, edits)];
    }),
  );
  const visited = new Map<string, boolean>();
  const reaches = (url: string): boolean => {
    const known = visited.get(url);
    if (known !== undefined) return known;
    visited.set(url, own.has(url));
    // All of them: each has to be visited.
    const found = importsOf(url).map(reaches).includes(true) || own.has(url);
    visited.set(url, found);
    if (found && !own.has(url)) own.set(url, sourceOf(url));
    return found;
  };
  const used = [ENGINE, MIGRATIONS].map(reaches);
  if (files.length > 0 && !used.includes(true)) throw new NoLongerFits(`nothing of the store uses ${files.join(', ')}`);
  return own;
}

function editedFile(source: string, file: string, edits: Edits): string {
  return edits.filter(([name]) => name === file).reduce(edited, source);
}

const texts = new Map<string, string>();

function sourceOf(url: string): string {
  const text = texts.get(url) ?? sourceText(new URL(url));
  texts.set(url, text);
  return text;
}

function importsOf(url: string): readonly string[] {
  const found = sourceOf(url).matchAll(/^(?:import|export) (?!type )[^;]*?from '(\.[^']+)';/gm);
  return [...found].map(([, name = '']) => new URL(name, url).href);
}

function addressIn(number: number, url: string): string {
  return `${url}?${MUTANT}=${number}`;
}

/** Null for an address of no mutant. */
function mutantOf(url: string): number | null {
  const [, number] = url.split(`?${MUTANT}=`);
  return number === undefined ? null : Number(number);
}

function withoutQuery(url: string): string {
  return url.split('?')[0] ?? url;
}
