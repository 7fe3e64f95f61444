/** `gateway import litellm|one-api|new-api`: reads what another gateway has, and writes files for this one. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { parseDocument } from 'yaml';
import { AdminError } from '../admin/error.ts';
import { leaveOutRefused } from '../import/check-plan.ts';
import { fromLitellm } from '../import/litellm.ts';
import { fromOneApi, type OneApiFlavour } from '../import/one-api.ts';
import type { ImportPlan } from '../import/plan.ts';
import { printable } from '../lib/printable.ts';
import type { CommandArguments } from './arguments.ts';
import { OUT } from './importer-shapes.ts';
import { json, lines, type Output } from './output.ts';

export async function runImporter(
  words: readonly string[],
  { operands: [file = ''], flags, switches }: CommandArguments,
): Promise<Output> {
  const source = words[1] ?? '';
  const plan =
    source === 'litellm'
      ? fromLitellm(readYaml(file), flags.keys === undefined ? null : readJson(flags.keys))
      : fromOneApi(source as OneApiFlavour, readRows(file));
  await leaveOutRefused(plan);
  const files = plan.files(`${source} (${basename(file)})`);
  const folder = flags.out ?? OUT;
  if (!switches.has('dry-run')) writeAll(folder, files);
  const { providers, models, patterns, accounts, keys, notes } = plan;
  const counts = {
    providers: Object.keys(providers).length,
    models: models.length + patterns.size,
    accounts: accounts.length,
    keys: keys.length,
  };
  if (switches.has('json'))
    return json({ object: 'import', folder, files: [...files.keys()], ...counts, not_taken: notes });
  return lines([...summary(plan, counts, folder, [...files.keys()], switches.has('dry-run'))]);
}

function summary(
  { notes }: ImportPlan,
  counts: Readonly<Record<string, number>>,
  folder: string,
  files: readonly string[],
  dryRun: boolean,
): readonly string[] {
  const found = Object.entries(counts).map(([what, count]) => `${count} ${what}`);
  const next = [
    ...(files.includes('secrets.env')
      ? [`  set the variables of ${join(folder, 'secrets.env')}, which only you can read`]
      : []),
    `  npx gateway config check ${join(folder, 'gateway.yaml')}`,
    `  GATEWAY_CONFIG=${join(folder, 'gateway.yaml')} npx gateway doctor --no-probe`,
    ...(files.includes('accounts.sh') ? [`  sh ${join(folder, 'accounts.sh')}`] : []),
    ...(files.includes('keys.csv') ? [`  npx gateway import ${join(folder, 'keys.csv')}`] : []),
  ];
  return [
    `Found ${found.join(', ')}.`,
    ...(dryRun
      ? [`Nothing was written; without --dry-run: ${files.map((name) => join(folder, name)).join(', ')}`]
      : ['Next:', ...next]),
    ...(notes.length === 0
      ? ['Everything was converted.']
      : ['', 'Not taken, or to be looked at:', ...notes.map((note) => `  ${printable(note)}`)]),
  ];
}

/** All of them or none; what is there is never written over. */
function writeAll(folder: string, files: ReadonlyMap<string, string>): void {
  const there = [...files.keys()].map((name) => join(folder, name)).find((path) => existsSync(path));
  if (there !== undefined) throw wrong(`${there} exists: name another folder with --out`);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  for (const [name, text] of files) writeFileSync(join(folder, name), text, { mode: 0o600, flag: 'wx' });
}

function readYaml(file: string): unknown {
  const document = parseDocument(readText(file));
  const [error] = document.errors;
  if (error !== undefined)
    throw wrong(`${basename(file)}, line ${error.linePos?.[0].line ?? 1}: ${error.message.split('\n')[0]}`);
  return document.toJS();
}

function readJson(file: string): unknown {
  try {
    return JSON.parse(readText(file));
  } catch (error) {
    if (error instanceof AdminError) throw error;
    throw wrong(`${basename(file)} is not JSON: ${error instanceof Error ? error.message : error}`);
  }
}

const SQLITE_MAGIC = 'SQLite format 3';

function readRows(file: string): unknown {
  if (!readBytes(file).subarray(0, SQLITE_MAGIC.length).equals(Buffer.from(SQLITE_MAGIC))) return readJson(file);
  const database = new DatabaseSync(file, { readOnly: true });
  try {
    const rows = (table: string): unknown[] => database.prepare(`SELECT * FROM ${table}`).all();
    return { channels: rows('channels'), tokens: rows('tokens'), users: rows('users') };
  } catch (error) {
    throw wrong(`${basename(file)} cannot be read: ${error instanceof Error ? error.message : error}`);
  } finally {
    database.close();
  }
}

function readText(file: string): string {
  return readBytes(file)
    .toString('utf8')
    .replace(/^\u{feff}/u, '');
}

function readBytes(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    throw wrong(`${file} cannot be read: ${error instanceof Error ? error.message : error}`);
  }
}

function wrong(message: string): AdminError {
  return new AdminError('invalid_input', printable(message));
}
