/** The decisions of docs/connect/sdk-names.md, and how they compare with what a package declares. */
import { readFileSync } from 'node:fs';
import { type Entry, KINDS } from './surface.ts';

export const DECISIONS = ['carried', 'priced', 'refused', 'ignored'] as const;
export type Decision = (typeof DECISIONS)[number];

export interface DecidedEntry extends Entry {
  readonly decision: Decision;
}

const PAGE = new URL('../../docs/connect/sdk-names.md', import.meta.url);
const HEADING = /^### ([a-z]+): ([a-z]+)$/;
const ROW = /^\| `([^`]+)` \| ([a-z]+) \|/;

/** Throws where the page has something else than a decision. */
export function readDecisions(): DecidedEntry[] {
  const decided: DecidedEntry[] = [];
  let section: Pick<Entry, 'api' | 'kind'> | null = null;
  for (const line of readFileSync(PAGE, 'utf8').split('\n')) {
    const [, api = '', heading = ''] = HEADING.exec(line) ?? [];
    const kind = KINDS.find((name) => heading === name || heading === `${name}s`);
    if (line.startsWith('#')) section = kind === undefined ? null : { api, kind };
    const row = section && ROW.exec(line);
    if (!section || !row) continue;
    const decision = DECISIONS.find((name) => name === row[2]);
    if (decision === undefined) throw new Error(`docs/connect/sdk-names.md: no decision in "${line}"`);
    decided.push({ ...section, name: row[1] ?? '', decision });
  }
  return decided;
}

export function keyOf({ api, kind, name }: Entry): string {
  return `${api} ${kind}: ${name}`;
}

export interface Drift {
  /** What the package has, and nobody has decided about. */
  readonly undecided: readonly string[];
  /** What was decided about, and the package has no longer. */
  readonly gone: readonly string[];
}

export function compare(declared: readonly Entry[], decided: readonly Entry[]): Drift {
  const apis = new Set(declared.map(({ api }) => api));
  const known = new Set(decided.filter(({ api }) => apis.has(api)).map(keyOf));
  const present = new Set(declared.map(keyOf));
  return {
    undecided: [...present].filter((key) => !known.has(key)),
    gone: [...known].filter((key) => !present.has(key)),
  };
}
