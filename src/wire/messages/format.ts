/** Messages as a wire format. */
import type { WireFormat } from '../format.ts';
import { type PassthroughFormat, passthroughLane } from '../passthrough/passthrough.ts';
import { messagesFailureFrames } from './failure.ts';
import { isMessagesAnswer, MessagesObserver, messagesWholeMeter } from './observe.ts';
import { validateMessages } from './validate-request.ts';

const passthrough: PassthroughFormat = {
  changes(request, order) {
    if (request.body.max_tokens === order.outputLimit) return [];
    return [{ path: ['max_tokens'], json: String(order.outputLimit) }];
  },
  isAnswer: isMessagesAnswer,
  wholeMeter: messagesWholeMeter,
  observer: (request) => new MessagesObserver(request.publicModel),
};

export const messagesFormat: WireFormat = {
  name: 'messages',
  validateRequest: (body, _bytes, context) => validateMessages(body, context),
  passthrough: (request) => passthroughLane(request, passthrough),
  failureFrames: messagesFailureFrames,
  keepAlive: Buffer.from('event: ping\ndata: {"type":"ping"}\n\n'),
};
