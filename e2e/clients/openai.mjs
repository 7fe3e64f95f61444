import { setTimeout as delay } from 'node:timers/promises';
import OpenAI from 'openai';
import { ResponsesWS } from 'openai/resources/responses/ws';
import {
  checkAbort,
  checkErrors,
  expect,
  failure,
  LONG,
  restarted,
  Seen,
  SLOW,
  SUNNY,
  serve,
  versionOf,
  WEATHER,
} from './protocol.mjs';

const client = ({ key, baseUrl }, options = {}) => new OpenAI({ apiKey: key, baseURL: baseUrl, ...options });
const user = (content) => [{ role: 'user', content }];

async function chat(openai, body, stream) {
  if (!stream) return openai.chat.completions.create(body);
  return openai.chat.completions.stream({ ...body, stream_options: { include_usage: true } }).finalChatCompletion();
}

async function respond(openai, body, stream) {
  return stream ? openai.responses.stream(body).finalResponse() : openai.responses.create(body);
}

/** A background response once it has ended. */
async function ended(openai, id) {
  for (;;) {
    const response = await openai.responses.retrieve(id);
    if (response.status !== 'queued' && response.status !== 'in_progress') return response;
    await delay(50);
  }
}

/** The events of a background response; with `until` they are left at the first that fits, as by a connection that is cut. */
async function eventsOf(stream, until = () => false) {
  const events = [];
  for await (const event of await stream) {
    events.push(event);
    if (until(event)) break;
  }
  return events;
}

const isText = ({ type }) => type === 'response.output_text.delta';

/** A background response that is read up to its first text, and left. */
async function leftInTheMiddle(openai, model, input) {
  const begun = await openai.responses.create({ model, input, background: true, stream: true });
  const events = await eventsOf(begun, isText);
  return { id: events[0].response.id, events, after: events.at(-1).sequence_number };
}

function expectSameEvents(parts, whole) {
  const numbers = (events) => events.map((event) => event.sequence_number).join();
  expect(numbers(parts) === numbers(whole), `every event once: ${numbers(parts)} of ${numbers(whole)}`);
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
  'responses: in the background, polled': {
    route: 'responses',
    modes: ['whole'],
    async run(task) {
      const openai = client(task);
      const begun = await openai.responses.create({ model: task.model, input: task.text, background: true });
      expect(begun.background === true && begun.status === 'in_progress', 'it has begun');
      const { usage, status, output_text: said } = await ended(openai, begun.id);
      expect(status === 'completed' && said.length > 0, 'it is complete');
      return new Seen().usage(usage);
    },
  },
  'responses: in the background, taken up after a cut in the middle': {
    route: 'responses',
    modes: ['streamed'],
    async run(task) {
      const openai = client(task);
      const { id, events, after } = await leftInTheMiddle(openai, task.model, SLOW);
      const rest = await eventsOf(openai.responses.retrieve(id, { stream: true, starting_after: after }));
      expectSameEvents([...events, ...rest], await eventsOf(openai.responses.retrieve(id, { stream: true })));
      expect(rest.at(-1).type === 'response.completed', 'it is complete');
      return new Seen().usage(rest.at(-1).response.usage);
    },
  },
  'responses: in the background, taken up after a restart of the gateway': {
    route: 'responses',
    modes: ['streamed'],
    provider: 'sandbox',
    restarts: true,
    async run(task) {
      const openai = client(task);
      const before = await leftInTheMiddle(openai, task.model, SLOW);
      expect((await ended(openai, before.id)).status === 'completed', 'one that is complete');
      const live = await leftInTheMiddle(openai, task.model, LONG);
      await restarted();
      for (const [{ id, events, after }, last] of [
        [before, 'completed'],
        [live, 'failed'],
      ]) {
        const rest = await eventsOf(openai.responses.retrieve(id, { stream: true, starting_after: after }));
        expectSameEvents([...events, ...rest], await eventsOf(openai.responses.retrieve(id, { stream: true })));
        expect(rest.at(-1).type === `response.${last}`, `the end: ${last}`);
        expect((await openai.responses.retrieve(id)).status === last, last);
      }
      const { error } = await openai.responses.retrieve(live.id);
      expect(error.code === 'server_error' && /shutting down/.test(error.message), 'why it failed');
      return new Seen().cut();
    },
  },
  'responses: in the background, cancelled': {
    route: 'responses',
    modes: ['whole'],
    provider: 'sandbox',
    async run(task) {
      const openai = client(task);
      const { id, after } = await leftInTheMiddle(openai, task.model, LONG);
      const cancelled = await openai.responses.cancel(id);
      expect(cancelled.status === 'cancelled', 'it is cancelled');
      expect((await openai.responses.cancel(id)).status === 'cancelled', 'twice is no mistake');
      const rest = await eventsOf(openai.responses.retrieve(id, { stream: true, starting_after: after }));
      expect(rest.at(-1).type === 'response.cancelled', 'its readers see the end');
      return new Seen().cut();
    },
  },
  'responses: over a WebSocket': {
    route: 'responses',
    modes: ['streamed'],
    async run(task) {
      const seen = new Seen();
      const socket = new ResponsesWS(client(task), { reconnect: null });
      const failed = new Promise((_, reject) => socket.on('error', reject));
      try {
        let previous;
        for (const input of [task.text, 'and then?']) {
          const completed = new Promise((resolve) => socket.once('response.completed', resolve));
          const create = { model: task.model, input, store: false, previous_response_id: previous };
          socket.send({ type: 'response.create', ...create });
          const { response } = await Promise.race([completed, failed]);
          previous = response.id;
          seen.usage(response.usage);
        }
      } finally {
        socket.close();
      }
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
