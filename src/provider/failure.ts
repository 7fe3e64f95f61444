/** A provider's refusal → the condition that the client is told, and whether another target may be tried. */
import type { Condition } from '../core/conditions.ts';
import type { TransportFailure } from './upstream.ts';

export interface ProviderFailure {
  readonly condition: Condition;
  readonly message: string;
  /** `next`: another target may be tried. `never`: the request itself is at fault. */
  readonly retry: 'next' | 'never';
  /** Seconds the provider asked to be left alone. */
  readonly retryAfterS: number | null;
  /** Something only the operator can mend (a refused credential); logged as an error. */
  readonly operatorFault: boolean;
}

const MESSAGE_CHARACTERS_MAX = 2_000;

/** `body` is what the provider sent with its status, at most a few KiB of it. */
export function failureOfStatus(
  status: number,
  body: string,
  retryAfter: string | null,
  secrets: readonly string[],
): ProviderFailure {
  const said = redact(messageOf(body), secrets);
  const retryAfterS = retryAfter !== null && /^\d{1,6}$/.test(retryAfter) ? Number(retryAfter) : null;
  const failure = (
    condition: Condition,
    message: string,
    retry: 'next' | 'never',
    operatorFault = false,
  ): ProviderFailure => ({
    condition,
    message,
    retry,
    retryAfterS,
    operatorFault,
  });
  if (status === 429 || status === 503 || status === 529) {
    return failure(
      'provider_unavailable',
      `The provider is overloaded or limits its requests (status ${status}).`,
      'next',
    );
  }
  if (status === 401 || status === 403) {
    return failure(
      'upstream_error',
      'The provider refused the credential of this gateway. Its operator has been told.',
      'next',
      true,
    );
  }
  if (isContextLength(body)) return failure('context_length_exceeded', said, 'never');
  if (status === 400 || status === 413 || status === 422) return failure('invalid_request', said, 'never');
  if (status === 404) return failure('upstream_error', 'The provider does not know this model.', 'next', true);
  if (status === 408 || status === 504)
    return failure('upstream_timeout', `The provider took too long (status ${status}).`, 'next');
  return failure('upstream_error', `The provider returned an error (status ${status}).`, 'next');
}

export function failureOfTransport(transport: TransportFailure): ProviderFailure {
  const condition: Condition =
    transport.kind === 'unreachable' || transport.kind === 'connect_timeout'
      ? 'provider_unavailable'
      : transport.kind === 'broken'
        ? 'upstream_error'
        : 'upstream_timeout';
  const sentence = transport.message.charAt(0).toUpperCase() + transport.message.slice(1);
  return { condition, message: `${sentence}.`, retry: 'next', retryAfterS: null, operatorFault: false };
}

/** Replaces the gateway's own upstream credentials, and anything that looks like one, in a provider's words. */
export function redact(text: string, secrets: readonly string[]): string {
  let out = text;
  for (const secret of secrets) if (secret !== '') out = out.replaceAll(secret, '[redacted]');
  return out.replace(/\b(?:sk|key|Bearer)[-_ ][A-Za-z0-9_\-.*]{8,200}/g, '[redacted]').slice(0, MESSAGE_CHARACTERS_MAX);
}

function messageOf(body: string): string {
  try {
    const parsed: unknown = JSON.parse(body);
    for (const holder of [at(parsed, 'error'), parsed]) {
      if (typeof holder === 'string') return holder;
      const message = at(holder, 'message') ?? at(holder, 'detail');
      if (typeof message === 'string') return message;
    }
  } catch {
    // Not JSON: the provider said nothing that a client should read.
  }
  return 'The provider refused the request.';
}

function isContextLength(body: string): boolean {
  return /context_length_exceeded|maximum context length|prompt is too long|context window/i.test(body.slice(0, 8_192));
}

function at(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}
