import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { countTokens as cl100k } from 'gpt-tokenizer/encoding/cl100k_base';
import { countTokens as o200k } from 'gpt-tokenizer/encoding/o200k_base';
import { CJK, PROSE } from '../../../bench/counter-samples.ts';
import { sandboxModels } from '../../../src/config/sandbox.ts';
import type { Format } from '../../../src/core/endpoints.ts';
import type { Model } from '../../../src/core/model.ts';
import { countTexts, cutRuns, type Encoder, type ExactCount, textCounter } from '../../../src/counting/exact-count.ts';
import { likelyTokens } from '../../../src/counting/heuristic.ts';
import { InputEstimate } from '../../../src/counting/input-estimate.ts';
import { countTokens as sandboxTokens } from '../../../src/sandbox/tokens.ts';
import { FORMATS } from '../../../src/wire/formats.ts';
import { parseBody } from '../../../src/wire/json/parse-request.ts';
import { anyCharacter } from '../../support/fuzz.ts';

const AS_TEXT = { disallowedSpecial: new Set<string>() };
const ENCODERS: readonly Encoder[] = [(text) => o200k(text, AS_TEXT), (text) => cl100k(text, AS_TEXT)];
const FORMAT_NAMES: readonly Format[] = ['chat', 'responses', 'messages'];
/** What the tokenizers' maker adds, by its own published reckoning. */
const PER_MESSAGE = 4;
const PER_REQUEST = 3;

function model(change: Partial<Model> = {}): Model {
  const [alpha] = sandboxModels(1);
  assert.ok(alpha);
  return { ...alpha, contextWindow: null, ...change };
}

function inputOf(
  format: Format,
  body: object | string,
  change: Partial<Model> = {},
  counted: ExactCount | null = null,
) {
  const parsed = parseBody(Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)));
  const info = FORMATS[format].validateRequest(parsed.body, parsed.bytes, { betas: false });
  const of = model(change);
  return new InputEstimate({ ...parsed, info }, of, of.targets, counted);
}

function bodyWith(format: Format, contents: readonly unknown[]): object {
  const messages = contents.map((content, index) => ({ role: index % 2 === 0 ? 'user' : 'assistant', content }));
  return format === 'responses' ? { model: 'm', input: messages } : { model: 'm', messages };
}

function upstreamNamed(upstreamModel: string): Partial<Model> {
  return { targets: [{ provider: 'p', upstreamModel, format: 'chat', weight: 1 }] };
}

const anyText = fc.oneof(
  fc.string({ unit: anyCharacter, maxLength: 200 }),
  fc.string({ unit: 'grapheme', maxLength: 200 }),
  fc.string({ unit: fc.constantFrom(' ', '\n', '\t', 'a', '-', '中', 'é', '0', '\u3000'), maxLength: 600 }),
);

describe('high', () => {
  for (const format of FORMAT_NAMES) {
    test(`[R13] ${format}: no text has more tokens, however it is escaped`, () => {
      fc.assert(
        fc.property(fc.array(anyText, { minLength: 1, maxLength: 6 }), fc.boolean(), (texts, escaped) => {
          const json = JSON.stringify(bodyWith(format, texts));
          const { high } = inputOf(format, escaped ? escapeAll(json) : json);
          for (const encode of ENCODERS) {
            const exact = texts.reduce((sum, text) => sum + encode(text) + PER_MESSAGE, PER_REQUEST);
            assert.ok(high >= exact, `${high} < ${exact}`);
          }
        }),
        { numRuns: 150, seed: 13 },
      );
    });

    test(`[R13] ${format}: the JSON of an empty message covers the segments that a provider puts around one`, () => {
      const empty = (count: number) => inputOf(format, bodyWith(format, Array(count).fill(''))).high;
      assert.ok(empty(1_001) - empty(1) >= 1_000 * 2 * PER_MESSAGE);
    });
  }

  test('[R63] bounds the input, however small the context window is', () => {
    const body = bodyWith('chat', ['word '.repeat(10_000)]);
    assert.ok(inputOf('chat', body, { contextWindow: 4_096 }).high >= 50_000);
  });

  test('[R13] tools have room for the prompt that a provider puts in front of them', () => {
    const tools = [{ type: 'bash_20250124', name: 'bash' }];
    const plain = inputOf('messages', bodyWith('messages', ['Hi'])).high;
    assert.ok(inputOf('messages', { ...bodyWith('messages', ['Hi']), tools }).high - plain >= 1_300);
  });
});

describe('images and files', () => {
  const data = 'QUJD'.repeat(250_000);
  const images: Readonly<Record<Format, object>> = {
    chat: { type: 'image_url', image_url: { url: `data:image/png;base64,${data}` } },
    responses: { type: 'input_image', image_url: `data:image/png;base64,${data}` },
    messages: { type: 'image', source: { type: 'base64', media_type: 'image/png', data } },
  };

  for (const format of FORMAT_NAMES) {
    test(`${format}: an image is bounded by the model's maximum and never counted as its base64`, () => {
      const text = { type: format === 'responses' ? 'input_text' : 'text', text: 'What is this?' };
      const body = bodyWith(format, [[text, images[format]]]);
      const input = inputOf(format, body);
      assert.ok(input.high > 5_000 && input.high < 25_000, `${input.high}`);
      assert.ok(input.likely > 500 && input.likely < 5_000, `${input.likely}`);
      assert.equal(inputOf(format, body, { contextWindow: 2_048 }).mayExceedWindow, false);
      assert.ok(input.toJob().texts.certain.every((certain) => certain.length < 100));
      assert.ok(input.toJob().texts.others.every((other) => other.length < 100));
      const counted = { low: 4, likely: 4, high: 4 };
      assert.ok(inputOf(format, body, {}, counted).high > 20_000, 'a count of the text keeps the image’s bound');
    });
  }

  test('[R13] a model that bills an image beyond its window has the larger bound', () => {
    const body = bodyWith('chat', [[images.chat, images.chat, images.chat]]);
    assert.ok(inputOf('chat', body, { contextWindow: 16_000 }).high > 3 * 20_000);
    const mini = { ...upstreamNamed('gpt-4o-mini'), contextWindow: 128_000 };
    assert.ok(inputOf('chat', body, mini).high > 3 * 48_169);
  });

  test('a document of pages may fill the window; a text document is text', () => {
    const paged = { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data } };
    const pages = inputOf('messages', bodyWith('messages', [[paged]]), { contextWindow: 200_000 });
    assert.ok(pages.high >= 200_000 && pages.high < 201_000, `${pages.high}`);
    const written = { type: 'document', source: { type: 'text', media_type: 'text/plain', data: PROSE.English } };
    const body = bodyWith('messages', [[written]]);
    const input = inputOf('messages', body, { contextWindow: 200_000 });
    assert.ok(input.toJob().texts.certain.includes(PROSE.English));
    const counted = countTexts(input.toJob().texts, 'other', textCounter(ENCODERS));
    assert.ok(inputOf('messages', body, { contextWindow: 200_000 }, counted).high < 1_000);
  });
});

describe('low, and the counted high', () => {
  const tally = (text: string, tokenizer: 'o200k_base' | 'other') =>
    countTexts(
      { certain: [text], definitions: [], others: [] },
      tokenizer,
      textCounter(tokenizer === 'other' ? ENCODERS : ENCODERS.slice(0, 1)),
    );

  test('[R13] low is never more and high never less than the exact count, whatever the text', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const exact = ENCODERS.map((encode) => encode(text));
        const own = tally(text, 'o200k_base');
        assert.ok(own.low <= (exact[0] ?? 0) && own.high >= (exact[0] ?? 0));
        const other = tally(text, 'other');
        assert.ok(other.low <= Math.min(...exact) && other.high >= Math.max(...exact));
        assert.ok(other.high <= Buffer.byteLength(text));
      }),
      { numRuns: 300, seed: 58 },
    );
  });

  test('[R13] the counted high of a tokenizer that is not at hand also carries one with a small vocabulary', () => {
    for (const text of [...Object.values(PROSE), ...Object.values(CJK), JSON.stringify({ PROSE, CJK }, null, 4)]) {
      assert.ok(tally(text, 'other').high >= sandboxTokens(text));
    }
  });

  test('long runs of white space or of one character are few tokens for low, and quickly counted', () => {
    for (const unit of [' ', '\n', 'a', '-', '\u3000 ', '—-', 'éa', '中']) {
      const text = unit.repeat(100_000);
      for (const piece of cutRuns(text)) assert.ok(piece.length <= 129);
      assert.equal(cutRuns(text).join(''), text);
    }
    assert.ok(tally(' '.repeat(100_000), 'other').low < 2_000);
  });
});

describe('likely', () => {
  test('within 15 per cent on prose, and within 35 on other scripts', () => {
    const off = (text: string): number => likelyTokens([text]) / o200k(text) - 1;
    assert.ok(Math.abs(off(PROSE.English)) < 0.15);
    assert.ok(Math.abs(off(PROSE.German)) < 0.15);
    for (const text of [PROSE.Russian, ...Object.values(CJK)]) assert.ok(Math.abs(off(text)) < 0.35);
    assert.ok(Math.abs(off(JSON.stringify(PROSE))) < 0.15);
  });

  test('a sample of a long text tells what the whole would', () => {
    const mixed = [PROSE.English.repeat(60), CJK.Chinese.repeat(60), JSON.stringify(PROSE).repeat(20)];
    const parts = mixed.reduce((sum, text) => sum + likelyTokens([text]), 0);
    assert.ok(Math.abs(likelyTokens(mixed) / parts - 1) < 0.1);
    assert.ok(Math.abs(likelyTokens(mixed) / likelyTokens([mixed.join('')]) - 1) < 0.1);
  });

  test('white space and repeated characters do not make a prompt doubtful', () => {
    for (const unit of [' ', '\n']) {
      const body = bodyWith('chat', [unit.repeat(50_000)]);
      assert.equal(inputOf('chat', body, { contextWindow: 2_048 }).mayExceedWindow, false);
    }
  });

  test('nothing and empty texts count for nothing', () => {
    assert.equal(likelyTokens([]), 0);
    assert.equal(likelyTokens(['', '']), 0);
  });
});

describe('the context window', () => {
  const long = bodyWith('chat', [PROSE.English.repeat(30)]);
  const window = { contextWindow: 2_048 };

  test('only what is likely too long is in doubt, and only a count can say that it is', () => {
    const input = inputOf('chat', long, window);
    assert.equal(input.mayExceedWindow, true);
    assert.equal(input.overflowTokens, null);
    assert.equal(inputOf('chat', bodyWith('chat', [PROSE.English.repeat(5)]), window).mayExceedWindow, false);
    const counted = countTexts(input.toJob().texts, 'other', textCounter(ENCODERS));
    const sure = inputOf('chat', long, window, counted);
    assert.equal(sure.mayExceedWindow, false);
    assert.ok((sure.overflowTokens ?? 0) > 2_048);
  });

  test('[R14] the output has the room that the likely input leaves in the window', () => {
    const input = inputOf('chat', bodyWith('chat', [PROSE.English.repeat(5)]), window);
    assert.equal(input.outputRoom(100), 100);
    assert.equal(input.outputRoom(2_048), 2_048 - input.likely);
    assert.equal(inputOf('chat', long).outputRoom(50_000), 50_000);
  });

  test('a prompt that the provider may shorten is never too long here', () => {
    const input = inputOf('responses', { model: 'm', input: PROSE.English.repeat(30), truncation: 'auto' }, window);
    assert.equal(input.mayExceedWindow, false);
  });

  test('earlier thoughts and signatures do not make a prompt too long', () => {
    const thinking = { type: 'thinking', thinking: PROSE.English.repeat(30), signature: 'x'.repeat(1_000) };
    const body = bodyWith('messages', ['Hi', [thinking, { type: 'text', text: 'Hello' }], 'Go on']);
    assert.equal(inputOf('messages', body, window).mayExceedWindow, false);
  });

  test('the tokenizer is that of the targets, or a cautious one where they differ', () => {
    assert.equal(inputOf('chat', long, upstreamNamed('gpt-4o-2024-08-06')).toJob().tokenizer, 'o200k_base');
    assert.equal(inputOf('chat', long, upstreamNamed('openai/gpt-5-mini')).toJob().tokenizer, 'o200k_base');
    assert.equal(inputOf('chat', long, upstreamNamed('gpt-4-turbo')).toJob().tokenizer, 'cl100k_base');
    assert.equal(inputOf('chat', long, upstreamNamed('claude-sonnet-4-5')).toJob().tokenizer, 'other');
    const [first] = model(upstreamNamed('gpt-4o')).targets;
    const [second] = model(upstreamNamed('gpt-4')).targets;
    assert.equal(inputOf('chat', long, { targets: [first, second] }).toJob().tokenizer, 'other');
  });
});

/** Every character of every string as `\uXXXX`, which JSON allows and no client has to avoid. */
function escapeAll(json: string): string {
  return json.replace(/[\u007f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
