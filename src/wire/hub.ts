/** The three formats around the hub. */
import type { Format } from '../core/endpoints.ts';
import type { Json, JsonObject } from '../lib/json.ts';
import { chatFromTurn } from './chat/from-turn.ts';
import { readChatBody } from './chat/read-body.ts';
import { ChatReader } from './chat/reader.ts';
import { chatToTurn } from './chat/to-turn.ts';
import { writeChatBody } from './chat/write-body.ts';
import { ChatWriter } from './chat/writer.ts';
import { messagesFromTurn } from './messages/from-turn.ts';
import { readMessagesBody } from './messages/read-body.ts';
import { MessagesReader } from './messages/reader.ts';
import { messagesToTurn } from './messages/to-turn.ts';
import { writeMessagesBody } from './messages/write-body.ts';
import { MessagesWriter } from './messages/writer.ts';
import { responsesFromTurn } from './responses/from-turn.ts';
import { readResponsesBody } from './responses/read-body.ts';
import { ResponsesReader } from './responses/reader.ts';
import { responsesToTurn } from './responses/to-turn.ts';
import { writeResponsesBody } from './responses/write-body.ts';
import { ResponsesWriter } from './responses/writer.ts';
import type { ToolNames } from './translate/tool-names.ts';
import type {
  AnswerContext,
  EventReader,
  EventWriter,
  TargetTraits,
  Turn,
  TurnEvent,
  WrittenTurn,
} from './translate/turn.ts';

/** What one format knows of the hub. */
export interface HubFormat {
  toTurn(body: JsonObject): Turn;
  fromTurn(turn: Turn, traits: TargetTraits, names: ToolNames): WrittenTurn;
  reader(): EventReader;
  writer(context: AnswerContext): EventWriter;
  readBody(body: Json): readonly TurnEvent[];
  writeBody(events: readonly TurnEvent[], context: AnswerContext): object;
}

export const HUB_FORMATS: Readonly<Record<Format, HubFormat>> = {
  chat: {
    toTurn: chatToTurn,
    fromTurn: chatFromTurn,
    reader: () => new ChatReader(),
    writer: (context) => new ChatWriter(context),
    readBody: readChatBody,
    writeBody: writeChatBody,
  },
  responses: {
    toTurn: responsesToTurn,
    fromTurn: responsesFromTurn,
    reader: () => new ResponsesReader(),
    writer: (context) => new ResponsesWriter(context),
    readBody: readResponsesBody,
    writeBody: writeResponsesBody,
  },
  messages: {
    toTurn: messagesToTurn,
    fromTurn: messagesFromTurn,
    reader: () => new MessagesReader(),
    writer: (context) => new MessagesWriter(context),
    readBody: readMessagesBody,
    writeBody: writeMessagesBody,
  },
};
