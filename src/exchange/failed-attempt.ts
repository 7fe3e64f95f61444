/** What is kept and logged of a call to a provider that failed. */
import type { Log } from '../core/log.ts';
import type { AttemptRecord, RequestRecord } from '../core/request-record.ts';
import type { ProviderFailure } from '../provider/failure.ts';
import { type BodyBytes, wholeBytes } from '../wire/lane.ts';

/** What the provider was sent and what the client has seen of its answer, null where that is too long to be kept. */
interface CallContent {
  readonly sent: BodyBytes;
  readonly answer: string | null;
}

/** The attempt must have ended. `what`: that it failed, in the words of the log. */
export function noteFailedAttempt(
  log: Log,
  record: RequestRecord,
  attempt: AttemptRecord,
  failure: ProviderFailure,
  { sent, answer }: CallContent,
  what = 'an attempt failed',
): void {
  record.attemptFailed(attempt, failure, failure.quotes ? { sent: wholeBytes(sent), answer } : null);
  const { requestId, keyId } = record;
  const { provider, upstreamModel: model, condition, retryAfterS, message } = attempt;
  const fields = { requestId, keyId, provider, model, condition, retryAfterS };
  if (failure.operatorFault) log.error(fields, `look at the configuration of this provider: ${message ?? ''}`);
  else log.warn(fields, `${what}: ${message ?? ''}`);
}
