/** Output of a stream that was cancelled or broken, and that nobody reported: charged as a tokenizer counts its text. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { CJK, PROSE } from '../../../bench/counter-samples.ts';
import type { CreatedKey, KeyView } from '../../../src/admin/keys/schema.ts';
import type { Format } from '../../../src/core/endpoints.ts';
import { events, say } from '../../support/requests.ts';
import { ClientStream, settled, withScene } from '../../support/scripted-gateway.ts';
import { COUNTS_EXACTLY, startedGateway } from '../../support/started-gateway.ts';
import type { ScriptedCall } from '../../support/upstreams/scripted.ts';
import { FORMAT_NAMES, SPEECH } from '../../support/upstreams/spoken.ts';
import { numbered, TOOL_CALLS } from '../../support/upstreams/tool-calls.ts';

/** Ruling 68. */
const TOLERANCE = 0.1;

const CODE = readFileSync(new URL('../../../src/exchange/attempt.ts', import.meta.url), 'utf8');
const TEXTS: Readonly<Record<string, string>> = {
  English: PROSE.English.repeat(6),
  German: PROSE.German.repeat(6),
  code: CODE.slice(0, 8_000),
  'JSON with quotes and line breaks': JSON.stringify(JSON.parse(readFileSync('package.json', 'utf8')), null, 2),
  Chinese: CJK.Chinese.repeat(10),
  Japanese: CJK.Japanese.repeat(10),
  'more than the sample': (PROSE.English + CODE.slice(0, 900)).repeat(40),
};

const { gateway, upstream: provider } = await withScene({
  providers: { native: {}, chat: { formats: ['chat'] } },
  // A model whose tokenizer is at hand.
  models: [{ id: 'tested', provider: 'native', upstream: 'gpt-4o', max_output_tokens: 100_000 }],
});

interface Made {
  readonly view: KeyView;
  readonly key: CreatedKey;
}

type End = (client: ClientStream, call: ScriptedCall) => Promise<unknown>;

const cancelled: End = async (client, call) => {
  client.close();
  await call.closed;
};
const broken: End = async (client, call) => {
  call.reset();
  await client.ended;
};

/** A stream of these frames that ends in the middle. */
async function stream(format: Format, frames: readonly string[], until: RegExp, end: End): Promise<Made> {
  const key = await gateway.tokenKey();
  const limit = format === 'responses' ? { max_output_tokens: 100_000 } : { max_tokens: 100_000 };
  const client = new ClientStream(key, format, SPEECH[format].request({ stream: true, ...limit })).read();
  const call = await provider.next();
  call.streamHead();
  for (const frame of frames) call.chunk(frame);
  await client.until(until);
  await end(client, call);
  return { view: await settled(gateway, key), key };
}

const LAST = 'the very last words';

/** Text as a model streams it: a few characters at a time. */
function framesOf(format: Format, text: string, piece = 37): readonly string[] {
  const characters = [...text, ...` ${LAST}`];
  const pieces: string[] = [];
  for (let at = 0; at < characters.length; at += piece) pieces.push(characters.slice(at, at + piece).join(''));
  const { opening, text: frame } = SPEECH[format];
  return numbered([...opening, ...pieces.map(frame), frame(LAST)]);
}

/** What is charged for the output alone: the rest is charged for a stream without any. */
async function chargedFor(format: Format, frames: readonly string[], end: End): Promise<number> {
  const { opening } = SPEECH[format];
  const without = await stream(format, numbered(opening), /"role":"assistant"|response\.created/, end);
  const made = await stream(format, frames, new RegExp(`${LAST}"`), end);
  // A messages stream reports one token of output at its start.
  return made.view.used - without.view.used;
}

function assertCounted(charged: number, text: string): void {
  const tokens = countTokens(`${text} ${LAST}${LAST}`);
  const error = charged / tokens - 1;
  assert.ok(Math.abs(error) <= TOLERANCE, `charged ${charged} for ${tokens} tokens: ${(error * 100).toFixed(1)} %`);
}

describe('a stream without reported usage', () => {
  for (const format of FORMAT_NAMES) {
    for (const [name, text] of Object.entries(TEXTS)) {
      test(`[R49] [R68] ${format}, cancelled: ${name}`, async () => {
        assertCounted(await chargedFor(format, framesOf(format, text), cancelled), text);
      });
    }
  }

  test('[R50] [R68] chat, broken by the provider: the usage record has the count', async () => {
    const { English: text = '' } = TEXTS;
    const { view } = await stream('chat', framesOf('chat', text), new RegExp(`${LAST}"`), broken);
    assert.equal(view.requests, 1);
    assertCounted(view.output_tokens, text);
  });

  test('[R68] text with every character escaped counts as what it says', async () => {
    const { Chinese: text = '' } = TEXTS;
    const escaped = framesOf('chat', text).map((frame) =>
      frame.replace(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`),
    );
    assertCounted(await chargedFor('chat', escaped, cancelled), text);
  });

  test('[R68] one burst that is larger than the sample', async () => {
    const text = PROSE.English.repeat(40);
    const { opening, text: frame } = SPEECH.chat;
    const frames = [...opening, frame(`${text} ${LAST}`) + frame(LAST)];
    assertCounted(await chargedFor('chat', frames, cancelled), text);
  });

  test('[R68] never more than what is held', async () => {
    const body = SPEECH.chat.request({ stream: true, max_tokens: 100 });
    const held = Buffer.byteLength(JSON.stringify(body)) + 32 + 100;
    const key = await gateway.tokenKey({ budget: String(held) });
    const client = new ClientStream(key, 'chat', body).read();
    const call = await provider.next();
    call.streamHead();
    for (const frame of framesOf('chat', PROSE.English.repeat(3))) call.chunk(frame);
    await client.until(new RegExp(`${LAST}"`));
    await cancelled(client, call);
    assert.equal((await settled(gateway, key)).used, held);
  });
});

describe('calls of tools that were cancelled', () => {
  const nameOf = (place: number): string => `look_up_the_current_weather_of_a_city_and_its_surroundings_${place}`;
  const names = Array.from({ length: 200 }, (_, place) => nameOf(place));
  for (const format of FORMAT_NAMES) {
    test(`[R49] [R68] ${format}: their names are charged beside their arguments`, async () => {
      const { begin, piece, end } = TOOL_CALLS[format];
      const calls = names.flatMap((name, place) =>
        [begin(place), piece(place, '{}'), end(place, '{}')].map((frame) => frame.replaceAll('write_file', name)),
      );
      const { opening, text } = SPEECH[format];
      const frames = [...opening, ...calls, text(` ${LAST}`), text(LAST)].filter((frame) => frame !== '');
      assertCounted(await chargedFor(format, numbered(frames), cancelled), names.map((name) => `${name}{}`).join(''));
    });
  }
});

describe('text in shapes that the format does not name', () => {
  const text = PROSE.English.repeat(120);
  const { opening } = SPEECH.chat;
  const chunk = (delta: object): string =>
    `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta, finish_reason: null }] })}\n\n`;
  const shapes: Readonly<Record<string, (text: string) => object>> = {
    'content as parts': (piece) => ({ content: [{ type: 'text', text: piece }] }),
    'reasoning details': (piece) => ({ reasoning_details: [{ type: 'reasoning.text', text: piece, index: 0 }] }),
    'a transcript': (piece) => ({ audio: { id: 'a', transcript: piece } }),
    'a member that nobody knows': (piece) => ({ novel: { deep: [piece] } }),
  };
  const pieces = [...(text.match(/.{1,400}/gs) ?? []), ` ${LAST}`, LAST];
  for (const [name, delta] of Object.entries(shapes)) {
    test(`[F48] [R49] ${name}: 10,000 tokens that were read and cancelled are charged`, async () => {
      assert.ok(countTokens(text) > 10_000, `${countTokens(text)} tokens`);
      const frames = [...opening, ...pieces.map((piece) => chunk(delta(piece)))];
      assertCounted(await chargedFor('chat', frames, cancelled), text);
    });
  }
});

describe('of the sandbox', () => {
  test('[R50] [R68] a stream that reports no usage and breaks is charged by the text that its client has seen', async () => {
    await using sandbox = await startedGateway({ config: COUNTS_EXACTLY });
    for (const [format, model] of [
      ['chat', 'sandbox/alpha'],
      ['messages', 'sandbox/beta'],
      // Translated.
      ['messages', 'sandbox/alpha'],
      ['responses', 'sandbox/beta'],
    ] as const) {
      const key = await sandbox.tokenKey();
      const directives = '[[usage=none]] [[tokens=3000]] [[fail-after=500]]';
      const limit = format === 'responses' ? { max_output_tokens: 4_000 } : { max_tokens: 4_000 };
      const response = await say(key, format, `${directives} ${PROSE.English}`, { stream: true, model, ...limit });
      const seen = textOf(format, await response.text());
      assert.ok(seen.length > 1_000, `${seen.length} characters`);
      const { output_tokens } = await settled(sandbox, key);
      const error = output_tokens / countTokens(seen) - 1;
      assert.ok(Math.abs(error) <= TOLERANCE, `${format} of ${model}: ${(error * 100).toFixed(1)} %`);
    }
  });
});

function textOf(format: Format, stream: string): string {
  return (events(stream) as { choices?: { delta: { content?: string } }[]; delta?: string | { text?: string } }[])
    .map(({ choices, delta }) => {
      if (format === 'chat') return choices?.[0]?.delta.content ?? '';
      return typeof delta === 'string' ? delta : (delta?.text ?? '');
    })
    .join('');
}
