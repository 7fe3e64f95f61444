/** A whole message → events of the hub. */
import { isObject, type Json, type JsonObject, objectAt, stringAt } from '../../lib/json.ts';
import { broken } from '../errors.ts';
import { partsAt } from '../translate/answer-parts.ts';
import { endsMidway } from '../translate/cut-calls.ts';
import type { TurnEvent } from '../translate/turn.ts';
import { unread } from '../translate/unread.ts';
import { isErrorShape } from '../upstream-failure.ts';
import { type Finish, messagesFinish, reasoningEnd } from './reader.ts';
import { readMessagesTerms, readMessagesTokens } from './tokens.ts';

export function readMessagesBody(body: Json): readonly TurnEvent[] {
  if (!isObject(body)) broken('it is not a JSON object.');
  if (isErrorShape(body)) return [{ type: 'failure', error: body }];
  if (!Array.isArray(body.content)) broken('it has no content.');
  const events: TurnEvent[] = [{ type: 'start', id: stringAt(body, 'id') ?? null, createdS: null }];
  const finish = messagesFinish(body) ?? NO_REASON;
  const blocks = partsAt(body, 'content');
  for (const [key, block] of blocks.entries()) {
    events.push(...readBlock(block, key, endsMidway(finish.reason) && key === blocks.length - 1));
  }
  events.push(finish);
  const tokens = readMessagesTokens(body.usage);
  if (tokens) events.push({ type: 'usage', tokens, terms: readMessagesTerms(body.usage) });
  events.push({ type: 'end' });
  return events;
}

const NO_REASON: Finish = { type: 'finish', reason: 'other', raw: { format: 'messages', value: '' } };

/** `mayBeCut`: the answer may have ended in the middle of this block. */
function readBlock(block: JsonObject, key: number, mayBeCut: boolean): readonly TurnEvent[] {
  switch (block.type) {
    case 'text': {
      const text = stringAt(block, 'text') ?? '';
      const citations = partsAt(block, 'citations').map(
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
      const input = objectAt(block, 'input') ?? {};
      // The format has no other way to show arguments of which nothing complete was written.
      const isCut = mayBeCut && Object.keys(input).length === 0;
      return [
        { type: 'tool-start', key, callId: stringAt(block, 'id') ?? `toolu_${key}`, tool },
        ...(isCut ? [] : [{ type: 'tool-delta', key, text: JSON.stringify(input) } as const]),
        { type: 'tool-end', key },
      ];
    }
  }
  return [...unread(block), { type: 'opaque', format: 'messages', raw: block }];
}
