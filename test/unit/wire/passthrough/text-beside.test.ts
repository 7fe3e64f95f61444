/** Text of answers that pass, in places where their format has none; and what servers put there that is no text. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  completeResponse,
  type FormatName,
  laneFor,
  MESSAGES_STREAM,
  PUBLIC_MODEL,
  run,
  UPSTREAM_MODEL,
} from '../streams.ts';

/** Longer than a label, with characters of more than one byte, and some that JSON escapes. */
const TEXT = `The “answer” is 42 \\ ${'word '.repeat(40)}\n`;
const BYTES = Buffer.byteLength(TEXT);
const OTHER_TEXT = `Another one: ${'else '.repeat(50)}`;

type Frames = readonly string[];

const data = (value: object): string => `data: ${JSON.stringify(value)}\n\n`;
const chunk = (choice: object, more: object = {}): string =>
  data({
    id: 'c',
    object: 'chat.completion.chunk',
    created: 1,
    model: UPSTREAM_MODEL,
    choices: [{ index: 0, ...choice }],
    ...more,
  });
const said = (content: string, more: object = {}): string => chunk({ delta: { content } }, more);
const event = (type: string, value: object): string => `event: ${type}\n${data({ type, ...value })}`;

const OPENING: Readonly<Record<FormatName, Frames>> = {
  chat: [chunk({ delta: { role: 'assistant', content: '' } })],
  messages: MESSAGES_STREAM.slice(0, 2),
  responses: [event('response.created', { sequence_number: 0, response: completeResponse('in_progress') })],
};
const OF_ITEM = { sequence_number: 9, item_id: 'i', output_index: 0, content_index: 0 };

/** Each carries the text once. */
const CARRIES: Readonly<Record<FormatName, Readonly<Record<string, Frames>>>> = {
  chat: {
    'the text of a choice': [chunk({ text: TEXT, finish_reason: null })],
    'the text of a choice beside an empty delta': [chunk({ text: TEXT, delta: {} })],
    'the text of choices that are no list': [data({ choices: { 0: { text: TEXT } } })],
    'a message behind an empty delta': [chunk({ delta: {}, message: { content: TEXT } })],
    'an event without choices': [data({ type: 'thinking.delta', delta: TEXT })],
    'a member beside the choices': [said('', { reasoning: TEXT })],
    'an object beside the choices': [said('', { novel: { deep: [TEXT] } })],
    'a member of the usage': [said('', { usage: { prompt_tokens: 1, completion_tokens: 0, novel: TEXT } })],
    'an unknown member of a choice': [chunk({ delta: {}, novel: TEXT })],
    'a list in the place of a choice': [data({ choices: [[{ delta: { content: TEXT } }]] })],
    'a text in the place of a choice': [data({ choices: [TEXT] })],
    'a text in the place of the choices': [data({ choices: TEXT })],
  },
  messages: {
    'a ping': [event('ping', { text: TEXT })],
    'a ping, deeper': [event('ping', { novel: { deep: TEXT } })],
    'the top of a delta': [
      event('content_block_delta', { index: 0, text: TEXT, delta: { type: 'text_delta', text: '' } }),
    ],
    'the end of a block': [event('content_block_stop', { index: 0, text: TEXT })],
    'a member of the message': [event('message_start', { message: { role: 'assistant', thought: TEXT, content: [] } })],
    'the content of the message as one text': [event('message_start', { message: { content: TEXT } })],
    'a member of the usage': [event('message_delta', { delta: {}, usage: { novel: TEXT } })],
    'an event without type': [data({ novel: TEXT })],
    'an unknown event that looks like a delta': [event('novel', { delta: { text: TEXT } })],
  },
  responses: {
    'a member beside a delta': [event('response.output_text.delta', { ...OF_ITEM, delta: '', novel: TEXT })],
    'an unknown event with a delta': [event('response.novel', { ...OF_ITEM, delta: 'a', novel: TEXT.slice(1) })],
    'an unknown event with an item': [event('response.novel', { ...OF_ITEM, item: { novel: TEXT } })],
    'an unknown event with a response': [event('response.novel', { ...OF_ITEM, response: { novel: TEXT } })],
    'a member beside an item': [
      event('response.output_item.done', { ...OF_ITEM, item: { id: 'i', type: 'reasoning' }, novel: TEXT }),
    ],
    'an unknown member of the response': [
      event('response.in_progress', { sequence_number: 1, response: completeResponse('in_progress', { novel: TEXT }) }),
    ],
    'the output of a response that is not complete': [
      event('response.in_progress', {
        sequence_number: 1,
        response: completeResponse('in_progress', {
          output: [{ type: 'message', content: [{ type: 'output_text', text: TEXT }] }],
        }),
      }),
    ],
  },
};

function feed(format: FormatName, frames: Frames): { readonly bytes: number; readonly sampled: string } {
  const stream = laneFor(format, { stream: true }).stream();
  for (const frame of frames) assert.equal(stream.push(Buffer.from(frame)).failure, null);
  return { bytes: stream.meter().outputBytes, sampled: stream.sample?.()?.text() ?? '' };
}

const streamed = (format: FormatName, frames: Frames): number => feed(format, [...OPENING[format], ...frames]).bytes;

for (const format of ['chat', 'messages', 'responses'] as const) {
  describe(format, () => {
    for (const [what, frames] of Object.entries(CARRIES[format])) {
      test(`[F48] ${what}: its text counts once, and is there to be counted by a tokenizer`, () => {
        const { bytes, sampled } = feed(format, [...OPENING[format], ...frames]);
        assert.equal(bytes, BYTES);
        assert.ok(sampled.includes(TEXT.slice(0, 50)) || sampled.includes(TEXT.slice(1, 50)), 'in the sample');
      });
    }

    test('[F48] words in small pieces are text beyond what labels may have', () => {
      const words = Array.from({ length: 2_000 }, (_, index) => `word${index} `);
      const frames = words.map((novel) =>
        format === 'chat'
          ? said('', { novel })
          : event(format === 'messages' ? 'ping' : 'response.output_text.delta', { ...OF_ITEM, delta: '', novel }),
      );
      const free = Buffer.byteLength(words.join('')) - streamed(format, frames);
      assert.ok(free > 0 && free <= 512, `${free} bytes are free`);
    });
  });
}

describe('names that are written with escapes', () => {
  const escaped = (frame: string, name: string): string =>
    frame.replaceAll(
      `"${name}":`,
      `"${name.slice(0, 1)}\\u${name.charCodeAt(1).toString(16).padStart(4, '0')}${name.slice(2)}":`,
    );
  const sent: Readonly<Record<FormatName, readonly [frame: string, names: readonly string[]]>> = {
    chat: [said(TEXT), ['choices', 'delta', 'content']],
    messages: [
      event('content_block_delta', { index: 0, delta: { type: 'text_delta', text: TEXT } }),
      ['type', 'delta', 'text'],
    ],
    responses: [event('response.output_text.delta', { ...OF_ITEM, delta: TEXT, logprobs: [] }), ['type', 'delta']],
  };
  for (const format of ['chat', 'messages', 'responses'] as const) {
    test(`[F48] ${format}: hide no text, also in frames like the one before`, () => {
      const [frame, names] = sent[format];
      for (const name of names) {
        assert.notEqual(escaped(frame, name), frame);
        assert.equal(streamed(format, [frame, escaped(frame, name), escaped(frame, name)]), 3 * BYTES);
      }
    });
  }

  test('[F48] hide no text of a frame that is too long to be kept in other cases', () => {
    const long = 'word '.repeat(30_000);
    assert.equal(streamed('chat', [said('a'), escaped(said(long), 'delta')]), 1 + long.length);
  });

  test('[R38] hide no model and no error', () => {
    const lane = laneFor('chat', { stream: true });
    const shown = run(lane.stream(), [escaped(said('a'), 'model')]).forwarded;
    assert.ok(shown.includes(JSON.stringify(PUBLIC_MODEL)) && !shown.includes(UPSTREAM_MODEL));
    const failed = run(lane.stream(), [said('a'), escaped(data({ error: { message: 'no' } }), 'error')]);
    assert.match(failed.failure?.message ?? '', /no$/);
  });

  test('a frame that needs no edit passes as it came', () => {
    const frame = escaped(
      event('content_block_delta', { index: 0, delta: { type: 'text_delta', text: TEXT } }),
      'delta',
    );
    const { forwarded } = run(laneFor('messages', { stream: true }).stream(), [MESSAGES_STREAM[0] ?? '', frame]);
    assert.ok(forwarded.endsWith(frame));
  });
});

describe('what servers send beside the text', () => {
  const SAFE = { hate: { filtered: false, severity: 'safe' }, violence: { filtered: true, severity: 'low' } };
  const labelled = (content: string): string =>
    chunk(
      {
        delta: { content },
        native_finish_reason: null,
        content_filter_results: SAFE,
        logprobs: { content: [{ token: TEXT }] },
      },
      {
        provider: 'Nebius AI Studio',
        service_tier: 'default',
        system_fingerprint: 'fp_eaab8d114b_prod0820_fp8_kvcache',
        x_groq: { id: 'req_01kh52nmbjem9bfhxdbabnjv0x' },
        prompt_filter_results: [{ prompt_index: 0, content_filter_results: SAFE }],
        citations: [TEXT],
        search_results: [{ title: TEXT, snippet: TEXT }],
      },
    );

  test('[F48] labels are not text, however often they come', () => {
    const words = Array.from({ length: 500 }, (_, index) => `word${index} `);
    const frames = words.flatMap((word) => [
      labelled(word),
      chunk({ delta: { tool_calls: [{ function: { arguments: word } }] } }),
    ]);
    assert.equal(streamed('chat', frames), 2 * Buffer.byteLength(words.join('')));
  });

  test('[F48] padding is not text', () => {
    const frames = ['a', 'abcdefghij', 'abcd'].flatMap((p) => [said('x', { p }), said('x', { obfuscation: p })]);
    assert.equal(streamed('chat', frames), frames.length);
  });

  test('[F48] a longer string that every frame repeats counts once', () => {
    assert.equal(
      streamed(
        'chat',
        Array.from({ length: 50 }, () => said('a', { novel: TEXT })),
      ),
      50 + BYTES,
    );
  });

  test('[F48] the text of a choice that repeats its delta counts once', () => {
    const frames = ['Grüße ', 'an ', 'alle'].map((text) =>
      chunk({ text, delta: { role: 'assistant', content: text, tool_calls: null } }),
    );
    assert.equal(streamed('chat', frames), Buffer.byteLength('Grüße an alle'));
    assert.equal(streamed('chat', [chunk({ text: TEXT, delta: { content: OTHER_TEXT } })]), BYTES + OTHER_TEXT.length);
  });

  test('[F48] messages that grow with their deltas, before or behind them, count once', () => {
    const words = ['Grüße ', 'an ', 'alle'];
    const grown = (index: number): object => ({ role: 'assistant', content: words.slice(0, index + 1).join('') });
    const before = words.map((content, index) => chunk({ message: grown(index), delta: { content } }));
    const behind = words.map((content, index) => chunk({ delta: { content }, message: grown(index) }));
    for (const frames of [before, behind]) {
      assert.equal(feed('chat', frames).bytes, Buffer.byteLength(words.join('')));
    }
  });

  test('[F48] the whole messages of several choices repeat their deltas', () => {
    const choice = (index: number, more: object): string => data({ choices: [{ index, ...more }] });
    const frames = [0, 1].flatMap((index) => [choice(index, { delta: { content: TEXT } })]);
    const whole = [0, 1].map((index) => choice(index, { delta: {}, message: { content: TEXT } }));
    assert.equal(streamed('chat', [...frames, ...whole]), 2 * BYTES);
  });

  test('[F48] messages that say something else each time count each time', () => {
    const frames = Array.from({ length: 20 }, (_, index) =>
      chunk({ delta: {}, message: { content: `${index} ${TEXT}` } }),
    );
    const bytes = frames.reduce((sum, _, index) => sum + BYTES + `${index} `.length, 0);
    assert.equal(streamed('chat', [said('a'), ...frames]), bytes);
  });
});

test('[F48] what a client does not get is no output: an error, and usage that it did not ask for', () => {
  const stream = laneFor('chat', { stream: true }).stream();
  stream.push(Buffer.from(said('abcd')));
  stream.push(Buffer.from(data({ choices: [], usage: { prompt_tokens: 1, completion_tokens: 1 }, novel: TEXT })));
  assert.equal(stream.meter().outputBytes, 4);
  for (const failure of [{ error: { message: TEXT } }, { code: 500, message: TEXT }]) {
    const failed = laneFor('chat', { stream: true }).stream();
    failed.push(Buffer.from(said('abcd')));
    assert.notEqual(failed.push(Buffer.from(data(failure))).failure, null);
    assert.equal(failed.meter().outputBytes, 4);
  }
});

describe('a frame that is too long to be kept', () => {
  const filler = 'QUJD'.repeat(25_000);
  const long = 'word '.repeat(30_000);
  /** In chunks, so that it flows in pieces. */
  const pieces = (frame: string): Frames => frame.match(/.{1,20000}/gs) ?? [];

  test('[F48] what follows upon a string that is no text counts', () => {
    const counted = streamed('chat', pieces(chunk({ delta: { audio: { data: filler }, content: long } })));
    assert.ok(counted > long.length - 1_024 && counted < long.length + 1_024, `${counted}`);
    assert.equal(streamed('chat', pieces(chunk({ delta: { audio: { data: filler } } }))), 0);
  });

  test('[F48] what follows upon something else than a string counts', () => {
    const logprobs = { content: Array.from({ length: 30_000 }, () => ({ token: 'a' })) };
    assert.equal(streamed('chat', pieces(chunk({ logprobs, delta: { content: long } }))), long.length);
  });

  test('[F48] arguments that are an object count to their end', () => {
    const call = { tool_calls: [{ function: { name: 'f', arguments: { text: long } } }] };
    const counted = streamed('chat', pieces(chunk({ delta: call })));
    assert.ok(counted >= long.length && counted < long.length + 256, `${counted}`);
    const block = { type: 'tool_use', input: { text: long } };
    const started = streamed('messages', pieces(event('content_block_start', { index: 0, content_block: block })));
    assert.ok(started >= long.length && started < long.length + 256, `${started}`);
  });
});

test('[R13] text in places that the format does not name waits for a hold that covers it', () => {
  const stream = laneFor('chat', { stream: true }).stream();
  stream.cover(2 * BYTES);
  stream.push(Buffer.from(OPENING.chat.join('')));
  const shown = Array.from({ length: 10 }, () => stream.push(Buffer.from(chunk({ text: TEXT, delta: {} }))).forward);
  assert.equal(shown.filter((bytes) => bytes !== null).length, 2);
  assert.ok(stream.uncovered);
});

describe('whole answers', () => {
  const message = { role: 'assistant', content: 'a' };
  const chat = (choice: object, more: object = {}): object => ({
    id: 'c',
    object: 'chat.completion',
    model: UPSTREAM_MODEL,
    choices: [{ index: 0, message, finish_reason: 'stop', ...choice }],
    ...more,
  });
  const messages = (more: object): object => ({
    id: 'm',
    type: 'message',
    role: 'assistant',
    content: [{ type: 'text', text: 'a' }],
    ...more,
  });
  const item = (text: string): object => ({
    type: 'message',
    role: 'assistant',
    content: [{ type: 'output_text', text, annotations: [] }],
  });
  const response = (text: string, more: object): object =>
    completeResponse('completed', { output: [item(text)], ...more });
  const cases: readonly (readonly [what: string, format: FormatName, answer: object, bytes: number])[] = [
    ['the text of a choice', 'chat', chat({ text: TEXT }), 1 + BYTES],
    ['the text of a choice that repeats its message', 'chat', chat({ text: 'a' }), 1],
    ['an unknown member of a choice', 'chat', chat({ novel: { deep: TEXT } }), 1 + BYTES],
    ['an unknown member of a chat answer', 'chat', chat({}, { reasoning: TEXT }), 1 + BYTES],
    [
      'labels of a chat answer',
      'chat',
      chat({ native_finish_reason: 'STOP' }, { provider: 'Nebius', service_tier: 'default' }),
      1,
    ],
    ['results of a search', 'chat', chat({}, { citations: [TEXT], search_results: [{ title: TEXT }] }), 1],
    ['an unknown member of a message', 'messages', messages({ thought: TEXT }), 1 + BYTES],
    [
      'labels of a message',
      'messages',
      messages({ container: { id: 'c', expires_at: TEXT }, usage: { service_tier: 'standard' } }),
      1,
    ],
    ['the text of a response without output', 'responses', completeResponse('completed', { output_text: TEXT }), BYTES],
    ['the text of a response that repeats its output', 'responses', response(TEXT, { output_text: TEXT }), BYTES],
    ['an unknown member of a response', 'responses', response('a', { novel: TEXT }), 1 + BYTES],
    [
      'what a response repeats of its request',
      'responses',
      response('a', { instructions: TEXT, metadata: { a: TEXT }, user: TEXT }),
      1,
    ],
  ];
  for (const [what, format, answer, bytes] of cases) {
    test(`[F48] ${what}: ${bytes === 1 ? 'is not text' : 'counts once'}`, () => {
      assert.equal(laneFor(format).whole(Buffer.from(JSON.stringify(answer))).meter.outputBytes, bytes);
    });
  }

  test('[F48] short strings are text beyond what labels may have', () => {
    const words = Array.from({ length: 500 }, (_, index) => `word${index}`);
    const { meter } = laneFor('chat').whole(Buffer.from(JSON.stringify(chat({}, { novel: words }))));
    const free = 1 + Buffer.byteLength(words.join('')) - meter.outputBytes;
    assert.ok(free > 0 && free <= 512, `${free} bytes are free`);
  });
});
