/** What is said about a request wherever it is shown. */
import type { Attempt, LoggedRequest } from '../../api/requests.ts';
import { count, exactCredits, plural } from '../../ui/format.ts';
import { Dot, type Tone } from '../../ui/values.tsx';

export function toneOf({ status, condition, stopped }: LoggedRequest): Tone {
  if (isCancelled(stopped, condition)) return 'neutral';
  if (condition === null) return 'ok';
  return status !== null && status >= 400 && status < 500 ? 'warn' : 'bad';
}

export function outcomeText({ status, condition, stopped }: LoggedRequest): string {
  if (isCancelled(stopped, condition)) return 'cancelled';
  if (condition === null) return String(status ?? 'no status');
  return `${status === 200 ? '200, then' : (status ?? '')} ${words(condition)}`.trim();
}

/** By a client that left, or that cancelled its background response. */
function isCancelled(stopped: string | null, condition: string | null): boolean {
  return stopped === 'client_gone' || (stopped === 'cancelled' && condition === null);
}

export function Outcome({ of }: { of: LoggedRequest }) {
  return <Dot tone={toneOf(of)}>{outcomeText(of)}</Dot>;
}

export function words(name: string): string {
  return name.replaceAll('_', ' ');
}

export function tokensOf({ usage }: LoggedRequest): number | null {
  if (usage === null) return null;
  return usage.input + usage.output + usage.cache_read + usage.cache_write + usage.cache_write_1h;
}

export function providerOf({ attempts }: LoggedRequest): string | null {
  return attempts.at(-1)?.provider ?? null;
}

/** In the unit that the key pays with. */
export function amountOf({ mode }: LoggedRequest, value: string | null): string | null {
  if (value === null) return null;
  return mode === 'token_budget' ? plural(BigInt(value), 'token') : `${exactCredits(BigInt(value))} credits`;
}

/** One sentence: who answered after what, and what it cost. */
export function sentence(request: LoggedRequest): string {
  return `${whatHappened(request)}; ${whatWasCharged(request)}.`;
}

function whatHappened(request: LoggedRequest): string {
  const { attempts, condition, idempotency, stopped, streamed } = request;
  const failed = attempts.filter(({ outcome }) => outcome === 'failed');
  const before = failed.length === 0 ? '' : ` after ${failed.map(attemptFailure).join(', then ')}`;
  if (stopped === 'client_gone') return 'Cancelled by the client before the answer was complete';
  if (isCancelled(stopped, condition)) return 'The background response was cancelled before it was complete';
  if (idempotency === 'replay' && condition === null) return 'Answered with the stored answer of an earlier request';
  if (condition === null) {
    const last = attempts.at(-1);
    // A count of tokens that the provider did not give is the gateway's own.
    const by = last?.outcome === 'failed' ? 'the gateway' : (last?.provider ?? 'the gateway');
    return `${streamed ? 'Streamed' : 'Answered'} by ${by}${before}`;
  }
  if (attempts.length === 0) return `Refused before any provider was called: ${words(condition)}`;
  return `Failed with ${words(condition)}${before}`;
}

function attemptFailure({ provider, status, condition }: Attempt): string {
  if (status !== null && status >= 400) return `${provider} refused with ${status}`;
  return `${provider} failed (${words(condition ?? 'unknown')})`;
}

function whatWasCharged(request: LoggedRequest): string {
  const { settlement, charged } = request;
  if (settlement === null) return 'nothing was held, nothing is charged';
  if (settlement === 'void') return 'what was held is released, nothing is charged';
  const tokens = tokensOf(request);
  return `charged ${amountOf(request, charged) ?? 'nothing'}${tokens === null ? '' : ` for ${count(tokens)} tokens`}`;
}
