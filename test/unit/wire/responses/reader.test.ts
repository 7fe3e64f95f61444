import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { JsonObject } from '../../../../src/lib/json.ts';
import { ResponsesReader } from '../../../../src/wire/responses/reader.ts';
import type { TurnEvent } from '../../../../src/wire/translate/turn.ts';

/** How an event says which item it is of. */
type Reference = 'index' | 'id' | 'both';

interface Step {
  readonly item: number;
  readonly reference: Reference;
  readonly kind: 'delta' | 'done';
}

const ITEMS = 4;
const step: fc.Arbitrary<Step> = fc.record({
  item: fc.nat(ITEMS - 1),
  reference: fc.constantFrom('index', 'id', 'both'),
  kind: fc.constantFrom('delta', 'delta', 'done'),
});

const messageOf = (item: number): JsonObject => ({ type: 'message', id: `m${item}`, role: 'assistant', content: [] });

function eventOf({ item, kind }: Step, reference: Reference, place: number): readonly [string, JsonObject] {
  const index = reference === 'id' ? {} : { output_index: item };
  if (kind === 'done') return ['response.output_item.done', { ...index, item: messageOf(item) }];
  const id = reference === 'index' ? {} : { item_id: `m${item}` };
  return ['response.output_text.delta', { ...index, ...id, content_index: 0, delta: `${place}` }];
}

function read(announced: readonly number[], steps: readonly Step[], by?: Reference): readonly TurnEvent[] {
  const reader = new ResponsesReader();
  const events = announced.flatMap((item) =>
    reader.take('response.output_item.added', { output_index: item, item: messageOf(item) }),
  );
  for (const [place, one] of steps.entries()) events.push(...reader.take(...eventOf(one, by ?? one.reference, place)));
  return events;
}

test('[F48] an event belongs to the same item, whether it names its place, its id or both', () => {
  const order = fc.shuffledSubarray([0, 1, 2, 3], { minLength: ITEMS });
  fc.assert(
    fc.property(order, fc.array(step, { maxLength: 30 }), (announced, steps) => {
      assert.deepEqual(read(announced, steps), read(announced, steps, 'index'));
    }),
    { numRuns: 300 },
  );
});
