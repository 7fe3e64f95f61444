/** What belongs to responses beside making one: counting their input, compacting a conversation, listing items, cancelling. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import OpenAI from 'openai';
import type { CreatedKey } from '../../src/admin/keys/schema.ts';
import { auditClean, refusal, usage, visit } from '../support/requests.ts';
import { scriptedScene } from '../support/scripted-gateway.ts';
import { COUNTS_EXACTLY, call, withGateway } from '../support/started-gateway.ts';

const gateway = await withGateway({ config: COUNTS_EXACTLY });

function sdk(key: CreatedKey): OpenAI {
  return new OpenAI({ apiKey: key.key, baseURL: key.base_url, maxRetries: 0 });
}

const SAID = [
  { role: 'user', content: 'Look at a.txt.' },
  { type: 'function_call', call_id: 'call_1', name: 'read', arguments: '{"path":"a.txt"}' },
  { type: 'function_call_output', call_id: 'call_1', output: 'hello' },
  { role: 'assistant', content: 'It says hello.' },
] as const satisfies OpenAI.Responses.ResponseInput;

describe('[R79] POST /v1/responses/input_tokens', () => {
  test('gives the count that count_tokens gives, at no charge, in the shape of the public API', async () => {
    const key = await gateway.creditKey();
    const counted = await sdk(key).responses.inputTokens.count({
      model: 'sandbox/alpha',
      input: 'Hello, how are you?',
    });
    assert.equal(counted.object, 'response.input_tokens');
    const body = { model: 'sandbox/beta', messages: [{ role: 'user', content: 'Hello, how are you?' }] };
    const other = (await (await visit(key, 'count_tokens', { body })).json()) as { input_tokens: number };
    assert.ok(
      Math.abs(counted.input_tokens - other.input_tokens) <= 8,
      `${counted.input_tokens} ${other.input_tokens}`,
    );
    assert.equal((await usage(key)).credits.used, 0);
  });

  test('counts what the request continues, and takes fields that only generation knows', async () => {
    const key = await gateway.creditKey();
    const first = await sdk(key).responses.create({ model: 'sandbox/alpha', input: 'A long sentence to begin with.' });
    const count = (body: object) => visit(key, 'input_tokens', { body: { model: 'sandbox/alpha', ...body } });
    const alone = (await (await count({ input: 'Go on.' })).json()) as { input_tokens: number };
    const fields = { max_output_tokens: 'any', stream: 7, background: true };
    const whole = (await (await count({ input: 'Go on.', previous_response_id: first.id, ...fields })).json()) as {
      input_tokens: number;
    };
    assert.ok(whole.input_tokens > alone.input_tokens + 5, `${whole.input_tokens} ${alone.input_tokens}`);
    const without = await count({ previous_response_id: first.id });
    assert.equal(without.status, 200, await without.text());
    const unknown = await refusal(
      count({ input: 'x', previous_response_id: 'resp_none' }),
      'input_tokens',
      400,
      'invalid_request',
    );
    assert.equal(unknown.param, 'previous_response_id');
  });

  test('is asked of a provider that counts, and counted here where that fails', async () => {
    await using scene = await scriptedScene({
      providers: { one: { formats: ['responses'], count_tokens: true } },
      models: [{ id: 'tested', provider: 'one' }],
    });
    const key = await scene.gateway.creditKey();
    const counted = visit(key, 'input_tokens', { body: { model: 'tested', input: 'Hello' } });
    const call = await scene.upstream.next();
    assert.match(call.requestLine, /^POST \/v1\/responses\/input_tokens /);
    assert.deepEqual(Object.keys(call.body).toSorted(), ['input', 'model']);
    call.reply(200, { object: 'response.input_tokens', input_tokens: 4711 });
    assert.deepEqual(await (await counted).json(), { object: 'response.input_tokens', input_tokens: 4711 });
    const estimated = visit(key, 'input_tokens', { body: { model: 'tested', input: 'Hello' } });
    (await scene.upstream.next()).reply(500, { error: { message: 'down' } });
    const { input_tokens } = (await (await estimated).json()) as { input_tokens: number };
    assert.ok(input_tokens > 0 && input_tokens < 100);
  });
});

describe('[R79] POST /v1/responses/compact', () => {
  for (const model of ['sandbox/alpha', 'sandbox/beta']) {
    test(`a conversation goes on from its compaction, with every model (made by ${model})`, async () => {
      const key = await gateway.creditKey();
      const client = sdk(key);
      const compacted = await client.responses.compact({ model, input: [...SAID] });
      assert.equal(compacted.object, 'response.compaction');
      const [user, item] = compacted.output;
      assert.deepEqual(
        [user?.type, item?.type, compacted.output.length],
        ['message', 'compaction', 2],
        JSON.stringify(compacted.output),
      );
      const { used } = (await usage(key)).credits;
      assert.ok(used > 0 && compacted.usage.total_tokens > 0);
      assert.equal((await usage(key)).requests.total, 1);
      for (const next of ['sandbox/alpha', 'sandbox/beta', 'sandbox/tiny']) {
        const input = [...compacted.output, { role: 'user', content: 'Go on.' }] as OpenAI.Responses.ResponseInput;
        const answer = await client.responses.create({ model: next, input });
        assert.equal(answer.status, 'completed', next);
      }
      await auditClean(gateway);
    });
  }

  test('the summary reaches the provider as text, and its seal is opened for its own key alone', async () => {
    await using scene = await scriptedScene({
      providers: { one: { formats: ['chat'] } },
      models: [{ id: 'tested', provider: 'one' }],
    });
    const key = await scene.gateway.creditKey();
    const asked = visit(key, 'compact', { body: { model: 'tested', instructions: 'Be brief.', input: SAID } });
    const call = await scene.upstream.next();
    const sent = JSON.stringify(call.body);
    for (const said of ['Be brief.', 'Look at a.txt.', 'assistant calls read', 'hello', 'It says hello.'])
      assert.ok(sent.includes(said), said);
    const choice = { index: 0, message: { role: 'assistant', content: 'They read a.txt.' }, finish_reason: 'stop' };
    const tokens = { prompt_tokens: 50, completion_tokens: 5, total_tokens: 55 };
    call.reply(200, { id: 'c', object: 'chat.completion', created: 1, model: 'up', choices: [choice], usage: tokens });
    const compacted = (await (await asked).json()) as { output: { encrypted_content?: string }[]; usage: object };
    const sealed = compacted.output.at(-1);
    assert.ok(!JSON.stringify(compacted).includes('They read'));
    assert.equal((compacted.usage as { total_tokens: number }).total_tokens, 55);
    const next = (of: CreatedKey, item: object) =>
      visit(of, 'responses', { body: { model: 'tested', input: [item, { role: 'user', content: 'Go on.' }] } });
    const going = next(key, sealed ?? {});
    const second = await scene.upstream.next();
    assert.match(JSON.stringify(second.body), /Summary of the conversation so far:\\n\\nThey read a\.txt\./);
    second.reply(200, {
      id: 'c',
      object: 'chat.completion',
      created: 1,
      model: 'up',
      choices: [choice],
      usage: tokens,
    });
    assert.equal((await going).status, 200);
    const foreign = await scene.gateway.creditKey();
    const broken = { ...sealed, encrypted_content: `${sealed?.encrypted_content?.slice(0, -4)}AAAA` };
    for (const refused of [next(foreign, sealed ?? {}), next(key, broken)]) {
      const { param } = await refusal(refused, 'responses', 400, 'invalid_request');
      assert.equal(param, 'input[0].encrypted_content');
    }
  });

  test('what other items say of what was done and of what came back is told, without ids and what is encoded', async () => {
    await using scene = await scriptedScene({
      providers: { one: { formats: ['chat'] } },
      models: [{ id: 'tested', provider: 'one' }],
    });
    const key = await scene.gateway.creditKey();
    const input = [
      { type: 'local_shell_call', call_id: 'untold', action: { type: 'exec', command: ['cat', 'told_1.txt'] } },
      { type: 'local_shell_call_output', id: 'untold', output: 'told_2' },
      { type: 'shell_call', call_id: 'untold', action: { commands: ['ls told_3'] } },
      {
        type: 'shell_call_output',
        call_id: 'untold',
        output: [{ stdout: 'told_4', stderr: 'told_5', outcome: { type: 'exit', exit_code: 42 } }],
      },
      { type: 'apply_patch_call', operation: { type: 'update_file', path: 'told_6.txt', diff: '+told_7' } },
      { type: 'apply_patch_call_output', status: 'failed', output: 'told_8' },
      { type: 'mcp_call', name: 'told_9', server_label: 's', arguments: '{"x":"told_10"}', output: 'told_11' },
      { type: 'web_search_call', status: 'completed', action: { type: 'search', query: 'told_12' } },
      { type: 'tool_search_call', execution: 'client', arguments: { query: 'told_13' } },
      { type: 'image_generation_call', revised_prompt: 'told_14', result: 'untold' },
      { role: 'assistant', content: [{ type: 'refusal', refusal: 'told_15' }] },
    ];
    const asked = visit(key, 'compact', { body: { model: 'tested', input } });
    const call = await scene.upstream.next();
    const sent = JSON.stringify(call.body);
    for (let at = 1; at <= 15; at++) assert.match(sent, new RegExp(`told_${at}\\b`));
    assert.match(sent, /exit_code: 42/);
    assert.doesNotMatch(sent, /untold/);
    call.reply(400, { error: { message: 'enough was seen' } });
    await (await asked).text();
  });

  test('an answer without a summary is charged, and told', async () => {
    await using scene = await scriptedScene({
      providers: { one: { formats: ['chat'] } },
      models: [{ id: 'tested', provider: 'one' }],
    });
    const key = await scene.gateway.creditKey();
    const asked = visit(key, 'compact', { body: { model: 'tested', input: SAID } });
    const choice = { index: 0, message: { role: 'assistant', content: '' }, finish_reason: 'stop' };
    const tokens = { prompt_tokens: 50, completion_tokens: 5, total_tokens: 55 };
    (await scene.upstream.next()).reply(200, { id: 'c', choices: [choice], usage: tokens });
    const { message } = await refusal(asked, 'compact', 502, 'upstream_error');
    assert.match(message, /no summary/);
    assert.ok((await usage(key)).credits.used > 0);
    await auditClean(scene.gateway);
  });

  test('a repeat with its Idempotency-Key gets the same compaction, at no charge', async () => {
    const key = await gateway.creditKey();
    const sent = { headers: { 'Idempotency-Key': 'once' }, body: { model: 'sandbox/alpha', input: SAID } };
    const first = await (await visit(key, 'compact', sent)).text();
    const { used } = (await usage(key)).credits;
    const again = await visit(key, 'compact', sent);
    assert.equal(again.headers.get('idempotent-replayed'), 'true');
    assert.equal(await again.text(), first);
    assert.equal((await usage(key)).credits.used, used);
  });

  test('bad input is a 400 that names it', async () => {
    const key = await gateway.creditKey();
    for (const [body, param] of [
      [{}, 'input'],
      [{ input: [] }, 'input'],
      [{ input: 'x', previous_response_id: 'resp_none' }, 'previous_response_id'],
      [{ input: 'x', conversation: 'conv_1' }, 'conversation'],
      [{ input: [{ type: 'item_reference', id: 'msg_none' }] }, 'input[0].id'],
      [{ input: 'x', service_tier: 'priority' }, 'service_tier'],
      [{ input: Array(65).fill({ type: 'compaction', encrypted_content: 'mgc1_x' }) }, 'input'],
      [{ input: [{ type: 'compaction', encrypted_content: 'mgc1_x' }] }, 'input[0].encrypted_content'],
      [{ input: [SAID[0], { type: 'compaction', encrypted_content: 'foreign' }] }, 'input[1].encrypted_content'],
    ] as const) {
      const refused = visit(key, 'compact', { body: { model: 'sandbox/alpha', ...body } });
      assert.equal((await refusal(refused, 'compact', 400, 'invalid_request')).param, param);
    }
  });
});

describe('[R79] GET /v1/responses/{id}/input_items', () => {
  test('lists everything that the response was made from, in pages', async () => {
    const key = await gateway.creditKey();
    const client = sdk(key);
    const first = await client.responses.create({
      model: 'sandbox/alpha',
      input: [...SAID, { role: 'user', content: 'Why?' }],
    });
    const second = await client.responses.create({
      model: 'sandbox/alpha',
      input: 'Go on.',
      previous_response_id: first.id,
    });
    const list = async (query: object) => {
      const items: OpenAI.Responses.ResponseItem[] = [];
      for await (const item of client.responses.inputItems.list(second.id, query)) items.push(item);
      return items;
    };
    const all = await list({ order: 'asc' });
    assert.deepEqual(
      all.map(({ type }) => type),
      ['message', 'function_call', 'function_call_output', 'message', 'message', 'message', 'message'],
    );
    assert.equal(new Set(all.map(({ id }) => id)).size, all.length);
    assert.deepEqual(all.at(-1), {
      type: 'message',
      role: 'user',
      status: 'completed',
      id: all.at(-1)?.id,
      content: [{ type: 'input_text', text: 'Go on.' }],
    });
    assert.deepEqual(await list({ order: 'asc', limit: 2 }), all);
    assert.deepEqual(await list({ limit: 3 }), all.toReversed());
    assert.equal((await client.responses.inputItems.list(first.id, { limit: 100 })).data.length, 5);
  });

  test('is there for its own key alone, and refuses what is no page', async () => {
    const key = await gateway.creditKey();
    const other = await gateway.creditKey();
    const { id } = await sdk(key).responses.create({ model: 'sandbox/alpha', input: 'Hello' });
    const list = (of: CreatedKey, query: string, named = id) =>
      call(`${of.origin}/v1/responses/${named}/input_items${query}`, { key: of.key });
    await refusal(list(other, ''), 'input_items', 404, 'not_found');
    await refusal(list(key, '', 'resp_none'), 'input_items', 404, 'not_found');
    for (const [query, param] of [
      ['?limit=0', 'limit'],
      ['?limit=101', 'limit'],
      ['?limit=x', 'limit'],
      ['?order=up', 'order'],
      ['?after=msg_none', 'after'],
    ] as const) {
      assert.equal((await refusal(list(key, query), 'input_items', 400, 'invalid_request')).param, param);
    }
    assert.equal((await list(key, '?limit=5')).status, 200);
  });
});

describe('[R78] POST /v1/responses/{id}/cancel', () => {
  test('of a response that was not in the background is a 400, of one that is not there a 404', async () => {
    const key = await gateway.creditKey();
    const other = await gateway.creditKey();
    const { id } = await sdk(key).responses.create({ model: 'sandbox/alpha', input: 'Hello' });
    const cancel = (of: CreatedKey, named: string) =>
      call(`${of.origin}/v1/responses/${named}/cancel`, { method: 'POST', key: of.key });
    for (let time = 0; time < 2; time++) {
      const { message } = await refusal(cancel(key, id), 'cancel_response', 400, 'invalid_request');
      assert.match(message, /background/);
    }
    await refusal(cancel(other, id), 'cancel_response', 404, 'not_found');
    await refusal(cancel(key, 'resp_none'), 'cancel_response', 404, 'not_found');
    assert.equal((await call(`${key.origin}/v1/responses/${id}`, { key: key.key })).status, 200);
  });
});
