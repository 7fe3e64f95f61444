/** A stream that its balance cannot carry any further is ended here, as its format ends at the length limit. */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import type { CreatedKey } from '../../src/admin/keys/schema.ts';
import type { Format } from '../../src/core/endpoints.ts';
import { assertCut, cutGateway, dense, elasticRequest, FIRST_TOKENS, keyForOneSlice } from '../support/cut-gateway.ts';
import { events } from '../support/requests.ts';
import { ClientStream, settled } from '../support/scripted-gateway.ts';
import type { ScriptedCall } from '../support/upstreams/scripted.ts';
import { FORMAT_NAMES, INPUT_TOKENS, OUTPUT_TOKENS, SPEECH, UPSTREAM_MODEL } from '../support/upstreams/spoken.ts';
import { numbered, openThinking, TOOL_CALLS } from '../support/upstreams/tool-calls.ts';

const cut = await cutGateway();
const { gateway, provider } = cut;
after(() => cut[Symbol.asyncDispose]());

/** Client format, model, and the format that its provider speaks. */
type Lane = readonly [client: Format, model: string, target: Format];
const NATIVE: readonly Lane[] = FORMAT_NAMES.map((format) => [format, UPSTREAM_MODEL, format]);
const LANES: readonly Lane[] = [
  ...NATIVE,
  ...FORMAT_NAMES.flatMap((client) =>
    FORMAT_NAMES.filter((target) => target !== client).map((target): Lane => [client, `via-${target}`, target]),
  ),
];

const WORDS = dense(600);
/** As much as the hold can grow to, and a frame beyond it. */
const TEXTS = [WORDS, WORDS, WORDS, WORDS];
const TEXT = TEXTS.join('');
assert.ok(TEXT.length > FIRST_TOKENS);
const BEYOND = [...TEXTS, WORDS];

interface Begun {
  readonly key: CreatedKey;
  readonly client: ClientStream;
  readonly call: ScriptedCall;
}

async function begin([client, model]: Lane, extra: object = {}): Promise<Begun> {
  const body = elasticRequest(client, model, extra);
  const key = await keyForOneSlice(gateway, body);
  const stream = new ClientStream(key, client, body).read();
  const call = await provider.next();
  call.streamHead();
  return { key, client: stream, call };
}

/** The client's text, once the gateway has ended the stream and left the provider; the books must add up. */
async function ended({ key, client, call }: Begun): Promise<{ readonly text: string; readonly used: number }> {
  const { text, complete } = await client.ended;
  assert.ok(complete, 'the response ends properly');
  await call.closed;
  const { used, reserved } = await settled(gateway, key);
  assert.equal(reserved, 0);
  assert.ok(key.mode === 'token_budget' && used > 0 && used <= Number(key.budget), `charged ${used}`);
  return { text, used };
}

/** What leaves the provider's events as they are: the usage chunk is asked for, and the gateway stores nothing. */
const EXTRA: Readonly<Record<Format, object>> = {
  chat: { stream_options: { include_usage: true } },
  responses: { store: false },
  messages: {},
};

describe('bytes', () => {
  for (const lane of NATIVE) {
    test(`[R13] [R37] ${lane[0]}: they are exactly the provider’s until the stream is cut`, async () => {
      const { opening, text } = SPEECH[lane[0]];
      const frames = numbered([...opening, ...TEXTS.map(text)]);
      const begun = await begin(lane, EXTRA[lane[0]]);
      for (const frame of numbered([...opening, ...BEYOND.map(text)])) begun.call.chunk(frame);
      const seen = (await ended(begun)).text;
      assert.equal(seen.slice(0, frames.join('').length), frames.join(''));
      assertCut(lane[0], seen);
    });

    test(`[R13] [R37] ${lane[0]}: they are exactly the provider’s where nothing has to be cut`, async () => {
      const { opening, text, closing } = SPEECH[lane[0]];
      const body = elasticRequest(lane[0], lane[1], EXTRA[lane[0]]);
      const key = await gateway.tokenKey();
      const client = new ClientStream(key, lane[0], body).read();
      const call = await provider.next();
      const frames = numbered([...opening, ...TEXTS.map(text), ...closing]);
      call.stream(frames);
      assert.equal((await client.ended).text, frames.join(''));
      assert.equal((await settled(gateway, key)).used, INPUT_TOKENS + OUTPUT_TOKENS);
    });
  }

  test('[R13] a frame that is cut off is not seen: the stream ends behind the last whole one', async () => {
    const { opening, text } = SPEECH.chat;
    const begun = await begin(['chat', UPSTREAM_MODEL, 'chat']);
    begun.call.chunk(opening.join('') + BEYOND.map(text).join('') + text('unseen').slice(0, -20));
    const { text: seen } = await ended(begun);
    assertCut('chat', seen);
    assert.doesNotMatch(seen, /unseen/);
  });
});

describe('a cut', () => {
  for (const lane of LANES) {
    const [client, , target] = lane;
    const how = client === target ? 'natively' : `translated from ${target}`;
    const tools = [
      client === 'messages'
        ? { name: 'write_file', input_schema: { type: 'object' } }
        : client === 'chat'
          ? { type: 'function', function: { name: 'write_file', parameters: { type: 'object' } } }
          : { type: 'function', name: 'write_file', parameters: { type: 'object' }, strict: false },
    ];

    test(`[R13] ${client} ${how}: in the middle of text`, async () => {
      const { opening, text } = SPEECH[target];
      const begun = await begin(lane);
      for (const frame of numbered([...opening, ...BEYOND.map(text)])) begun.call.chunk(frame);
      const { text: seen } = await ended(begun);
      assertCut(client, seen);
      assert.equal(textOf(client, seen), TEXT);
    });

    test(`[R13] ${client} ${how}: in the middle of a tool call`, async () => {
      const { opening } = SPEECH[target];
      const { begin: beginCall, piece } = TOOL_CALLS[target];
      const begun = await begin(lane, { tools });
      const head = target === 'chat' ? opening : opening.slice(0, target === 'messages' ? 1 : 2);
      const frames = [...head, beginCall(0), piece(0, '{"text":"'), ...BEYOND.map((words) => piece(0, words))];
      for (const frame of numbered(frames)) begun.call.chunk(frame);
      const { text: seen } = await ended(begun);
      assertCut(client, seen);
      assert.ok(seen.includes(WORDS.slice(-100)), 'the arguments as far as they came');
    });

    test(`[R13] ${client} ${how}: in the second of two parallel tool calls`, async () => {
      const { opening } = SPEECH[target];
      const { begin: beginCall, piece, end } = TOOL_CALLS[target];
      const begun = await begin(lane, { tools });
      const head = target === 'chat' ? opening : opening.slice(0, target === 'messages' ? 1 : 2);
      const first = '{"text":"whole"}';
      const frames = [
        ...[...head, beginCall(0), piece(0, first), end(0, first)].filter((frame) => frame !== ''),
        beginCall(1),
        piece(1, '{"text":"'),
        ...BEYOND.map((words) => piece(1, words)),
      ];
      for (const frame of numbered(frames)) begun.call.chunk(frame);
      const { text: seen } = await ended(begun);
      const all = assertCut(client, seen);
      const calls = new Set(JSON.stringify(all).match(/"call_[01]"/g));
      assert.equal(calls.size, 2, 'both calls');
    });

    test(`[R13] [F47] ${client} ${how}: nothing behind a frame that the hold does not cover is seen, not even the end`, async () => {
      const { opening, text, closing } = SPEECH[target];
      const begun = await begin(lane);
      begun.call.chunk(numbered([...opening, ...TEXTS.map(text), text(dense(120_000)), ...closing]).join(''));
      begun.call.finish();
      const { text: seen } = await ended(begun);
      assertCut(client, seen);
      assert.equal(textOf(client, seen), TEXT);
    });
  }

  test('[R13] chat: with the usage that the client asked for, and it is what was charged', async () => {
    const { opening, text } = SPEECH.chat;
    const begun = await begin(['chat', UPSTREAM_MODEL, 'chat'], { stream_options: { include_usage: true } });
    for (const frame of [...opening, ...BEYOND.map(text)]) begun.call.chunk(frame);
    const { text: seen, used } = await ended(begun);
    const all = assertCut('chat', seen);
    const { usage } = all.at(-2) as { usage: { total_tokens: number } };
    assert.equal(usage.total_tokens, used);
  });

  test('[R13] messages: in the middle of a thinking block, where the operator says that all of it is seen', async () => {
    const begun = await begin(['messages', UPSTREAM_MODEL, 'messages'], {
      thinking: { type: 'enabled', budget_tokens: 4_000 },
    });
    begun.call.chunk((SPEECH.messages.opening[0] ?? '') + openThinking(WORDS) + openThinking(dense(3_000)));
    assertCut('messages', (await ended(begun)).text);
  });

  test('[R13] messages: between two blocks, nothing is closed twice', async () => {
    const { opening, text, closing } = SPEECH.messages;
    const begun = await begin(['messages', UPSTREAM_MODEL, 'messages']);
    begun.call.chunk([...opening, ...TEXTS.map(text), closing[0], text(WORDS)].join(''));
    assertCut('messages', (await ended(begun)).text);
  });
});

/** All text of a stream, as a client would put it together. */
function textOf(client: Format, seen: string): string {
  const deltas = events(seen).flatMap((event) => {
    if (typeof event !== 'object' || event === null) return [];
    const { type, choices, delta } = event as {
      type?: string;
      choices?: { delta: { content?: string } }[];
      delta?: string | { text?: string };
    };
    if (client === 'chat') return (choices ?? []).map((choice) => choice.delta.content ?? '');
    if (client === 'responses') return type === 'response.output_text.delta' ? [String(delta)] : [];
    return typeof delta === 'object' && type === 'content_block_delta' ? [delta.text ?? ''] : [];
  });
  return deltas.join('');
}
