/** A statement for the terminal, for a spreadsheet, and as a page to print. */
import { createHash } from 'node:crypto';
import { table } from '../../lib/text-table.ts';
import { csvLine } from '../csv.ts';
import type { StatementView } from './statement-schema.ts';

const KINDS: Readonly<Record<StatementView['entries'][number]['kind'], string>> = {
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

const OPEN = 'This period is not over: more may follow.';

export function statementTable(statement: StatementView): readonly string[] {
  const { entries, usage, totals } = statement;
  const rows = [
    ...(statement.opening_balance === null ? [] : [['Opening balance', '', statement.opening_balance]]),
    ...entries.map((entry) => [`  ${KINDS[entry.kind]} ${entry.at.slice(0, 10)}`, detail(entry), entry.amount]),
    ...usage.map((row) => [
      `  ${oneLine(row.model ?? 'unknown model')}`,
      `${row.charges} calls of ${row.key}, ${inAndOut(row)}`,
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
    ...(statement.closed ? [] : ['', OPEN]),
  ];
}

/** One line per amount; those of all lines add up to the closing balance. */
export function statementCsv(statement: StatementView): readonly string[] {
  const empty = Array<string>(6 + TOKENS.length).fill('');
  const line = (type: string, at: string, amount: string, rest: readonly (string | number | null)[] = empty) =>
    csvLine([type, at, amount, ...rest]);
  return [
    ['type,at,amount,id,reason,actor,key,model,charges', ...TOKENS].join(','),
    ...(statement.opening_balance === null ? [] : [line('opening_balance', statement.from, statement.opening_balance)]),
    ...statement.entries.map((entry) =>
      line(entry.kind, entry.at, entry.amount, [
        entry.id,
        [entry.reason, entry.request_id].filter((part) => part !== null).join(' '),
        entry.actor,
        ...empty.slice(3),
      ]),
    ),
    ...statement.usage.map((row) =>
      line('usage', '', negative(row.amount), [
        ...empty.slice(0, 3),
        row.key,
        row.model,
        row.charges,
        ...TOKENS.map((name) => row[name]),
      ]),
    ),
    ...(statement.closing_balance === null ? [] : [line('closing_balance', statement.to, statement.closing_balance)]),
  ];
}

const STYLE = `
  body { font: 14px/1.5 system-ui, sans-serif; color: #111; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
  h1 { font-size: 1.4rem; margin: 0 0 .25rem } h2 { font-size: 1rem; margin: 1.5rem 0 .5rem }
  p { margin: .25rem 0 } table { border-collapse: collapse; width: 100% }
  th, td { text-align: left; padding: .3rem .5rem; border-bottom: 1px solid #ccc; vertical-align: top; overflow-wrap: anywhere }
  .amount { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap }
  .sum td { font-weight: 600; border-bottom: 2px solid #111 }
  @media print { body { margin: 0; max-width: none } tr { break-inside: avoid } }
`;

/** Nothing runs or is loaded on the page, whatever a name or a reason says. */
export const STATEMENT_POLICY = `default-src 'none'; style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'; frame-ancestors 'none'`;

export function statementHtml(statement: StatementView): string {
  const { entries, usage, totals } = statement;
  const row = (cells: readonly string[], amount: string, sum = false): string =>
    `<tr${sum ? ' class="sum"' : ''}>${cells.map((cell) => `<td>${escaped(cell)}</td>`).join('')}<td class="amount">${escaped(amount)}</td></tr>`;
  const table = (heads: readonly string[], rows: readonly string[]): string =>
    `<table><thead><tr>${heads.map((head) => `<th>${head}</th>`).join('')}<th class="amount">Credits</th></tr></thead><tbody>${rows.join('')}</tbody></table>`;
  const balance = (name: string, amount: string | null): readonly string[] =>
    amount === null ? [] : [table(['Balance'], [row([name], amount, true)])];
  return [
    '<!doctype html><html lang="en"><head><meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    `<title>Statement ${escaped(statement.id)} ${statement.from}</title><style>${STYLE}</style></head><body>`,
    `<h1>Statement</h1><p>${escaped(title(statement))}</p>`,
    `<p>${statement.from} to before ${statement.to} (UTC), in credits</p>`,
    ...(statement.closed ? [] : [`<p><strong>${OPEN}</strong></p>`]),
    ...balance('Opening balance', statement.opening_balance),
    ...(statement.opening_balance === null
      ? []
      : [
          '<h2>Entries</h2>',
          table(
            ['Date', 'What', 'Id and reason'],
            [
              ...entries.map((entry) => row([entry.at.slice(0, 10), KINDS[entry.kind], detail(entry)], entry.amount)),
              row(['', 'Entries in all', ''], totals.entries, true),
            ],
          ),
        ]),
    '<h2>Usage</h2>',
    table(
      ['Key', 'Model', 'Calls', 'Input tokens', 'of them cached', 'Output tokens'],
      [
        ...usage.map((used) =>
          row([used.key, used.model ?? 'unknown', String(used.charges), ...tokenCells(used)], negative(used.amount)),
        ),
        row(['Usage in all', '', String(totals.charges), ...tokenCells(totals)], negative(totals.usage), true),
      ],
    ),
    ...balance('Closing balance', statement.closing_balance),
    '</body></html>\n',
  ].join('\n');
}

/** All input, what was read from a cache of it, and the output. */
function tokenCells(figures: TokenFigures): [input: string, cached: string, output: string] {
  const { cache_read_tokens: cached } = figures;
  const input = figures.input_tokens + cached + figures.cache_write_tokens + figures.cache_write_1h_tokens;
  return [String(input), String(cached), String(figures.output_tokens)];
}

function inAndOut(figures: TokenFigures): string {
  const [input, cached, output] = tokenCells(figures);
  return `${input} tokens in${cached === '0' ? '' : ` (${cached} cached)`}, ${output} out`;
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

function negative(amount: string): string {
  return amount === '0' ? amount : `-${amount}`;
}

function oneLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]/gu, '\u{fffd}');
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}
