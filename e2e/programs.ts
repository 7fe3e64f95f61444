/** The client programs: what drives one client each. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';

export interface Program {
  readonly name: string;
  readonly command: string;
  readonly file: string;
}

export async function programsIn(folder: string, ending: string, command: string): Promise<Program[]> {
  const files = (await readdir(join(import.meta.dirname, folder))).filter(
    (file) => file.endsWith(ending) && !file.startsWith('protocol'),
  );
  return files
    .sort()
    .map((file) => ({ name: file.slice(0, -ending.length), command, file: join(import.meta.dirname, folder, file) }));
}
