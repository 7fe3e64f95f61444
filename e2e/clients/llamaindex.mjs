import { anthropic } from '@llamaindex/anthropic';
import { openai, openaiResponses } from '@llamaindex/openai';
import { Seen, serve, versionOf } from './protocol.mjs';

/** Its default is ten retries with growing pauses, which takes more than a minute. */
const maxRetries = 1;

const MODELS = {
  'OpenAI: text': ['chat', ({ key, baseUrl, model }) => openai({ model, maxRetries, apiKey: key, baseURL: baseUrl })],
  'OpenAIResponses: text': [
    'responses',
    ({ key, baseUrl, model }) => openaiResponses({ model, maxRetries, apiKey: key, baseURL: baseUrl }),
  ],
  'Anthropic: text': [
    'messages',
    ({ key, origin, model }) => {
      // It has no option for the address; the SDK below it reads this variable.
      process.env.ANTHROPIC_BASE_URL = origin;
      return anthropic({ model, maxRetries, apiKey: key, maxTokens: 200 });
    },
  ],
};

const cases = {};
for (const [name, [route, model]] of Object.entries(MODELS)) {
  cases[name] = {
    route,
    modes: ['whole'],
    async run(task) {
      const { raw } = await model(task).chat({ messages: [{ role: 'user', content: task.text }] });
      return new Seen().usage(raw.usage);
    },
  };
}
const versions = `openai ${versionOf('@llamaindex/openai')}, anthropic ${versionOf('@llamaindex/anthropic')}`;
await serve('LlamaIndex (JavaScript)', `${versionOf('llamaindex')} (${versions})`, cases);
