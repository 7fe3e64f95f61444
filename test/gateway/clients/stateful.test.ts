/** Clients that leave the conversation to the server: three turns with tools, on both sandbox models, whole and streamed. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createOpenAI } from '@ai-sdk/openai';
import { Agent, tool as agentTool, MemorySession, OpenAIProvider, Runner, setTracingDisabled } from '@openai/agents';
import { generateText, jsonSchema, type ModelMessage, stepCountIs, streamText, type ToolSet, tool } from 'ai';
import OpenAI from 'openai';
import { withGateway } from '../../support/started-gateway.ts';

const gateway = await withGateway();
setTracingDisabled(true);

const PARAMETERS = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
} as const;
/** The last turn: the answer is the body that the provider received. */
const ECHO = 'and what have I said? [[echo]]';
/** The simulated answer is too short to repeat it. */
const TOMORROW = 'and tomorrow? [[tokens=3]]';

/** What the provider got in the last turn is the whole conversation, and nothing that only the gateway knows. */
function assertWhole(echoed: string): void {
  const body: unknown = JSON.parse(echoed);
  const text = JSON.stringify(body);
  for (const said of ['the weather, please', 'sunny in', TOMORROW, ECHO]) assert.ok(text.includes(said), said);
  assert.equal(text.split(TOMORROW).length, 2, 'nothing is there twice');
  assert.doesNotMatch(text, /previous_response_id|item_reference|"store":true/);
}

function textOf({ output }: OpenAI.Responses.Response): string {
  const parts = output.flatMap((item) => (item.type === 'message' ? item.content : []));
  return parts.map((part) => (part.type === 'output_text' ? part.text : '')).join('');
}

for (const model of ['sandbox/alpha', 'sandbox/beta']) {
  for (const streamed of [false, true]) {
    const how = `${model}, ${streamed ? 'streamed' : 'whole'}`;

    test(`[R64] the openai package continues by previous_response_id: ${how}`, async () => {
      const { key, base_url } = await gateway.creditKey();
      const client = new OpenAI({ apiKey: key, baseURL: base_url, maxRetries: 0 });
      const tools = [
        {
          type: 'function' as const,
          name: 'get_weather',
          description: 'Weather',
          strict: true,
          parameters: PARAMETERS,
        },
      ];
      const create = async (body: Omit<OpenAI.Responses.ResponseCreateParamsNonStreaming, 'model' | 'stream'>) => {
        if (!streamed) return client.responses.create({ model, tools, ...body });
        let last: OpenAI.Responses.Response | undefined;
        for await (const event of await client.responses.create({ model, tools, ...body, stream: true })) {
          if (event.type === 'response.completed') last = event.response;
        }
        assert.ok(last);
        return { ...last, output_text: textOf(last) };
      };
      const first = await create({ input: 'the weather, please [[tool]] [[thinking]]', reasoning: { effort: 'low' } });
      assert.equal('store' in first && first.store, true);
      const called = first.output.find((item) => item.type === 'function_call');
      assert.ok(called?.type === 'function_call' && called.name === 'get_weather');
      assert.ok(first.output.some((item) => item.type === 'reasoning'));
      const second = await create({
        previous_response_id: first.id,
        input: [{ type: 'function_call_output', call_id: called.call_id, output: 'sunny in Rome' }],
      });
      assert.equal(second.previous_response_id, first.id);
      assert.match(second.output_text, /sunny in Rome/);
      const third = await create({ previous_response_id: second.id, input: TOMORROW });
      assert.ok((third.usage?.input_tokens ?? 0) > (second.usage?.input_tokens ?? 0));
      const last = await create({ previous_response_id: third.id, input: ECHO });
      assertWhole(last.output_text);
      const stored = await client.responses.retrieve(third.id);
      assert.deepEqual(stored.output, third.output);
      assert.equal(stored.previous_response_id, second.id);
      await client.responses.delete(third.id);
      await assert.rejects(client.responses.retrieve(third.id), OpenAI.NotFoundError);
    });

    test(`[R64] the AI SDK's default refers to earlier items by their ids: ${how}`, async () => {
      const { key, base_url } = await gateway.creditKey();
      const bodies: string[] = [];
      const openai = createOpenAI({
        apiKey: key,
        baseURL: base_url,
        fetch: async (url, init) => {
          bodies.push(String(init?.body));
          return fetch(url, init);
        },
      });
      const tools = {
        get_weather: tool({
          description: 'Weather',
          inputSchema: jsonSchema<{ city: string }>(PARAMETERS),
          execute: async ({ city }: { city: string }) => `sunny in ${city}`,
        }),
      } as unknown as ToolSet;
      const messages: ModelMessage[] = [];
      const turn = async (said: string): Promise<string> => {
        messages.push({ role: 'user', content: said });
        const call = { model: openai(model), tools, messages, stopWhen: stepCountIs(4), maxRetries: 0 };
        if (!streamed) {
          const { text, response } = await generateText(call);
          messages.push(...response.messages);
          return text;
        }
        const stream = streamText(call);
        const text = await stream.text;
        messages.push(...(await stream.response).messages);
        return text;
      };
      assert.match(await turn('the weather, please [[tool]]'), /sunny in/);
      await turn(TOMORROW);
      assertWhole(await turn(ECHO));
      assert.ok(bodies.length >= 4);
      assert.match(bodies.at(-1) ?? '', /"type":"item_reference"/);
    });

    describe(`[R64] OpenAI Agents: ${how}`, () => {
      const start = async () => {
        const { key, base_url } = await gateway.creditKey();
        const openAIClient = new OpenAI({ apiKey: key, baseURL: base_url, maxRetries: 0 });
        const runner = new Runner({
          modelProvider: new OpenAIProvider({ openAIClient: openAIClient as never, useResponses: true }),
        });
        const agent = new Agent({
          name: 'weather',
          model,
          instructions: 'Tell the weather.',
          tools: [
            agentTool({
              name: 'get_weather',
              description: 'Weather',
              parameters: { ...PARAMETERS, required: ['city'] },
              strict: true,
              execute: async (input: unknown) => `sunny in ${JSON.stringify(input)}`,
            } as never),
          ],
        });
        return { runner, agent };
      };
      type Options = { session?: MemorySession; previousResponseId?: string };
      const runTurn = async ({ runner, agent }: Awaited<ReturnType<typeof start>>, said: string, options: Options) => {
        if (!streamed) return runner.run(agent, said, options);
        const result = await runner.run(agent, said, { ...options, stream: true });
        for await (const event of result) assert.ok(event.type);
        await result.completed;
        return result;
      };

      test('a session sends the items back', async () => {
        const started = await start();
        const session = new MemorySession();
        assert.match(
          String((await runTurn(started, 'the weather, please [[tool]] [[thinking]]', { session })).finalOutput),
          /sunny/,
        );
        await runTurn(started, TOMORROW, { session });
        assertWhole(String((await runTurn(started, ECHO, { session })).finalOutput));
      });

      test('previousResponseId continues at the server', async () => {
        const started = await start();
        const first = await runTurn(started, 'the weather, please [[tool]] [[thinking]]', {});
        const second = await runTurn(started, TOMORROW, { previousResponseId: first.lastResponseId ?? '' });
        const third = await runTurn(started, ECHO, { previousResponseId: second.lastResponseId ?? '' });
        assertWhole(String(third.finalOutput));
      });
    });
  }
}
