/** The items that a stored response was made from, as a list in pages: by the public API, the newest first. */
import { hash } from 'node:crypto';
import type { StoredLink } from '../ledger/port.ts';
import { isObject, type JsonObject } from '../lib/json.ts';
import { refuse } from '../wire/errors.ts';
import { ENCRYPTED_REASONING, withoutEncrypted } from '../wire/responses/answer-state.ts';
import type { InputItemList } from '../wire/responses/schema.ts';
import { listedItem, readInput, readOutput } from '../wire/responses/stored-items.ts';

const LIMIT_MAX = 100;
const LIMIT = 20;

interface Page {
  readonly limit: number;
  readonly newestFirst: boolean;
  /** The item that the page follows; null: it is the first page. */
  readonly after: string | null;
  /** Whether encrypted reasoning is shown. */
  readonly encrypted: boolean;
}

/** Throws `GatewayError('invalid_request')` that names the parameter. */
export function readPage(query: URLSearchParams): Page {
  const limit = Number(query.get('limit') ?? LIMIT);
  if (!Number.isInteger(limit) || limit < 1 || limit > LIMIT_MAX) {
    refuse('limit', `limit must be a whole number from 1 to ${LIMIT_MAX}.`);
  }
  const order = query.get('order') ?? 'desc';
  if (order !== 'asc' && order !== 'desc') refuse('order', 'order: expected one of asc, desc.');
  const include = [...query.getAll('include'), ...query.getAll('include[]')];
  return {
    limit,
    newestFirst: order === 'desc',
    after: query.get('after'),
    encrypted: include.includes(ENCRYPTED_REASONING),
  };
}

/** The input of the last one, with everything that it continues, oldest first. */
export function inputOf(links: readonly StoredLink[]): JsonObject[] {
  const outputs = links.map(({ output }) => readOutput(output).items);
  const known = new Map(outputs.flat().map((item) => [item.id, item]));
  return links.flatMap(({ id, input }, index) => {
    const own = readInput(input)
      .filter(isObject)
      .map((item, place) => {
        const meant = item.type === 'item_reference' ? (known.get(item.id) ?? item) : item;
        return listedItem(meant, newId(meant, `${id} ${place}`));
      });
    return index === links.length - 1 ? own : [...own, ...(outputs[index] ?? [])];
  });
}

/** The same item has the same id whenever it is listed. */
function newId({ type = 'message' }: JsonObject, place: string): string {
  return `${type === 'message' ? 'msg' : 'item'}_${hash('sha256', place, 'hex').slice(0, 48)}`;
}

export function pageOf(items: readonly JsonObject[], { limit, newestFirst, after, encrypted }: Page): InputItemList {
  const ordered = newestFirst ? items.toReversed() : items;
  const before = after === null ? -1 : ordered.findIndex(({ id }) => id === after);
  if (after !== null && before === -1) refuse('after', 'after: this response has no item with that id.');
  const shown = ordered.slice(before + 1, before + 1 + limit);
  return {
    object: 'list',
    data: encrypted ? shown : shown.map(withoutEncrypted),
    first_id: String(shown[0]?.id ?? ''),
    last_id: String(shown.at(-1)?.id ?? ''),
    has_more: ordered.length > before + 1 + limit,
  };
}
