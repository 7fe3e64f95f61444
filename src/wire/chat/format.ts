/** Chat completions as a wire format. */
import { arrayAt, isObject, type JsonObject, objectAt, objectsAt } from '../../lib/json.ts';
import type { PassthroughRequest, WireFormat } from '../format.ts';
import { chatTexts, generatedTexts, Labels, textsBeside } from '../generated-text.ts';
import type { Change } from '../json/edit.ts';
import type { UpstreamParams } from '../lane.ts';
import { type PassthroughFormat, passthroughLane } from '../passthrough/passthrough.ts';
import { takenByChat } from '../translate/stop-sequences.ts';
import { chatFailureFrames } from './failure.ts';
import { chatFromTurn } from './from-turn.ts';
import { ChatLengthEnding } from './length-ending.ts';
import { ChatObserver } from './observe.ts';
import { chatOptionalFields } from './optional-fields.ts';
import { readChatBody } from './read-body.ts';
import { ChatReader } from './reader.ts';
import { chatToTurn } from './to-turn.ts';
import { readChatTerms, readChatTokens, SEARCH, writeChatTokens } from './tokens.ts';
import { validateChat } from './validate-request.ts';
import { writeChatBody } from './write-body.ts';
import { ChatWriter } from './writer.ts';

/** What is not looked for text, because that was found already. */
const CHOICE_MEMBERS = new Set(['message', 'text']);
const ANSWER_MEMBERS = new Set(['choices']);

const LIMIT_FIELDS = ['max_tokens', 'max_completion_tokens'] as const;

const passthrough: PassthroughFormat = {
  changes(request, order) {
    const changes = limitChanges(request, order);
    if (!request.storesResponses && request.body.store === true) changes.push({ path: ['store'], json: 'false' });
    // Billing needs the usage of every stream, whether the client wants to see it or not.
    if (request.info.stream && !asksForUsage(request.body)) {
      changes.push({ path: ['stream_options', 'include_usage'], json: 'true' });
    }
    return changes;
  },
  isAnswer: (answer) =>
    (arrayAt(answer, 'choices')?.length ?? 0) > 0 && (answer.error === undefined || answer.error === null),
  texts: answerTexts,
  readTokens: readChatTokens,
  readTerms: readChatTerms,
  calls: (_answer, { body }) => (isObject(body.web_search_options) ? [SEARCH] : []),
  observer: (request) =>
    new ChatObserver({
      publicModel: request.publicModel,
      usageAsked: asksForUsage(request.body),
      choices: request.info.choices,
      searches: isObject(request.body.web_search_options),
      tokensMax: request.tokensMax,
    }),
  lengthEnding: ({ publicModel, body }) => new ChatLengthEnding(publicModel, asksForUsage(body)),
};

export const chatFormat: WireFormat = {
  name: 'chat',
  inputField: 'messages',
  takenStopSequences: takenByChat,
  explainsRefusals: false,
  optionalFields: chatOptionalFields,
  validateRequest: validateChat,
  passthrough: (request) => passthroughLane(request, passthrough),
  failureFrames: chatFailureFrames,
  keepAlive: Buffer.from(': keep-alive\n\n'),
  outputLimitField: (chatField) => chatField,
  asksForUsage,
  toTurn: chatToTurn,
  fromTurn: chatFromTurn,
  reader: () => new ChatReader(),
  readBody: readChatBody,
  writer: (context) => new ChatWriter(context),
  writeBody: writeChatBody,
  writeTokens: writeChatTokens,
};

function answerTexts(answer: JsonObject): readonly string[] {
  const labels = new Labels();
  const texts = objectsAt(answer, 'choices').flatMap((choice) => {
    const message = chatTexts(objectAt(choice, 'message') ?? {});
    const repeated = generatedTexts(choice.text).filter((text) => !message.includes(text));
    return [...message, ...repeated, ...textsBeside(choice, CHOICE_MEMBERS, labels)];
  });
  return texts.concat(textsBeside(answer, ANSWER_MEMBERS, labels));
}

/** The limit goes into the one field that the target knows; a client may have used either. */
function limitChanges({ body, outputLimitField = 'max_tokens' }: PassthroughRequest, order: UpstreamParams): Change[] {
  const changes: Change[] = [];
  for (const name of LIMIT_FIELDS) {
    if (name !== outputLimitField && body[name] !== undefined) changes.push({ path: [name], json: null });
  }
  if (body[outputLimitField] !== order.outputLimit) {
    changes.push({ path: [outputLimitField], json: String(order.outputLimit) });
  }
  return changes;
}

function asksForUsage(body: JsonObject): boolean {
  return objectAt(body, 'stream_options')?.include_usage === true;
}
