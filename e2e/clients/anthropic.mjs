import Anthropic from '@anthropic-ai/sdk';
import { expect, Seen, SUNNY, serve, versionOf, WEATHER } from './protocol.mjs';

const client = ({ key, origin }) => new Anthropic({ apiKey: key, authToken: null, baseURL: origin });
const { parameters: input_schema, ...described } = WEATHER;

async function message(anthropic, body, stream) {
  return stream ? anthropic.messages.stream(body).finalMessage() : anthropic.messages.create(body);
}

await serve('@anthropic-ai/sdk (JavaScript)', versionOf('@anthropic-ai/sdk'), {
  messages: {
    route: 'messages',
    async run(task) {
      const { model, text, stream } = task;
      const body = { model, max_tokens: 200, messages: [{ role: 'user', content: text }] };
      return new Seen().usage((await message(client(task), body, stream)).usage);
    },
  },
  'messages: tool runner': {
    route: 'messages',
    async run(task) {
      const { model, stream } = task;
      const seen = new Seen();
      const runner = client(task).beta.messages.toolRunner({
        model,
        max_tokens: 400,
        stream,
        messages: [{ role: 'user', content: 'the weather, please [[tool=2]]' }],
        tools: [{ ...described, input_schema, type: 'custom', run: () => SUNNY, parse: (value) => value }],
      });
      let last;
      for await (const step of runner) {
        last = stream ? await step.finalMessage() : step;
        seen.usage(last.usage);
      }
      expect(
        last.content.some(({ text }) => text?.includes('sunny')),
        'the answer to the tool results',
      );
      return seen;
    },
  },
  'messages: thinking through two turns': {
    route: 'messages',
    async run(task) {
      const { model, stream } = task;
      const seen = new Seen();
      const thinking = { type: 'enabled', budget_tokens: 1024 };
      const messages = [{ role: 'user', content: 'think, please [[thinking]]' }];
      const first = await message(client(task), { model, max_tokens: 2000, thinking, messages }, stream);
      messages.push({ role: 'assistant', content: first.content }, { role: 'user', content: 'and then? [[thinking]]' });
      const second = await message(client(task), { model, max_tokens: 2000, thinking, messages }, stream);
      for (const { usage } of [first, second]) seen.usage(usage);
      return seen;
    },
  },
  count_tokens: {
    route: 'count_tokens',
    modes: ['whole'],
    async run(task) {
      const { model, text } = task;
      const counted = await client(task).messages.countTokens({ model, messages: [{ role: 'user', content: text }] });
      expect(counted.input_tokens > 0, 'a count');
      return new Seen();
    },
  },
  'models: list and retrieve': {
    route: 'models',
    modes: ['whole'],
    async run(task) {
      const page = await client(task).models.list();
      expect(
        page.data.some(({ id, type }) => id === task.model && type === 'model'),
        'the model in the list',
      );
      expect((await client(task).models.retrieve(task.model)).id === task.model, 'the model by its id');
      return new Seen();
    },
  },
});
