/**
 * The warnings of a translation, about what it left out or changed, in as few lines as it takes to know what: a long
 * conversation can have the same everywhere.
 */

const LINES_MAX = 20;
const LINE_CHARACTERS_MAX = 200;
const INDEX = /\[\d+\]/g;
const HEADER_CHARACTERS_MAX = 1_024;
const PATH = /^[\w.[\]-]+(?=: )/;

/** One line for all that differ only in where they are. */
export function summaryOf(warnings: readonly string[]): readonly string[] {
  let others = 0;
  const kinds = new Map<string, { readonly first: string; count: number }>();
  for (const warning of warnings) {
    const kind = warning.replace(INDEX, '[]');
    const known = kinds.get(kind);
    if (known) known.count += 1;
    else if (kinds.size === LINES_MAX) others += 1;
    else kinds.set(kind, { first: warning, count: 1 });
  }
  const lines = [...kinds.values()].map(({ first, count }) => {
    const line = first.length <= LINE_CHARACTERS_MAX ? first : `${first.slice(0, LINE_CHARACTERS_MAX - 1)}…`;
    return count === 1 ? line : `${line} (and ${count - 1} more like it)`;
  });
  return others === 0 ? lines : [...lines, `and ${others} more`];
}

/** The value of `x-gateway-warnings`: `code;param=path`, as many as it may hold. `lines`: a summary. */
export function warningsHeader(lines: readonly string[]): string {
  let header = '';
  for (const line of lines) {
    const param = PATH.exec(line)?.[0];
    if (param === undefined) continue;
    const entry = `${line.includes('left out') ? 'left_out' : 'changed'};param=${param}`;
    const longer = header === '' ? entry : `${header}, ${entry}`;
    if (longer.length > HEADER_CHARACTERS_MAX) break;
    header = longer;
  }
  return header;
}
