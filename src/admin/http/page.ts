/** A list a page at a time, where nothing is ever removed: a page begins after the last one of the page before. */
import { Type } from '../../lib/schema-builder.ts';
import { invalid } from './validate.ts';

export const pageParameters = (what: string) => ({
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 1_000, description: `How many ${what} a page has; all of them without it.` }),
  ),
  cursor: Type.Optional(Type.String({ description: 'The next_cursor of the page before.' })),
});

export const NextCursor = Type.Union([Type.String(), Type.Null()], {
  description: 'For the next page; null on the last one.',
});

interface Page<View> {
  readonly object: 'list';
  readonly data: readonly View[];
  readonly next_cursor: string | null;
}

/** `find` gives at most so many; one more than the page has says whether there is another. */
export async function pageOf<Found, View extends { readonly id: string }>(
  limit: number | undefined,
  find: (limit: number | undefined) => Promise<readonly Found[]>,
  view: (found: Found) => View,
): Promise<Page<View>> {
  const found = await find(limit === undefined ? undefined : limit + 1);
  const data = found.slice(0, limit).map(view);
  return { object: 'list', data, next_cursor: found.length > data.length ? (data.at(-1)?.id ?? null) : null };
}

interface NumberedQuery {
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
}

const NUMBERED_LIMIT = 50;

/** The same of what has a number, newest first. */
export async function numberedPage<Found extends { readonly number: number }, View>(
  { limit = NUMBERED_LIMIT, cursor }: NumberedQuery,
  find: (page: { readonly limit: number; readonly before: number | null }) => Promise<readonly Found[]>,
  view: (found: Found) => View,
): Promise<Page<View>> {
  const found = await find({ limit: limit + 1, before: cursor === undefined ? null : Number(cursor) });
  const shown = found.slice(0, limit);
  const next_cursor = found.length > limit ? String(shown.at(-1)?.number) : null;
  return { object: 'list', data: shown.map(view), next_cursor };
}

/** `found`: what has the id that the cursor is. */
export function requireCursor(found: object | null): void {
  if (found === null) throw invalid('cursor', 'is not the next_cursor of a page before');
}
