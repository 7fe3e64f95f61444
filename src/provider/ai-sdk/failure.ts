/** An error of a provider package → what the provider would have said over HTTP, or how the transport failed. */
import { GatewayError } from '../../core/conditions.ts';
import { errorCode } from '../../lib/error-code.ts';
import { isObject, objectAt, parseJson, stringAt } from '../../lib/json.ts';
import { type TransportFailure, transportFailure } from '../upstream.ts';

interface Refusal {
  readonly kind: 'refused';
  readonly status: number;
  readonly retryAfter: string | null;
  readonly body: Buffer;
}

export type PackageFailure = Refusal | TransportFailure;

/** The members that an error of the AI SDK may have; its classes are the package's own, so they are known by name. */
interface SdkError {
  readonly name: string;
  readonly message: string;
  readonly statusCode?: number | undefined;
  readonly responseBody?: string | undefined;
  readonly responseHeaders?: Readonly<Record<string, string>> | undefined;
}

const STATUS_BY_NAME: Readonly<Record<string, number>> = {
  AI_UnsupportedFunctionalityError: 400,
  AI_InvalidPromptError: 400,
  AI_LoadAPIKeyError: 401,
  AI_LoadSettingError: 401,
  AI_NoSuchModelError: 404,
};
const BODY_CHARACTERS_MAX = 8_192;
/** Gemini answers a wrong key as if the request were at fault. */
const KEY_REFUSED = /API_KEY_INVALID|API key (not valid|expired)/i;
const NO_CREDENTIALS = /\bcredentials?\b/i;
const UNREACHABLE = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'ETIMEDOUT']);

export function failureOfPackage(error: unknown): PackageFailure {
  if (error instanceof GatewayError) return refusal(400, error.message);
  const { name, message, statusCode, responseBody = '', responseHeaders } = sdkError(error);
  if (name === 'AI_APICallError' && statusCode !== undefined) {
    // A success that cannot be read is a failure of the provider.
    const status = statusCode < 400 ? 502 : statusCode;
    const refused = status === 400 && KEY_REFUSED.test(responseBody) ? 401 : status;
    return refusal(refused, wordsOf(responseBody) ?? message, responseBody, responseHeaders?.['retry-after']);
  }
  const status = STATUS_BY_NAME[name];
  if (status !== undefined) return refusal(status, message);
  const code = codeOf(error);
  if (code === 'UND_ERR_CONNECT_TIMEOUT') return transportFailure('connect_timeout');
  if (code !== null) return transportFailure(UNREACHABLE.has(code) ? 'unreachable' : 'broken', code);
  if (NO_CREDENTIALS.test(message)) return refusal(401, message);
  return { kind: 'broken', message: `the provider package failed (${name})` };
}

/** The error in one shape for every provider, with its own words: they may say that the context was too long. */
function refusal(status: number, message: string, said = '', retryAfter: string | null = null): Refusal {
  const body = { error: { message }, said: said.slice(0, BODY_CHARACTERS_MAX) };
  return { kind: 'refused', status, retryAfter, body: Buffer.from(JSON.stringify(body)) };
}

/** Packages know one shape of error each, and servers between them and the provider have their own. */
function wordsOf(responseBody: string): string | undefined {
  const said = parseJson(responseBody);
  if (!isObject(said)) return undefined;
  return stringAt(objectAt(said, 'error') ?? said, 'message');
}

function sdkError(error: unknown): SdkError {
  return error instanceof Error ? error : { name: typeof error, message: '' };
}

/** The code of the network's error, which packages wrap more than once. */
function codeOf(error: unknown): string | null {
  let current = error;
  for (let depth = 0; depth < 5 && current instanceof Error; depth++) {
    const code = errorCode(current);
    if (code !== null) return code;
    current = current.cause;
  }
  return null;
}
