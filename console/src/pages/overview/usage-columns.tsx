/** The table below the chart. */
import type { UsageRow } from '../../api/usage.ts';
import { count, milliseconds, percent } from '../../ui/format.ts';
import type { Column } from '../../ui/table.tsx';
import { Credits } from '../../ui/values.tsx';
import { allRequests, type Dimension, fieldOf, tokensIn } from './measures.ts';

/** `withMargin`: whether the reader may see what the providers ask. */
export function columnsFor(
  by: Dimension,
  nameOf: (value: string | null) => string,
  withMargin: boolean,
): readonly Column<UsageRow>[] {
  const columns: readonly Column<UsageRow>[] = [
    {
      id: by,
      header: by[0]?.toUpperCase() + by.slice(1),
      value: (row) => nameOf(row[fieldOf(by)] ?? null),
    },
    {
      id: 'cost',
      header: 'Spend, credits',
      value: (row) => row.cost,
      cell: (row) => <Credits value={row.cost} />,
      right: true,
    },
    {
      id: 'margin',
      header: 'Margin, credits',
      value: (row) => row.margin ?? 0,
      cell: (row) => row.margin !== null && <Credits value={row.margin} />,
      right: true,
      minor: true,
    },
    {
      id: 'requests',
      header: 'Requests',
      value: allRequests,
      cell: (row) => count(allRequests(row)),
      right: true,
    },
    {
      id: 'failed',
      header: 'Failed',
      value: (row) => row.failed,
      cell: (row) => count(row.failed),
      right: true,
      minor: true,
    },
    {
      id: 'error_rate',
      header: 'Error rate',
      value: (row) => row.error_rate,
      unit: 'from 0 to 1',
      cell: (row) => percent(row.failed + row.broken, allRequests(row)),
      right: true,
    },
    {
      id: 'unfinished',
      header: 'Broken off',
      value: (row) => row.broken + row.cancelled,
      cell: (row) => count(row.broken + row.cancelled),
      right: true,
      minor: true,
    },
    { id: 'in', header: 'Tokens in', value: tokensIn, cell: (row) => count(tokensIn(row)), right: true, minor: true },
    {
      id: 'out',
      header: 'Tokens out',
      value: (row) => row.output_tokens,
      cell: (row) => count(row.output_tokens),
      right: true,
      minor: true,
    },
    {
      id: 'first',
      header: 'First byte p50',
      value: (row) => row.first_byte_ms?.p50 ?? null,
      unit: 'ms',
      cell: (row) => row.first_byte_ms && milliseconds(row.first_byte_ms.p50),
      right: true,
      minor: true,
    },
    {
      id: 'first95',
      header: 'p95',
      value: (row) => row.first_byte_ms?.p95 ?? null,
      unit: 'ms',
      cell: (row) => row.first_byte_ms && milliseconds(row.first_byte_ms.p95),
      right: true,
      minor: true,
    },
    {
      id: 'total95',
      header: 'Took p95',
      value: (row) => row.duration_ms?.p95 ?? null,
      unit: 'ms',
      cell: (row) => row.duration_ms && milliseconds(row.duration_ms.p95),
      right: true,
      minor: true,
      hidden: true,
    },
  ];
  return withMargin ? columns : columns.filter(({ id }) => id !== 'margin');
}
