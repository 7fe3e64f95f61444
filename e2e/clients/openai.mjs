import OpenAI from 'openai';
import { expect, Seen, SUNNY, serve, versionOf, WEATHER } from './protocol.mjs';

const client = ({ key, baseUrl }) => new OpenAI({ apiKey: key, baseURL: baseUrl });

async function chat(openai, body, stream) {
  if (!stream) return openai.chat.completions.create(body);
  return openai.chat.completions.stream({ ...body, stream_options: { include_usage: true } }).finalChatCompletion();
}

async function respond(openai, body, stream) {
  return stream ? openai.responses.stream(body).finalResponse() : openai.responses.create(body);
}

await serve('openai (JavaScript)', versionOf('openai'), {
  chat: {
    route: 'chat',
    async run(task) {
      const { model, text, stream } = task;
      const answer = await chat(client(task), { model, messages: [{ role: 'user', content: text }] }, stream);
      return new Seen().usage(answer.usage);
    },
  },
  'chat: tool runner': {
    route: 'chat',
    async run(task) {
      const { model, stream } = task;
      const seen = new Seen();
      const tool = { ...WEATHER, function: () => SUNNY, parse: JSON.parse };
      const runner = client(task).chat.completions.runTools({
        model,
        messages: [{ role: 'user', content: 'the weather, please [[tool=2]]' }],
        tools: [{ type: 'function', function: tool }],
        ...(stream ? { stream: true, stream_options: { include_usage: true } } : {}),
      });
      expect((await runner.finalContent())?.includes('sunny'), 'the answer to the tool results');
      for (const { usage } of runner.allChatCompletions()) seen.usage(usage);
      return seen;
    },
  },
  'chat: structured output': {
    route: 'chat',
    modes: ['whole'],
    async run(task) {
      const answer = await client(task).chat.completions.parse({
        model: task.model,
        messages: [{ role: 'user', content: 'a city' }],
        response_format: {
          type: 'json_schema',
          json_schema: { name: 'city', strict: true, schema: WEATHER.parameters },
        },
      });
      expect(typeof JSON.parse(answer.choices[0].message.content).city === 'string', 'an object of the schema');
      return new Seen().usage(answer.usage);
    },
  },
  responses: {
    route: 'responses',
    async run(task) {
      const { model, text, stream } = task;
      const answer = await respond(client(task), { model, input: text }, stream);
      return new Seen().usage(answer.usage);
    },
  },
  'responses: three turns by previous_response_id': {
    route: 'responses',
    async run(task) {
      const { model, stream } = task;
      const openai = client(task);
      const seen = new Seen();
      const tools = [{ type: 'function', strict: true, ...WEATHER }];
      const first = await respond(openai, { model, tools, input: 'the weather, please [[tool]]' }, stream);
      const call = first.output.find(({ type }) => type === 'function_call');
      const result = { type: 'function_call_output', call_id: call.call_id, output: SUNNY };
      const second = await respond(openai, { model, tools, previous_response_id: first.id, input: [result] }, stream);
      expect(second.output_text.includes('sunny'), 'the answer to the tool result');
      const third = await respond(openai, { model, previous_response_id: second.id, input: 'and then?' }, stream);
      for (const { usage } of [first, second, third]) seen.usage(usage);
      return seen;
    },
  },
  'models: list and retrieve': {
    route: 'models',
    modes: ['whole'],
    async run(task) {
      const listed = await client(task).models.list();
      expect(
        listed.data.some(({ id }) => id === task.model),
        'the model in the list',
      );
      expect((await client(task).models.retrieve(task.model)).id === task.model, 'the model by its id');
      return new Seen();
    },
  },
  'idempotency key': {
    route: 'chat',
    modes: ['whole'],
    async run(task) {
      const { model, text } = task;
      const headers = { 'Idempotency-Key': `once-${task.key.slice(-6)}` };
      const ask = () =>
        client(task).chat.completions.create({ model, messages: [{ role: 'user', content: text }] }, { headers });
      const [first, again] = [await ask(), await ask()];
      expect(first.id === again.id, 'the same answer again');
      return new Seen().usage(first.usage);
    },
  },
});
