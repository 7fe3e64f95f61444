/** Messages as a wire format. */
import type { WireFormat } from '../format.ts';
import { type PassthroughFormat, passthroughLane } from '../passthrough/passthrough.ts';
import { messagesFacts } from './facts.ts';
import { messagesFailureFrames } from './failure.ts';
import { isMessagesAnswer, MessagesObserver, messagesWholeMeter } from './observe.ts';

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
  facts: (body, _bytes, context) => messagesFacts(body, context),
  passthrough: (request) => passthroughLane(request, passthrough),
  failureFrames: messagesFailureFrames,
  keepAlive: Buffer.from('event: ping\ndata: {"type":"ping"}\n\n'),
};
