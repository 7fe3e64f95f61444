/** The official openai package does every call it has for these routes against a started gateway. */
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import OpenAI from 'openai';
import { withGateway } from '../../support/started-gateway.ts';

const WEATHER = {
  name: 'get_weather',
  description: 'The weather of a city',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
};

const gateway = await withGateway();

for (const mode of ['credit', 'token_budget'] as const) {
  describe(`openai package with a ${mode} key`, () => {
    let client: OpenAI;
    before(async () => {
      const key = mode === 'credit' ? await gateway.creditKey() : await gateway.tokenKey();
      client = new OpenAI({ apiKey: key.key, baseURL: key.base_url, maxRetries: 0 });
    });

    test('lists models', async () => {
      const ids: string[] = [];
      for await (const model of client.models.list()) ids.push(model.id);
      assert.deepEqual(ids.sort(), ['sandbox/alpha', 'sandbox/beta', 'sandbox/tiny']);
    });

    test('[R57] retrieves one model, whose id has a slash', async () => {
      const listed = (await client.models.list()).data.find(({ id }) => id === 'sandbox/alpha');
      assert.deepEqual(await client.models.retrieve('sandbox/alpha'), listed);
      await assert.rejects(client.models.retrieve('no/such'), (error: unknown) => {
        assert.ok(error instanceof OpenAI.NotFoundError);
        assert.deepEqual([error.code, error.param], ['model_not_found', 'model']);
        return true;
      });
    });

    test('chat, whole', async () => {
      const answer = await client.chat.completions.create({
        model: 'sandbox/alpha',
        messages: [{ role: 'user', content: '[[tokens=12]]' }],
      });
      assert.equal(answer.model, 'sandbox/alpha');
      assert.equal(answer.usage?.completion_tokens, 12);
      assert.equal(answer.choices[0]?.finish_reason, 'stop');
    });

    test('chat, streamed: equals the whole answer', async () => {
      const messages = [{ role: 'user' as const, content: 'tell me something [[tokens=30]]' }];
      const whole = await client.chat.completions.create({ model: 'sandbox/alpha', messages });
      const stream = client.chat.completions.stream({
        model: 'sandbox/alpha',
        messages,
        stream_options: { include_usage: true },
      });
      const streamed = await stream.finalChatCompletion();
      assert.equal(streamed.choices[0]?.message.content, whole.choices[0]?.message.content);
      assert.deepEqual(streamed.usage?.completion_tokens, whole.usage?.completion_tokens);
      assert.equal(streamed.model, 'sandbox/alpha');
    });

    test('chat with tools, whole and streamed', async () => {
      const request = {
        model: 'sandbox/alpha',
        messages: [{ role: 'user' as const, content: 'the weather, please [[tool]]' }],
        tools: [{ type: 'function' as const, function: WEATHER }],
      };
      const whole = await client.chat.completions.create(request);
      const call = whole.choices[0]?.message.tool_calls?.[0];
      assert.equal(call?.type === 'function' && call.function.name, 'get_weather');
      const streamed = await client.chat.completions.stream(request).finalChatCompletion();
      assert.equal(streamed.choices[0]?.finish_reason, 'tool_calls');
      const streamedCall = streamed.choices[0]?.message.tool_calls?.[0];
      assert.deepEqual(
        streamedCall?.type === 'function' && JSON.parse(streamedCall.function.arguments),
        call?.type === 'function' && JSON.parse(call.function.arguments),
      );
      const followUp = await client.chat.completions.create({
        ...request,
        messages: [
          ...request.messages,
          { role: 'assistant', tool_calls: whole.choices[0]?.message.tool_calls ?? [] },
          { role: 'tool', tool_call_id: call?.id ?? '', content: 'sunny' },
        ],
      });
      assert.match(followUp.choices[0]?.message.content ?? '', /sunny/);
    });

    test('responses, whole and streamed, with tools', async () => {
      const whole = await client.responses.create({ model: 'sandbox/alpha', input: 'hello [[tokens=20]]' });
      assert.equal(whole.model, 'sandbox/alpha');
      assert.equal(whole.usage?.output_tokens, 20);
      const stream = client.responses.stream({ model: 'sandbox/alpha', input: 'hello [[tokens=20]]' });
      const events: string[] = [];
      for await (const event of stream) events.push(event.type);
      assert.equal((await stream.finalResponse()).output_text, whole.output_text);
      assert.equal(events[0], 'response.created');
      assert.equal(events.at(-1), 'response.completed');
      const called = await client.responses.create({
        model: 'sandbox/alpha',
        input: 'weather [[tool]]',
        tools: [{ type: 'function', strict: false, ...WEATHER }],
      });
      assert.ok(called.output.some((item) => item.type === 'function_call' && item.name === 'get_weather'));
    });

    test('an answer that ends at its limit says so', async () => {
      const answer = await client.chat.completions.create({
        model: 'sandbox/alpha',
        max_tokens: 5,
        messages: [{ role: 'user', content: '[[tokens=50]]' }],
      });
      assert.equal(answer.choices[0]?.finish_reason, 'length');
      const response = await client.responses.create({
        model: 'sandbox/alpha',
        max_output_tokens: 16,
        input: '[[tokens=50]]',
      });
      assert.equal(response.incomplete_details?.reason, 'max_output_tokens');
    });

    test('errors arrive as its own classes, with the request id', async () => {
      const messages = [{ role: 'user' as const, content: 'x' }];
      await assert.rejects(client.chat.completions.create({ model: 'no/such', messages }), (error) => {
        assert.ok(error instanceof OpenAI.NotFoundError);
        assert.equal(error.code, 'model_not_found');
        assert.equal(error.param, 'model');
        assert.match(error.requestID ?? '', /^req_/);
        return true;
      });
      await assert.rejects(
        client.chat.completions.create({ model: 'sandbox/alpha', messages: [] }),
        OpenAI.BadRequestError,
      );
      await assert.rejects(
        client.chat.completions.create({
          model: 'sandbox/alpha',
          messages: [{ role: 'user', content: '[[status=500]]' }],
        }),
        OpenAI.InternalServerError,
      );
      const stranger = new OpenAI({ apiKey: 'mg_c_wrong', baseURL: client.baseURL, maxRetries: 0 });
      await assert.rejects(
        stranger.chat.completions.create({ model: 'sandbox/alpha', messages }),
        OpenAI.AuthenticationError,
      );
      const limited =
        mode === 'credit' ? await gateway.creditKey({ rpm_limit: 1 }) : await gateway.tokenKey({ rpm_limit: 1 });
      const slow = new OpenAI({ apiKey: limited.key, baseURL: limited.base_url, maxRetries: 0 });
      await slow.models.list();
      await assert.rejects(slow.models.list(), OpenAI.RateLimitError);
      const poor =
        mode === 'credit' ? await gateway.creditKey({ credit: '0' }) : await gateway.tokenKey({ budget: '10' });
      const broke = new OpenAI({ apiKey: poor.key, baseURL: poor.base_url, maxRetries: 0 });
      await assert.rejects(broke.chat.completions.create({ model: 'sandbox/alpha', messages }), (error) => {
        assert.ok(error instanceof OpenAI.APIError);
        assert.equal(error.status, mode === 'credit' ? 402 : 429);
        assert.equal(error.code, mode === 'credit' ? 'insufficient_credit' : 'limit_reached');
        return true;
      });
    });

    test('a stream that breaks in the middle is an error, not an end', async () => {
      const stream = await client.chat.completions.create({
        model: 'sandbox/alpha',
        stream: true,
        messages: [{ role: 'user', content: '[[tokens=50]] [[fail-after=5]]' }],
      });
      await assert.rejects(async () => {
        for await (const chunk of stream) assert.ok(chunk.id);
      }, OpenAI.APIError);
    });
  });
}
