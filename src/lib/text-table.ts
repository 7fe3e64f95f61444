/** Cells in columns, each as wide as its widest: the first `texts` columns to the left, figures to the right. */
export function table(rows: readonly (readonly string[])[], texts = Number.POSITIVE_INFINITY): readonly string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows.map((row) =>
    row
      .map((cell, column) => (column < texts ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0)))
      .join('  ')
      .trimEnd(),
  );
}
