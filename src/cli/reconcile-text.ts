/** What a provider's export and the usage records differ in, for the terminal and for a spreadsheet. */
import { csvLine } from '../admin/csv.ts';
import type { Reconciliation } from '../import/reconcile.ts';
import { printable } from '../lib/printable.ts';
import { table } from '../lib/text-table.ts';

const COLUMNS = ['day', 'model', 'measure', 'theirs', 'ours', 'difference'] as const;

export function reconciliationTable(reconciliation: Reconciliation): readonly string[] {
  const { provider, from, to, compared, measures, differences, complete } = reconciliation;
  const head = `${provider}, ${from} to ${to}: ${compared} days × models compared by ${measures.join(', ')}`;
  const notes = complete
    ? []
    : ['', 'Not complete: older charges are still being added up. Try again in a few minutes.'];
  if (differences.length === 0) return [head, 'Nothing differs.', ...notes];
  const rows = [
    COLUMNS.map((column) => column.toUpperCase()),
    ...differences.map((difference) => COLUMNS.map((column) => printable(difference[column]))),
  ];
  return [head, `${differences.length} figures differ (ours less theirs):`, '', ...table(rows, 3), ...notes];
}

export function reconciliationCsv({ differences }: Reconciliation): readonly string[] {
  return [COLUMNS.join(','), ...differences.map((difference) => csvLine(COLUMNS.map((column) => difference[column])))];
}
