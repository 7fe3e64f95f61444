/**
 * Every request field of every format, with a request that uses it. What becomes of it on each way is found by
 * sending that request through the lanes; only the reason of a silent loss is written down here.
 */
import type { Format } from '../../src/core/endpoints.ts';
import { CHAT_FIELDS } from './fields/chat.ts';
import { MESSAGES_FIELDS } from './fields/messages.ts';
import { RESPONSES_FIELDS } from './fields/responses.ts';
import type { FieldRow } from './fields/row.ts';

export const FIELDS: Readonly<Record<Format, readonly FieldRow[]>> = {
  chat: CHAT_FIELDS,
  responses: RESPONSES_FIELDS,
  messages: MESSAGES_FIELDS,
};
