/** Messages as a wire format. */
import type { WireFormat } from '../format.ts';
import { RepeatAware } from '../passthrough/frame-template.ts';
import { type PassthroughFormat, passthroughLane } from '../passthrough/passthrough.ts';
import { takenByMessages } from '../translate/stop-sequences.ts';
import { messagesFailureFrames } from './failure.ts';
import { messagesFromTurn } from './from-turn.ts';
import { MessagesLengthEnding } from './length-ending.ts';
import { MessagesObserver } from './observe.ts';
import { messagesOptionalFields } from './optional-fields.ts';
import { readMessagesBody } from './read-body.ts';
import { MessagesReader } from './reader.ts';
import { messagesToTurn } from './to-turn.ts';
import { writeMessagesTokens } from './tokens.ts';
import { validateMessages } from './validate-request.ts';
import { isMessagesAnswer, messagesAnswerTexts, messagesWholeMeter } from './whole-meter.ts';
import { writeMessagesBody } from './write-body.ts';
import { MessagesWriter } from './writer.ts';

const passthrough: PassthroughFormat = {
  changes(request, order) {
    if (request.body.max_tokens === order.outputLimit) return [];
    return [{ path: ['max_tokens'], json: String(order.outputLimit) }];
  },
  isAnswer: isMessagesAnswer,
  texts: messagesAnswerTexts,
  wholeMeter: (answer, { tokensMax }) => messagesWholeMeter(answer, tokensMax),
  observer: (request) => new RepeatAware(new MessagesObserver(request)),
  lengthEnding: () => new MessagesLengthEnding(),
};

export const messagesFormat: WireFormat = {
  name: 'messages',
  inputField: 'messages',
  takenStopSequences: takenByMessages,
  explainsRefusals: true,
  optionalFields: messagesOptionalFields,
  validateRequest: (body, _bytes, context) => validateMessages(body, context),
  passthrough: (request) => passthroughLane(request, passthrough),
  failureFrames: messagesFailureFrames,
  keepAlive: Buffer.from('event: ping\ndata: {"type":"ping"}\n\n'),
  outputLimitField: () => 'max_tokens',
  asksForUsage: () => true,
  toTurn: messagesToTurn,
  fromTurn: messagesFromTurn,
  reader: () => new MessagesReader(),
  readBody: readMessagesBody,
  writer: (context) => new MessagesWriter(context),
  writeBody: writeMessagesBody,
  writeTokens: writeMessagesTokens,
};
