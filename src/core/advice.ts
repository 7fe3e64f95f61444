/**
 * What each condition means and what to do about it, for people: the text of docs/connect/errors.md, which a test compares with
 * this, of `gateway requests show` and of the page for key holders.
 */
import type { Condition } from './conditions.ts';
import type { StopReason } from './request-record.ts';

/** A request as the log has it. */
interface EndedRequest {
  readonly key_id: string | null;
  readonly endpoint: string | null;
  readonly status: number | null;
  readonly condition: string | null;
  readonly stopped: string | null;
  readonly settlement: string | null;
  readonly background: boolean;
}

/** By what is known of its end: a condition can have several causes. Null where there is nothing to do. */
export function adviceOf(request: EndedRequest): string | null {
  const { key_id, endpoint, status, condition, stopped, settlement, background } = request;
  if (stopped !== null && Object.hasOwn(STOPPED_ADVICE, stopped)) return STOPPED_ADVICE[stopped as StopReason];
  if (condition === null) return null;
  if (status === 200 && condition !== 'internal_error' && settlement !== 'void') {
    return background ? BACKGROUND_ADVICE : IN_BAND_ADVICE;
  }
  if (condition === 'invalid_credentials' && key_id !== null) return KNOWN_KEY_ADVICE;
  if (condition === 'not_found' && endpoint !== null) return STORED_RESPONSE_ADVICE;
  return Object.hasOwn(ADVICE, condition) ? ADVICE[condition as Condition] : 'See docs/connect/errors.md.';
}

/** Of requests that ended before their answer was complete, and not by the provider. */
export const STOPPED_ADVICE: Readonly<Record<StopReason, string>> = {
  client_gone:
    'Nothing, if the client meant to disconnect. Otherwise look at its time-out. What the provider had accepted by then is charged.',
  deadline:
    'The request reached its time limit: `streams.total` for a stream, `runs.total` in the background, otherwise `timeouts.total` of the provider. Stream long answers, or ask for less output. What the provider had accepted by then is charged.',
  drain:
    'The gateway was shutting down. Send the request again if you need the whole answer. What the provider had accepted by then is charged.',
  operator:
    'An operator of the gateway has stopped this request. Ask them before you send it again. What the provider had accepted by then is charged.',
  cancelled:
    'Nothing: the background response was cancelled by its key, or its gateway was found dead by another one. What the provider had accepted by then is charged.',
  run_size:
    'The events of the background response have reached `runs.event_bytes`. Ask for less output, or raise the limit. What the provider had accepted by then is charged.',
};

/** Of a failure after the status had been sent, where something is owed. */
export const IN_BAND_ADVICE =
  'The stream had begun when it failed: what had been produced by then is charged, and the client was told inside the stream. Send the request again if you need the whole answer.';

/** The same of a response that was made in the background. */
export const BACKGROUND_ADVICE =
  'The background response has failed, and its `error` says why: what had been produced by then is charged. Send the request again if you need the whole answer.';

/** Of `invalid_credentials` where the key was found. */
export const KNOWN_KEY_ADVICE =
  'A key that exists is refused like this where it is suspended or revoked; on the model routes and the usage route also where it is expired, disabled, or used on the wrong origin or from an address that it does not allow. The message says which. A revoked key stays revoked; for the rest, unless the origin is wrong, ask the operator.';

/** Of `not_found` where there is such a route. */
export const STORED_RESPONSE_ADVICE =
  '`GET` and `DELETE /v1/responses/{id}`: no response of that id is kept for this key. It belongs to another key, was deleted, was not used for as long as responses are kept (a day, unless the operator set another time), had to make room for newer ones, or was never kept: `store` in its answer says whether it was.';

export const ADVICE: Readonly<Record<Condition, string>> = {
  invalid_credentials:
    'The key is missing, malformed, unknown or revoked; or the request carried two credentials, an empty one, a repeated header, or a scheme that the route does not accept. Read the message. Send one credential: `Authorization: Bearer …` everywhere, or `x-api-key` on messages, count_tokens and models.',
  key_expired: "The key's expiry has passed. The operator can extend it, or create another key.",
  key_disabled:
    "One of five: the operator disabled the key, or suspended its account; the key is used on the other mode's origin, and the message names the base URL to use; the request comes from an address that the key or its account does not allow; or the model is outside the key's provider scope, its list of models or that of its account. `GET /v1/models` with the key shows what it may use.",
  rate_limit_exceeded:
    'A limit of the key, or of its account, is reached, and the message says which: requests per minute, tokens per minute, parallel requests, or background responses at a time. `Retry-After` is the exact wait, and 1 for the last two, whose end is not known. An earlier retry is refused too, but does not make the wait longer: refused requests do not count towards a limit. Input that alone exceeds the tokens per minute is never admitted: send less.',
  balance_temporarily_reserved:
    'The balance and the limits of the key and of its account are sufficient, but requests in flight hold too much of them. Wait for these to end, then retry once. If this happens often, stream, ask for less output (`max_tokens`), or give the key more balance. Holds explains what a request holds and how several agents share a balance.',
  limit_reached:
    'The token budget or the cap of the key, or a limit of its account, is used up for its period, and the message says which; or what is left is under 256 tokens and does not cover the request. `Retry-After` is the time to the next period, which may be weeks, and a day where there is none. Ask the operator, or wait.',
  insufficient_credit:
    'What is left does not cover the hold of this request: its input and its full output limit, or the first 2,048 tokens of it where the hold is elastic. Add credit, send less, or ask for less output. Without an output limit of your own the gateway has already tried a smaller one.',
  invalid_request:
    "The body or a header is not valid for the route. `param` names the first field that is wrong. It is also the answer when the model does not support what was asked for (tools, images), when a hosted tool or service tier has no configured price, when the provider itself refuses the body (then the message is the provider's), and when a body comes in thousands of chunks of a few bytes: send larger ones, or the body as a whole.",
  previous_response_not_found:
    'Only over WebSocket: the response that `previous_response_id` names, or one that it continues, is neither remembered by this connection nor kept for the key. Send the whole input without it. Over HTTP the same is `invalid_request`.',
  websocket_connection_limit_reached:
    'A WebSocket was open for 60 minutes, and closes. This request was waiting and was not begun. Open another connection, and send it there with the whole input.',
  model_not_found:
    'No model of that id is in the catalog, or, for `GET /v1/models/{id}`, the key may not use it. Take ids from `GET /v1/models`.',
  context_length_exceeded:
    "The input does not fit in the model's context window. Shorten it, or use a model with a larger one. On Format B the message reads `prompt is too long: N tokens > M maximum`.",
  idempotency_in_flight:
    'A request with this `Idempotency-Key` is still running. Retry after `Retry-After`: once it has ended, its answer is replayed.',
  idempotency_conflict:
    'This `Idempotency-Key` cannot be used here, and the message says why: it belongs to another request; its request was charged but did not complete; or its answer was too large to be kept. Use a new key. In the last two cases a new run is charged again.',
  provider_unavailable:
    'No target could take the request: it could not be reached, was cooling down after failures, was overloaded or limited the requests of the gateway. Nothing was charged. Retry with backoff; a `Retry-After` comes from the provider.',
  upstream_error:
    'The provider answered with an error, with something unreadable, or broke off; on chat and responses, also when it took too long. Before the stream began nothing was charged. Retry with backoff.',
  upstream_timeout:
    'The provider took too long, or the stream reached its time limit (five minutes, unless the operator has raised `streams.total`). Retry with backoff, stream long answers, or ask for less output.',
  service_unavailable:
    'The gateway cannot serve this request, and the message says why: its store is out of reach, it is shutting down, it has as many connections as it can serve, the key is being changed, the prompt could not be counted in time, or an operator has stopped the request. It never admits what it cannot book. Retry after `Retry-After`; where the message says that the request is charged, a retry without its `Idempotency-Key` is charged again.',
  internal_error:
    'A fault of the gateway. The operator finds the cause in the log under the request id. Retry with backoff.',
  request_too_large: 'The body is over the limit, 32 MiB unless the operator set another.',
  not_found:
    'There is no such route. Paths begin with `/v1`, for token-budget keys with `/token/v1`; where only that is missing, the message names the right path. A Format B client adds `/v1` itself: its base URL is the bare origin.',
  method_not_allowed: 'The route exists and takes another method, which is in the `Allow` header.',
  upgrade_required:
    'Another route than `/v1/responses` was asked for a WebSocket. Send an ordinary request; a POST with `"stream": true` streams.',
};
