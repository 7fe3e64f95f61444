/** undici's errors in the words of the port. */
import { errorCodeOrName } from '../../lib/error-code.ts';
import type { CallFailure } from '../client.ts';
import { ConnectTimeout } from './connector.ts';
import { errors } from './undici.ts';

/** Where undici's own name says less, or something else, than the one that is reported. */
const CODES: Readonly<Record<string, string>> = {
  UND_ERR_SOCKET: 'closed early',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'closed early',
  UND_ERR_HEADERS_OVERFLOW: 'too_large',
  UND_ERR_DESTROYED: 'closed here',
  UND_ERR_CLOSED: 'closed here',
  // undici's own check of what its parser has read, such as a status below 100.
  ERR_ASSERTION: 'malformed',
};
/** undici tells a proxy's refusal by its message alone, for CONNECT and for requests that the proxy forwards. */
const PROXY_STATUS = /^Proxy (?:response|Authentication Required) \((\d{3})\)/;

/** Of a call whose request has been written. */
export function failureCode(error: unknown): string {
  const code = errorCodeOrName(error);
  if (error instanceof errors.HTTPParserError) return code === 'HPE_INVALID_EOF_STATE' ? 'closed early' : 'malformed';
  return CODES[code] ?? code;
}

/** Of a call for which there was no connection. `proxy` is the one that it should go through, if any. */
export function connectFailure(error: Error, proxy: string | null): CallFailure {
  if (error instanceof ConnectTimeout || isTimeout(error)) {
    return { kind: 'connect_timeout', code: 'ETIMEDOUT', detail: proxy };
  }
  if (proxy !== null) {
    const status = PROXY_STATUS.exec(error.message)?.[1];
    if (status !== undefined) {
      return { kind: 'proxy_refused', code: `status ${status}`, detail: `${proxy} answered with status ${status}` };
    }
    const code = failureCode(error);
    return { kind: 'unreachable', code, detail: `${proxy}: ${code}` };
  }
  return { kind: 'unreachable', code: failureCode(error), detail: null };
}

export function isProxyRefusal(error: Error): boolean {
  return PROXY_STATUS.test(error.message);
}

/** A kept connection broke before the request was written to it. */
export function isStale(error: Error): boolean {
  const code = errorCodeOrName(error);
  return code === 'ECONNRESET' || code === 'EPIPE' || code === 'UND_ERR_SOCKET';
}

/** Each of several addresses was tried, and at least one did not answer. */
function isTimeout(error: Error): boolean {
  if (errorCodeOrName(error) === 'UND_ERR_CONNECT_TIMEOUT' || errorCodeOrName(error) === 'ETIMEDOUT') return true;
  return error instanceof AggregateError && error.errors.some((one) => errorCodeOrName(one) === 'ETIMEDOUT');
}
