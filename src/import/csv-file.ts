/** CSV that comes in: whole or not at all, with the line of the first thing that is wrong. */
import { AdminError } from '../admin/error.ts';

export interface CsvRow {
  /** Where it ends in the file, as an editor counts. */
  readonly line: number;
  /** By the names of the header; absent cells are empty. */
  cell(column: string): string;
}

export interface CsvFile {
  readonly name: string;
  readonly columns: readonly string[];
  readonly rows: readonly CsvRow[];
}

/** UTF-8, with or without a byte order mark; separated by commas, semicolons or tabs, whichever the header has. */
export async function parseCsv(name: string, bytes: Uint8Array): Promise<CsvFile> {
  const text = decoded(name, bytes);
  const { CsvError, parse } = await import('csv-parse/sync');
  const header = /^[^\r\n]*/.exec(text)?.[0] ?? '';
  const delimiter = [',', ';', '\t'].find((each) => header.includes(each)) ?? ',';
  let columns: readonly string[] = [];
  try {
    const parsed = parse(text, {
      delimiter,
      info: true,
      skip_empty_lines: true,
      trim: true,
      columns: (names: string[]) => {
        columns = names.map((each) => each.toLowerCase());
        return [...columns];
      },
    }) as unknown as readonly { readonly record: Readonly<Record<string, string>>; readonly info: { lines: number } }[];
    const twice = columns.find((column, index) => columns.indexOf(column) !== index);
    if (twice !== undefined) throw wrongCsv(name, 1, `the column ${JSON.stringify(twice)} is there twice`);
    if (columns.length === 0) throw wrongCsv(name, 1, 'the file is empty: expected a header');
    const rows = parsed.map(({ record, info }) => ({
      line: info.lines,
      cell: (column: string) => record[column] ?? '',
    }));
    return { name, columns, rows };
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    const line = typeof error.lines === 'number' ? error.lines : 1;
    throw wrongCsv(name, line, REASONS[error.code] ?? error.message, error);
  }
}

const REASONS: Readonly<Record<string, string>> = {
  CSV_QUOTE_NOT_CLOSED: 'a quote is opened and never closed',
  CSV_INVALID_CLOSING_QUOTE: 'something follows a closing quote: a quote inside of a quoted cell is written twice',
  INVALID_OPENING_QUOTE: 'a quote stands inside of a cell that does not begin with one',
  CSV_RECORD_INCONSISTENT_COLUMNS: 'the line has another number of cells than the header',
};

function decoded(name: string, bytes: Uint8Array): string {
  try {
    // Drops a byte order mark.
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new AdminError('invalid_input', `${name} is not in UTF-8: save it as CSV in UTF-8`);
  }
}

export function wrongCsv(name: string, line: number, what: string, cause?: unknown): AdminError {
  return new AdminError('invalid_input', `${name}, line ${line}: ${what}`, { cause });
}

/** Which of these columns the file has; the first one counts. */
export function oneOf({ name, columns }: CsvFile, wanted: readonly string[], what: string): string {
  const found = wanted.find((column) => columns.includes(column));
  if (found !== undefined) return found;
  throw wrongCsv(name, 1, `no column for ${what}: expected ${wanted.join(' or ')} among ${columns.join(', ')}`);
}
