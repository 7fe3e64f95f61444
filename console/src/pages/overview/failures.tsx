/** What failed, by its condition; and the page of a gateway that nobody has used with success yet. */
import { Link } from 'wouter';
import { useFoundKeys } from '../../api/queries.ts';
import type { UsageFigures } from '../../api/usage.ts';
import { Code } from '../../ui/code.tsx';
import { count, percent, plural } from '../../ui/format.ts';
import { Empty, Section } from '../../ui/page.tsx';
import { type Column, DataTable } from '../../ui/table.tsx';
import { allRequests, conditionsOf, failedHref, type LinkRange } from './measures.ts';
import css from './overview.module.css';
import type { Period } from './periods.ts';

type Failed = Pick<UsageFigures, 'failed' | 'failed_by_condition'>;
type FailedRow = ReturnType<typeof conditionsOf>[number];

export function Failures({
  total,
  withoutKey,
  range,
}: {
  total: UsageFigures;
  withoutKey: Failed | undefined;
  range: LinkRange;
}) {
  if (total.failed === 0 && !withoutKey?.failed) return null;
  const columns: readonly Column<FailedRow>[] = [
    {
      id: 'condition',
      header: 'Condition',
      value: ({ condition }) => condition,
      cell: ({ condition }) => <code>{condition}</code>,
    },
    {
      id: 'failed',
      header: 'Requests',
      value: ({ failed }) => failed,
      cell: ({ failed }) => count(failed),
      right: true,
    },
    {
      id: 'share',
      header: 'Of all requests',
      value: ({ failed }) => failed / allRequests(total),
      cell: ({ failed }) => percent(failed, allRequests(total)),
      right: true,
    },
  ];
  return (
    <Section title="Refused and failed" note="nothing was charged for them">
      {total.failed > 0 && (
        <DataTable
          name="Failures by condition"
          rows={conditionsOf(total)}
          columns={columns}
          rowId={({ condition }) => condition}
          href={({ condition }) => failedHref(range, condition)}
        />
      )}
      <WithoutKey counts={withoutKey} range={range} />
    </Section>
  );
}

function WithoutKey({ counts, range }: { counts: Failed | undefined; range: LinkRange }) {
  if (!counts?.failed) return null;
  return (
    <p className={css.rest}>
      {plural(counts.failed, 'request')} came without a known key (
      {conditionsOf(counts).map(({ condition, failed }, index) => (
        <span key={condition}>
          {index > 0 && ', '}
          <Link href={failedHref(range, condition)} className={css.inText}>
            {condition} {count(failed)}
          </Link>
        </span>
      ))}
      ). They are in no other figure, and the request log keeps a sample of them.
    </p>
  );
}

export function NoRequests({
  period,
  range,
  withoutKey,
}: {
  period: Period;
  range: LinkRange;
  withoutKey: Failed | undefined;
}) {
  const newest = useFoundKeys('', 1, true);
  return (
    <Empty title={`No requests ${withoutKey?.failed ? 'with a known key ' : ''}${period.words}`}>
      <WithoutKey counts={withoutKey} range={range} />
      <p>As soon as a key is used, its spend, its speed and its failures are here. Send a first request:</p>
      <div className={css.paste}>
        <Code
          label="A first request"
          text={`curl ${newest.data?.[0]?.base_url ?? 'http://127.0.0.1:8080/v1'}/chat/completions \\
  -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' \\
  -d '{"model":"sandbox/alpha","messages":[{"role":"user","content":"Hello!"}]}'`}
        />
      </div>
    </Empty>
  );
}
