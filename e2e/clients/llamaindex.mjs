import { anthropic } from '@llamaindex/anthropic';
import { tool } from '@llamaindex/core/tools';
import { openai, openaiResponses } from '@llamaindex/openai';
import { z } from 'zod';
import { expect, Seen, SUNNY, serve, versionOf, WEATHER } from './protocol.mjs';

/** Its default is ten retries with growing pauses, which takes more than a minute. */
const maxRetries = 1;

const MODELS = {
  OpenAI: [
    'chat',
    ({ key, baseUrl, model, stream }) => {
      // Its streams do not ask for their usage otherwise.
      const additionalChatOptions = stream ? { stream_options: { include_usage: true } } : {};
      return openai({ model, maxRetries, apiKey: key, baseURL: baseUrl, additionalChatOptions });
    },
  ],
  OpenAIResponses: [
    'responses',
    ({ key, baseUrl, model }) => openaiResponses({ model, maxRetries, apiKey: key, baseURL: baseUrl }),
  ],
  Anthropic: [
    'messages',
    ({ key, origin, model }) => {
      // It has no option for the address; the SDK below it reads this variable.
      process.env.ANTHROPIC_BASE_URL = origin;
      return anthropic({ model, maxRetries, apiKey: key, maxTokens: 200 });
    },
  ],
};

/** The answers as they came: its streams of messages show nothing of the usage. */
const received = [];
const plainFetch = globalThis.fetch;
globalThis.fetch = async (...args) => {
  const response = await plainFetch(...args);
  received.push(response.clone().text());
  return response;
};

/** The usage that the last answer has told. */
async function toldUsage() {
  const usage = {};
  for (const line of (await received.at(-1)).split('\n')) {
    if (!line.startsWith('data: {')) continue;
    const event = JSON.parse(line.slice('data: '.length));
    Object.assign(usage, event.message?.usage, event.usage);
  }
  return usage;
}

/** The answer, with the usage of its last event that tells any where it is streamed. */
async function answered(llm, messages, stream, tools) {
  if (!stream) {
    const { raw, message } = await llm.chat({ messages, tools });
    return { usage: raw.usage, text: JSON.stringify(message.content), calls: message.options?.toolCall ?? [] };
  }
  const usage = {};
  const calls = new Map();
  let text = '';
  for await (const { delta, raw, options } of await llm.chat({ messages, tools, stream: true })) {
    text += delta ?? '';
    Object.assign(usage, raw?.message?.usage, raw?.response?.usage, raw?.usage);
    for (const call of options?.toolCall ?? []) calls.set(call.id, call);
  }
  return {
    usage: 'output_tokens' in usage || 'completion_tokens' in usage ? usage : await toldUsage(),
    text,
    calls: [...calls.values()],
  };
}

const weather = tool({
  name: WEATHER.name,
  description: WEATHER.description,
  parameters: z.object({ city: z.string() }),
  execute: () => SUNNY,
});

const cases = {};
for (const [name, [route, model]] of Object.entries(MODELS)) {
  cases[`${name}: text`] = {
    route,
    async run(task) {
      const { text, usage } = await answered(model(task), [{ role: 'user', content: task.text }], task.stream);
      expect(text.length > 0, 'text');
      return new Seen().usage(usage);
    },
  };
  cases[`${name}: tool loop`] = {
    route,
    async run(task) {
      const llm = model(task);
      const messages = [{ role: 'user', content: 'the weather, please [[tool]]' }];
      const first = await answered(llm, messages, task.stream, [weather]);
      expect(first.calls.length === 1, 'one call');
      const [{ id }] = first.calls;
      messages.push({ role: 'assistant', content: '', options: { toolCall: first.calls } });
      messages.push({ role: 'user', content: SUNNY, options: { toolResult: { id, result: SUNNY, isError: false } } });
      const second = await answered(llm, messages, task.stream, [weather]);
      expect(second.text.includes('sunny'), 'the answer to the tool result');
      return new Seen().usage(first.usage).usage(second.usage);
    },
  };
}
const versions = `openai ${versionOf('@llamaindex/openai')}, anthropic ${versionOf('@llamaindex/anthropic')}`;
await serve('LlamaIndex (JavaScript)', `${versionOf('llamaindex')} (${versions})`, cases);
