/**
 * Stored reasoning, or a stored compaction, in a request to a provider that cannot read it. What a provider encrypts only that
 * provider can read, and what it did not store it does not know by its id: after a failover, or without its encrypted
 * content, it would be refused, and the conversation with it.
 */
import { arrayAt, isObject, type Json } from '../../lib/json.ts';
import { change } from '../json/edit.ts';
import { type ParsedBody, parseBody } from '../json/parse-request.ts';

interface ReadingProvider {
  readonly name: string;
  readonly storesResponses: boolean;
}

/** The request without it; the same object where there is none. `madeBy`: the maker of each stored item, by its id. */
export function stripForeignReasoning(
  request: ParsedBody,
  madeBy: ReadonlyMap<string, string>,
  provider: ReadingProvider,
): ParsedBody {
  if (madeBy.size === 0) return request;
  const before = arrayAt(request.body, 'input') ?? [];
  const after = before.filter((item) => !isForeign(item, madeBy, provider));
  if (after.length === before.length) return request;
  const bytes = change(request.bytes, [{ path: ['input'], json: JSON.stringify(after) }], request.layout);
  return { ...parseBody(bytes), received: request.received };
}

function isForeign(item: Json, madeBy: ReadonlyMap<string, string>, provider: ReadingProvider): boolean {
  if (!isObject(item) || (item.type !== 'reasoning' && item.type !== 'compaction')) return false;
  if (typeof item.id !== 'string') return false;
  const maker = madeBy.get(item.id);
  if (maker === undefined) return false;
  const isEncrypted = typeof item.encrypted_content === 'string';
  if (maker === provider.name && (isEncrypted || provider.storesResponses)) return false;
  // Reasoning in plain text can be read by everybody.
  return isEncrypted || (arrayAt(item, 'content')?.length ?? 0) === 0;
}
