/**
 * A table of objects: compact, sortable, with a header that stays, columns that can be chosen, the first 50 rows at
 * once and more by scrolling, `j` and `k` to move, and a CSV of exactly what is shown.
 */
import { ActionIcon, Checkbox, Menu, Tooltip } from '@mantine/core';
import {
  type ColumnDef,
  columnVisibilityFeature,
  createSortedRowModel,
  rowSortingFeature,
  sortFn_basic,
  tableFeatures,
  useTable,
} from '@tanstack/react-table';
import { type ReactNode, useEffect, useMemo, useRef, useState } from 'react';
import { useLocation } from 'wouter';
import type { Everything } from '../api/pages.ts';
import { csv, saveCsv } from './csv.ts';
import { plural } from './format.ts';
import { IconColumns, IconDown, IconDownload, IconUp } from './icons.tsx';
import css from './table.module.css';
import { toast } from './toast.tsx';

const features = tableFeatures({
  rowSortingFeature,
  columnVisibilityFeature,
  sortedRowModel: createSortedRowModel(),
  sortFns: { basic: sortFn_basic },
});

export interface Column<Row> {
  readonly id: string;
  readonly header: string;
  /** For sorting and for the CSV: the exact value. */
  readonly value: (row: Row) => string | number | bigint | null;
  /** The same as a person reads it; the value itself where this gives nothing. */
  readonly cell?: (row: Row) => ReactNode;
  /** Of the value, for the CSV, where the header does not name it; of each row where rows differ. */
  readonly unit?: string | ((row: Row) => string);
  readonly right?: boolean;
  /** Not shown at phone width. */
  readonly minor?: boolean;
  /** Not shown until it is chosen. */
  readonly hidden?: boolean;
}

interface TableProps<Row> {
  /** Names the table for assistive technology, its stored choice of columns and its CSV. */
  readonly name: string;
  readonly rows: readonly Row[];
  readonly columns: readonly Column<Row>[];
  readonly rowId: (row: Row) => string;
  readonly href?: (row: Row) => string;
  readonly tools?: ReactNode;
  /** Asked for when the end of what is there comes into view. */
  readonly more?: (() => void) | undefined;
  /** All that there is, for the CSV, where only a part of it is shown. */
  readonly everything?: (() => Promise<Everything<Row>>) | undefined;
  readonly sortable?: boolean;
  readonly marked?: (row: Row) => boolean;
}

const STEP = 50;

export function DataTable<Row extends object>(props: TableProps<Row>) {
  const { name, rows, columns, rowId, href, tools, more, everything, sortable = true, marked } = props;
  const [, navigate] = useLocation();
  const [hidden, setHidden] = useHidden(name, columns);
  const [shown, setShown] = useState(STEP);
  const body = useRef<HTMLTableSectionElement>(null);

  const definitions = useMemo<ColumnDef<typeof features, Row>[]>(
    () =>
      columns.map((column) => ({
        id: column.id,
        accessorFn: (row: Row) => sortValue(column.value(row)),
        header: column.header,
        enableSorting: sortable,
        sortFn: 'basic' as const,
        sortUndefined: 'last' as const,
      })),
    [columns, sortable],
  );
  const data = useMemo(() => [...rows], [rows]);
  const visibility = useMemo(() => Object.fromEntries(hidden.map((id) => [id, false])), [hidden]);
  const table = useTable({
    features,
    columns: definitions,
    data,
    getRowId: rowId,
    state: { columnVisibility: visibility },
  });
  const byId = useMemo(() => new Map(columns.map((column) => [column.id, column])), [columns]);
  const all = table.getRowModel().rows;
  const visible = all.slice(0, shown);

  const { frame, wide } = useWide();
  useKeys(body, href !== undefined);
  const end = useEnd(() => {
    if (shown < all.length) setShown(shown + STEP);
    else more?.();
  }, [visible.length, all.length, more === undefined]);

  const download = async (): Promise<void> => {
    const chosen = columns.filter((column) => !hidden.includes(column.id)).flatMap(exported);
    try {
      const shown = { rows: all.map((row) => row.original), rest: null };
      const { rows: exportedRows, rest } = (await everything?.()) ?? shown;
      saveCsv(
        name,
        csv(
          chosen.map(({ header }) => header),
          exportedRows.map((row) => chosen.map(({ value }) => value(row))),
        ),
      );
      if (rest !== null) toast(`The file has only the first ${plural(exportedRows.length, 'row')}: ${rest}`);
    } catch (error) {
      toast(error instanceof Error ? error.message : String(error));
    }
  };

  return (
    <div>
      <div className={css.tools}>
        {tools}
        <div className={css.right}>
          <Menu closeOnItemClick={false} position="bottom-end">
            <Menu.Target>
              <Tooltip label="Columns">
                <ActionIcon aria-label="Choose columns">
                  <IconColumns />
                </ActionIcon>
              </Tooltip>
            </Menu.Target>
            <Menu.Dropdown>
              {columns.map((column) => (
                <Menu.Item
                  key={column.id}
                  onClick={() => setHidden(column.id)}
                  leftSection={
                    <Checkbox
                      size="xs"
                      checked={!hidden.includes(column.id)}
                      readOnly
                      tabIndex={-1}
                      aria-hidden="true"
                      aria-label={column.header}
                    />
                  }
                >
                  {column.header}
                </Menu.Item>
              ))}
            </Menu.Dropdown>
          </Menu>
          <Tooltip label="Download all rows with the shown columns as CSV">
            <ActionIcon aria-label="Download CSV" onClick={() => void download()}>
              <IconDownload />
            </ActionIcon>
          </Tooltip>
        </div>
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by the keyboard. */}
      <section ref={frame} className={css.scroll} data-wide={wide} aria-label={name} tabIndex={0}>
        <table className={css.table}>
          <thead>
            {table.getHeaderGroups().map((group) => (
              <tr key={group.id}>
                {group.headers.map((header) => {
                  const column = byId.get(header.column.id);
                  const sorted = header.column.getIsSorted();
                  return (
                    <th
                      key={header.id}
                      scope="col"
                      data-right={column?.right}
                      data-minor={column?.minor}
                      aria-sort={sorted === 'asc' ? 'ascending' : sorted === 'desc' ? 'descending' : undefined}
                    >
                      {sortable ? (
                        <button type="button" className={css.sort} onClick={header.column.getToggleSortingHandler()}>
                          {column?.header}
                          {sorted === 'asc' && <IconUp size={12} />}
                          {sorted === 'desc' && <IconDown size={12} />}
                        </button>
                      ) : (
                        column?.header
                      )}
                    </th>
                  );
                })}
              </tr>
            ))}
          </thead>
          <tbody ref={body}>
            {visible.map((row) => {
              const target = href?.(row.original);
              return (
                <tr
                  key={row.id}
                  data-href={target}
                  data-marked={marked?.(row.original) || undefined}
                  tabIndex={target === undefined ? undefined : -1}
                  onClick={(event) => {
                    const inside = (event.target as Element).closest('a, button, input');
                    const selecting = (getSelection()?.toString() ?? '') !== '';
                    if (target !== undefined && inside === null && !selecting) navigate(target);
                  }}
                >
                  {row.getVisibleCells().map((cell) => {
                    const column = byId.get(cell.column.id);
                    return (
                      <td key={cell.id} data-right={column?.right} data-minor={column?.minor}>
                        {column?.cell?.(row.original) || plain(column?.value(row.original))}
                      </td>
                    );
                  })}
                </tr>
              );
            })}
          </tbody>
        </table>
        <div ref={end} className={css.end} />
      </section>
    </div>
  );
}

/** The columns of the CSV: with their units, in the header or, where rows differ, in a column of its own. */
function exported<Row>({ header, value, unit }: Column<Row>): readonly Pick<Column<Row>, 'header' | 'value'>[] {
  if (typeof unit === 'function')
    return [
      { header, value },
      { header: `${header}, unit`, value: unit },
    ];
  return [{ header: unit === undefined ? header : `${header}, ${unit}`, value }];
}

function plain(value: string | number | bigint | null | undefined): ReactNode {
  return value === null || value === undefined ? <span className="muted">–</span> : String(value);
}

/** Numbers of any size compare; what is missing comes last. */
function sortValue(value: string | number | bigint | null): string | number | undefined {
  if (value === null) return undefined;
  return typeof value === 'bigint' ? Number(value) : value;
}

/** The choice of columns stays with this browser. */
function useHidden<Row>(name: string, columns: readonly Column<Row>[]) {
  const key = `columns:${name}`;
  const [hidden, setHidden] = useState<readonly string[]>(() => {
    const stored = localStorage.getItem(key);
    return stored === null ? columns.filter((column) => column.hidden).map((column) => column.id) : stored.split(',');
  });
  const toggle = (id: string): void => {
    const next = hidden.includes(id) ? hidden.filter((other) => other !== id) : [...hidden, id];
    localStorage.setItem(key, next.join(','));
    setHidden(next);
  };
  return [hidden, toggle] as const;
}

/** Whether the table needs more than the width of its frame. Only then the frame scrolls, which would hold its heads. */
function useWide(): { readonly frame: React.RefObject<HTMLElement | null>; readonly wide: boolean } {
  const frame = useRef<HTMLElement>(null);
  const [wide, setWide] = useState(false);
  useEffect(() => {
    const table = frame.current?.firstElementChild;
    if (frame.current === null || !table) return;
    const measured = new ResizeObserver(() => setWide((frame.current?.clientWidth ?? 0) < table.scrollWidth));
    measured.observe(frame.current);
    measured.observe(table);
    return () => measured.disconnect();
  }, []);
  return { frame, wide };
}

/** `j` and `k` move over the rows, Enter opens one. */
function useKeys(body: React.RefObject<HTMLTableSectionElement | null>, enabled: boolean): void {
  const [, navigate] = useLocation();
  useEffect(() => {
    if (!enabled) return;
    const onKey = (event: KeyboardEvent): void => {
      if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector('[role="dialog"]') !== null) return;
      if ((event.target as Element).closest('input, textarea, select, [contenteditable]') !== null) return;
      const rows = [...(body.current?.rows ?? [])];
      const at = rows.indexOf(document.activeElement as HTMLTableRowElement);
      if (event.key === 'j') rows[Math.min(at + 1, rows.length - 1)]?.focus();
      else if (event.key === 'k') rows[Math.max(at - 1, 0)]?.focus();
      else if (event.key === 'Enter' && at >= 0) navigate(rows[at]?.dataset.href ?? '');
      else return;
      event.preventDefault();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, [body, enabled, navigate]);
}

/**
 * Calls when the element is in view: once, and again for every change of what it depends on. An observer tells of
 * changes from frame to frame only: an end that rows pushed out of view and a key brought back in between would stay
 * unseen, and so would one that stays in view.
 */
function useEnd(seen: () => void, dependencies: readonly unknown[]): React.RefObject<HTMLDivElement | null> {
  const element = useRef<HTMLDivElement>(null);
  const latest = useRef(seen);
  latest.current = seen;
  useEffect(() => {
    const observer = new IntersectionObserver(([entry]) => {
      if (entry?.isIntersecting) latest.current();
    });
    if (element.current) observer.observe(element.current);
    return () => observer.disconnect();
    // biome-ignore lint/correctness/useExhaustiveDependencies: they are the caller's.
  }, dependencies);
  return element;
}
