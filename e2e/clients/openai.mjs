import OpenAI from 'openai';
import { checkAbort, checkErrors, expect, failure, LONG, Seen, SUNNY, serve, versionOf, WEATHER } from './protocol.mjs';

const client = ({ key, baseUrl }, options = {}) => new OpenAI({ apiKey: key, baseURL: baseUrl, ...options });
const user = (content) => [{ role: 'user', content }];

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
      const answer = await chat(client(task), { model, messages: user(text) }, stream);
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
  'chat: the chunks of a stream': {
    route: 'chat',
    modes: ['streamed'],
    async run(task) {
      const { model, text } = task;
      const body = { model, messages: user(text), stream: true, stream_options: { include_usage: true } };
      let last = null;
      let said = '';
      for await (const chunk of await client(task).chat.completions.create(body)) {
        said += chunk.choices[0]?.delta.content ?? '';
        last = chunk;
      }
      expect(said.length > 0, 'text in the chunks');
      return new Seen().usage(last.usage);
    },
  },
  'chat: an abort': {
    route: 'chat',
    async run(task) {
      const { model, stream } = task;
      const ask = (body, options) => client(task).chat.completions.create({ model, ...body }, options);
      if (!stream) await checkAbort(OpenAI, task, ask);
      else {
        const given = new AbortController();
        const chunks = await ask({ messages: user(LONG), stream: true }, { signal: given.signal });
        for await (const { choices } of chunks) if (choices[0]?.delta.content) given.abort();
      }
      return new Seen().cut();
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
  'responses: structured output': {
    route: 'responses',
    modes: ['whole'],
    async run(task) {
      const format = { type: 'json_schema', name: 'city', strict: true, schema: WEATHER.parameters };
      const answer = await client(task).responses.parse({ model: task.model, input: 'a city', text: { format } });
      expect(typeof JSON.parse(answer.output_text).city === 'string', 'an object of the schema');
      return new Seen().usage(answer.usage);
    },
  },
  'responses: the events of a stream, retrieve and delete': {
    route: 'responses',
    modes: ['streamed'],
    async run(task) {
      const { model, text } = task;
      const openai = client(task);
      let ended = null;
      for await (const event of await openai.responses.create({ model, input: text, stream: true })) {
        if (event.type === 'response.completed') ended = event.response;
      }
      const kept = await openai.responses.retrieve(ended.id);
      expect(kept.output_text === ended.output.flatMap(({ content }) => content ?? [])[0].text, 'the same text again');
      await openai.responses.delete(ended.id);
      const error = await failure(openai.responses.retrieve(ended.id));
      expect(error instanceof OpenAI.NotFoundError, 'it is gone');
      return new Seen().usage(ended.usage);
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
    async run(task) {
      const { model, text, stream } = task;
      const headers = { 'Idempotency-Key': `once-${task.key.slice(-6)}` };
      const body = { model, messages: user(text) };
      const ask = () =>
        stream
          ? client(task)
              .chat.completions.stream({ ...body, stream_options: { include_usage: true } }, { headers })
              .finalChatCompletion()
          : client(task).chat.completions.create(body, { headers });
      const [first, again] = [await ask(), await ask()];
      expect(first.id === again.id, 'the same answer again');
      return new Seen().usage(first.usage);
    },
  },
  'error classes, request ids and retries': {
    route: 'chat',
    modes: ['whole'],
    provider: 'sandbox',
    async run(task) {
      const { model, text } = task;
      await checkErrors(OpenAI, (body, options) =>
        client(task, options).chat.completions.create({ model, messages: user('Hello'), ...body }),
      );
      const { data, request_id: id } = await client(task)
        .chat.completions.create({ model, messages: user(text) })
        .withResponse();
      expect(/^req_/.test(id) && data._request_id === id, 'the request id of an answer');
      return new Seen().usage(data.usage);
    },
  },
});
