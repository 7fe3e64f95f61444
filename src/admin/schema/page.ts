/** What every list that comes in pages is asked for and answers with. */
import { Type } from '../../lib/schema-builder.ts';

export const pageParameters = (what: string) => ({
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 1_000, description: `How many ${what} a page has; all of them without it.` }),
  ),
  cursor: Type.Optional(Type.String({ description: 'The next_cursor of the page before.' })),
});

export const NextCursor = Type.Union([Type.String(), Type.Null()], {
  description: 'For the next page; null on the last one.',
});
