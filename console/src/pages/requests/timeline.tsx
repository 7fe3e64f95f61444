/** A request as a picture: what happened when, on one time axis. */
import type { Attempt, LoggedRequest } from '../../api/requests.ts';
import { milliseconds } from '../../ui/format.ts';
import { amountOf, words } from './request-format.tsx';
import css from './requests.module.css';

interface Lane {
  readonly id: string;
  readonly name: string;
  readonly what: string;
  readonly from: number;
  readonly to: number;
  readonly tone: 'wait' | 'call' | 'bad' | 'ok';
  /** A moment inside of it, with its meaning. */
  readonly tick?: { readonly at: number; readonly meaning: string };
}

export function Timeline({ of: request }: { of: LoggedRequest }) {
  const lanes = lanesOf(request);
  const end = Math.max(request.duration_ms, ...lanes.map(({ to }) => to), 0.001);
  const at = (ms: number): number => (ms / end) * 100;
  return (
    <figure className={css.timeline} aria-label="What happened when">
      {lanes.map((lane) => (
        <div key={lane.id} className={css.lane}>
          <div className={css.who}>
            <span>{lane.name}</span>
            <span className={css.what} title={lane.what}>
              {lane.what}
            </span>
          </div>
          <div className={css.track}>
            <span
              className={css.bar}
              data-tone={lane.tone}
              title={`${lane.name}: ${milliseconds(lane.from)} to ${milliseconds(lane.to)}`}
              style={{ left: `${at(lane.from)}%`, width: `${Math.max(at(lane.to) - at(lane.from), 0)}%` }}
            />
            {lane.tick && (
              <span className={css.tick} title={lane.tick.meaning} style={{ left: `${at(lane.tick.at)}%` }} />
            )}
            <Label
              from={at(lane.from)}
              to={at(lane.to)}
              tone={lane.tone}
              text={lane.from === lane.to ? `at ${milliseconds(lane.to)}` : milliseconds(lane.to - lane.from)}
            />
          </div>
        </div>
      ))}
      <div className={css.axis} aria-hidden="true">
        <span />
        <div>
          {[0, 0.25, 0.5, 0.75, 1].map((part) => (
            <span key={part}>{part === 0 ? '0' : milliseconds(end * part)}</span>
          ))}
        </div>
      </div>
    </figure>
  );
}

/** Beside its bar, on the side where there is room, or else on it. */
function Label({ from, to, tone, text }: { from: number; to: number; tone: Lane['tone']; text: string }) {
  const [onTone, style] =
    to < 88
      ? [undefined, { left: `calc(${to}% + 8px)` }]
      : from > 12
        ? [undefined, { right: `calc(${100 - from}% + 8px)` }]
        : [tone, { left: `calc(${from}% + 8px)` }];
  return (
    <span className={css.label} data-on={onTone} style={style}>
      {text}
    </span>
  );
}

function lanesOf(request: LoggedRequest): readonly Lane[] {
  const { admitted_ms, first_byte_ms, first_content_ms, last_byte_ms, settled_ms, duration_ms, attempts } = request;
  const lanes: Lane[] = [];
  const held = amountOf(request, request.held);
  const refused = admitted_ms === null && request.condition !== null;
  lanes.push({
    id: 'admitted',
    name: admitted_ms === null ? 'Received' : 'Received and admitted',
    what: refused ? 'refused before anything was held' : `${held ?? 'nothing'} held`,
    from: 0,
    to: admitted_ms ?? duration_ms,
    tone: refused ? 'bad' : 'wait',
  });
  attempts.forEach((attempt, index) => {
    lanes.push(attemptLane(attempt, index + 1, duration_ms));
  });
  if (first_byte_ms !== null) {
    lanes.push({
      id: 'answer',
      name: answerName(request),
      what: first_content_ms === null ? 'first to last byte' : `first content after ${milliseconds(first_content_ms)}`,
      from: first_byte_ms,
      to: last_byte_ms ?? duration_ms,
      tone: request.condition === null ? 'ok' : 'bad',
    });
  }
  if (settled_ms !== null) {
    const charged = request.settlement === 'charge';
    lanes.push({
      id: 'settled',
      name: 'Settled',
      what: charged
        ? `${amountOf(request, request.charged) ?? 'nothing'} charged, durable`
        : 'released, nothing charged',
      from: settled_ms,
      to: settled_ms,
      tone: charged ? 'ok' : 'wait',
    });
  }
  return lanes;
}

function answerName({ streamed, condition, status }: LoggedRequest): string {
  if (condition !== null && status !== 200) return 'Error to the client';
  return streamed ? 'Stream to the client' : 'Answer to the client';
}

function attemptLane(attempt: Attempt, number: number, duration: number): Lane {
  const { outcome, provider, model, status, condition, first_byte_ms, started_ms, ended_ms } = attempt;
  const result =
    outcome === 'failed'
      ? `failed: ${status !== null && status >= 400 ? `${status}, ` : ''}${words(condition ?? 'unknown')}`
      : outcome === 'stopped'
        ? 'stopped by the gateway'
        : model;
  return {
    id: `attempt-${number}`,
    name: `Attempt ${number}: ${provider}`,
    what: result,
    from: started_ms ?? 0,
    to: ended_ms ?? duration,
    tone: outcome === 'failed' ? 'bad' : 'call',
    ...(first_byte_ms !== null && {
      tick: { at: first_byte_ms, meaning: `The provider began to answer after ${milliseconds(first_byte_ms)}` },
    }),
  };
}
