/** The answer of each model, as it comes, and what it cost. */
import { useQuery } from '@tanstack/react-query';
import { Link } from 'wouter';
import { call } from '../../api/client.ts';
import { milliseconds } from '../../ui/format.ts';
import { Failure } from '../../ui/page.tsx';
import { Dot } from '../../ui/values.tsx';
import { amountOf, tokensOf, toneOf, words } from '../requests/request-format.tsx';
import css from './playground.module.css';

export interface Run {
  /** Left or right. */
  readonly place: number;
  readonly model: string;
  readonly text: string;
  readonly state: 'running' | 'done' | 'stopped';
  readonly status: number | null;
  readonly requestId: string | null;
  readonly error: unknown;
}

export function Answers({ runs }: { runs: readonly Run[] }) {
  return (
    <div className={css.answers}>
      {runs.map((run) => (
        <section
          key={run.place}
          className={css.answer}
          aria-label={`Answer of ${run.model}`}
          aria-busy={run.state === 'running'}
        >
          <h2>{run.model}</h2>
          <Failure error={run.error} />
          <div className={css.text} data-failed={run.status !== null && run.status >= 400}>
            {run.text}
            {run.state === 'running' && <span className={css.cursor} />}
          </div>
          <footer className={css.cost} role="status">
            {run.state === 'running' && <span className="muted">running…</span>}
            {run.state === 'stopped' && <span className="muted">stopped by you; what was produced is charged</span>}
            {run.requestId !== null && run.state !== 'running' && <Cost id={run.requestId} />}
          </footer>
        </section>
      ))}
    </div>
  );
}

const TRIES = 40;

/** From the request log, which has it a moment after the end. */
function Cost({ id }: { id: string }) {
  const { data } = useQuery({
    queryKey: ['request', id],
    queryFn: ({ signal }) => call('get', '/admin/v1/requests/{id}', { path: { id }, signal }),
    retry: TRIES,
    retryDelay: 250,
    staleTime: Number.POSITIVE_INFINITY,
  });
  if (data === undefined) return <span className="muted">settling…</span>;
  const { request } = data;
  const held = amountOf(request, request.held);
  return (
    <>
      <Dot tone={toneOf(request)}>
        {request.status} {request.condition === null ? '' : words(request.condition)}
      </Dot>
      {held !== null && <span>held {held}</span>}
      <strong>{request.charged === null ? 'nothing charged' : `charged ${amountOf(request, request.charged)}`}</strong>
      {request.usage !== null && <span>{tokensOf(request)} tokens</span>}
      {request.first_byte_ms !== null && <span>first byte after {milliseconds(request.first_byte_ms)}</span>}
      <Link href={`/requests/${id}`} className={css.link}>
        See the request
      </Link>
    </>
  );
}
