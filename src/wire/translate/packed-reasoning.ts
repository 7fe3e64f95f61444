/**
 * How signed reasoning travels through a client of another format. The client keeps an opaque string and sends it back
 * (`encrypted_content` of a reasoning item, `signature` of a thinking block), so the original is packed into it.
 */
import type { Format } from '../../core/endpoints.ts';
import { isObject, stringAt, stringsAt } from '../../lib/json.ts';
import { parseInner } from '../json/parse-inner.ts';
import type { ReasoningBlock } from './turn.ts';

/** How packed reasoning begins; no provider's own signature does. */
const PACKED_MARK = 'mgt1.';
/** The client could change what it sends back: reasoning has a text for each of its paragraphs. */
const PACKED_VALUES_MAX = 1_000;

export function isPacked(value: unknown): value is string {
  return typeof value === 'string' && value.startsWith(PACKED_MARK);
}

export function packReasoning(reasoning: ReasoningBlock): string {
  return PACKED_MARK + Buffer.from(JSON.stringify(reasoning)).toString('base64url');
}

/** The reasoning inside a string that this gateway packed; undefined for a provider's own. */
export function unpackReasoning(packed: string): ReasoningBlock | undefined {
  if (!isPacked(packed)) return undefined;
  const value = parseInner(Buffer.from(packed.slice(PACKED_MARK.length), 'base64url').toString(), PACKED_VALUES_MAX);
  if (!isObject(value)) return undefined;
  const { origin } = value;
  if (!isFormat(origin)) return undefined;
  return {
    origin,
    texts: stringsAt(value, 'texts') ?? [],
    signature: stringAt(value, 'signature'),
    redacted: stringAt(value, 'redacted'),
    id: stringAt(value, 'id'),
    encrypted: stringAt(value, 'encrypted'),
    full: stringsAt(value, 'full'),
  };
}

const ORIGINS: Readonly<Record<Format, true>> = { chat: true, responses: true, messages: true };

function isFormat(value: unknown): value is Format {
  return typeof value === 'string' && Object.hasOwn(ORIGINS, value);
}
