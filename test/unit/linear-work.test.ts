/**
 * Text of clients and providers is read in time that grows with its length, whatever it consists of. Each row runs 32 times at
 * one size and once at 32 times that size, which is the same work: what reads a text again for each of its characters takes 32
 * times as long then.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { GatewayError } from '../../src/core/conditions.ts';
import type { Format } from '../../src/core/endpoints.ts';
import type { Pricing } from '../../src/core/money.ts';
import { hostedToolOf } from '../../src/core/price-terms.ts';
import { keptMessage } from '../../src/core/request-text.ts';
import { failureOfStatus, redact } from '../../src/provider/failure.ts';
import { readCostFields } from '../../src/wire/cost-fields.ts';
import { FORMATS } from '../../src/wire/formats.ts';
import { change } from '../../src/wire/json/edit.ts';
import { omitNulls } from '../../src/wire/json/omit-nulls.ts';
import { parseBody } from '../../src/wire/json/parse-request.ts';
import type { LaneStream } from '../../src/wire/lane.ts';
import { InputUnwrapper } from '../../src/wire/translate/restore-tools.ts';
import { StopFilter } from '../../src/wire/translate/stop-sequences.ts';
import { translateLane } from '../../src/wire/translate-lane.ts';
import { SPEECH } from '../support/upstreams/spoken.ts';

const GROWTH = 32;
/** Between what growth in proportion takes and what growth with the square does. */
const RATIO_MAX = 8;
/** A shorter time is less than the clock of some systems tells. */
const SHORT_US = 4_000;

function assertLinear(n: number, prepare: (n: number) => () => void): void {
  const [small, large] = [prepare(n), prepare(n * GROWTH)];
  let [smallUs, largeUs] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (let round = 0; round < 3; round++) {
    smallUs = Math.min(smallUs, processorTimeOf(small, GROWTH));
    largeUs = Math.min(largeUs, processorTimeOf(large, 1));
  }
  const ratio = largeUs / Math.max(smallUs, SHORT_US);
  assert.ok(ratio < RATIO_MAX, `${smallUs} µs for ${GROWTH} × ${n}, ${largeUs} µs for ${n * GROWTH}`);
}

/** Of this thread, in microseconds: what other processes do meanwhile does not count. */
function processorTimeOf(work: () => void, times: number): number {
  const before = process.threadCpuUsage();
  for (let time = 0; time < times; time++) work();
  const { user, system } = process.threadCpuUsage(before);
  return user + system;
}

const HOSTILE_TEXTS: Readonly<Record<string, (n: number) => string>> = {
  backslashes: (n) => '\\'.repeat(n),
  'backslashes and quotation marks': (n) => '\\"'.repeat(n / 2),
  'quotation marks': (n) => '"'.repeat(n),
  'one letter': (n) => 'a'.repeat(n),
  digits: (n) => '1'.repeat(n),
  spaces: (n) => ' '.repeat(n),
  'line ends': (n) => '\r\n'.repeat(n / 2),
  'opening brackets': (n) => '['.repeat(n),
  'control characters': (n) => '\u0000'.repeat(n),
  'beginnings of escapes': (n) => '\\u%&#'.repeat(n / 5),
  'beginnings of secrets': (n) => 'sk-key_Bearer '.repeat(n / 14),
  'names of previews': (n) => `${'_preview'.repeat(n / 8)}\n`,
  'repeated words': (n) => 'input: token count messages '.repeat(n / 28),
};

describe('[F41] hostile text takes time in proportion to its length', () => {
  for (const [name, text] of Object.entries(HOSTILE_TEXTS)) {
    test(`${name}: in a provider's error`, () => {
      assertLinear(250, (n) => {
        const hostile = text(n);
        const bodies = [hostile, JSON.stringify({ error: { message: hostile, code: hostile, param: hostile } })];
        return () => {
          for (const body of bodies) failureOfStatus(400, body, null, ['open-sesame']);
          redact(hostile);
          keptMessage(hostile, hostile);
        };
      });
    });

    for (const format of ['chat', 'responses', 'messages'] as const) {
      test(`${name}: in a ${format} request`, () => {
        assertLinear(2_000, (n) => {
          const bodies = [JSON.stringify(requestOf(format, text(n))), `{"model":"m","input":"${text(n)}`];
          return () => {
            hostedToolOf(PRICING, 'p', text(n));
            for (const body of bodies) read(format, Buffer.from(body));
          };
        });
      });

      test(`${name}: in the answer of a ${format} provider`, () => {
        assertLinear(2_000, (n) => {
          const answers = [
            `data: ${JSON.stringify(text(n))}\n\ndata: {"x":"${text(n)}`,
            `${OPENINGS[format]}${`data: {"x":"${text(10)}\n\n`.repeat(n / 10)}`,
          ].map((answer) => Buffer.from(answer));
          return () => {
            for (const answer of answers) for (const stream of streamsOf(format)) feed(stream, answer);
          };
        });
      });
    }
  }
});

function requestOf(format: Format, text: string): object {
  const tool = { type: text, name: text, description: text };
  const common = { model: text, tools: [tool], user: text, [text]: text };
  const said = { role: 'user', content: text };
  if (format === 'responses') return { ...common, input: [said, { type: text, call_id: text }], instructions: text };
  const asked = {
    ...common,
    max_tokens: 5,
    messages: [said, said],
    stop_sequences: [text],
    stop: [text],
    system: text,
  };
  return format === 'messages' ? { ...asked, metadata: { [text]: text } } : asked;
}

/** As far as a request gets before anything of it is asked of the ledger. */
function read(format: Format, bytes: Buffer): void {
  try {
    const { optionalFields, validateRequest } = FORMATS[format];
    const parsed = omitNulls(parseBody(bytes), optionalFields);
    change(parsed.bytes, [{ path: ['model'], json: '"m"' }], parsed.layout);
    validateRequest(parsed.body, parsed.bytes, { betas: false });
    readCostFields(parsed, null);
    for (const to of ['chat', 'responses', 'messages'] as const) {
      if (to !== format) translateLane({ ...LANE, from: FORMATS[format], to: FORMATS[to], body: parsed.body });
    }
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
  }
}

const LANE = {
  publicModel: 'm',
  likelyInputTokens: () => 1,
  outputLimitField: 'max_tokens',
  state: undefined,
} as const;

function streamsOf(format: Format): readonly LaneStream[] {
  const body = { model: 'm', max_tokens: 5, messages: [{ role: 'user', content: 'Hi' }] };
  const from = FORMATS[format === 'chat' ? 'messages' : 'chat'];
  const parsed = parseBody(Buffer.from(JSON.stringify({ ...body, input: 'Hi' })));
  const info = FORMATS[format].validateRequest(parsed.body, parsed.bytes, { betas: false });
  const native = { ...LANE, ...parsed, info, mayBeCut: true, storesResponses: true, wantsEncrypted: () => false };
  return [
    translateLane({ ...LANE, from, to: FORMATS[format], body }).stream(),
    FORMATS[format].passthrough(native).stream(),
  ];
}

const PIECE_BYTES = 16_384;

/** What makes the rest of a stream be read. */
const OPENINGS: Readonly<Record<Format, string>> = {
  chat: SPEECH.chat.opening.join(''),
  responses: SPEECH.responses.opening.join(''),
  messages: SPEECH.messages.opening.join(''),
};

function feed(stream: LaneStream, bytes: Buffer): void {
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) stream.push(bytes.subarray(at, at + PIECE_BYTES));
  stream.end();
}

describe('[F41] many of a thing take time in proportion to their number', () => {
  const schema = (n: number) => ({ type: 'object', properties: Object.fromEntries(numbered(n, (i) => [`p${i}`, {}])) });
  const chatCall = (i: number) => ({ id: `c${i}`, type: 'function', function: { name: `f${i}`, arguments: '{}' } });
  const things: Readonly<Record<string, (n: number) => readonly [Format, object]>> = {
    'chat messages': (n) => ['chat', { messages: numbered(n, () => ({ role: 'user', content: 'Hi' })) }],
    'chat system messages': (n) => ['chat', { messages: numbered(n, () => ({ role: 'system', content: 'Hi' })) }],
    'chat parts': (n) => [
      'chat',
      { messages: [{ role: 'user', content: numbered(n, () => ({ type: 'text', text: '' })) }] },
    ],
    'chat images': (n) => [
      'chat',
      {
        messages: [
          {
            role: 'user',
            content: numbered(n, () => ({ type: 'image_url', image_url: { url: 'data:image/png;base64,AA' } })),
          },
        ],
      },
    ],
    'chat tools': (n) => [
      'chat',
      { ...HI, tools: numbered(n, (i) => ({ type: 'function', function: { name: `f${i}` } })) },
    ],
    'chat tools of one name': (n) => [
      'chat',
      { ...HI, tools: numbered(n, () => ({ type: 'function', function: { name: 'f f' } })) },
    ],
    'chat calls and results': (n) => [
      'chat',
      {
        messages: [
          { role: 'user', content: 'Hi' },
          { role: 'assistant', tool_calls: numbered(n, chatCall) },
          ...numbered(n, (i) => ({ role: 'tool', tool_call_id: `c${i}`, content: 'x' })),
        ],
      },
    ],
    'stop sequences': (n) => ['messages', { ...HI, max_tokens: 5, stop_sequences: numbered(n, (i) => `s${i}`) }],
    'messages turns of calls': (n) => [
      'messages',
      {
        max_tokens: 5,
        messages: numbered(n, (i) =>
          i % 2 === 0
            ? { role: 'assistant', content: [{ type: 'tool_use', id: `t${i}`, name: 'f', input: {} }] }
            : { role: 'user', content: [{ type: 'tool_result', tool_use_id: `t${i - 1}`, content: 'x' }] },
        ),
      },
    ],
    'messages tools': (n) => [
      'messages',
      { ...HI, max_tokens: 5, tools: numbered(n, (i) => ({ name: `f${i}`, input_schema: {} })) },
    ],
    'messages hosted tools': (n) => [
      'messages',
      { ...HI, max_tokens: 5, tools: numbered(n, (i) => ({ type: `web_search_2025${i}`, name: 'web_search' })) },
    ],
    'responses items': (n) => ['responses', { input: numbered(n, () => ({ role: 'user', content: 'Hi' })) }],
    'responses calls and outputs': (n) => [
      'responses',
      {
        input: numbered(n, (i) =>
          i % 2 === 0
            ? { type: 'function_call', call_id: `c${i}`, name: 'f', arguments: '{}' }
            : { type: 'function_call_output', call_id: `c${i - 1}`, output: 'x' },
        ),
      },
    ],
    'responses tools in namespaces': (n) => [
      'responses',
      {
        input: 'Hi',
        tools: numbered(n, (i) => ({ type: 'namespace', name: `n${i}`, tools: [{ type: 'function', name: 'f' }] })),
      },
    ],
    'members of a schema': (n) => [
      'chat',
      { ...HI, tools: [{ type: 'function', function: { name: 'f', parameters: schema(n), strict: true } }] },
    ],
    'members of an unknown field': (n) => [
      'chat',
      { ...HI, extra: Object.fromEntries(numbered(n, (i) => [`m${i}`, null])) },
    ],
    nulls: (n) => ['chat', { messages: numbered(n, () => ({ role: 'user', content: 'Hi', name: null })) }],
  };
  for (const [name, thing] of Object.entries(things)) {
    test(name, () => {
      assertLinear(100, (n) => {
        const [format, request] = thing(n);
        const bytes = Buffer.from(JSON.stringify({ model: 'm', ...request }));
        return () => read(format, bytes);
      });
    });
  }

  test('pieces of the input of a tool', () => {
    for (const [opening, piece] of [
      ['{"input":"', 'a'],
      ['{"other":"', 'a'],
      ['', ' '],
    ] as const) {
      assertLinear(4_000, (n) => () => {
        const unwrapper = new InputUnwrapper();
        unwrapper.feed(opening);
        for (let at = 0; at < n; at++) unwrapper.feed(piece);
        unwrapper.finish();
      });
    }
  });

  test('pieces of a text that is the beginning of a stop sequence', () => {
    assertLinear(500, (n) => {
      const sequences = [`${'a'.repeat(2 * n)}b`, `${'ab'.repeat(n)}c`];
      return () => {
        const filter = new StopFilter(sequences);
        for (let at = 0; at < n; at++) filter.take({ type: 'text-delta', key: 0, text: 'a' });
      };
    });
  });
});

const PRICING = { modifiers: {} } as unknown as Pricing;
const HI = { messages: [{ role: 'user', content: 'Hi' }] };

function numbered<T>(n: number, thing: (index: number) => T): T[] {
  return Array.from({ length: n }, (_, index) => thing(index));
}
