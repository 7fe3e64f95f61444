/** A statement for the terminal and for a spreadsheet. */
import { table } from '../../lib/text-table.ts';
import { csvLine } from '../csv.ts';
import type { StatementView } from './statement-schema.ts';

export const KINDS: Readonly<Record<StatementView['entries'][number]['kind'], string>> = {
  purchase: 'Purchase',
  promotion: 'Promotional credit',
  refund: 'Refund',
  correction: 'Correction',
  expired: 'Expired',
  transfer_out: 'Transfer to an account',
  transfer_in: 'Transfer from a key',
};

const TOKENS = [
  'recorded',
  'input_tokens',
  'cache_read_tokens',
  'cache_write_tokens',
  'cache_write_1h_tokens',
  'output_tokens',
  'reasoning_tokens',
] as const;
type TokenFigures = Pick<StatementView['totals'], (typeof TOKENS)[number]>;

interface CsvCells {
  readonly id: string;
  readonly reason: string;
  readonly actor: string | null;
  /** Of a line of usage. */
  readonly row: StatementView['usage'][number];
}

export const OPEN = 'This period is not over: more may follow.';

export function statementTable(statement: StatementView): readonly string[] {
  const { entries, usage, totals } = statement;
  const rows = [
    ...(statement.opening_balance === null ? [] : [['Opening balance', '', statement.opening_balance]]),
    ...entries.map((entry) => [`  ${KINDS[entry.kind]} ${entry.at.slice(0, 10)}`, detail(entry), entry.amount]),
    ...usage.map((row) => [
      `  ${oneLine(row.model ?? 'unknown model')}`,
      `${row.charges} calls of ${oneLine(keyText(row))}, ${inAndOut(row)}`,
      negative(row.amount),
    ]),
    ...(usage.length > 1 || statement.closing_balance === null
      ? [['Usage in all', `${totals.charges} calls, ${inAndOut(totals)}`, negative(totals.usage)]]
      : []),
    ...(statement.closing_balance === null ? [] : [['Closing balance', '', statement.closing_balance]]),
  ];
  return [
    `Statement of ${title(statement)}, in credits`,
    `${statement.from} to before ${statement.to} (UTC)`,
    '',
    ...table(rows, 2),
    ...currencyLines(statement),
    ...(statement.closed ? [] : ['', OPEN]),
  ];
}

/** The sums in the currency, where one is configured. */
function currencyLines({ currency }: StatementView): readonly string[] {
  if (currency === null) return [];
  const { code, credit_price, opening_balance, entries, usage, closing_balance } = currency;
  const balances = [opening_balance, entries, negative(usage), closing_balance].filter((amount) => amount !== null);
  return ['', `In ${code}, at ${credit_price} a credit: ${balances.join(', ')}`];
}

/** One line per amount; those of all lines add up to the closing balance. */
export function statementCsv(statement: StatementView): readonly string[] {
  const { currency } = statement;
  const line = (type: string, at: string, amount: string, inCurrency: string | null, rest: Partial<CsvCells> = {}) =>
    csvLine([
      ...[
        type,
        at,
        amount,
        rest.id ?? '',
        rest.reason ?? '',
        rest.actor ?? '',
        rest.row?.key ?? '',
        rest.row?.model ?? '',
      ],
      rest.row?.charges ?? '',
      ...TOKENS.map((name) => rest.row?.[name] ?? ''),
      ...[rest.row?.label ?? '', rest.row?.account_name ?? '', currency?.code ?? '', inCurrency ?? ''],
    ]);
  const { opening_balance: opening, closing_balance: closing } = statement;
  return [
    [
      'type,at,amount,id,reason,actor,key,model,charges',
      ...TOKENS,
      'label,account_name,currency,amount_in_currency',
    ].join(','),
    ...(opening === null ? [] : [line('opening_balance', statement.from, opening, currency?.opening_balance ?? null)]),
    ...statement.entries.map(({ kind, at, amount, amount_in_currency, id, reason, request_id, actor }) =>
      line(kind, at, amount, amount_in_currency, {
        id,
        reason: [reason, request_id].filter((part) => part !== null).join(' '),
        actor,
      }),
    ),
    ...statement.usage.map((row) =>
      line('usage', '', negative(row.amount), row.amount_in_currency && negative(row.amount_in_currency), { row }),
    ),
    ...(closing === null ? [] : [line('closing_balance', statement.to, closing, currency?.closing_balance ?? null)]),
  ];
}

/** All input, what was read from a cache of it, and the output. */
export function tokenCells(figures: TokenFigures): [input: string, cached: string, output: string] {
  const { cache_read_tokens: cached } = figures;
  const input = figures.input_tokens + cached + figures.cache_write_tokens + figures.cache_write_1h_tokens;
  return [String(input), String(cached), String(figures.output_tokens)];
}

function inAndOut(figures: TokenFigures): string {
  const [input, cached, output] = tokenCells(figures);
  return `${input} tokens in${cached === '0' ? '' : ` (${cached} cached)`}, ${output} out`;
}

/** What a person calls it: the label of the key, or its id where it has none, with its team. */
function keyText({ key, label, account_name }: StatementView['usage'][number]): string {
  return `${label ?? key}${account_name === null ? '' : ` (${account_name})`}`;
}

function title({ of, id, name }: StatementView): string {
  const what = of === 'key' ? 'key' : 'account';
  return name === null ? `${what} ${id}` : `${oneLine(name)} (${what} ${id})`;
}

function detail({ id, reason, request_id, expires_at, other }: StatementView['entries'][number]): string {
  const parts = [
    other ?? id,
    request_id === null ? null : `for request ${request_id}`,
    expires_at === null ? null : `until ${expires_at}`,
    reason,
  ];
  return oneLine(parts.filter((part) => part !== null).join(', '));
}

export function negative(amount: string): string {
  return Number(amount) === 0 ? amount : `-${amount}`;
}

export function oneLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]/gu, '\u{fffd}');
}
