/**
 * Requests that careless code would work on for seconds before it asks for a balance: tools compared with tools, JSON within
 * texts, long numbers, stop sequences, texts that are repeated; and the same in messages of a WebSocket.
 */
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import type { CreatedKey } from '../../../src/admin/keys/schema.ts';
import type { Format } from '../../../src/core/endpoints.ts';
import { webSocketOf } from '../../support/socket-client.ts';
import { FORMAT_NAMES, SPEECH } from '../../support/upstreams/spoken.ts';
import { type Arena, modelOf } from '../arena.ts';
import { errorCode, send } from '../client.ts';
import { type Attack, summed } from '../trial.ts';

const POOR = '0.000001';
const WITHIN_MS = 20_000;
/** So that each of them is answered, whatever it is. */
const MESSAGES_PER_MINUTE = 1_000_000;

interface Case {
  readonly name: string;
  readonly from: Format;
  readonly to: Format;
  readonly body: object | string;
}

function many<T>(count: number, make: (index: number) => T): T[] {
  return Array.from({ length: count }, (_none, index) => make(index));
}

const SAID = { role: 'user', content: 'Go on.' };
const named = (prefix: string) => (index: number) => ({ type: 'function', name: `${prefix}${index}` });
const calling = (text: string) => ({
  messages: [
    SAID,
    { role: 'assistant', tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: text } }] },
    { role: 'tool', tool_call_id: 'c', content: 'done' },
  ],
});
const LONG = 'x'.repeat(5_000_000);
const DEEP = '['.repeat(1_500_000) + ']'.repeat(1_500_000);

const CASES: readonly Case[] = [
  {
    name: 'a choice of other tools',
    from: 'responses',
    to: 'messages',
    body: {
      input: 'Go on.',
      tools: many(15_000, named('f')),
      tool_choice: { type: 'allowed_tools', mode: 'auto', tools: many(15_000, named('other')) },
    },
  },
  {
    name: "a provider's tools before the client's",
    from: 'responses',
    to: 'chat',
    body: {
      input: [
        SAID,
        { type: 'additional_tools', tools: [...many(20_000, () => ({ type: 'web_search' })), named('f')(0)] },
      ],
    },
  },
  { name: 'deep arguments', from: 'chat', to: 'messages', body: calling(DEEP) },
  { name: 'arguments of many values', from: 'chat', to: 'messages', body: calling(`[${'{},'.repeat(1_000_000)}{}]`) },
  {
    name: 'packed reasoning',
    from: 'responses',
    to: 'messages',
    body: {
      input: [
        SAID,
        {
          type: 'reasoning',
          summary: [],
          encrypted_content: `mgt1.${Buffer.from(`{"origin":"messages","texts":${DEEP}}`).toString('base64url')}`,
        },
        SAID,
      ],
    },
  },
  {
    name: 'long stop sequences',
    from: 'messages',
    to: 'chat',
    body: { messages: [SAID], max_tokens: 5, stop_sequences: many(250, (i) => `${i}${'y'.repeat(20_000)}`) },
  },
  { name: 'a long number', from: 'chat', to: 'chat', body: `"messages":[],"max_tokens":${'1'.repeat(5_000_000)}` },
  {
    name: 'many long numbers',
    from: 'chat',
    to: 'chat',
    body: `"messages":[],"extra":[${'1'.repeat(1_078)}${`,${'1'.repeat(1_078)}`.repeat(8_000)}]`,
  },
  { name: 'a long type', from: 'responses', to: 'messages', body: { input: 'Go on.', tools: [{ type: LONG }] } },
  {
    name: 'metadata in the background',
    from: 'responses',
    to: 'responses',
    body: { input: 'Go on.', background: true, metadata: { a: LONG } },
  },
];

const MESSAGES: Readonly<Record<string, string>> = {
  'a deep steer': `{"type":"response.steer","input":${DEEP}}`,
  'a stream_id of lists': `{"type":"response.create","stream_id":[${'[],'.repeat(1_000_000)}[]]}`,
  'many members': `{"type":"response.steer",${many(500_000, (i) => `"m${i}":0`).join(',')}}`,
  'a long steer': JSON.stringify({ type: 'response.steer', previous_response_id: 'r', input: LONG }),
};

async function ask(arena: Arena, keys: readonly CreatedKey[]): Promise<void> {
  const codes: string[] = [];
  let slowest = { ms: 0, name: '' };
  for (let round = 0; arena.goesOn; round++) {
    for (const { name, from, to, body } of CASES) {
      const key = keys[round % keys.length];
      if (!arena.goesOn || key === undefined) break;
      const text = typeof body === 'string' ? `{"model":"${to}",${body}}` : JSON.stringify({ model: to, ...body });
      const answer = await send(key, SPEECH[from].path, text, { withinMs: WITHIN_MS });
      codes.push(errorCode(answer));
      if (answer.ms > slowest.ms) slowest = { ms: answer.ms, name };
      if (answer.status !== 400 && answer.status !== 402 && answer.status !== 200)
        arena.fault(`${name}: ${codes.at(-1)}`);
      if (answer.text.length > 10_000) arena.fault(`${name}: an answer of ${answer.text.length} characters`);
    }
  }
  arena.figure(`${codes.length} requests: ${summed(codes)}`);
  arena.figure(`the slowest took ${Math.round(slowest.ms)} ms: ${slowest.name}`);
}

async function tell(arena: Arena, key: CreatedKey): Promise<void> {
  const webSocket = webSocketOf(key);
  webSocket.on('error', () => undefined);
  await once(webSocket, 'open');
  let answers = 0;
  for (; arena.goesOn; answers++) {
    const [name, text] = Object.entries(MESSAGES)[answers % Object.keys(MESSAGES).length] ?? ['', ''];
    const answered = once(webSocket, 'message', { signal: AbortSignal.timeout(WITHIN_MS) }).catch(() => null);
    webSocket.send(text);
    const answer = await answered;
    if (answer === null && arena.goesOn) arena.fault(`${name}: not answered`);
    if (String(answer).length > 10_000) arena.fault(`${name}: an answer of ${String(answer).length} characters`);
    await delay(10);
  }
  webSocket.terminate();
  arena.figure(`${answers} messages over a WebSocket`);
}

export const LONG_WORK: Attack = {
  name: 'requests of much work',
  tags: 'F22, F41, F43',
  settings: () => ({
    models: FORMAT_NAMES.map((format) =>
      modelOf(format, { targets: [{ provider: 'scripted', model: 'upstream-model', format }] }),
    ),
  }),
  run: async (arena) => {
    arena.provider.answer = (call) => call.reset();
    const keys = [await arena.key({ credit: POOR }), await arena.key({ credit: '0' })];
    const speaker = await arena.key({ rpm_limit: MESSAGES_PER_MINUTE });
    await Promise.all([ask(arena, keys), tell(arena, speaker)]);
  },
};
