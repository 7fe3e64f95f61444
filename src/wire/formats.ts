/** Every wire format that the gateway speaks. */
import type { Format } from '../core/endpoints.ts';
import { chatFormat } from './chat/format.ts';
import type { WireFormat } from './format.ts';
import { messagesFormat } from './messages/format.ts';
import { responsesFormat } from './responses/format.ts';

export const FORMATS: Readonly<Record<Format, WireFormat>> = {
  chat: chatFormat,
  responses: responsesFormat,
  messages: messagesFormat,
};
