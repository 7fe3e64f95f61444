/**
 * Thoughts of another provider in a request that passes untouched. A client that talked to a model of another format
 * before keeps such thoughts as its own; the provider that it talks to now could only refuse what it never signed.
 */
import type { Format } from '../../core/endpoints.ts';
import { arrayAt, isObject, type Json, type JsonObject } from '../../lib/json.ts';
import { change } from '../json/edit.ts';
import { type ParsedBody, parseBody } from '../json/parse-request.ts';
import { isPacked, PACKED_MARK } from '../translate/packed-reasoning.ts';

/** The request without them; the same object where there are none. */
export function withoutForeignThoughts(format: Format, request: ParsedBody): ParsedBody {
  if (format === 'chat' || !request.bytes.includes(`"${PACKED_MARK}`)) return request;
  const name = format === 'messages' ? 'messages' : 'input';
  const before = arrayAt(request.body, name) ?? [];
  const after = format === 'messages' ? before.flatMap(ownBlocks) : before.filter((item) => !isForeign(item));
  if (after.length === before.length && after.every((item, index) => item === before[index])) return request;
  return parseBody(change(request.bytes, [{ path: [name], json: JSON.stringify(after) }], request.layout));
}

/** A message that held nothing else goes as a whole: a message without content is refused too. */
function ownBlocks(message: Json): readonly Json[] {
  const content = isObject(message) ? arrayAt(message, 'content') : undefined;
  if (!content?.some(isForeign)) return [message];
  const own = content.filter((block) => !isForeign(block));
  return own.length === 0 ? [] : [{ ...(message as JsonObject), content: own }];
}

function isForeign(value: Json): boolean {
  if (!isObject(value)) return false;
  switch (value.type) {
    case 'thinking':
      return isPacked(value.signature);
    case 'redacted_thinking':
      return isPacked(value.data);
    case 'reasoning':
      return isPacked(value.encrypted_content);
    default:
      return false;
  }
}
