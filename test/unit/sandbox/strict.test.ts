/** The strict sandbox refuses what the real APIs refuse, in their words. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { useSandbox } from './clients.ts';

const started = useSandbox();
const STRICT = 'Hi [[strict]]';

async function refused(path: string, body: object, message: RegExp): Promise<void> {
  const response = await started.post(path, body);
  const text = await response.text();
  assert.equal(response.status, 400, text);
  assert.match(text, message);
}

const chat = (extra: object) => ({ model: 'alpha-sim', messages: [{ role: 'user', content: STRICT }], ...extra });
const responses = (extra: object) => ({ model: 'alpha-sim', input: STRICT, ...extra });
const messages = (extra: object) => ({
  model: 'beta-sim',
  max_tokens: 100,
  messages: [{ role: 'user', content: STRICT }],
  ...extra,
});

describe('the strict sandbox', () => {
  test('answers a request that the real APIs would accept', async () => {
    assert.equal((await started.post('/v1/chat/completions', chat({ max_completion_tokens: 50 }))).status, 200);
    assert.equal((await started.post('/v1/responses', responses({ max_output_tokens: 50 }))).status, 200);
    assert.equal((await started.post('/v1/messages', messages({}))).status, 200);
  });

  test('refuses fields that the format does not have', async () => {
    await refused('/v1/chat/completions', chat({ top_k: 1 }), /Unrecognized request argument supplied: top_k/);
    await refused('/v1/responses', responses({ messages: [] }), /Unrecognized request argument supplied: messages/);
    await refused('/v1/messages', messages({ n: 1 }), /n: Extra inputs are not permitted/);
  });

  test('refuses max_tokens on a chat model that reasons, and messages without it', async () => {
    await refused('/v1/chat/completions', chat({ max_tokens: 5 }), /Use 'max_completion_tokens' instead/);
    await refused('/v1/messages', messages({ max_tokens: undefined }), /max_tokens: Field required/);
  });

  test('refuses what does not fit its window', async () => {
    const long = `${'word '.repeat(3_000)}${STRICT}`;
    const tiny = { model: 'tiny-sim', messages: [{ role: 'user', content: long }] };
    await refused('/v1/chat/completions', tiny, /maximum context length is 2048 tokens/);
    await refused('/v1/messages', { ...tiny, max_tokens: 5 }, /prompt is too long: \d+ tokens > 2048 maximum/);
    await refused('/v1/chat/completions', chat({ max_completion_tokens: 128_000 }), /maximum context length/);
  });

  test('refuses references, because it stores nothing', async () => {
    await refused('/v1/responses', responses({ previous_response_id: 'resp_1' }), /'resp_1' not found/);
    const input = [
      { type: 'item_reference', id: 'msg_1' },
      { role: 'user', content: STRICT },
    ];
    await refused('/v1/responses', responses({ input }), /Item with id 'msg_1' not found/);
  });

  test('refuses the result of a tool without its call', async () => {
    const user = { role: 'user', content: STRICT };
    await refused(
      '/v1/chat/completions',
      chat({ messages: [user, { role: 'tool', tool_call_id: 'c', content: 'x' }] }),
      /tool_calls/,
    );
    const output = { type: 'function_call_output', call_id: 'c', output: 'x' };
    await refused('/v1/responses', responses({ input: [user, output] }), /No tool call found/);
    const result = { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't', content: 'x' }] };
    await refused('/v1/messages', messages({ messages: [result, user] }), /unexpected `tool_use_id`/);
  });

  test('refuses stop sequences that the APIs refuse', async () => {
    await refused('/v1/chat/completions', chat({ stop: [] }), /expected an array with 1 to 4 elements/);
    await refused('/v1/chat/completions', chat({ stop: ['a', 'b', 'c', 'd', 'e'] }), /with 1 to 4 elements/);
    await refused('/v1/messages', messages({ stop_sequences: ['x', '\n'] }), /must contain non-whitespace/);
  });

  test('refuses what an enforced schema must not hold', async () => {
    const shaped = (schema: object) => messages({ output_config: { format: { type: 'json_schema', schema } } });
    const age = { type: 'integer', minimum: 0 };
    const open = { type: 'object', properties: {} };
    await refused(
      '/v1/messages',
      shaped({ ...open, additionalProperties: false, properties: { age } }),
      /'minimum' is not/,
    );
    await refused('/v1/messages', shaped(open), /must be explicitly set to false/);
    assert.equal((await started.post('/v1/messages', shaped({ ...open, additionalProperties: false }))).status, 200);
  });
});
