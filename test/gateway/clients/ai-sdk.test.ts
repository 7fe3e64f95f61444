/** The AI SDK as a client: its own accumulators take what every writer writes, passed through and translated. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import { generateText, jsonSchema, type LanguageModel, streamText, type ToolSet, tool } from 'ai';
import { withGateway } from '../../support/started-gateway.ts';

const gateway = await withGateway();

const FORMATS = ['chat', 'responses', 'messages'] as const;

async function modelOf(format: (typeof FORMATS)[number], id: string): Promise<LanguageModel> {
  const { key, base_url } = await gateway.creditKey();
  if (format === 'messages') return createAnthropic({ apiKey: key, baseURL: base_url })(id);
  const openai = createOpenAI({ apiKey: key, baseURL: base_url });
  return format === 'chat' ? openai.chat(id) : openai.responses(id);
}

/** The package's own types contradict each other where optional properties are exact. */
const tools = {
  get_weather: tool({
    description: 'The weather of a city',
    inputSchema: jsonSchema<{ city: string }>({
      type: 'object',
      properties: { city: { type: 'string' } },
      required: ['city'],
    }),
  }),
} as unknown as ToolSet;

for (const format of FORMATS) {
  for (const id of ['sandbox/alpha', 'sandbox/beta']) {
    describe(`[R37] the AI SDK over ${format} with ${id}`, () => {
      test('streamed text equals whole text, with the same usage', async () => {
        const model = await modelOf(format, id);
        const prompt = 'say something [[tokens=40]]';
        const whole = await generateText({ model, prompt, maxOutputTokens: 400, maxRetries: 0 });
        const stream = streamText({ model, prompt, maxOutputTokens: 400, maxRetries: 0 });
        assert.equal(await stream.text, whole.text);
        assert.equal(whole.usage.outputTokens, 40);
        assert.equal((await stream.usage).outputTokens, 40);
        assert.equal(await stream.finishReason, 'stop');
      });

      test('tool calls arrive with their arguments, streamed as whole', async () => {
        const model = await modelOf(format, id);
        const prompt = 'the weather, please [[tool]]';
        const whole = await generateText({ model, prompt, tools, maxOutputTokens: 400, maxRetries: 0 });
        const stream = streamText({ model, prompt, tools, maxOutputTokens: 400, maxRetries: 0 });
        const calls = (list: readonly { toolName: string; input: unknown }[]) =>
          list.map(({ toolName, input }) => ({ toolName, input }));
        assert.equal(whole.toolCalls[0]?.toolName, 'get_weather');
        assert.deepEqual(calls(await stream.toolCalls), calls(whole.toolCalls));
        assert.equal(await stream.finishReason, 'tool-calls');
      });
    });
  }
}
