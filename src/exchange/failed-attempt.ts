/** The part of a failed call to a provider that is kept and logged. */
import type { Log } from '../core/log.ts';
import type { AttemptRecord, RequestRecord } from '../core/request-record.ts';
import type { ProviderFailure } from '../provider/failure.ts';

/** The attempt must have ended. `what`: that it failed, in the words of the log. */
export function noteFailedAttempt(
  log: Log,
  record: RequestRecord,
  attempt: AttemptRecord,
  failure: ProviderFailure,
  what = 'an attempt failed',
): void {
  attempt.failed(failure);
  const { requestId, keyId } = record;
  const { provider, upstreamModel: model, condition, retryAfterS, message } = attempt;
  const fields = { requestId, keyId, provider, model, condition, retryAfterS };
  if (failure.operatorFault) log.error(fields, `look at the configuration of this provider: ${message ?? ''}`);
  else log.warn(fields, `${what}: ${message ?? ''}`);
}
