/** Arbitrary answers. */
import fc from 'fast-check';
import type { Format } from '../../src/core/endpoints.ts';
import { anyCharacter } from '../support/fuzz.ts';
import type { AnswerSpec, Block } from '../support/upstreams/answers.ts';

const piece = fc.string({ unit: anyCharacter, minLength: 1, maxLength: 12 });
const pieces = fc.array(piece, { minLength: 1, maxLength: 4 });

function cut(text: string, at: readonly number[]): string[] {
  const places = [...new Set(at.map((place) => place % text.length))].sort((a, b) => a - b);
  return [0, ...places].map((from, index, all) => text.slice(from, all[index + 1])).filter((part) => part !== '');
}

const args = fc
  .tuple(
    fc.dictionary(
      fc.string({ maxLength: 6 }).filter((name) => name !== '__proto__'),
      fc.oneof(fc.string(), fc.integer(), fc.boolean()),
      {
        maxKeys: 3,
        noNullPrototype: true,
      },
    ),
    fc.array(fc.nat(), { maxLength: 3 }),
  )
  .map(([value, places]) => cut(JSON.stringify(value), places));

const tools = fc
  .array(args, { maxLength: 3 })
  .map((calls): Block[] =>
    calls.map((parts, index) => ({ kind: 'tool', id: `call_${index}`, name: `tool_${index}`, pieces: parts })),
  );

const thinking = pieces.map((parts): Block => ({ kind: 'thinking', pieces: parts, signature: 'signed' }));
const text = pieces.map((parts): Block => ({ kind: 'text', pieces: parts }));
const refusal = pieces.map((parts): Block => ({ kind: 'refusal', pieces: parts }));
const count = fc.nat({ max: 100_000 });

const tokens = fc.record(
  {
    input: count,
    cacheRead: count,
    cacheWrite: count,
    cacheWrite1h: fc.constant(0),
    output: count.map((output) => output + 1_000),
    reasoning: fc.nat({ max: 1_000 }),
  },
  { noNullPrototype: true },
);

function argumentsOf(block: Block | undefined): string {
  return block?.kind === 'tool' ? block.pieces.join('') : '';
}

/** An answer that a provider of this format could give. */
export function answerSpec(format: Format): fc.Arbitrary<AnswerSpec> {
  const redacted =
    format === 'chat' ? fc.constant([]) : fc.constantFrom<Block[]>([], [{ kind: 'redacted', data: 'hidden' }]);
  const said = format === 'messages' ? fc.option(text) : fc.option(fc.oneof(text, refusal));
  return fc
    .tuple(fc.option(thinking), redacted, said, tools, fc.boolean(), tokens)
    .map(([reasoning, hidden, words, calls, full, counts]) => {
      const blocks = [...(reasoning ? [reasoning] : []), ...hidden, ...(words ? [words] : []), ...calls];
      const refused = words?.kind === 'refusal';
      // A whole message that was cut off shows a call without arguments as it shows one that was cut off before them.
      const unclear = format === 'messages' && argumentsOf(calls.at(-1)) === '{}';
      const finish = full && !unclear ? 'length' : calls.length > 0 ? 'tool' : refused ? 'refusal' : 'stop';
      return { blocks, finish, tokens: counts };
    });
}
