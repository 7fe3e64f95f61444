/** The official @anthropic-ai/sdk package does every call it has for these routes against a started gateway. */
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import Anthropic from '@anthropic-ai/sdk';
import { withGateway } from '../../support/started-gateway.ts';

const WEATHER = {
  name: 'get_weather',
  description: 'The weather of a city',
  input_schema: { type: 'object' as const, properties: { city: { type: 'string' } }, required: ['city'] },
};

/** The sandbox signs its thinking by the request's bytes, which differ between streamed and whole. */
function unsigned(block: Anthropic.ContentBlock): object {
  return block.type === 'thinking' ? { ...block, signature: '' } : block;
}

const gateway = await withGateway();

for (const mode of ['credit', 'token_budget'] as const) {
  for (const credential of ['apiKey', 'authToken'] as const) {
    describe(`@anthropic-ai/sdk with a ${mode} key as ${credential}`, () => {
      let client: Anthropic;
      before(async () => {
        const key = mode === 'credit' ? await gateway.creditKey() : await gateway.tokenKey();
        const other = credential === 'apiKey' ? { authToken: null } : { apiKey: null };
        client = new Anthropic({ [credential]: key.key, ...other, baseURL: key.origin, maxRetries: 0 });
      });

      test('lists models', async () => {
        const ids: string[] = [];
        for await (const model of client.models.list()) ids.push(model.id);
        assert.deepEqual(ids.sort(), ['sandbox/alpha', 'sandbox/beta', 'sandbox/tiny']);
      });

      test('[R57] lists and retrieves models with the fields that it knows', async () => {
        const page = await client.models.list();
        assert.deepEqual([page.has_more, page.hasNextPage()], [false, false]);
        const listed = page.data.find(({ id }) => id === 'sandbox/beta');
        assert.deepEqual(
          { ...(await client.models.retrieve('sandbox/beta')), _request_id: undefined },
          { ...listed, _request_id: undefined },
        );
        assert.equal(listed?.type, 'model');
        assert.match(listed.created_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
        assert.equal(typeof listed.display_name, 'string');
        assert.equal(typeof listed.max_input_tokens, 'number');
        assert.equal(typeof listed.max_tokens, 'number');
        await assert.rejects(client.models.retrieve('no/such'), Anthropic.NotFoundError);
      });

      test('messages, whole and streamed, are equal', async () => {
        const request = {
          model: 'sandbox/beta',
          max_tokens: 200,
          messages: [{ role: 'user' as const, content: 'hello [[tokens=25]] [[thinking]]' }],
        };
        const whole = await client.messages.create(request);
        assert.equal(whole.model, 'sandbox/beta');
        assert.equal(whole.usage.output_tokens, 25);
        const streamed = await client.messages.stream(request).finalMessage();
        assert.deepEqual(streamed.content.map(unsigned), whole.content.map(unsigned));
        assert.deepEqual(
          streamed.content.map(({ type }) => type),
          ['thinking', 'text'],
        );
        assert.equal(streamed.usage.output_tokens, 25);
        assert.equal(streamed.usage.input_tokens, whole.usage.input_tokens);
      });

      test('[R60] the tool runner, which asks for a thread at the provider and goes on without it', async () => {
        const runner = client.beta.messages.toolRunner({
          model: 'sandbox/beta',
          max_tokens: 500,
          messages: [{ role: 'user', content: 'the weather [[tool=2]]' }],
          tools: [{ ...WEATHER, type: 'custom', run: () => 'sunny', parse: (value: unknown) => value }],
        });
        const last = await runner.runUntilDone();
        assert.match(JSON.stringify(last.content), /sunny/);
      });

      test('tools, and the answer to their results', async () => {
        const request = {
          model: 'sandbox/beta',
          max_tokens: 500,
          messages: [{ role: 'user' as const, content: 'the weather [[tool]]' }],
          tools: [WEATHER],
        };
        const called = await client.messages.stream(request).finalMessage();
        assert.equal(called.stop_reason, 'tool_use');
        const use = called.content.find((block) => block.type === 'tool_use');
        assert.equal(use?.name, 'get_weather');
        const answer = await client.messages.create({
          ...request,
          messages: [
            ...request.messages,
            { role: 'assistant', content: called.content },
            { role: 'user', content: [{ type: 'tool_result', tool_use_id: use?.id ?? '', content: 'sunny' }] },
          ],
        });
        assert.match(answer.content[0]?.type === 'text' ? answer.content[0].text : '', /sunny/);
      });

      test('counts tokens as the provider does', async () => {
        const request = { model: 'sandbox/beta', messages: [{ role: 'user' as const, content: 'count me' }] };
        const { input_tokens } = await client.messages.countTokens(request);
        const answer = await client.messages.create({ ...request, max_tokens: 10 });
        assert.equal(input_tokens, answer.usage.input_tokens);
      });

      test('a limit over the published one is capped, and the end says max_tokens', async () => {
        const stream = client.messages.stream({
          model: 'sandbox/beta',
          max_tokens: 128_000,
          messages: [{ role: 'user', content: '[[tokens=5]]' }],
        });
        const capped = await stream.finalMessage();
        assert.equal(capped.stop_reason, 'end_turn');
        const cut = await client.messages.create({
          model: 'sandbox/beta',
          max_tokens: 3,
          messages: [{ role: 'user', content: '[[tokens=50]]' }],
        });
        assert.equal(cut.stop_reason, 'max_tokens');
      });

      test('errors arrive as its own classes, with the request id', async () => {
        const messages = [{ role: 'user' as const, content: 'x' }];
        await assert.rejects(client.messages.create({ model: 'no/such', max_tokens: 5, messages }), (error) => {
          assert.ok(error instanceof Anthropic.NotFoundError);
          assert.match(error.requestID ?? '', /^req_/);
          return true;
        });
        await assert.rejects(
          client.messages.create({ model: 'sandbox/beta', max_tokens: 0, messages }),
          Anthropic.BadRequestError,
        );
        await assert.rejects(
          client.messages.create({
            model: 'sandbox/beta',
            max_tokens: 5,
            messages: [{ role: 'user', content: '[[status=529]]' }],
          }),
          Anthropic.InternalServerError,
        );
        const stranger = new Anthropic({
          apiKey: 'mg_c_wrong',
          authToken: null,
          baseURL: client.baseURL,
          maxRetries: 0,
        });
        await assert.rejects(
          stranger.messages.create({ model: 'sandbox/beta', max_tokens: 5, messages }),
          Anthropic.AuthenticationError,
        );
      });

      test('a stream that breaks in the middle is an error, not an end', async () => {
        const stream = client.messages.stream({
          model: 'sandbox/beta',
          max_tokens: 100,
          messages: [{ role: 'user', content: '[[tokens=50]] [[fail-after=5]]' }],
        });
        await assert.rejects(stream.finalMessage(), Anthropic.APIError);
      });
    });
  }
}
