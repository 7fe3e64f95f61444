import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import { Agent } from '@mastra/core/agent';
import { createTool } from '@mastra/core/tools';
import { z } from 'zod';
import { expect, Seen, SUNNY, serve, versionOf, WEATHER } from './protocol.mjs';

const MODELS = {
  openai: ['responses', ({ key, baseUrl, model }) => createOpenAI({ apiKey: key, baseURL: baseUrl })(model)],
  'openai.chat': ['chat', ({ key, baseUrl, model }) => createOpenAI({ apiKey: key, baseURL: baseUrl }).chat(model)],
  anthropic: ['messages', ({ key, baseUrl, model }) => createAnthropic({ apiKey: key, baseURL: baseUrl })(model)],
};

const weather = createTool({
  id: WEATHER.name,
  description: WEATHER.description,
  inputSchema: z.object({ city: z.string() }),
  execute: async () => SUNNY,
});

async function ended(agent, text, stream) {
  const options = { modelSettings: { maxOutputTokens: 250, maxRetries: 0 }, maxSteps: 4 };
  if (!stream) return agent.generate(text, options);
  const result = await agent.stream(text, options);
  await result.consumeStream();
  const error = await result.error;
  if (error) throw error;
  return { text: await result.text, totalUsage: await result.totalUsage };
}

const cases = {};
for (const [name, [route, model]] of Object.entries(MODELS)) {
  const agentOf = (task, tools) =>
    new Agent({ id: 'a', name: 'A', instructions: 'Be brief.', model: model(task), tools });
  cases[`${name}: text`] = {
    route,
    async run(task) {
      const result = await ended(agentOf(task, {}), task.text, task.stream);
      return new Seen().usage(result.totalUsage ?? result.usage);
    },
  };
  cases[`${name}: tool loop`] = {
    route,
    async run(task) {
      const result = await ended(agentOf(task, { get_weather: weather }), 'the weather, please [[tool]]', task.stream);
      expect(result.text.includes('sunny'), 'the answer to the tool result');
      return new Seen().usage(result.totalUsage ?? result.usage);
    },
  };
}
await serve('Mastra', versionOf('@mastra/core'), cases);
