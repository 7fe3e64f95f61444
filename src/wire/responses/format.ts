/** Responses as a wire format. */
import type { WireFormat } from '../format.ts';
import { type PassthroughFormat, passthroughLane } from '../passthrough/passthrough.ts';
import { responsesFailureFrames } from './failure.ts';
import { isResponsesAnswer, ResponsesObserver, responsesWholeMeter } from './observe.ts';
import { validateResponses } from './validate-request.ts';

const passthrough: PassthroughFormat = {
  changes(request, order) {
    if (request.body.max_output_tokens === order.outputLimit) return [];
    return [{ path: ['max_output_tokens'], json: String(order.outputLimit) }];
  },
  isAnswer: isResponsesAnswer,
  wholeMeter: responsesWholeMeter,
  observer: (request) => new ResponsesObserver(request.publicModel),
};

export const responsesFormat: WireFormat = {
  name: 'responses',
  validateRequest: validateResponses,
  passthrough: (request) => passthroughLane(request, passthrough),
  failureFrames: responsesFailureFrames,
  keepAlive: Buffer.from(': keep-alive\n\n'),
};
