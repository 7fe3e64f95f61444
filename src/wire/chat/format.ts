/** Chat completions as a wire format. */

import { objectAt } from '../../lib/json.ts';
import type { PassthroughRequest, WireFormat } from '../format.ts';
import type { Change } from '../json/edit.ts';
import type { UpstreamOrder } from '../lane.ts';
import { type PassthroughFormat, passthroughLane } from '../passthrough/passthrough.ts';
import { chatFailureFrames } from './failure.ts';
import { ChatObserver, chatWholeMeter, isChatAnswer } from './observe.ts';
import { validateChat } from './validate-request.ts';

const LIMIT_FIELDS = ['max_tokens', 'max_completion_tokens'] as const;

const passthrough: PassthroughFormat = {
  changes(request, order) {
    const changes = limitChanges(request, order);
    // Billing needs the usage of every stream, whether the client wants to see it or not.
    if (request.info.stream && !asksForUsage(request)) {
      changes.push({ path: ['stream_options', 'include_usage'], json: 'true' });
    }
    return changes;
  },
  isAnswer: isChatAnswer,
  wholeMeter: chatWholeMeter,
  observer: (request) =>
    new ChatObserver({
      publicModel: request.publicModel,
      usageAsked: asksForUsage(request),
      choices: request.info.choices,
    }),
};

export const chatFormat: WireFormat = {
  name: 'chat',
  validateRequest: validateChat,
  passthrough: (request) => passthroughLane(request, passthrough),
  failureFrames: chatFailureFrames,
  keepAlive: Buffer.from(': keep-alive\n\n'),
};

/** The limit goes into every field that the client used, or else into the one that the target takes. */
function limitChanges({ body, outputLimitField = 'max_tokens' }: PassthroughRequest, order: UpstreamOrder): Change[] {
  const json = String(order.outputLimit);
  const changes: Change[] = [];
  let given = false;
  for (const name of LIMIT_FIELDS) {
    if (body[name] === undefined) continue;
    given = true;
    if (body[name] !== order.outputLimit) changes.push({ path: [name], json });
  }
  if (!given) changes.push({ path: [outputLimitField], json });
  return changes;
}

function asksForUsage(request: PassthroughRequest): boolean {
  return objectAt(request.body, 'stream_options')?.include_usage === true;
}
