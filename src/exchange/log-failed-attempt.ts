/** The log's line about a call to a provider that failed. */
import type { Log } from '../core/log.ts';
import type { AttemptRecord, RequestRecord } from '../core/request-record.ts';

/** `operatorFault`: only the operator can do something about it. The attempt must have ended. */
export function logFailedAttempt(
  log: Log,
  { requestId, keyId }: Pick<RequestRecord, 'requestId' | 'keyId'>,
  { provider, upstreamModel, condition, retryAfterS, message }: AttemptRecord,
  operatorFault: boolean,
  what = 'an attempt failed',
): void {
  const fields = { requestId, keyId, provider, model: upstreamModel, condition, retryAfterS };
  if (operatorFault) log.error(fields, `look at the configuration of this provider: ${message ?? ''}`);
  else log.warn(fields, `${what}: ${message ?? ''}`);
}
