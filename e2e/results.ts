/**
 * The results of the last run of every client, in results/, and the pages that are written from them: so a run of some
 * clients renews what is known of these and keeps the rest.
 */
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { clientPart, compatibilityPage, type Result, type RunFacts } from './page.ts';

const FOLDER = join(import.meta.dirname, 'results');
const DOCS = join(import.meta.dirname, '../docs/connect');
/** The part of a client's page that is written here, with the names of its clients. */
const PART = /(<!-- made by npm run e2e: ([^>]*) -->\n)[\s\S]*?(<!-- end -->)/;

export async function keepResult(name: string, result: Result): Promise<void> {
  await mkdir(FOLDER, { recursive: true });
  await writeFile(join(FOLDER, `${name}.json`), `${JSON.stringify(result, null, 2)}\n`);
}

export async function writePages(facts: RunFacts): Promise<void> {
  const files = (await readdir(FOLDER)).sort();
  const results = await Promise.all(
    files.map(async (file): Promise<Result> => JSON.parse(await readFile(join(FOLDER, file), 'utf8'))),
  );
  await writeFile(join(DOCS, 'compatibility.md'), compatibilityPage(results, facts));
  for (const file of await readdir(join(DOCS, 'clients'))) {
    const path = join(DOCS, 'clients', file);
    const text = await readFile(path, 'utf8');
    const renewed = text.replace(PART, (_all, start: string, clients: string, end: string) => {
      return `${start}\n${clientPart(results, clients.split(', '))}\n${end}`;
    });
    await writeFile(path, renewed);
  }
}
