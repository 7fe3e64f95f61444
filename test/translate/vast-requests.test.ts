/** Requests that would make their translation take long or much memory. Work is counted, not timed. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { GatewayError } from '../../src/core/conditions.ts';
import type { JsonObject } from '../../src/lib/json.ts';
import { unseal } from '../../src/provider/ai-sdk/signatures.ts';
import { unpackReasoning } from '../../src/wire/translate/packed-reasoning.ts';
import { allowedTools, usableTools } from '../../src/wire/translate/tools.ts';
import type { ClientTool, ForeignTool, Turn } from '../../src/wire/translate/turn.ts';
import { lane, MINIMAL, upstreamBody } from './run-lane.ts';

const COUNT = 2_000;

/** Calls `read` whenever somebody asks what the tool is. */
function counted<Tool extends object>(tool: Tool, member: keyof Tool, read: () => void): Tool {
  const value = tool[member];
  return Object.defineProperty({ ...tool }, member, {
    enumerable: true,
    get: () => {
      read();
      return value;
    },
  });
}

function refusalOf(translate: () => unknown): GatewayError {
  try {
    translate();
  } catch (error) {
    assert.ok(error instanceof GatewayError);
    return error;
  }
  throw new assert.AssertionError({ message: 'was not refused' });
}

describe('[F41] many tools are looked at a few times each', () => {
  test('those that a choice allows', () => {
    let reads = 0;
    const tool = (name: string): ClientTool =>
      counted<ClientTool>({ kind: 'function', name, at: 'tools[0]' }, 'name', () => {
        reads += 1;
      });
    const named = (prefix: string): ClientTool[] => Array.from({ length: COUNT }, (_none, i) => tool(`${prefix}${i}`));
    const turn = { toolChoice: { kind: 'allowed', mode: 'auto', tools: named('other') } } as unknown as Turn;
    assert.deepEqual(allowedTools(turn, named('f')), []);
    assert.ok(reads <= 3 * 2 * COUNT, `${reads} times`);
  });

  test('those of a provider before the first of the client', () => {
    let reads = 0;
    const hosted = {
      kind: 'foreign',
      format: 'responses',
      hosted: true,
      raw: { type: 'web_search' },
      at: 'a',
    } as const;
    const tools = Array.from({ length: COUNT }, () =>
      counted<ForeignTool>(hosted, 'kind', () => {
        reads += 1;
      }),
    );
    const own: ClientTool = { kind: 'function', name: 'f', at: 'b' };
    const warnings: string[] = [];
    assert.deepEqual(usableTools({ tools: [...tools, own] } as unknown as Turn, warnings), [own]);
    assert.equal(warnings.length, COUNT);
    assert.ok(reads <= 3 * COUNT, `${reads} times`);
  });

  test('a choice allows the tools of its names and namespaces only', () => {
    const body = {
      ...MINIMAL.responses,
      tools: [
        { type: 'function', name: 'a' },
        { type: 'function', name: 'b' },
        { type: 'namespace', name: 'n', tools: [{ type: 'function', name: 'a' }] },
      ],
      tool_choice: {
        type: 'allowed_tools',
        mode: 'auto',
        tools: [
          { type: 'function', name: 'b' },
          { type: 'function', name: 'a', namespace: 'n' },
        ],
      },
    };
    const { tools } = upstreamBody('responses', 'messages', body) as { tools: readonly { name: string }[] };
    assert.deepEqual(
      tools.map(({ name }) => name),
      ['b', 'n__a'],
    );
  });
});

describe('[F22] [F43] JSON within a text of a request is bounded as a body is', () => {
  const calling = (...texts: readonly string[]): JsonObject => ({
    model: 'm',
    messages: [
      { role: 'user', content: 'Hi' },
      {
        role: 'assistant',
        tool_calls: texts.map((text, i) => ({
          id: `c${i}`,
          type: 'function',
          function: { name: 'f', arguments: text },
        })),
      },
      ...texts.map((_text, i) => ({ role: 'tool', tool_call_id: `c${i}`, content: 'done' })),
    ],
  });
  const inputOf = (text: string): unknown => {
    const { messages } = upstreamBody('chat', 'messages', calling(text)) as {
      messages: readonly { content: readonly { input?: unknown }[] }[];
    };
    return messages[1]?.content[0]?.input;
  };

  test('arguments that are nested deeper, or have a number that long, stay text', () => {
    for (const text of [
      `{"a":${'['.repeat(1_000)}${']'.repeat(1_000)}}`,
      '['.repeat(1_000),
      `{"a":${'1'.repeat(1_000)}}`,
      '1'.repeat(1_000),
    ]) {
      assert.deepEqual(inputOf(text), { arguments: text });
    }
    assert.deepEqual(inputOf(` {"a":[[1]]} `), { a: [[1]] });
  });

  test('arguments that have too many values together are refused', () => {
    const many = `{"a":[${'0,'.repeat(60_000)}0]}`;
    inputOf(many);
    const refusal = refusalOf(() => lane('chat', 'messages', calling(many, many)));
    assert.equal(refusal.condition, 'invalid_request');
    assert.match(refusal.message, /100000 JSON values/);
    lane('chat', 'responses', calling(many, many));
  });

  test('what a client sends back as reasoning or signatures is not, where it is something else', () => {
    const packed = (mark: string, value: unknown): string =>
      mark + Buffer.from(JSON.stringify(value)).toString('base64url');
    const reasoning = (texts: number): unknown =>
      unpackReasoning(packed('mgt1.', { origin: 'messages', texts: Array(texts).fill('a') }));
    assert.ok(reasoning(900));
    assert.equal(reasoning(2_000), undefined);
    const sealed = { provider: 'p', signatures: { p: { signature: 's' } } };
    assert.ok(unseal(packed('aisdk1.', sealed)));
    assert.equal(unseal(packed('aisdk1.', { ...sealed, more: Array(200).fill(0) })), undefined);
  });
});

describe('a refusal does not repeat a text of any length', () => {
  const long = 'x'.repeat(100_000);
  for (const [name, body] of Object.entries({
    'the type of a tool': { ...MINIMAL.responses, tools: [{ type: long }] },
    'a service tier': { ...MINIMAL.responses, service_tier: long },
    'the type of an item': { ...MINIMAL.responses, input: [{ type: long }] },
    'the type of a format': { ...MINIMAL.responses, text: { format: { type: long } } },
  })) {
    test(name, () => {
      const { message } = refusalOf(() => lane('responses', 'messages', body));
      assert.ok(message.length <= 3_000, `${message.length} characters`);
    });
  }

  test('and what may be kept of it is found all the same', () => {
    const param = `messages[0].${long}`;
    const error = new GatewayError('invalid_request', { message: `${param} and "${long}" are odd.`, param });
    assert.equal(error.param?.length, 300);
    assert.ok(error.message.startsWith(`${error.param} and "xxx`));
    assert.equal(error.message.length, 3_000);
  });
});
