/** A provider's refusal → the condition that is reported to the client, and whether another target may be tried. */
import type { Condition } from '../core/conditions.ts';
import { isObject, type Json, parseJson } from '../lib/json.ts';
import { retryAfterSeconds } from '../lib/retry-after.ts';
import { isContextLengthError, labelsOf, redact } from '../wire/upstream-message.ts';
import type { TransportFailure } from './upstream.ts';

export { redact } from '../wire/upstream-message.ts';

export interface ProviderFailure {
  readonly condition: Condition;
  readonly message: string;
  /** The part of the message that may be kept: no words of the provider, which can quote the request, or the answer so far. */
  readonly kept: string;
  readonly retry: Retry;
  /** Seconds the provider asked to be left alone. */
  readonly retryAfterS: number | null;
  /** Something only the operator can fix (a refused credential); logged as an error. */
  readonly operatorFault: boolean;
  /** Whether it counts against the target in its circuit. What the request itself has caused never does. */
  readonly unhealthy: boolean;
  /** A detail that only the operator may read; null where there is nothing to add. */
  readonly detail: string | null;
  /** The credential or target that is to cool down: one that was refused or is used up, or a target that asked for it. */
  readonly cools: 'key' | 'target' | null;
}

/**
 * `anywhere`: the same target may be asked again. `elsewhere`: another target, or this one with another credential.
 * `never`: the request itself is at fault.
 */
type Retry = 'anywhere' | 'elsewhere' | 'never';

/** `body` is what the provider sent with its status, at most a few KiB of it. */
export function failureOfStatus(
  status: number,
  body: string,
  retryAfter: string | null,
  secrets: readonly string[],
): ProviderFailure {
  const own = judged(status, body);
  const { message } = own;
  const said = message === null ? saidOf(status, body, secrets) : { message, kept: message };
  return { ...own, ...said, retryAfterS: retryAfterSeconds(retryAfter, Date.now()) };
}

const OWN_WORDS = { operatorFault: false, detail: null, cools: null } as const;
const UNHEALTHY = { ...OWN_WORDS, retry: 'anywhere', unhealthy: true } as const;
const REQUEST_AT_FAULT = { ...OWN_WORDS, retry: 'never', unhealthy: false } as const;
const OPERATOR_AT_FAULT = { ...OWN_WORDS, operatorFault: true, retry: 'elsewhere', unhealthy: false } as const;

/** `message`: the gateway's own sentence; null where the client gets the provider's. */
interface Judgement extends Omit<ProviderFailure, 'retryAfterS' | 'message' | 'kept'> {
  readonly message: string | null;
}

function judged(status: number, body: string): Judgement {
  switch (status) {
    case 429:
      return {
        ...UNHEALTHY,
        condition: 'provider_unavailable',
        message: 'The provider limits the requests of this gateway (status 429).',
        retry: 'elsewhere',
        cools: 'key',
      };
    case 503:
    case 529:
      return {
        ...UNHEALTHY,
        condition: 'provider_unavailable',
        message: `The provider is overloaded (status ${status}).`,
        cools: 'target',
      };
    case 401:
    case 403:
      return {
        ...OPERATOR_AT_FAULT,
        condition: 'upstream_error',
        message: 'The provider refused the credential of this gateway: only its operator can mend that.',
        cools: 'key',
      };
    case 408:
    case 504:
      return {
        ...UNHEALTHY,
        condition: 'upstream_timeout',
        message: `The provider took too long (status ${status}).`,
        retry: 'elsewhere',
      };
  }
  if (status < 500 && isContextLengthError(body))
    return { ...REQUEST_AT_FAULT, condition: 'context_length_exceeded', message: null };
  if (status === 400 || status === 413 || status === 422) {
    return { ...REQUEST_AT_FAULT, condition: 'invalid_request', message: null };
  }
  if (status === 404) {
    return { ...OPERATOR_AT_FAULT, condition: 'upstream_error', message: 'The provider does not know this model.' };
  }
  const message = `The provider returned an error (status ${status}).`;
  if (status >= 500) return { ...UNHEALTHY, condition: 'upstream_error', message };
  return { ...OPERATOR_AT_FAULT, condition: 'upstream_error', message };
}

/** An answer that began with a 2xx and then turned out not to be an answer, or to be an error. */
export function failureInAnswer(condition: Condition, message: string, kept = message): ProviderFailure {
  if (condition === 'invalid_request' || condition === 'context_length_exceeded') {
    return { ...REQUEST_AT_FAULT, condition, message, kept, retryAfterS: null };
  }
  // A provider that is merely busy may be asked again; one that answers with nonsense will do so again.
  const retry = condition === 'provider_unavailable' ? 'anywhere' : 'elsewhere';
  return { ...UNHEALTHY, condition, message, kept, retry, retryAfterS: null };
}

/** An answer that is owed though it is not what the request asked for: nobody else is asked, and nothing counts against the target. */
export function failureOfOwedAnswer(condition: Condition, message: string): ProviderFailure {
  return { ...OWN_WORDS, condition, message, kept: message, retry: 'never', unhealthy: false, retryAfterS: null };
}

export function failureOfTransport(transport: TransportFailure): ProviderFailure {
  const message = `${transport.message.charAt(0).toUpperCase()}${transport.message.slice(1)}.`;
  const { detail = null } = transport;
  return { ...UNHEALTHY, ...TRANSPORT[transport.kind], message, kept: message, detail, retryAfterS: null };
}

const TRANSPORT: Readonly<
  Record<TransportFailure['kind'], Partial<ProviderFailure> & Pick<ProviderFailure, 'condition' | 'retry'>>
> = {
  unreachable: { condition: 'provider_unavailable', retry: 'anywhere' },
  proxy_refused: { condition: 'provider_unavailable', retry: 'elsewhere', operatorFault: true },
  connect_timeout: { condition: 'provider_unavailable', retry: 'elsewhere' },
  broken: { condition: 'upstream_error', retry: 'anywhere' },
  undecodable: { condition: 'upstream_error', retry: 'elsewhere' },
  first_byte_timeout: { condition: 'upstream_timeout', retry: 'elsewhere' },
  idle_timeout: { condition: 'upstream_timeout', retry: 'elsewhere' },
};

/** The message of a refusal for the client, and the part of it that may be kept. */
function saidOf(status: number, body: string, secrets: readonly string[]): Pick<ProviderFailure, 'message' | 'kept'> {
  const [error] = errorsIn(body).filter(isObject);
  const kept = `The provider refused the request (status ${status})${labelsOf(error)}.`;
  return { message: redact(messageOf(body), secrets), kept: redact(kept, secrets) };
}

/** The provider's own message with its refusal, where its shape is known. */
export function messageOf(body: string): string {
  for (const error of errorsIn(body)) {
    if (typeof error === 'string') return error;
    const message = isObject(error) ? (error.message ?? error.detail) : undefined;
    if (typeof message === 'string') return message;
  }
  return 'The provider refused the request.';
}

/** A body may hold an error in its member of that name, or be one as a whole. */
function errorsIn(body: string): readonly (Json | undefined)[] {
  const parsed = parseJson(body);
  return [isObject(parsed) ? parsed.error : undefined, parsed];
}
