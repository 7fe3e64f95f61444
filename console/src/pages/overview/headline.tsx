/** The sentence and the figures at the top of the overview. */
import { Link } from 'wouter';
import { useRunning } from '../../api/requests.ts';
import type { UsageFigures } from '../../api/usage.ts';
import {
  count,
  exactCredits,
  headlineCredits,
  milliseconds,
  nanosOf,
  percent,
  plural,
  shortCount,
  shortCredits,
} from '../../ui/format.ts';
import { allRequests, conditionsOf, failedHref, type LinkRange, requestsHref, tokensIn } from './measures.ts';
import css from './overview.module.css';
import { type Period, type Zone, zoneName } from './periods.ts';

export function Answer({
  now,
  before,
  period,
  zone,
  range,
}: {
  now: UsageFigures;
  before: UsageFigures | undefined;
  period: Period;
  zone: Zone;
  range: LinkRange;
}) {
  const failed = now.failed + now.broken;
  if (now.failed === allRequests(now)) {
    return (
      <>
        <strong>Every request failed</strong> {period.words} ({zoneName(zone)}):{' '}
        <Link href={failedHref(range)} className={css.inText}>
          {plural(now.failed, 'request')}, most with {conditionsOf(now)[0]?.condition}
        </Link>
        .
      </>
    );
  }
  return (
    <>
      <strong className="num">{headlineCredits(nanosOf(now.cost))} credits</strong> spent {period.words} (
      {zoneName(zone)})
      {before && before.cost > 0 && period.before && `, ${change(now.cost, before.cost)} in ${period.before.words}`}
      {'; '}
      {failed === 0 ? (
        'no request failed'
      ) : (
        <Link href={failedHref(range)} className={css.inText}>
          {percent(failed, allRequests(now))} of the requests failed
        </Link>
      )}
      {now.cancelled > 0 && `, ${percent(now.cancelled, allRequests(now))} were cancelled`}.
    </>
  );
}

/** Beyond it, a percentage says less than how many times as much it is. */
const TIMES_FROM = 10;

function change(now: number, before: number): string {
  if (now / before >= TIMES_FROM) return `${count(Math.round(now / before))} times as much as`;
  const percentage = Math.round(Math.abs(now / before - 1) * 100);
  if (percentage === 0) return 'the same as';
  return `${count(percentage)} % ${now > before ? 'more' : 'less'} than`;
}

/** The figures that matter; what belongs to each stands below it. */
export function Headline({
  now,
  before,
  range,
}: {
  now: UsageFigures;
  before: UsageFigures | undefined;
  range: LinkRange;
}) {
  const running = useRunning();
  const held = (running.data ?? [])
    .filter(({ mode }) => mode === 'credit')
    .reduce((sum, { held: nanos }) => sum + BigInt(nanos), 0n);
  const requests = requestsHref(null, null, range);
  const first = now.first_byte_ms;
  const whole = now.duration_ms;
  return (
    <div className={css.figures}>
      <Figure
        name="Spend"
        value={headlineCredits(nanosOf(now.cost))}
        unit="credits"
        delta={before && <Delta now={now.cost} before={before.cost} />}
        href={requests}
      >
        {now.provider_cost !== null &&
          now.margin !== null &&
          `Provider cost ${shortCredits(nanosOf(now.provider_cost))}; margin ${shortCredits(nanosOf(now.margin))}`}
      </Figure>
      <Figure
        name="Requests"
        value={count(allRequests(now))}
        unit=""
        delta={before && <Delta now={allRequests(now)} before={allRequests(before)} />}
        href={requests}
      >
        {shortCount(tokensIn(now))} tokens in, {shortCount(now.output_tokens)} out
      </Figure>
      <Figure
        name="Failed"
        value={percent(now.failed + now.broken, allRequests(now))}
        unit="of requests"
        href={failedHref(range)}
      >
        {now.failed === 0 && now.broken === 0
          ? 'none was refused or broke off'
          : `${count(now.failed)} refused or failed; ${count(now.broken)} broke off`}
      </Figure>
      <Figure
        name="First byte, median"
        value={first === null ? '–' : milliseconds(first.p50)}
        unit=""
        href={first === null ? requests : `${requests}&slower_than=${first.p50}ms`}
      >
        {first === null ? 'no times yet' : `95 % within ${milliseconds(first.p95)}`}
        {whole !== null && `; whole answers ${milliseconds(whole.p50)}, 95 % within ${milliseconds(whole.p95)}`}
      </Figure>
      <Figure
        name="Right now"
        value={running.data === undefined ? '–' : String(running.data.length)}
        unit="in flight"
        href="/requests?live=1"
      >
        {held === 0n ? 'nothing is held' : `${exactCredits(held)} credits held`}
      </Figure>
    </div>
  );
}

function Figure({
  name,
  value,
  unit,
  delta,
  href,
  children,
}: {
  name: string;
  value: string;
  unit: string;
  delta?: React.ReactNode;
  href: string;
  children: React.ReactNode;
}) {
  return (
    <Link href={href} className={css.figure}>
      <span className={css.figureName}>{name}</span>
      <span className={css.figureValue}>
        {value} {unit !== '' && <span className={css.figureUnit}>{unit}</span>} {delta}
      </span>
      <span className={css.figureNote}>{children}</span>
    </Link>
  );
}

/** Against the period before. Neither direction is good or bad in itself, so it has no colour. */
function Delta({ now, before }: { now: number; before: number }) {
  if (before === 0) return null;
  if (now / before >= TIMES_FROM) return <span className={css.delta}>× {count(Math.round(now / before))}</span>;
  const value = Math.round((now / before - 1) * 100);
  return (
    <span className={css.delta}>
      {value > 0 ? '+' : value < 0 ? '−' : '±'}
      {count(Math.abs(value))} %
    </span>
  );
}
