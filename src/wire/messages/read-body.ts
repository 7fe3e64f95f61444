/** A whole message → events of the hub. */
import { isObject, type Json, type JsonObject, objectsAt, stringAt } from '../../lib/json.ts';
import { broken } from '../errors.ts';
import type { TurnEvent } from '../translate/turn.ts';
import { unread } from '../translate/unread.ts';
import { messagesFailure, messagesFinish, reasoningEnd } from './reader.ts';
import { readMessagesTerms, readMessagesTokens } from './tokens.ts';

export function readMessagesBody(body: Json): readonly TurnEvent[] {
  if (!isObject(body)) broken('it is not a JSON object.');
  const failure = messagesFailure(body);
  if (failure) return [failure];
  if (!Array.isArray(body.content)) broken('it has no content.');
  const events: TurnEvent[] = [{ type: 'start', id: stringAt(body, 'id') ?? null, createdS: null }];
  for (const [key, block] of objectsAt(body, 'content').entries()) events.push(...readBlock(block, key));
  const none: TurnEvent = { type: 'finish', reason: 'other', raw: { format: 'messages', value: '' } };
  events.push(messagesFinish(body) ?? none);
  const tokens = readMessagesTokens(body.usage);
  if (tokens) events.push({ type: 'usage', tokens, terms: readMessagesTerms(body.usage) });
  events.push({ type: 'end' });
  return events;
}

function readBlock(block: JsonObject, key: number): readonly TurnEvent[] {
  switch (block.type) {
    case 'text': {
      const text = stringAt(block, 'text') ?? '';
      const citations = objectsAt(block, 'citations').map(
        (raw): TurnEvent => ({ type: 'annotation', key, annotation: { format: 'messages', raw } }),
      );
      return [
        { type: 'text-start', key, kind: 'text' },
        ...(text === '' ? [] : [{ type: 'text-delta', key, text } as const]),
        ...citations,
        { type: 'text-end', key },
      ];
    }
    case 'thinking':
    case 'redacted_thinking': {
      const text = stringAt(block, 'thinking') ?? '';
      return [
        { type: 'reasoning-start', key, origin: 'messages' },
        ...(text === '' ? [] : [{ type: 'reasoning-delta', key, text, paragraph: 0 } as const]),
        reasoningEnd(key, stringAt(block, 'signature') ?? '', stringAt(block, 'data')),
      ];
    }
    case 'tool_use': {
      const tool = { kind: 'function', name: stringAt(block, 'name') ?? '' } as const;
      return [
        { type: 'tool-start', key, callId: stringAt(block, 'id') ?? `toolu_${key}`, tool },
        { type: 'tool-delta', key, text: JSON.stringify(block.input ?? {}) },
        { type: 'tool-end', key },
      ];
    }
  }
  return [...unread(block), { type: 'opaque', format: 'messages', raw: block }];
}
