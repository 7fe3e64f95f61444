import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { OutputCounter } from '../../../../src/wire/passthrough/observer.ts';
import { WholeTexts } from '../../../../src/wire/responses/whole-texts.ts';

interface Event {
  readonly kind: 'part' | 'item' | 'delta';
  readonly index: number;
  readonly name: string;
  readonly text: string;
}

const event: fc.Arbitrary<Event> = fc.record({
  kind: fc.constantFrom('part', 'item', 'delta'),
  index: fc.nat(4),
  name: fc.constantFrom('content 0', 'content 1', 'summary 0'),
  text: fc.string({ maxLength: 12 }),
});

/** The sum over all items, made anew from all that has come. */
function sumOf(events: readonly Event[]): number {
  const items = new Map<number, { whole: number; readonly parts: Map<string, number> }>();
  for (const { kind, index, name, text } of events) {
    if (kind === 'delta') continue;
    const bytes = Buffer.byteLength(text);
    const item = items.get(index) ?? { whole: 0, parts: new Map<string, number>() };
    items.set(index, item);
    if (kind === 'item') item.whole = Math.max(item.whole, bytes);
    else item.parts.set(name, Math.max(item.parts.get(name) ?? 0, bytes));
  }
  let sum = 0;
  for (const { whole, parts } of items.values()) {
    sum += Math.max(
      whole,
      [...parts.values()].reduce((total, bytes) => total + bytes, 0),
    );
  }
  return sum;
}

test('[F48] whole texts, in whatever order, count as the sum over their items beyond what deltas have shown', () => {
  fc.assert(
    fc.property(fc.array(event, { maxLength: 40 }), (events) => {
      const output = new OutputCounter();
      const texts = new WholeTexts(output);
      let counted = 0;
      for (const [at, { kind, index, name, text }] of events.entries()) {
        if (kind === 'item') texts.item(index, { type: 'message', content: [{ type: 'output_text', text }] });
        else if (kind === 'part') texts.part(index, name, Buffer.byteLength(text), () => text);
        else output.add(text);
        if (kind === 'delta') counted += Buffer.byteLength(text);
        else counted = Math.max(counted, sumOf(events.slice(0, at + 1)));
        assert.equal(output.bytes, counted);
      }
    }),
    { numRuns: 500 },
  );
});
