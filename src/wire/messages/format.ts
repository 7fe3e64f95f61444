/** Messages as a wire format. */
import { objectsAt } from '../../lib/json.ts';
import type { WireFormat } from '../format.ts';
import { generatedTexts, textsBeside } from '../generated-text.ts';
import { type PassthroughFormat, passthroughLane } from '../passthrough/passthrough.ts';
import { hostedCall } from '../reported-terms.ts';
import { takenByMessages } from '../translate/stop-sequences.ts';
import { messagesFailureFrames } from './failure.ts';
import { messagesFromTurn } from './from-turn.ts';
import { MessagesLengthEnding } from './length-ending.ts';
import { MessagesObserver } from './observe.ts';
import { messagesOptionalFields } from './optional-fields.ts';
import { readMessagesBody } from './read-body.ts';
import { MessagesReader } from './reader.ts';
import { messagesToTurn } from './to-turn.ts';
import { readMessagesTerms, readMessagesTokens, writeMessagesTokens } from './tokens.ts';
import { validateMessages } from './validate-request.ts';
import { writeMessagesBody } from './write-body.ts';
import { MessagesWriter } from './writer.ts';

const CONTENT = new Set(['content']);

const passthrough: PassthroughFormat = {
  changes(request, order) {
    if (request.body.max_tokens === order.outputLimit) return [];
    return [{ path: ['max_tokens'], json: String(order.outputLimit) }];
  },
  isAnswer: (answer) => answer.type === 'message' && Array.isArray(answer.content),
  texts: (answer) => [...generatedTexts(answer.content), ...textsBeside(answer, CONTENT)],
  readTokens: readMessagesTokens,
  readTerms: (answer) => readMessagesTerms(answer.usage),
  calls: (answer) => objectsAt(answer, 'content').map((block) => hostedCall('messages', block)),
  observer: (request) => new MessagesObserver(request),
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
