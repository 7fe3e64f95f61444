/** `background: true`: the response is made in the background, by a run that belongs to the gateway. */
import { GatewayError } from '../core/conditions.ts';
import type { Policy } from '../core/policy.ts';
import { nowS } from '../core/time.ts';
import type { NewRun } from '../ledger/port.ts';
import { isObject, type JsonObject } from '../lib/json.ts';
import { refuse } from '../wire/errors.ts';
import { change } from '../wire/json/edit.ts';
import { type ParsedBody, parseBody } from '../wire/json/parse-request.ts';
import { echoedRequest } from '../wire/responses/answer-state.ts';
import { completeResponse } from '../wire/responses/complete.ts';
import type { Plan } from './plan.ts';
import type { RunRequest } from './request.ts';

/** Null where the request is to be answered while its client waits. `stores`: whether the operator keeps responses. */
export function runRequest(body: JsonObject, stores: boolean): RunRequest | null {
  const { background = null, store, stream } = body;
  if (background === null || background === false) return null;
  if (background !== true) refuse('background', 'background must be a boolean.');
  if (store === false) {
    refuse('background', 'background needs a response that is stored: it cannot be true together with store: false.');
  }
  if (!stores)
    refuse('background', 'background: this gateway stores no responses, so none can be made in the background.');
  return { streamed: stream === true };
}

/** The request as it is judged and sent: the provider is always asked for a stream, and never for background work. */
export function withoutBackground(parsed: ParsedBody): ParsedBody {
  const changes = [
    { path: ['background'], json: null },
    { path: ['stream'], json: 'true' },
  ] as const;
  return { ...parseBody(change(parsed.bytes, changes, parsed.layout)), received: parsed.received };
}

/** Of a response that there is before any provider has answered. */
export function responseIdOf(requestId: string): string {
  return `resp_${requestId.slice(requestId.indexOf('_') + 1)}`;
}

/** Of the request that has begun a run. */
export function requestIdOf(runId: string): string {
  return `req_${runId.slice(runId.indexOf('_') + 1)}`;
}

/** The run of a request begins with its hold, and is named after it. A refusal where its response is too large to be stored. */
export function newRun(requestId: string, plan: Plan, { responses, runs }: Policy): NewRun | GatewayError {
  const { body, state } = plan.request;
  const createdS = nowS();
  const id = responseIdOf(requestId);
  const first = completeResponse(
    { id, background: true, status: 'in_progress', model: plan.model.id },
    { request: echoedRequest(body, state?.answer), outputLimit: plan.outputLimit, nowS: () => createdS },
  );
  const response = JSON.stringify(first);
  if (Buffer.byteLength(response) > responses.recordBytes) return tooLarge(responses.recordBytes);
  const input = JSON.stringify((state?.newInput ?? []).filter(isObject));
  return {
    id,
    response,
    input: Buffer.byteLength(input) > responses.recordBytes ? null : input,
    keepMs: responses.keepMs,
    keyBytesMax: runs.keyBytes,
  };
}

/** It repeats everything of the request but its input. */
function tooLarge(recordBytes: number): GatewayError {
  return new GatewayError('invalid_request', {
    message: `background: without its output the response is larger than one that is stored may be (${recordBytes} bytes). Send shorter instructions, tools and settings.`,
    param: 'background',
  });
}
