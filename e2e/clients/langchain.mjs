import { ChatAnthropic } from '@langchain/anthropic';
import { HumanMessage, ToolMessage } from '@langchain/core/messages';
import { ChatOpenAI } from '@langchain/openai';
import { expect, Seen, SUNNY, serve, versionOf, WEATHER } from './protocol.mjs';

const MODELS = {
  'ChatOpenAI: chat': ['chat', (task) => openai(task, false)],
  'ChatOpenAI: responses': ['responses', (task) => openai(task, true)],
  ChatAnthropic: [
    'messages',
    ({ key, origin, model }) =>
      new ChatAnthropic({ model, maxTokens: 250, maxRetries, anthropicApiKey: key, anthropicApiUrl: origin }),
  ],
};

/** Its default is six retries with growing pauses, which takes more than a minute. */
const maxRetries = 1;

function openai({ key, baseUrl, model }, useResponsesApi) {
  return new ChatOpenAI({ model, apiKey: key, maxRetries, useResponsesApi, configuration: { baseURL: baseUrl } });
}

async function answer(chat, messages, stream) {
  if (!stream) return chat.invoke(messages);
  let whole;
  for await (const chunk of await chat.stream(messages)) whole = whole === undefined ? chunk : whole.concat(chunk);
  return whole;
}

const cases = {};
for (const [name, [route, model]] of Object.entries(MODELS)) {
  cases[`${name}: text`] = {
    route,
    async run(task) {
      const said = await answer(model(task), [new HumanMessage(task.text)], task.stream);
      return new Seen().usage(said.usage_metadata);
    },
  };
  cases[`${name}: tool loop`] = {
    route,
    async run(task) {
      const tool = { type: 'function', function: WEATHER };
      const chat = model(task).bindTools([tool]);
      const messages = [new HumanMessage('the weather, please [[tool=2]]')];
      const seen = new Seen();
      const first = await answer(chat, messages, task.stream);
      expect(first.tool_calls.length === 2, 'two calls');
      messages.push(first);
      for (const { id } of first.tool_calls) messages.push(new ToolMessage({ content: SUNNY, tool_call_id: id }));
      const second = await answer(chat, messages, task.stream);
      expect(second.text.includes('sunny'), 'the answer to the tool results');
      for (const { usage_metadata } of [first, second]) seen.usage(usage_metadata);
      return seen;
    },
  };
  cases[`${name}: structured output`] = {
    route,
    modes: ['whole'],
    async run(task) {
      const method = route === 'messages' ? 'functionCalling' : 'jsonSchema';
      const schema = { title: 'city', ...WEATHER.parameters };
      const chat = model(task).withStructuredOutput(schema, { method, includeRaw: true });
      const { parsed, raw } = await chat.invoke('a city [[tool]]');
      expect(typeof parsed.city === 'string', 'an object of the schema');
      return new Seen().usage(raw.usage_metadata);
    },
  };
}
const versions = `openai ${versionOf('@langchain/openai')}, anthropic ${versionOf('@langchain/anthropic')}`;
await serve('LangChain (JavaScript)', `core ${versionOf('@langchain/core')} (${versions})`, cases);
