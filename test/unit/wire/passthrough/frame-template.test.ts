import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { ChatObserver } from '../../../../src/wire/chat/observe.ts';
import type { LaneStream } from '../../../../src/wire/lane.ts';
import { MessagesObserver } from '../../../../src/wire/messages/observe.ts';
import { PassthroughStream } from '../../../../src/wire/passthrough/passthrough.ts';
import type { Verdict } from '../../../../src/wire/passthrough/stream-observer.ts';
import { laneFor, MESSAGES_STREAM, PUBLIC_MODEL, published, run, UPSTREAM_MODEL } from '../streams.ts';

type Format = 'chat' | 'messages';

const CHUNK = { id: 'c1', object: 'chat.completion.chunk', created: 1 };

interface Choice {
  readonly index?: number;
  readonly delta: object;
  readonly finish_reason?: string;
}

function chat({ index = 0, delta, finish_reason }: Choice, more: object = {}, modelFirst = true): string {
  const choices = { choices: [{ index, delta, finish_reason: finish_reason ?? null }] };
  const model = { model: UPSTREAM_MODEL };
  const value = modelFirst ? { ...CHUNK, ...model, ...choices } : { ...CHUNK, ...choices, ...model };
  return `data: ${JSON.stringify({ ...value, ...more })}\n\n`;
}

function messages(type: string, value: object): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...value })}\n\n`;
}

const OPENING: Readonly<Record<Format, string>> = {
  chat: chat({ delta: { role: 'assistant', content: '' } }),
  messages: MESSAGES_STREAM[0] ?? '',
};
const ENDING: Readonly<Record<Format, string>> = {
  chat: `${chat({ delta: {}, finish_reason: 'stop' })}data: [DONE]\n\n`,
  messages: MESSAGES_STREAM.slice(-2).join(''),
};

const word = fc.oneof(
  fc.constantFrom('', 'word ', '"', '\\', '\\"', '"},"finish_reason":"stop"', '\n', 'größe 😀', '\u0000'),
  fc.string({ unit: 'grapheme', maxLength: 12 }),
);
/** The text as some providers write it: every character escaped. */
const escaped = (frame: string): string =>
  frame.replace(/[\u0080-\uffff]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);

const chatFrame = fc.oneof(
  { weight: 8, arbitrary: word.map((content) => chat({ delta: { content } })) },
  { weight: 4, arbitrary: word.map((content) => escaped(chat({ delta: { content } }))) },
  {
    weight: 4,
    arbitrary: fc.tuple(word, word).map(([content, obfuscation]) => chat({ delta: { content } }, { obfuscation })),
  },
  { weight: 2, arbitrary: word.map((content) => chat({ delta: { content } }, {}, false)) },
  {
    weight: 2,
    arbitrary: fc
      .tuple(word, fc.constantFrom('one', 'two'), word)
      .map(([content, provider, p]) => chat({ delta: { content } }, { provider, p })),
  },
  { weight: 1, arbitrary: word.map((novel) => chat({ delta: { content: 'x' } }, { novel: novel.repeat(20) })) },
  {
    weight: 2,
    arbitrary: word.map((text) => chat({ delta: { tool_calls: [{ index: 0, function: { arguments: text } }] } })),
  },
  { weight: 1, arbitrary: word.map((content) => chat({ index: 1, delta: { content } })) },
  {
    weight: 1,
    arbitrary: word.map((content) =>
      chat({ delta: { content } }, { usage: { prompt_tokens: 1, completion_tokens: 2 } }),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom(': comment\n\n', chat({ delta: { content: 'x' }, finish_reason: 'length' })),
  },
);
const block = (index: number, delta: object): string => messages('content_block_delta', { index, delta });
const messagesFrame = fc.oneof(
  { weight: 8, arbitrary: word.map((text) => block(0, { type: 'text_delta', text })) },
  { weight: 4, arbitrary: word.map((text) => escaped(block(0, { type: 'text_delta', text }))) },
  { weight: 2, arbitrary: word.map((thinking) => block(0, { type: 'thinking_delta', thinking })) },
  { weight: 2, arbitrary: word.map((text) => block(1, { type: 'input_json_delta', partial_json: text })) },
  { weight: 1, arbitrary: fc.constantFrom(MESSAGES_STREAM[2] ?? '', messages('content_block_stop', { index: 0 })) },
);

class ScannedChat extends ChatObserver {
  override frame(...frame: Parameters<ChatObserver['frame']>): Verdict {
    return this.scannedFrame(...frame);
  }
}

class ScannedMessages extends MessagesObserver {
  override frame(...frame: Parameters<MessagesObserver['frame']>): Verdict {
    return this.scannedFrame(...frame);
  }
}

/** The same stream without templates: every frame is scanned. */
const scanned: Readonly<Record<Format, () => LaneStream>> = {
  chat: () =>
    new PassthroughStream(new ScannedChat({ publicModel: PUBLIC_MODEL, usageAsked: false, choices: 1 }), null),
  messages: () => new PassthroughStream(new ScannedMessages({ publicModel: PUBLIC_MODEL }), null),
};

describe('a frame like the one before it', () => {
  for (const [format, frame] of [
    ['chat', chatFrame],
    ['messages', messagesFrame],
  ] as const) {
    test(`${format}: gives the same bytes, meter and state whether it is compared or scanned`, () => {
      const lane = laneFor(format, { stream: true });
      fc.assert(
        fc.property(fc.array(frame, { maxLength: 24 }), fc.constantFrom('\n', '\r\n'), (middle, lineEnd) => {
          const frames = [OPENING[format], ...middle, ENDING[format]];
          const sent = frames.map((text) => text.replaceAll('\n', lineEnd));
          const compared = run(lane.stream(), sent);
          assert.deepEqual(compared, run(scanned[format](), sent));
          assert.deepEqual(run(lane.stream(), [sent.join('')]), compared);
        }),
        { numRuns: 400 },
      );
    });
  }

  test('what only begins and ends like the one before is scanned', () => {
    const known = chat({ delta: { content: 'a' } });
    const lane = laneFor('chat', { stream: true });
    const others = [
      known.replace('"a"', '"a"},"finish_reason":"stop"},{"index":1,"delta":{"content":"b"'),
      known.replace('"a"', '"a"}}],"error":{"message":"no"},"x":[{"delta":{"content":"b"'),
      known.replace('"a"', '"a\nb"'),
      known.replace('"finish_reason":null', '"finish_reason":"ab"'),
      known.replace('\n\n', '\nevent: x\n\n'),
      known.replace('"a"', '"a","refusal":"no"'),
      known.replace('"c1"', '"c2"'),
    ];
    for (const other of others) {
      assert.notEqual(other, known);
      const frames = [OPENING.chat, known, known, other];
      const seen = run(lane.stream(), frames);
      assert.deepEqual(seen, run(scanned.chat(), frames));
    }
    const [finishing = '', failing = ''] = others;
    assert.equal(run(lane.stream(), [OPENING.chat, known, known, finishing]).state, 'complete');
    assert.match(run(lane.stream(), [OPENING.chat, known, known, failing]).failure?.message ?? '', /: no$/);
  });

  test('thousands of them are counted and carry the public model id', () => {
    const frames = Array.from({ length: 3_000 }, (_, index) => chat({ delta: { content: `ü${index}` } }));
    const lane = laneFor('chat', { stream: true });
    const result = run(lane.stream(), [OPENING.chat, ...frames, ENDING.chat]);
    assert.equal(result.state, 'complete');
    assert.equal(
      result.forwarded,
      published(OPENING.chat + frames.join('') + chat({ delta: {}, finish_reason: 'stop' })),
    );
    assert.equal(result.meter.outputBytes, Buffer.byteLength(frames.map((_, index) => `ü${index}`).join('')));
  });
});
