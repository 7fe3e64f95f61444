/** CSV that leaves here. */

/**
 * A spreadsheet would run a text that begins like a formula: an apostrophe before it makes it a text. One that begins so behind
 * apostrophes of its own gets another, so that `withoutApostrophe` takes away what was added here and nothing else.
 */
export function csvText(text: string): string {
  const harmless = /^'*[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}

/** The text of a cell that `csvText` may have made harmless. */
export function withoutApostrophe(cell: string): string {
  return cell.replace(/^'(?='*[=+\-@\t\r])/, '');
}

/** A cell that is a number stays one, whatever its sign. */
export function csvLine(cells: readonly (string | number | null)[]): string {
  return cells
    .map((cell) => {
      if (cell === null) return '';
      return typeof cell === 'number' || /^-?\d+(\.\d+)?$/.test(cell) ? String(cell) : csvText(cell);
    })
    .join(',');
}
