/** `generate: false` over a WebSocket: the input is remembered for the next response, and nothing is generated or charged. */
import { GatewayError } from '../core/conditions.ts';
import { NO_TOKENS } from '../core/usage.ts';
import { countAgainstRateLimit } from '../exchange/admit.ts';
import { authenticate } from '../exchange/authenticate.ts';
import { responseIdOf } from '../exchange/background.ts';
import { expander } from '../exchange/expand-request.ts';
import { configInForce, type Gateway } from '../exchange/gateway.ts';
import { makePlan } from '../exchange/make-plan.ts';
import { noteRead, readRequest } from '../exchange/read.ts';
import type { GenerationRequest } from '../exchange/request.ts';
import type { RequestState } from '../exchange/request-state.ts';
import type { ResponseSink } from '../exchange/response-sink.ts';
import { isObject } from '../lib/json.ts';
import { preparedFrames } from '../wire/responses/prepared.ts';
import { writeOutput } from '../wire/responses/stored-items.ts';

export async function prepareResponse(
  gateway: Gateway,
  request: GenerationRequest,
  response: ResponseSink,
): Promise<void> {
  const config = await configInForce(gateway);
  const caller = await authenticate(gateway, request);
  const expand = expander(gateway, caller.key.id, config.policy, request.memory);
  const read = await readRequest(request, config.policy.limits, expand, config.catalog.withDefaults);
  noteRead(request.record, config.catalog, read);
  const { key } = await countAgainstRateLimit(gateway, request, caller);
  const plan = makePlan(config, key, request.endpoint, read, null);
  if (plan instanceof GatewayError) throw plan;
  const { body, state } = plan.request;
  if (state === undefined) throw new TypeError('a response can only be prepared in the responses format');
  const id = responseIdOf(request.requestId);
  remember(state, id);
  const frames = preparedFrames({
    id,
    nowS: Math.floor(gateway.clock.nowMs() / 1_000),
    publicModel: plan.model.id,
    request: body,
    state: { ...state.answer, store: false },
    tokens: NO_TOKENS,
  });
  response.writeHead('text/event-stream');
  response.end(frames);
}

function remember({ memory, newInput, answer }: RequestState, id: string): void {
  const kept = memory?.keep({
    id,
    parentId: answer.previousResponseId,
    input: JSON.stringify(newInput.filter(isObject)),
    output: writeOutput({ provider: '', items: [] }),
    itemIds: [],
  });
  if (kept !== true) throw new GatewayError('invalid_request', TOO_LARGE);
}

const TOO_LARGE = {
  message: 'The input is larger than what this connection may remember. Send it with the response that it is for.',
  param: 'input',
} as const;
