/** A request's story as a person would tell it: what happened when, why it ended as it did, and what to do next. */
import { adviceOf } from '../core/advice.ts';
import { onlyCounts } from '../core/endpoints.ts';
import { decimalCredits } from '../core/money.ts';
import { isKeyUnasked } from '../core/request-record.ts';
import { printable } from '../lib/printable.ts';
import { operatorAdvice } from './operator-advice.ts';
import type { AttemptView, RequestView } from './request-log/view.ts';

const WIDTH = 100;
const TIME_COLUMN = 12;

interface Moment {
  readonly ms: number | null;
  readonly text: string;
}

export function explain(view: RequestView): readonly string[] {
  return [
    `${view.id}: ${outcomeOf(view)}`,
    `  ${identity(view)}`,
    '',
    ...timeline(view),
    '',
    ...paragraph('Outcome: ', ending(view)),
    ...paragraph('Money: ', money(view)),
    ...paragraph('What to do: ', adviceOf(view) ?? (view.flag === null ? 'Nothing.' : 'Nothing, for the client.')),
    ...operatorAdvice(view).flatMap((text) => paragraph('For the operator: ', text)),
  ];
}

export function outcomeOf(view: RequestView): string {
  const { status, condition } = view;
  if (isCancelled(view)) return 'cancelled by the client';
  if (isCancelledRun(view)) return '200, then cancelled';
  if (condition === null) return `${status}, answered`;
  if (status !== 200) return `${status ?? 'no status'} ${condition}`;
  return `200, then ${condition} ${view.background ? 'in the background' : 'inside the stream'}`;
}

/** A client that had gone before anything failed. */
function isCancelled({ stopped, status, condition }: RequestView): boolean {
  return stopped === 'client_gone' || (status === null && condition === null);
}

/** A background response that was cancelled before anything failed. */
function isCancelledRun({ stopped, condition }: RequestView): boolean {
  return stopped === 'cancelled' && condition === null;
}

function identity(view: RequestView): string {
  const model =
    view.model === null ? null : `model ${printable(view.model)}${view.model_known ? '' : ' (not in the catalog)'}`;
  const parts = [
    view.endpoint,
    model,
    view.background ? 'in the background' : view.streamed ? 'streamed' : null,
    keyOf(view),
    view.received_at,
    `took ${milliseconds(view.duration_ms)}`,
  ];
  return parts.filter((part) => part !== null).join(', ');
}

function keyOf(view: RequestView): string {
  const { key_id, key_label, account_id } = view;
  if (key_id === null) {
    return isKeyUnasked({ ...view, keyId: null })
      ? 'its key could not be looked up because the store was out of reach'
      : 'no known key';
  }
  const label = key_label === null ? '' : ` "${printable(key_label)}"`;
  return `key ${key_id}${label}${account_id === null ? '' : ` of account ${account_id}`}`;
}

function timeline(view: RequestView): readonly string[] {
  const moments: Moment[] = [
    { ms: 0, text: received(view) },
    ...(view.admitted_ms === null ? [] : [{ ms: view.admitted_ms, text: `admitted, ${amount(view, view.held)} held` }]),
    ...view.attempts.flatMap((attempt, index) => attemptMoments(attempt, index + 1, view)),
    ...signOfLife(view),
    ...(view.first_content_ms === null ? [] : [{ ms: view.first_content_ms, text: 'first content to the client' }]),
    ...(view.settled_ms === null ? [] : [{ ms: view.settled_ms, text: settled(view) }]),
    ...(view.last_byte_ms === null
      ? []
      : [
          {
            ms: view.last_byte_ms,
            text: `last bytes to the client, ${view.bytes_out} in all${view.chunks > 0 ? ` in ${view.chunks + 1} pieces` : ''}`,
          },
        ]),
    ...(view.client_closed
      ? [{ ms: null, text: 'the client closed the connection before the answer was complete' }]
      : []),
  ];
  const known = moments.filter(({ ms }) => ms !== null).sort((a, b) => Number(a.ms) - Number(b.ms));
  return [
    ...[...known, ...moments.filter(({ ms }) => ms === null)].map(line),
    ...view.skipped.map((target) => line({ ms: null, text: skipped(target, view.attempts) })),
    ...view.warnings.map((warning) => line({ ms: null, text: `left out by the translation: ${printable(warning)}` })),
  ];
}

/** A stream may get a sign of life before its first content. */
function signOfLife({ streamed, first_byte_ms: first, ...view }: RequestView): readonly Moment[] {
  const next = view.first_content_ms ?? view.last_byte_ms;
  if (!streamed || first === null || (next !== null && first >= next)) return [];
  return [{ ms: first, text: 'first bytes to the client' }];
}

type SkippedView = RequestView['skipped'][number];

function skipped({ provider, model, reason }: SkippedView, attempts: readonly AttemptView[]): string {
  const asked = attempts.some((attempt) => attempt.provider === provider && attempt.model === model);
  if (reason === 'cooling') {
    const outcome = asked ? 'asked late' : 'not asked';
    return `${provider} ${model}: ${outcome}, it came after the others because it was cooling down after a failure`;
  }
  return `${provider} ${model}: not asked${asked ? ' again' : ''}, ${SKIPPED[reason] ?? reason}`;
}

const SKIPPED: Readonly<Record<string, string>> = {
  circuit_open: 'its circuit was open after too many failures',
  no_credential: 'its provider had no further credential to try',
  no_time_left: 'the time for attempts was over',
  retry_budget: 'too many of the recent requests were retries already',
};

function received(view: RequestView): string {
  const from = [
    view.client_address === null ? null : `from ${printable(view.client_address)}`,
    view.user_agent === null ? null : `by ${printable(view.user_agent)}`,
    view.client_request_id === null ? null : `the client calls it ${printable(view.client_request_id)}`,
    view.idempotency === 'none' ? null : `its Idempotency-Key: ${IDEMPOTENCY[view.idempotency] ?? view.idempotency}`,
  ].filter((part) => part !== null);
  return [`received${view.bytes_in > 0 ? `, ${view.bytes_in} bytes` : ''}`, ...from].join(', ');
}

const IDEMPOTENCY: Readonly<Record<string, string>> = {
  fresh: 'used for the first time',
  replay: 'the stored answer was sent again',
  conflict: 'used before, and cannot be used for this request',
  in_flight: 'the request that used it first was still running',
};

const STOPPED: Readonly<Record<string, string>> = {
  client_gone: ', since the client had gone',
  deadline: ', since its time was over',
  drain: ', which was shutting down',
  operator: ', since an operator had stopped the request',
  cancelled: ', since the response was cancelled',
  run_size: ', since the response was too large to be kept',
};

function attemptMoments(attempt: AttemptView, number: number, view: RequestView): readonly Moment[] {
  const called = onlyCounts(view.endpoint) ? 'is asked to count' : 'is called';
  const credential = attempt.credential === 0 ? '' : `, credential ${attempt.credential}`;
  const how = attempt.lane === 'translate' ? `translated to ${attempt.format}` : attempt.format;
  const waited = attempt.waited_ms > 0 ? `, after a pause of ${milliseconds(attempt.waited_ms)}` : '';
  const id = attempt.provider_request_id === null ? '' : `, its id ${printable(attempt.provider_request_id)}`;
  const answered =
    attempt.status === null
      ? []
      : [
          {
            ms: attempt.first_byte_ms,
            text: `attempt ${number}: the provider answered with status ${attempt.status}${id}`,
          },
        ];
  return [
    {
      ms: attempt.started_ms,
      text: `attempt ${number}: ${attempt.provider} ${attempt.model} ${called} (${how}${credential})${waited}`,
    },
    ...answered,
    { ms: attempt.ended_ms, text: `attempt ${number}: ${attemptEnd(attempt, view.stopped)}` },
  ];
}

function attemptEnd({ outcome, condition, message, retry_after_s }: AttemptView, stopped: string | null): string {
  if (outcome === 'complete') return 'complete';
  if (outcome === 'stopped') return `stopped by the gateway${STOPPED[stopped ?? ''] ?? ''}`;
  const wish = retry_after_s === null ? '' : ` (Retry-After: ${retry_after_s} s)`;
  return `failed, ${condition}${wish}${message === null ? '' : `: ${printable(message)}`}`;
}

function settled(view: RequestView): string {
  return view.settlement === 'charge'
    ? `charged ${amount(view, view.charged)}, durable`
    : 'the hold is released, nothing is charged';
}

function ending(view: RequestView): string {
  if (isCancelled(view)) return 'The client closed the connection before the answer was complete.';
  if (isCancelledRun(view)) return 'The background response was cancelled before it was complete.';
  if (view.condition === null) return answer(view);
  const message = printable(view.message ?? view.condition);
  if (view.background) return `The background response has failed: ${message}`;
  if (view.last_byte_ms === null) return `The client could no longer be told: ${message}`;
  return `The client was told${view.status === 200 ? ' inside the stream' : ''}: ${message}`;
}

function answer({ idempotency, endpoint, attempts }: RequestView): string {
  if (idempotency === 'replay') return 'The stored answer of an earlier request was sent.';
  if (!onlyCounts(endpoint)) return 'The answer is complete.';
  const last = attempts.at(-1);
  if (last === undefined) return 'The tokens were estimated here: no provider of the model counts them.';
  return last.outcome === 'complete'
    ? 'The answer is the count of the provider.'
    : 'The tokens were estimated here, because the provider did not count them.';
}

function money(view: RequestView): string {
  if (view.settlement === null) return 'Nothing was held, nothing is charged.';
  if (view.settlement === 'void')
    return `Nothing is charged${view.settled_ms === null ? '; the end of the hold is not stored yet' : ''}.`;
  const { usage } = view;
  const cached = usage === null ? 0 : usage.cache_read + usage.cache_write + usage.cache_write_1h;
  const tokens =
    usage === null
      ? ''
      : ` for ${usage.input} input${cached === 0 ? '' : ` and ${cached} cached`} and ${usage.output} output tokens, ${
          usage.source === 'reported'
            ? 'as the provider reported'
            : 'counted here because the provider reported nothing usable'
        }`;
  const cost =
    view.provider_cost_nanos === null ? '' : ` The provider charges ${credits(view.provider_cost_nanos)} for it.`;
  const flag = view.flag === null ? '' : ` Look at it: ${view.flag}.`;
  const late =
    view.settled_ms === null
      ? ' The charge was not stored yet when the request ended; it is made once, when the store is back.'
      : '';
  return `${amount(view, view.charged)} are charged${tokens}.${cost}${flag}${late}`;
}

/** In the key's unit. */
function amount({ mode }: RequestView, value: string | null): string {
  if (value === null) return 'nothing';
  return mode === 'token_budget' ? `${value} tokens` : credits(value);
}

function credits(nanos: string): string {
  return `${decimalCredits(BigInt(nanos))} credits`;
}

export function milliseconds(ms: number): string {
  if (ms >= 10_000) return `${(ms / 1_000).toFixed(1)} s`;
  return `${ms >= 10 ? Math.round(ms) : Math.round(ms * 10) / 10} ms`;
}

function line({ ms, text }: Moment): string {
  return `${(ms === null ? '' : milliseconds(ms)).padStart(TIME_COLUMN)}  ${text}`;
}

function paragraph(title: string, text: string): readonly string[] {
  const lines: string[] = [];
  let current = title;
  for (const word of text.split(' ')) {
    if (current.length + word.length > WIDTH && current.trim() !== '') {
      lines.push(current.trimEnd());
      current = '  ';
    }
    current += `${word} `;
  }
  lines.push(current.trimEnd());
  return lines;
}
