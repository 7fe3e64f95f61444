import Anthropic from '@anthropic-ai/sdk';
import { jsonSchemaOutputFormat } from '@anthropic-ai/sdk/helpers/json-schema';
import { checkAbort, checkErrors, expect, LONG, Seen, SUNNY, serve, versionOf, WEATHER } from './protocol.mjs';

const client = ({ key, origin }, options = {}) =>
  new Anthropic({ apiKey: key, authToken: null, baseURL: origin, ...options });
const user = (content) => [{ role: 'user', content }];
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
  'messages: structured output': {
    route: 'messages',
    modes: ['whole'],
    async run(task) {
      const output_config = { format: jsonSchemaOutputFormat(WEATHER.parameters) };
      const body = { model: task.model, max_tokens: 200, messages: user('a city'), output_config };
      const answer = await client(task).messages.parse(body);
      expect(typeof answer.parsed_output.city === 'string', 'an object of the schema');
      return new Seen().usage(answer.usage);
    },
  },
  'messages: the events of a stream': {
    route: 'messages',
    modes: ['streamed'],
    async run(task) {
      const { model, text } = task;
      const usage = {};
      let said = '';
      const body = { model, max_tokens: 200, messages: user(text), stream: true };
      for await (const event of await client(task).messages.create(body)) {
        if (event.type === 'content_block_delta') said += event.delta.text ?? '';
        if (event.type === 'message_start') Object.assign(usage, event.message.usage);
        if (event.type === 'message_delta') Object.assign(usage, event.usage);
      }
      expect(said.length > 0, 'text in the events');
      return new Seen().usage(usage);
    },
  },
  'messages: an abort': {
    route: 'messages',
    async run(task) {
      const { model, stream } = task;
      const common = { model, max_tokens: 3000 };
      if (!stream) {
        await checkAbort(Anthropic, task, (body, options) =>
          client(task).messages.create({ ...common, ...body }, options),
        );
      } else {
        const given = new AbortController();
        const messages = client(task).messages.stream({ ...common, messages: user(LONG) }, { signal: given.signal });
        messages.on('text', () => given.abort());
        const error = await messages.done().catch((failed) => failed);
        expect(model.startsWith('foreign/') || error instanceof Anthropic.APIUserAbortError, 'APIUserAbortError');
      }
      return new Seen().cut();
    },
  },
  'idempotency key': {
    route: 'messages',
    async run(task) {
      const { model, text, stream } = task;
      const headers = { 'Idempotency-Key': `once-${task.key.slice(-6)}` };
      const body = { model, max_tokens: 200, messages: user(text) };
      const ask = () =>
        stream
          ? client(task).messages.stream(body, { headers }).finalMessage()
          : client(task).messages.create(body, { headers });
      const [first, again] = [await ask(), await ask()];
      expect(first.id === again.id, 'the same answer again');
      return new Seen().usage(first.usage);
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
  'error classes, request ids and retries': {
    route: 'messages',
    modes: ['whole'],
    provider: 'sandbox',
    async run(task) {
      const { model, text } = task;
      await checkErrors(Anthropic, (body, options) =>
        client(task, options).messages.create({ model, max_tokens: 200, messages: user('Hello'), ...body }),
      );
      const { data, request_id: id } = await client(task)
        .messages.create({ model, max_tokens: 200, messages: user(text) })
        .withResponse();
      expect(/^req_/.test(id) && data._request_id === id, 'the request id of an answer');
      return new Seen().usage(data.usage);
    },
  },
});
