/** What a model of another format cannot be told: named to the client, or refused where it asks for something now. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { refusal, visit } from '../support/requests.ts';
import { call, withGateway } from '../support/started-gateway.ts';

const gateway = await withGateway();
const WARNINGS = 'x-gateway-warnings';

const MODERATION = { model: 'omni-moderation-latest', policy: { input: { mode: 'block' } } };

describe('what a translation leaves out', () => {
  for (const stream of [false, true]) {
    test(`[R81] is in a header of the answer (${stream ? 'streamed' : 'whole'})`, async () => {
      const key = await gateway.creditKey();
      const messages = [{ role: 'user', content: 'Hello' }];
      const body = { model: 'sandbox/alpha', max_tokens: 64, top_k: 5, anything: 1, stream, messages };
      const response = await visit(key, 'messages', { body });
      assert.equal(response.status, 200, await response.text());
      assert.equal(response.headers.get(WARNINGS), 'left_out;param=top_k, left_out;param=anything');
    });
  }

  test('[R81] nothing is said where the formats are the same', async () => {
    const key = await gateway.creditKey();
    const body = {
      model: 'sandbox/beta',
      max_tokens: 64,
      top_k: 5,
      anything: 1,
      messages: [{ role: 'user', content: 'x' }],
    };
    const response = await visit(key, 'messages', { body });
    assert.equal(response.status, 200, await response.text());
    assert.equal(response.headers.get(WARNINGS), null);
  });

  test('[R81] a conversation goes on with a model that cannot be told all of it', async () => {
    const key = await gateway.creditKey();
    const said = [
      { role: 'user', content: [{ type: 'input_text', text: 'Hello' }] },
      { type: 'compaction', encrypted_content: 'sealed by a provider' },
      { type: 'program', id: 'prog_1', call_id: 'call_1', code: 'x' },
      { role: 'assistant', content: 'Hello.' },
    ];
    const body = (last: object) => ({ model: 'sandbox/beta', input: [...said, last] });
    const response = await visit(key, 'responses', { body: body({ role: 'user', content: 'Go on.' }) });
    assert.equal(response.status, 200, await response.text());
    assert.equal(response.headers.get(WARNINGS), 'left_out;param=input[1], left_out;param=input[2]');
    // What asks for something now is not left out.
    const asked = visit(key, 'responses', {
      body: { ...body({ role: 'user', content: 'Go on.' }), moderation: MODERATION },
    });
    assert.equal((await refusal(asked, 'responses', 400, 'invalid_request')).param, 'moderation');
  });

  test('[R81] a setting that restricts content is refused where it cannot be carried', async () => {
    const key = await gateway.creditKey();
    for (const [name, said] of [
      ['chat', { messages: [{ role: 'user', content: 'x' }] }],
      ['responses', { input: 'x' }],
    ] as const) {
      const asked = visit(key, name, { body: { model: 'sandbox/beta', ...said, moderation: MODERATION } });
      assert.equal((await refusal(asked, name, 400, 'invalid_request')).param, 'moderation');
    }
  });

  test('[R81] a request of the responses format on the chat route is told where it belongs', async () => {
    const key = await gateway.creditKey();
    const asked = call(`${key.origin}/v1/chat/completions`, {
      key: key.key,
      body: { model: 'sandbox/alpha', input: 'Hello', stream: true },
    });
    const { param, message } = await refusal(asked, 'chat', 400, 'invalid_request');
    assert.equal(param, 'input');
    assert.match(message, /\/v1\/responses/);
  });
});
