/**
 * Reasoning of another provider in a request that passes untouched. A client that talked to a model of another format
 * before keeps that reasoning, packed by this gateway, as its own; the provider that it talks to now would refuse a
 * signature that it never made.
 */
import { arrayAt, isObject, type Json, type JsonObject } from '../../lib/json.ts';
import { change } from '../json/edit.ts';
import { type ParsedBody, parseBody } from '../json/parse-request.ts';
import { isPacked } from '../translate/packed-reasoning.ts';

/**
 * The request without it; the same object where there is none. The conversation is in the member `inputField`: packed
 * reasoning is an item of it (responses) or a block of one of its messages (messages).
 */
export function stripPackedReasoning(inputField: string, request: ParsedBody): ParsedBody {
  const before = arrayAt(request.body, inputField) ?? [];
  if (!before.some(holdsPackedReasoning)) return request;
  const after = before.filter((item) => !isPackedReasoning(item)).flatMap(withoutPackedBlocks);
  return parseBody(change(request.bytes, [{ path: [inputField], json: JSON.stringify(after) }], request.layout));
}

function holdsPackedReasoning(item: Json): boolean {
  const content = isObject(item) ? arrayAt(item, 'content') : undefined;
  return isPackedReasoning(item) || content?.some(isPackedReasoning) === true;
}

/** A message that held nothing else is left out as a whole: a message without content is refused too. */
function withoutPackedBlocks(message: Json): readonly Json[] {
  const content = isObject(message) ? arrayAt(message, 'content') : undefined;
  if (!content?.some(isPackedReasoning)) return [message];
  const own = content.filter((block) => !isPackedReasoning(block));
  return own.length === 0 ? [] : [{ ...(message as JsonObject), content: own }];
}

function isPackedReasoning(value: Json): boolean {
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
