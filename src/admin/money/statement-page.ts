/** A statement as a page that can be sent and printed, on A4 and on Letter. */
import { createHash } from 'node:crypto';
import type { StatementView } from './statement-schema.ts';
import { KINDS, negative, OPEN, oneLine, tokenCells } from './statement-text.ts';

type Kind = StatementView['entries'][number]['kind'];
type Used = StatementView['usage'][number];
type Cell = string | number;

/** Margins and page numbers are the printer's part; the paper is whatever is in it. */
const STYLE = `
  :root { color-scheme: light }
  body { font: 14px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; color: #111; background: #fff;
    max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
  header { display: flex; flex-wrap: wrap; justify-content: space-between; gap: 1rem 3rem; margin-bottom: 1.5rem }
  header p, .note { margin: 0; white-space: pre-line }
  h1 { font-size: 1.5rem; margin: 0 0 .25rem } h2 { font-size: 1.05rem; margin: 1.75rem 0 .4rem }
  dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; margin: 0 }
  dt { color: #555 } dd { margin: 0; overflow-wrap: anywhere }
  table { border-collapse: collapse; width: 100% }
  th, td { text-align: left; padding: .3rem .5rem; border-bottom: 1px solid #ccc; vertical-align: top; overflow-wrap: anywhere }
  th { font-weight: 600; border-bottom-color: #111 }
  .amount { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; overflow-wrap: normal }
  .sum td { font-weight: 600; border-top: 1px solid #111; border-bottom: 2px solid #111 }
  .date { white-space: nowrap }
  .muted { color: #555 }
  .note { margin-top: 1.5rem }
  @page { margin: 16mm 14mm; @bottom-right { content: counter(page) " / " counter(pages); font: 10px system-ui, sans-serif } }
  @media print {
    body { margin: 0; padding: 0; max-width: none; font-size: 10.5pt }
    thead { display: table-header-group } tr { break-inside: avoid } h2 { break-after: avoid }
  }
`;

/** Nothing runs or is loaded on the page, whatever a name or a reason says. */
export const STATEMENT_POLICY = `default-src 'none'; style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'; frame-ancestors 'none'`;

export function statementHtml(statement: StatementView): string {
  const page = new Page(statement);
  return [
    '<!doctype html><html lang="en"><head><meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    `<title>Statement ${escaped(nameOf(statement))} ${statement.from}</title><style>${STYLE}</style></head><body>`,
    ...page.head(),
    ...page.summary(),
    ...page.entries(),
    ...page.usage(),
    ...page.foot(),
    '</body></html>\n',
  ].join('\n');
}

class Page {
  readonly #statement: StatementView;

  constructor(statement: StatementView) {
    this.#statement = statement;
  }

  head(): readonly string[] {
    const { id, of, issuer, from, to, issued_at, closed, currency } = this.#statement;
    const facts = [
      ['For', nameOf(this.#statement)],
      [of === 'key' ? 'Key' : 'Account', id],
      ['Period', `${from} to ${dayBefore(to)} (UTC)`],
      ['Issued', issued_at.slice(0, 10)],
      ...(currency === null ? [] : [['Price', `1 credit = ${currency.credit_price} ${currency.code}`]]),
    ];
    const sender = [
      issuer?.name,
      ...(issuer?.address ?? []),
      issuer?.contact,
      issuer?.tax_id && `Tax id ${issuer.tax_id}`,
    ];
    return [
      '<header>',
      `<div><h1>Statement</h1><dl>${facts.map(([name = '', value = '']) => `<dt>${name}</dt><dd>${escaped(oneLine(value))}</dd>`).join('')}</dl></div>`,
      ...(issuer === null ? [] : [`<p>${escaped(sender.filter((part) => part != null).join('\n'))}</p>`]),
      '</header>',
      ...(closed ? [] : [`<p><strong>${OPEN}</strong></p>`]),
    ];
  }

  /** From the opening to the closing balance: what each kind of entry has added, and what was used. */
  summary(): readonly string[] {
    const { opening_balance, closing_balance, totals, currency, entries } = this.#statement;
    if (opening_balance === null || closing_balance === null) return [];
    const kinds = (Object.keys(KINDS) as Kind[]).flatMap((kind) => {
      const amount = totals.by_kind[kind];
      if (amount === undefined) return [];
      const count = entries.filter((entry) => entry.kind === kind).length;
      return [
        this.#row([`${SUMMARY[kind]}${count > 1 ? ` (${count})` : ''}`], amount, currency?.by_kind[kind] ?? null),
      ];
    });
    return [
      this.#table(
        ['Summary'],
        [
          this.#row(['Opening balance'], opening_balance, currency?.opening_balance ?? null),
          ...kinds,
          this.#row(['Usage'], negative(totals.usage), currency && negative(currency.usage)),
          this.#row(['Closing balance'], closing_balance, currency?.closing_balance ?? null, true),
        ],
      ),
    ];
  }

  entries(): readonly string[] {
    const { entries, totals, currency, opening_balance } = this.#statement;
    if (opening_balance === null || entries.length === 0) return [];
    return [
      '<h2>Entries</h2>',
      this.#table(
        ['Date', 'What', 'Reason'],
        [
          ...entries.map((entry) =>
            this.#row(
              [entry.at.slice(0, 10), KINDS[entry.kind], reasonOf(entry)],
              entry.amount,
              entry.amount_in_currency,
            ),
          ),
          this.#row(['', 'Entries in all', ''], totals.entries, currency?.entries ?? null, true),
        ],
      ),
    ];
  }

  /** By team and key, as people call them. */
  usage(): readonly string[] {
    const { usage, totals, currency } = this.#statement;
    const teams = usage.some(({ account_name }) => account_name !== null);
    const inOrder = usage.toSorted((a, b) => placeOf(a).localeCompare(placeOf(b), 'en'));
    const cells = (team: string, rest: readonly Cell[]): readonly Cell[] => (teams ? [team, ...rest] : rest);
    return [
      '<h2>Usage</h2>',
      this.#table(
        [...(teams ? ['Team'] : []), 'Key', 'Model'],
        [
          ...inOrder.map((row) =>
            this.#row(
              cells(row.account_name ?? '', [
                ...[row.label ?? row.key, row.model ?? 'unknown', row.charges],
                ...tokenCells(row).map(Number),
              ]),
              negative(row.amount),
              row.amount_in_currency && negative(row.amount_in_currency),
            ),
          ),
          this.#row(
            cells('', ['Usage in all', '', totals.charges, ...tokenCells(totals).map(Number)]),
            negative(totals.usage),
            currency && negative(currency.usage),
            true,
          ),
        ],
        ['Calls', 'Input tokens', 'of them cached', 'Output tokens'],
      ),
    ];
  }

  foot(): readonly string[] {
    const { issuer, currency } = this.#statement;
    return [
      ...(issuer?.note == null ? [] : [`<p class="note">${escaped(issuer.note)}</p>`]),
      ...(currency === null
        ? []
        : [
            `<p class="muted">Amounts in ${currency.code} are rounded one by one; the amounts in credits are exact.</p>`,
          ]),
    ];
  }

  /** `counts`: the heads of columns of numbers, after the others. */
  #table(heads: readonly string[], rows: readonly string[], counts: readonly string[] = []): string {
    const { currency } = this.#statement;
    const amounts = ['Credits', ...(currency === null ? [] : [currency.code])];
    const cells = [
      ...heads.map((head) => `<th scope="col">${head}</th>`),
      ...[...counts, ...amounts].map((head) => `<th scope="col" class="amount">${head}</th>`),
    ];
    return `<table><thead><tr>${cells.join('')}</tr></thead><tbody>${rows.join('')}</tbody></table>`;
  }

  #row(texts: readonly Cell[], credits: string, inCurrency: string | null, sum = false): string {
    const { currency } = this.#statement;
    const amounts = [credits, ...(currency === null ? [] : [inCurrency ?? ''])];
    const cells = [...texts.map(cellOf), ...amounts.map((amount) => `<td class="amount">${escaped(amount)}</td>`)];
    return `<tr${sum ? ' class="sum"' : ''}>${cells.join('')}</tr>`;
  }
}

/** Numbers stand below each other, and a date is not broken. */
function cellOf(cell: Cell): string {
  if (typeof cell === 'number') return `<td class="amount">${cell}</td>`;
  return `<td${DATE.test(cell) ? ' class="date"' : ''}>${escaped(oneLine(cell))}</td>`;
}

const DATE = /^\d{4}-\d{2}-\d{2}$/;

/** The sums of each kind, by their plural. */
const SUMMARY: Readonly<Record<Kind, string>> = {
  purchase: 'Purchases',
  promotion: 'Promotional credit',
  refund: 'Refunds',
  correction: 'Corrections',
  expired: 'Promotional credit that expired',
  transfer_out: 'Transfers to an account',
  transfer_in: 'Transfers from keys',
};

function nameOf({ name, id }: StatementView): string {
  return name ?? id;
}

/** The reason first; ids are for questions. */
function reasonOf({ id, reason, request_id, expires_at, other }: StatementView['entries'][number]): string {
  const parts = [
    reason,
    expires_at === null ? null : `until ${expires_at.slice(0, 10)}`,
    request_id === null ? null : `for request ${request_id}`,
    other ?? id,
  ];
  return parts.filter((part) => part !== null).join(', ');
}

function placeOf({ account_name, label, key, model }: Used): string {
  return [account_name ?? '', label ?? key, model ?? ''].join('\n');
}

function dayBefore(day: string): string {
  return new Date(Date.parse(day) - 1).toISOString().slice(0, 10);
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}
