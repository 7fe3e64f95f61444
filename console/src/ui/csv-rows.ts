/** Reads CSV as spreadsheets write it: quoted cells with line ends in them, and commas, semicolons or tabs between cells. */

export interface CsvRow {
  /** Where it begins in the file, as an editor counts. */
  readonly line: number;
  readonly cells: Readonly<Record<string, string>>;
}

/** Throws an Error that names the line. */
export function csvRows(text: string): readonly CsvRow[] {
  const [header, ...lines] = linesOf(text.replace(/^\u{feff}/u, ''));
  if (header === undefined) throw new Error('The file is empty: its first line has to name the columns.');
  const columns = header.cells.map((name) => name.toLowerCase());
  return lines.map(({ line, cells }) => {
    if (cells.length !== columns.length) {
      throw new Error(`Line ${line} has ${cells.length} cells, and the first line names ${columns.length} columns.`);
    }
    return { line, cells: Object.fromEntries(columns.map((name, index) => [name, cells[index] ?? ''])) };
  });
}

interface Line {
  readonly line: number;
  readonly cells: readonly string[];
}

function linesOf(text: string): readonly Line[] {
  const [first = ''] = text.split(/[\r\n]/, 1);
  const separator = [',', ';', '\t'].find((each) => first.includes(each)) ?? ',';
  const lines: Line[] = [];
  let line = 1;
  let begun = 1;
  let cells: string[] = [];
  let cell = '';
  let quoted = false;
  const endCell = (): void => {
    cells.push(cell.trim());
    cell = '';
  };
  const endLine = (): void => {
    endCell();
    if (cells.some((each) => each !== '')) lines.push({ line: begun, cells });
    cells = [];
  };
  for (let at = 0; at < text.length; at++) {
    const character = text[at] ?? '';
    if (character === '\n') line++;
    if (quoted) {
      if (character !== '"') cell += character;
      else if (text[at + 1] === '"') {
        cell += '"';
        at++;
      } else quoted = false;
    } else if (character === '"' && cell.trim() === '') {
      quoted = true;
      cell = '';
    } else if (character === separator) endCell();
    else if (character === '\n') {
      endLine();
      begun = line;
    } else if (character !== '\r') cell += character;
  }
  if (quoted) throw new Error(`Line ${begun}: a quote is opened and never closed.`);
  endLine();
  return lines;
}
