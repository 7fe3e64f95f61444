/** One request: a sentence, a picture, what it cost, and what to do where it failed. */
import { Link } from 'wouter';
import { type LoggedRequest, useRequest } from '../../api/requests.ts';
import { Code } from '../../ui/code.tsx';
import { bytes, count, milliseconds } from '../../ui/format.ts';
import { HistoryTable } from '../../ui/history.tsx';
import { Loading } from '../../ui/loading.tsx';
import { Facts, Failure, Page, Section } from '../../ui/page.tsx';
import { Prose } from '../../ui/prose.tsx';
import { Id, Time } from '../../ui/values.tsx';
import { Content } from './content.tsx';
import { Cost } from './cost.tsx';
import { Outcome, sentence, toneOf, words } from './request-format.tsx';
import css from './requests.module.css';
import { Timeline } from './timeline.tsx';

const BACK = { href: '/requests', label: 'Requests' };

export function RequestPage({ id }: { id: string }) {
  const { data, error, isPending, refetch } = useRequest(id);
  if (data === undefined) {
    return (
      <Page title="Request" back={BACK}>
        {isPending ? <Loading /> : <Failure error={error} retry={() => void refetch()} />}
      </Page>
    );
  }
  const { request, explanation, history } = data;
  const paragraphs = paragraphsOf(explanation);
  const failed = request.condition !== null;
  return (
    <Page title={<Id value={request.id} />} back={BACK} answer={sentence(request)}>
      {failed && (
        <div className={css.advice} data-tone={toneOf(request)}>
          {paragraphs
            .filter(([title]) => title !== 'Money')
            .map(([title, text]) => (
              <p key={text}>
                <strong>{title}:</strong> <Prose text={text} />
              </p>
            ))}
        </div>
      )}
      <Timeline of={request} />
      <div className={css.columns}>
        <Cost of={request} history={history} />
        <Section title="Request">
          <Facts
            items={[
              ['Outcome', <Outcome key="outcome" of={request} />],
              ['Received', <Time key="received" at={request.received_at} />],
              ['Took', milliseconds(request.duration_ms)],
              [
                'Key',
                request.key_id === null ? (
                  keyless(request)
                ) : (
                  <Link key="key" href={`/keys/${request.key_id}`} className={css.link}>
                    {request.key_label ?? request.key_id}
                  </Link>
                ),
              ],
              request.model !== null && [
                'Model',
                <Link key="model" href={`/requests?model=${encodeURIComponent(request.model)}`} className={css.link}>
                  {request.model}
                  {!request.model_known && ' (not in the catalog)'}
                </Link>,
              ],
              ['Endpoint', `${request.endpoint ?? 'unknown'}${request.streamed ? ', streamed' : ''}`],
              ['In / out', `${bytes(request.bytes_in)} / ${bytes(request.bytes_out)}`],
              request.idempotency !== 'none' && ['Idempotency-Key', words(request.idempotency)],
              request.rate !== null && [
                'Rate limit',
                `${count(request.rate.remaining)} of ${count(request.rate.limit)} left`,
              ],
              request.user_agent !== null && ['Client', request.user_agent],
              request.client_address !== null && ['Address', request.client_address],
              request.client_request_id !== null && ['Client’s own id', request.client_request_id],
            ]}
          />
        </Section>
      </div>
      {history.events.length > 0 && (
        <Section title="History" note="What was done about it since.">
          <HistoryTable of={history.events.map((event) => ({ ...event, request_id: null }))} />
        </Section>
      )}
      <Content id={request.id} />
      <Section
        title="Full explanation"
        note={
          <>
            As <code>gateway requests show</code> prints it.
          </>
        }
      >
        <Code label="Full explanation" text={explanation.join('\n')} />
      </Section>
    </Page>
  );
}

/** The gateway's own sentences: a title, a colon, and lines that were broken for a terminal. */
function paragraphsOf(lines: readonly string[]): readonly (readonly [string, string])[] {
  const found: [string, string][] = [];
  for (const line of lines) {
    const begin = /^(Outcome|Money|What to do|For the operator): (.*)$/.exec(line);
    const last = found.at(-1);
    if (begin !== null) found.push([begin[1] ?? '', begin[2] ?? '']);
    else if (last !== undefined && line.startsWith('  ')) last[1] += ` ${line.trim()}`;
  }
  return found;
}

/** Without a key: whether the request had none, or nobody could say whose it was. */
function keyless({ endpoint, condition }: LoggedRequest): string {
  return endpoint !== null && condition === 'service_unavailable'
    ? 'could not be looked up: the store was out of reach'
    : 'no known key';
}
