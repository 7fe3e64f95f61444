import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { generateText, jsonSchema, Output, stepCountIs, streamText, tool } from 'ai';
import { expect, Seen, SUNNY, serve, versionOf, WEATHER } from './protocol.mjs';

const PROVIDERS = {
  openai: ['responses', ({ key, baseUrl, model }) => createOpenAI({ apiKey: key, baseURL: baseUrl })(model)],
  'openai.chat': ['chat', ({ key, baseUrl, model }) => createOpenAI({ apiKey: key, baseURL: baseUrl }).chat(model)],
  anthropic: ['messages', ({ key, baseUrl, model }) => createAnthropic({ apiKey: key, baseURL: baseUrl })(model)],
  'openai-compatible': [
    'chat',
    ({ key, baseUrl, model }) =>
      createOpenAICompatible({
        name: 'gateway',
        apiKey: key,
        baseURL: baseUrl,
        includeUsage: true,
        supportsStructuredOutputs: true,
      })(model),
  ],
};

const tools = {
  get_weather: tool({
    description: WEATHER.description,
    inputSchema: jsonSchema(WEATHER.parameters),
    execute: async () => SUNNY,
  }),
};

async function ended(options, stream) {
  if (!stream) return generateText(options);
  let failure = null;
  const result = streamText({
    ...options,
    onError: ({ error }) => {
      failure = error;
    },
  });
  await result.consumeStream();
  if (failure) throw failure;
  return { text: await result.text, steps: await result.steps, usage: await result.totalUsage };
}

const cases = {};
for (const [name, [route, model]] of Object.entries(PROVIDERS)) {
  cases[`${name}: text`] = {
    route,
    async run(task) {
      const result = await ended({ model: model(task), prompt: task.text, maxOutputTokens: 200 }, task.stream);
      return new Seen().usage(result.steps.at(-1).usage);
    },
  };
  cases[`${name}: tool loop`] = {
    route,
    async run(task) {
      const prompt = 'the weather, please [[tool=2]]';
      const options = { model: model(task), prompt, tools, stopWhen: stepCountIs(4), maxOutputTokens: 250 };
      const { text, steps } = await ended(options, task.stream);
      expect(text.includes('sunny'), 'the answer to the tool results');
      const seen = new Seen();
      for (const { usage } of steps) seen.usage(usage);
      return seen;
    },
  };
  cases[`${name}: structured output`] = {
    route,
    async run(task) {
      const output = Output.object({ schema: jsonSchema(WEATHER.parameters) });
      const options = { model: model(task), prompt: 'a city', output, maxOutputTokens: 200 };
      const { text, usage } = await ended(options, task.stream);
      expect(typeof JSON.parse(text).city === 'string', 'an object of the schema');
      return new Seen().usage(usage);
    },
  };
}
const packages = ['@ai-sdk/openai', '@ai-sdk/anthropic', '@ai-sdk/openai-compatible'];
const versions = packages.map((name) => `${name.slice(8)} ${versionOf(name)}`).join(', ');
await serve('AI SDK', `${versionOf('ai')} (${versions})`, cases);
